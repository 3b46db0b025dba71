"""Bindings are one-to-one maps from names in the real system to model values.

A `Bound` holds the part of the bindings that a run has settled so far.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import perm
from typing import TypeAlias, assert_never, cast

from fencepost.spec.core.recording import Binding as Declared
from fencepost.spec.core.types import Value, values
from fencepost.spec.records import dataclass

Name: TypeAlias = str | int
Bound: TypeAlias = "tuple[tuple[Value | None, ...], ...]"
"""For each declared binding, the values of its names in the order of `Names`. A name that is not
settled yet has the value None.
"""


@dataclass(frozen=True, slots=True)
class KnownValue:
    """A value that the line states directly."""

    value: Value


@dataclass(frozen=True, slots=True)
class NameRead:
    """A name that belongs to the binding ``bind``."""

    bind: int
    name: Name


@dataclass(frozen=True, slots=True)
class SomeRead:
    """An option that is not empty."""

    content: Read


@dataclass(frozen=True, slots=True)
class ListRead:
    """Distinct elements, in order or, with ``unordered``, as a set."""

    elements: tuple[Read, ...]
    unordered: bool


Read: TypeAlias = KnownValue | NameRead | SomeRead | ListRead
"""The meaning of a field in a line."""


def names_in(read: Read) -> Iterator[NameRead]:
    """Yields the names in a field."""
    match read:
        case KnownValue():
            return
        case NameRead():
            yield read
        case SomeRead(content):
            yield from names_in(content)
        case ListRead(elements):
            for element in elements:
                yield from names_in(element)
        case _:
            assert_never(read)


class Names:
    """The names in one history, and their possible values.

    ``lacking`` collects the bindings that ran out of values during a run.
    """

    def __init__(self, declared: Sequence[Declared], called: Iterator[NameRead]) -> None:
        names_by_binding: list[set[Name]] = [set() for _ in declared]
        for item in called:
            names_by_binding[item.bind].add(item.name)
        self.lacking: set[int] = set()
        self._fixed: list[Mapping[Name, Value]] = [dict(item.fixed) for item in declared]
        self.names = [
            sorted(names - fixed.keys(), key=lambda name: (isinstance(name, str), name))
            for names, fixed in zip(names_by_binding, self._fixed, strict=True)
        ]
        self._numbers = [{name: n for n, name in enumerate(names)} for names in self.names]
        # Only the types that some name needs are enumerated.
        self._values = [
            tuple(values(item.type)) if names else ()
            for item, names in zip(declared, self.names, strict=True)
        ]
        self.start: Bound = tuple((None,) * len(names) for names in self.names)

    def shown(self, bind: int, value: Value, bound: Bound) -> Name | None:
        """Returns the name of a value, or None if it has no name."""
        for name, fixed in self._fixed[bind].items():
            if fixed == value:
                return name
        values_of = bound[bind]
        return self.names[bind][values_of.index(value)] if value in values_of else None

    def settled(self, reads: Sequence[Read], bound: Bound) -> tuple[Value, ...] | None:
        """Returns the values of an event's fields if the binding settles all of them, and None
        otherwise. Settled values are the only result that `values` and `fits` can give.
        """
        settled_values: list[Value] = []
        for read in reads:
            value = read.value if isinstance(read, KnownValue) else self._settled(read, bound)
            if value is None:
                return None
            settled_values.append(value)
        return tuple(settled_values)

    def _settled(self, read: Read, bound: Bound) -> Value | None:
        match read:
            case KnownValue(value):
                return value
            case NameRead(bind, name):
                number = self._numbers[bind].get(name)
                return self._fixed[bind][name] if number is None else bound[bind][number]
            case SomeRead(content):
                inner = self._settled(content, bound)
                return None if inner is None else (inner,)
            case ListRead(elements, unordered):
                items = self.settled(elements, bound)
                if items is None or not unordered:
                    return items
                # Two names that are fixed to the same value would form a set that no line shows.
                one_each = tuple(sorted(set(cast("tuple[int, ...]", items))))
                return one_each if len(one_each) == len(items) else None
            case _:
                assert_never(read)

    def fits(self, read: Read, value: Value, bound: Bound) -> Iterator[Bound]:
        """Yields the extensions of a binding that give a field the value ``value``."""
        match read, value:
            case KnownValue(expected), _:
                if expected == value:
                    yield bound
            case NameRead(bind, name), _:
                yield from self._called(bind, name, value, bound)
            case SomeRead(content), (inner,):
                yield from self.fits(content, inner, bound)
            case ListRead(elements, unordered), tuple():
                if len(elements) == len(value):
                    yield from self._listed(elements, value, unordered, bound)
            case _:
                return

    def _called(self, bind: int, name: Name, value: Value, bound: Bound) -> Iterator[Bound]:
        fixed = self._fixed[bind]
        if name in fixed:
            if fixed[name] == value:
                yield bound
            return
        number, values_of = self._numbers[bind][name], bound[bind]
        if values_of[number] is not None:
            if values_of[number] == value:
                yield bound
        elif value not in values_of:
            yield _extended(bound, bind, number, value)
        elif self._full(bind, values_of):
            self.lacking.add(bind)

    def _full(self, bind: int, values_of: tuple[Value | None, ...]) -> bool:
        return sum(value is not None for value in values_of) >= len(self._values[bind])

    def _listed(
        self, elements: tuple[Read, ...], items: tuple[Value, ...], unordered: bool, bound: Bound
    ) -> Iterator[Bound]:
        if not elements:
            yield bound
            return
        for index, item in enumerate(items if unordered else items[:1]):
            rest = items[:index] + items[index + 1 :]
            for extended in self.fits(elements[0], item, bound):
                yield from self._listed(elements[1:], rest, unordered, extended)

    def ways(self, reads: Sequence[Read], bound: Bound) -> int:
        """Returns the number of results of `values`. If values are lacking, `values` has no
        results, but finds this out only after many attempts.
        """
        names = {called for read in reads for called in names_in(read)}
        count = 1
        for bind, values_of in enumerate(bound):
            numbers = self._numbers[bind]
            new = [called for called in names if called.bind == bind and called.name in numbers]
            unsettled = sum(values_of[numbers[called.name]] is None for called in new)
            free = len(self._values[bind]) - len(values_of) + values_of.count(None)
            if unsettled > free:
                self.lacking.add(bind)
            count *= perm(free, unsettled)
        return count

    def values(
        self, reads: Sequence[Read], bound: Bound
    ) -> Iterator[tuple[tuple[Value, ...], Bound]]:
        """Yields the possible values of an event's fields, each with the extended binding. A name
        that is not settled may mean any free value.
        """
        if not reads:
            yield (), bound
            return
        for first, inner in self._value(reads[0], bound):
            for rest, outer in self.values(reads[1:], inner):
                yield (first, *rest), outer

    def _value(self, read: Read, bound: Bound) -> Iterator[tuple[Value, Bound]]:
        match read:
            case KnownValue(value):
                yield value, bound
            case NameRead(bind, name):
                if name in self._fixed[bind]:
                    yield self._fixed[bind][name], bound
                    return
                number, values_of = self._numbers[bind][name], bound[bind]
                settled = values_of[number]
                if settled is not None:
                    yield settled, bound
                    return
                if self._full(bind, values_of):
                    self.lacking.add(bind)
                for value in self._values[bind]:
                    if value not in values_of:
                        yield value, _extended(bound, bind, number, value)
            case SomeRead(content):
                for inner, outer in self._value(content, bound):
                    yield (inner,), outer
            case ListRead(elements, unordered):
                for items, outer in self.values(elements, bound):
                    yield tuple(sorted(set(items))) if unordered else items, outer
            case _:
                assert_never(read)


def _extended(bound: Bound, bind: int, number: int, value: Value) -> Bound:
    row = bound[bind]
    row = (*row[:number], value, *row[number + 1 :])
    return (*bound[:bind], row, *bound[bind + 1 :])
