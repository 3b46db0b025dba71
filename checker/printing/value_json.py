"""JSON notations for values."""

from __future__ import annotations

from collections.abc import Callable

from fencepost.checker.printing.json_values import Json
from fencepost.spec.core.spelling import Notation, entries
from fencepost.spec.core.types import Bag, Seq, Set, Type


def json_notation(
    scalar: Callable[[bool | int | str], Json],
    some: Callable[[Json, Type], Json],
    none: Json,
    elements: Callable[[Set | Seq | Bag, list[Json]], Json],
    map: Callable[[list[Json]], Json],
) -> Notation[Json]:
    """Returns a notation with records as objects and variants as ``{"tag": ..., "value":
    {fields}}``. ``map`` receives the pairs ``[key, value]``.
    """
    return Notation(
        scalar=scalar,
        record=lambda _, parts: dict(parts),
        variant=lambda kind, tag, parts: {"tag": kind.variants[tag].name, "value": dict(parts)},
        none=none,
        some=some,
        elements=elements,
        map=lambda kind, value, of: map([list(pair) for pair in entries(kind, value, of)]),
    )
