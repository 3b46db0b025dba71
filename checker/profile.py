"""Profiles of visited states: how many values each variable had, and how close these came to the
bounds of their types.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import field
from typing import Literal

from fencepost.spec.core import types
from fencepost.spec.core.types import Type, Value
from fencepost.spec.records import dataclass


@dataclass(frozen=True, slots=True)
class Extent:
    """The values of a bounded part of a variable: they extend from ``low`` to ``high``, and its
    type allows ``least`` to ``most``.

    ``path`` is "" for the variable itself, and otherwise the suffix of its name; for example,
    ``[*].epoch`` is a field of all values of a map. For the kind "elements" the numbers are sizes
    of a collection, for "range" they are integers, and for "members" they are numbers of enum
    members. ``never`` names the members that did not occur.
    """

    path: str
    kind: Literal["elements", "range", "members"]
    low: int
    high: int
    least: int
    most: int
    never: tuple[str, ...] = ()

    @property
    def slack(self) -> bool:
        """Whether a tighter bound would suffice."""
        return self.low > self.least or self.high < self.most


@dataclass(frozen=True, slots=True)
class VariableProfile:
    """The number of distinct values of a variable, and the extents of its parts."""

    values: int
    extents: tuple[Extent, ...]


@dataclass(frozen=True, slots=True)
class Advice:
    """A change of the model, as an imperative, and an estimate of its ``states`` after the change,
    which are ``counted`` as states or as orbits.
    """

    text: str
    states: int
    counted: Literal["states", "orbits"] = "states"


@dataclass(frozen=True, slots=True)
class Profile:
    """The profile of ``states`` visited states.

    ``refused`` maps each guard to the number of vectors of choices that it rejected. ``new`` is the
    number of states that each action reached first, in breadth-first order and then in order of
    declaration. ``seconds`` is the processor time per state that each action's steps took,
    excluding the handling of successors.
    """

    states: int
    variables: tuple[VariableProfile, ...]
    refused: dict[int, int]
    new: tuple[int, ...] = ()
    seconds: tuple[float, ...] = field(default=(), compare=False)
    advice: tuple[Advice, ...] = ()
    """Changes that reduce the states, with the most effective first."""


def profiled(kind: Type, values: Collection[Value]) -> VariableProfile:
    """Profiles a variable from its distinct values."""
    return VariableProfile(len(values), tuple(_extents(kind, values, "")))


def _extents(kind: Type, values: Collection[Value], path: str) -> Iterator[Extent]:
    """Yields the extents of a part. Yields nothing if the part never had a value."""
    if not values:
        return
    match kind:
        case types.Int(low, high):
            whole = [value for value in values if isinstance(value, int)]
            yield Extent(path, "range", min(whole), max(whole), low, high)
        case types.Nominal(members=members):
            never = tuple(name for index, name in enumerate(members) if index not in values)
            count = len(members) - len(never)
            yield Extent(path, "members", count, count, len(members), len(members), never)
        case types.Seq(capacity=most) | types.Bag(capacity=most):
            yield _filled(values, most, path)
        case types.Set(element, capacity):
            most = types.cardinality(element) if capacity is None else capacity
            yield _filled(values, most, path)
        case types.Map(value=inner):
            yield from _extents(
                inner, {part for value in values for part in _parts(value)}, f"{path}[*]"
            )
        case types.Record(fields=fields):
            for index, field in enumerate(fields):
                inside = {_parts(value)[index] for value in values}
                yield from _extents(field.type, inside, f"{path}.{field.name}")
        case types.Option(element):
            yield from _extents(
                element, {part for value in values for part in _parts(value)}, f"{path}!"
            )
        case types.Scalar() | types.Union():
            pass


def _filled(values: Collection[Value], capacity: int, path: str) -> Extent:
    """Returns the extent of a collection's size."""
    counts = {len(_parts(value)) for value in values}
    # A collection that was never empty does not suggest a tighter lower bound.
    return Extent(path, "elements", min(counts), max(counts), min(counts), capacity)


def _parts(value: Value) -> tuple[Value, ...]:
    assert isinstance(value, tuple)
    return value
