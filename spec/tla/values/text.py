# pyright: basic
"""TLA+ values as text, as TLC writes them, and in parts for reports."""

from __future__ import annotations

from typing import Final

from fencepost.spec.core.foreign import ForeignValue
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
    return taken_apart(universe, value).text


def taken_apart(universe: Operations, value: Value) -> ForeignValue:
    """Returns a value with its text and its parts."""

    def of(part: Value) -> ForeignValue:
        return taken_apart(universe, part)

    match value:
        case str():
            return ForeignValue(f'"{value.translate(_ESCAPES)}"', "atom", str(value))
        case Boolean():
            return ForeignValue(value.name, "atom", value.name == "TRUE")
        case ModelValue():
            return ForeignValue(value.name, "name")
        case Function():
            if value.domain.is_record:
                fields = tuple((ForeignValue(name, "name"), of(at)) for name, at in value.items())
                text = ", ".join(f"{name.text} |-> {field.text}" for name, field in fields)
                return ForeignValue(f"[{text}]", "record", None, fields)
            pairs = tuple((of(key), of(at)) for key, at in value.items())
            text = " @@ ".join(f"{key.text} :> {at.text}" for key, at in pairs)
            return ForeignValue(f"({text})", "function", None, pairs)
        case tuple():
            items = tuple((None, of(element)) for element in value)
            text = ", ".join(item.text for _, item in items)
            return ForeignValue(f"<<{text}>>", "tuple", None, items)
        case LazyFunction():
            return ForeignValue(f"[x \\in {show(universe, value.domain)} |-> ...]", "name")
        case LazySet() if not value.is_small(universe):
            return ForeignValue(value.text(universe), "name")
        case frozenset() | LazySet():
            items = tuple((None, of(element)) for element in universe.elements(value))
            text = ", ".join(item.text for _, item in items)
            return ForeignValue(f"{{{text}}}", "set", None, items)
        case int():
            return ForeignValue(str(value), "atom", int(value))
        case _:
            return ForeignValue(str(value), "name")
