"""Which types hold values of symmetric types; `exchange` defines the exchange of two such values.

A symmetric type is an `Enum` whose values are interchangeable.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from fencepost.spec.core.types import Enum, Type, components


@cache
def is_symmetric(kind: Type) -> bool:
    """Whether values of ``kind`` hold values of a symmetric type, or are some."""
    if isinstance(kind, Enum):
        return kind.symmetric
    return any(map(is_symmetric, components(kind)))


def symmetric_types(kinds: Iterable[Type]) -> tuple[Enum, ...]:
    """The symmetric types in ``kinds``, as they are met."""
    found: dict[Enum, None] = {}

    def look(kind: Type) -> None:
        if isinstance(kind, Enum):
            if kind.symmetric:
                found[kind] = None
            return
        if is_symmetric(kind):
            for part in components(kind):
                look(part)

    for kind in kinds:
        look(kind)
    return tuple(found)
