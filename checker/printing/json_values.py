"""The type of JSON values, and safe output."""

from __future__ import annotations

import json
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


def written(value: Json, indent: int) -> str:
    """JSON text without ``##``, which a CI system could take for a command; the value is
    unchanged.
    """
    return json.dumps(value, indent=indent).replace("##", "#\\u0023") + "\n"
