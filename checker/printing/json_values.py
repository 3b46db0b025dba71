"""What a JSON document is, as a type."""

from __future__ import annotations

import json
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


def written(value: Json, indent: int) -> str:
    """JSON text in which nothing looks like a command to a build, and nothing is changed."""
    return json.dumps(value, indent=indent).replace("##", "#\\u0023") + "\n"
