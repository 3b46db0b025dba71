"""What the states that a search has visited look like: how many values each variable has taken, and
how near each bound was come to. Plain data, worked out from the values.

It knows no engine, and not how a profile is shown.
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
    """How far a bounded part of a variable went: ``low`` to ``high`` of what may be ``least`` to
    ``most``.

    ``path`` is empty for the variable itself, else what stands behind its name: ``[*].epoch`` for a
    field of all values of a map. Of "elements" it is how many there were, of a "range" which
    integers, of "members" how many of an enum's were taken; ``never`` are the others.
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
        """Whether a tighter bound would do."""
        return self.low > self.least or self.high < self.most


@dataclass(frozen=True, slots=True)
class VariableProfile:
    """The values of one variable: how many different ones, and the extents of its parts."""

    values: int
    extents: tuple[Extent, ...]


@dataclass(frozen=True, slots=True)
class Profile:
    """What ``states`` visited states look like, variable by variable; and how often each guard was
    false, by its number, over all vectors of choices that came to it.

    ``new`` says of each action to how many states it was the first way: of the actions that lead to
    a state from the level before, the first in declaration order. ``seconds`` is the time of a
    processor that the steps of an action take from one state, without what is done with its
    successors.
    """

    states: int
    variables: tuple[VariableProfile, ...]
    refused: dict[int, int]
    new: tuple[int, ...] = ()
    seconds: tuple[float, ...] = field(default=(), compare=False)


def profiled(kind: Type, values: Collection[Value]) -> VariableProfile:
    """The profile of a variable that took these values, each given once."""
    return VariableProfile(len(values), tuple(_extents(kind, values, "")))


def _extents(kind: Type, values: Collection[Value], path: str) -> Iterator[Extent]:
    """The extents of a part with these values; none where it never had any."""
    if not values:
        return
    match kind:
        case types.Int(low, high):
            whole = [value for value in values if isinstance(value, int)]
            yield Extent(path, "range", min(whole), max(whole), low, high)
        case types.Enum(members=members):
            never = tuple(name for place, name in enumerate(members) if place not in values)
            count = len(members) - len(never)
            yield Extent(path, "members", count, count, len(members), len(members), never)
        case types.Seq(capacity=most) | types.Bag(capacity=most):
            yield _filled(values, most, path)
        case types.Set(element, capacity):
            most = types.cardinality(element) if capacity is None else capacity
            yield _filled(values, most, path)
        case types.Map(value=inner):
            yield from _extents(
                inner, {one for value in values for one in _parts(value)}, f"{path}[*]"
            )
        case types.Record(fields=fields):
            for place, field in enumerate(fields):
                inside = {_parts(value)[place] for value in values}
                yield from _extents(field.type, inside, f"{path}.{field.name}")
        case types.Option(element):
            yield from _extents(
                element, {one for value in values for one in _parts(value)}, f"{path}!"
            )
        case types.Bool() | types.Machine() | types.Union():
            pass


def _filled(values: Collection[Value], most: int, path: str) -> Extent:
    """How many elements a collection had."""
    counts = {len(_parts(value)) for value in values}
    # That one was never empty is no bound.
    return Extent(path, "elements", min(counts), max(counts), min(counts), most)


def _parts(value: Value) -> tuple[Value, ...]:
    assert isinstance(value, tuple)
    return value
