# pyright: basic
"""TLA+ values as text, as TLC writes them."""

from __future__ import annotations

from typing import Final

from fencepost.spec.tla.values.kinds import (
    Boolean,
    Function,
    LazyFunction,
    LazySet,
    ModelValue,
    Operations,
    Value,
)

_ESCAPES: Final = str.maketrans(
    {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\f": "\\f"}
)


def show(universe: Operations, value: Value) -> str:
    """Returns the text of a value. The elements of a set are in TLC's order."""
    match value:
        case str():
            return f'"{value.translate(_ESCAPES)}"'
        case Boolean() | ModelValue():
            return value.name
        case Function():
            if value.domain.is_record:
                fields = (f"{name} |-> {show(universe, field)}" for name, field in value.items())
                return f"[{', '.join(fields)}]"
            pairs = (f"{show(universe, key)} :> {show(universe, at)}" for key, at in value.items())
            return f"({' @@ '.join(pairs)})"
        case tuple():
            return f"<<{', '.join(show(universe, element) for element in value)}>>"
        case LazyFunction():
            return f"[x \\in {show(universe, value.domain)} |-> ...]"
        case LazySet() if not value.is_small(universe):
            return value.text(universe)
        case frozenset() | LazySet():
            return (
                f"{{{', '.join(show(universe, element) for element in universe.elements(value))}}}"
            )
        case _:
            return str(value)
