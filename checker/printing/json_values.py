"""Defines the type of JSON values, formats JSON safely, and makes JSON notations for values of the
language.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeAlias

from fencepost.spec.core.foreign import ForeignValue
from fencepost.spec.core.spelling import Notation, entries
from fencepost.spec.core.types import Bag, Seq, Set, Type

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


def written(value: Json, indent: int) -> str:
    """Formats a value as JSON text without ``##``, which a CI system could take for a command. A
    parser reads the same value from the text.
    """
    return json.dumps(value, indent=indent).replace("##", "#\\u0023") + "\n"


def json_notation(
    scalar: Callable[[bool | int | str], Json],
    tuple_: Callable[[list[Json]], Json],
    some: Callable[[Json, Type], Json],
    none: Json,
    elements: Callable[[Set | Seq | Bag, list[Json]], Json],
    map: Callable[[list[Json]], Json],
    foreign: Callable[[ForeignValue], Json] | None = None,
) -> Notation[Json]:
    """Returns a notation that represents records as objects and variants as ``{"tag": ..., "value":
    {fields}}``. ``map`` receives the list of pairs ``[key, value]``.
    """
    return Notation(
        scalar=scalar,
        record=lambda kind, parts: (
            tuple_([part for _, part in parts]) if kind.is_tuple else dict(parts)
        ),
        variant=lambda kind, tag, parts: {"tag": kind.variants[tag].name, "value": dict(parts)},
        none=none,
        some=some,
        elements=elements,
        map=lambda kind, value, of: map([list(pair) for pair in entries(kind, value, of)]),
        foreign=foreign,
    )
