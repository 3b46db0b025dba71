# pyright: basic
"""The form of a standard module, and what its operators share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, TypeAlias

from fencepost.spec.records import dataclass
from fencepost.spec.tla.values.kinds import (
    FALSE,
    TRUE,
    Boolean,
    Function,
    LazyFunction,
    Value,
)
from fencepost.spec.tla.values.universe import Universe

Call: TypeAlias = Callable[..., Any]
Operator: TypeAlias = Callable[..., Value]
"""An argument that is an operator."""


@dataclass(frozen=True, slots=True)
class StandardModule:
    """A standard module: the modules that it extends, and its operators with their arities."""

    extends: tuple[str, ...]
    operators: Mapping[str, tuple[int, Call]] = field(default_factory=dict[str, tuple[int, Call]])


def truth(value: bool) -> Boolean:
    """Returns a Boolean of TLA+."""
    return TRUE if value else FALSE


def holds(universe: Universe, name: str, value: Value) -> bool:
    """Returns the result of an operator that must be Boolean."""
    if value is TRUE:
        return True
    if value is FALSE:
        return False
    raise universe.error(f"The operator in {name} must return a Boolean, not {{}}", value)


def integer(universe: Universe, name: str, value: Value) -> int:
    """Returns an argument that must be an integer."""
    if type(value) is not int:
        raise universe.error(f"An argument of {name} must be an integer, not {{}}", value)
    return value


def string(universe: Universe, name: str, value: Value) -> str:
    """Returns an argument that must be a string."""
    if type(value) is not str:
        raise universe.error(f"An argument of {name} must be a string, not {{}}", value)
    return value


def new_string(universe: Universe, text: str) -> str:
    """Returns a computed string, whose place in TLC's order is fixed now."""
    universe.rank(text)
    return text


def record(universe: Universe, fields: Mapping[str, Value]) -> Value:
    """Returns a record of TLA+."""
    domain = universe.domain_of(frozenset(new_string(universe, name) for name in fields))
    return domain.function([fields[name] for name in domain.elements])


def sequence(universe: Universe, name: str, value: Value) -> tuple[Any, ...]:
    """Returns an argument that must be a sequence."""
    if isinstance(value, LazyFunction):
        value = universe.normalise(value)
    if type(value) is not tuple:
        raise universe.error(f"The argument of {name} must be a sequence, not {{}}", value)
    return value


def text_or_sequence(universe: Universe, name: str, value: Value) -> str | tuple[Any, ...]:
    """Returns an argument that must be a sequence or a string, which TLC takes for one."""
    return value if type(value) is str else sequence(universe, name, value)


def values_of(universe: Universe, name: str, function: Value) -> tuple[Value, ...]:
    """Returns the values of a function in the order of its domain."""
    if not isinstance(function, tuple | LazyFunction):
        raise universe.error(f"The argument of {name} must be a function, not {{}}", function)
    written = universe.written_function(function)
    return written[1:] if type(written) is Function else written
