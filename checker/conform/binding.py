"""Names of the real system and the model values that they stand for, one to one.

A *binding* says what each name of a history stands for, as far as a run has settled that.
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
"""For each declared binding what its names stand for, in the order of `Names`; None: not known."""


@dataclass(frozen=True, slots=True)
class Known:
    """A value that the line gives."""

    value: Value


@dataclass(frozen=True, slots=True)
class Called:
    """A name of binding ``bind``."""

    bind: int
    name: Name


@dataclass(frozen=True, slots=True)
class Present:
    """An option that is not none."""

    content: Read


@dataclass(frozen=True, slots=True)
class Listed:
    """Elements, in order or (``unordered``) as a set, no two the same."""

    elements: tuple[Read, ...]
    unordered: bool


Read: TypeAlias = Known | Called | Present | Listed
"""What a field of a line says."""


def names_in(read: Read) -> Iterator[Called]:
    """The names in what a field says."""
    match read:
        case Known():
            return
        case Called():
            yield read
        case Present(content):
            yield from names_in(content)
        case Listed(elements):
            for element in elements:
                yield from names_in(element)
        case _:
            assert_never(read)


class Names:
    """The names of one history, and what they can stand for.

    ``lacking`` are the bindings for which a run would have needed one more value.
    """

    def __init__(self, declared: Sequence[Declared], called: Iterator[Called]) -> None:
        found: list[set[Name]] = [set() for _ in declared]
        for one in called:
            found[one.bind].add(one.name)
        self.lacking: set[int] = set()
        self._fixed: list[Mapping[Name, Value]] = [dict(one.fixed) for one in declared]
        self.names = [
            sorted(names - fixed.keys(), key=lambda name: (isinstance(name, str), name))
            for names, fixed in zip(found, self._fixed, strict=True)
        ]
        self._numbers = [{name: n for n, name in enumerate(names)} for names in self.names]
        # Only types that some name stands for are gone through.
        self._values = [
            tuple(values(one.type)) if names else ()
            for one, names in zip(declared, self.names, strict=True)
        ]
        self.start: Bound = tuple((None,) * len(names) for names in self.names)

    def shown(self, bind: int, value: Value, bound: Bound) -> Name | None:
        """The name that stands for a value, if there is one."""
        for name, fixed in self._fixed[bind].items():
            if fixed == value:
                return name
        known = bound[bind]
        return self.names[bind][known.index(value)] if value in known else None

    def settled(self, reads: Sequence[Read], bound: Bound) -> tuple[Value, ...] | None:
        """What the fields of an event stand for, where a binding leaves nothing open: `values`
        finds that alone, and `fits` nothing else. None: it leaves something open.
        """
        found: list[Value] = []
        for read in reads:
            value = read.value if isinstance(read, Known) else self._settled(read, bound)
            if value is None:
                return None
            found.append(value)
        return tuple(found)

    def _settled(self, read: Read, bound: Bound) -> Value | None:
        match read:
            case Known(value):
                return value
            case Called(bind, name):
                number = self._numbers[bind].get(name)
                return self._fixed[bind][name] if number is None else bound[bind][number]
            case Present(content):
                inner = self._settled(content, bound)
                return None if inner is None else (inner,)
            case Listed(elements, unordered):
                items = self.settled(elements, bound)
                if items is None or not unordered:
                    return items
                # Two names that are fixed to one value stand for a set that nothing shows.
                one_each = tuple(sorted(set(cast("tuple[int, ...]", items))))
                return one_each if len(one_each) == len(items) else None
            case _:
                assert_never(read)

    def fits(self, read: Read, value: Value, bound: Bound) -> Iterator[Bound]:
        """The bindings, extended where need be, by which what is read is ``value``."""
        match read, value:
            case Known(known), _:
                if known == value:
                    yield bound
            case Called(bind, name), _:
                yield from self._called(bind, name, value, bound)
            case Present(content), (inner,):
                yield from self.fits(content, inner, bound)
            case Listed(elements, unordered), tuple():
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
        number, known = self._numbers[bind][name], bound[bind]
        if known[number] is not None:
            if known[number] == value:
                yield bound
        elif value not in known:
            yield _extended(bound, bind, number, value)
        elif self._full(bind, known):
            self.lacking.add(bind)

    def _full(self, bind: int, known: tuple[Value | None, ...]) -> bool:
        return sum(one is not None for one in known) >= len(self._values[bind])

    def _listed(
        self, elements: tuple[Read, ...], items: tuple[Value, ...], unordered: bool, bound: Bound
    ) -> Iterator[Bound]:
        if not elements:
            yield bound
            return
        for place, item in enumerate(items if unordered else items[:1]):
            rest = items[:place] + items[place + 1 :]
            for one in self.fits(elements[0], item, bound):
                yield from self._listed(elements[1:], rest, unordered, one)

    def ways(self, reads: Sequence[Read], bound: Bound) -> int:
        """How many `values` finds. Where values are lacking it finds none, having tried many."""
        found = {one for read in reads for one in names_in(read)}
        count = 1
        for bind, known in enumerate(bound):
            numbers = self._numbers[bind]
            new = [one for one in found if one.bind == bind and one.name in numbers]
            unsettled = sum(known[numbers[one.name]] is None for one in new)
            free = len(self._values[bind]) - len(known) + known.count(None)
            if unsettled > free:
                self.lacking.add(bind)
            count *= perm(free, unsettled)
        return count

    def values(
        self, reads: Sequence[Read], bound: Bound
    ) -> Iterator[tuple[tuple[Value, ...], Bound]]:
        """What the fields of an event may stand for: a name that is not settled, for any value
        that is free.
        """
        if not reads:
            yield (), bound
            return
        for first, inner in self._value(reads[0], bound):
            for rest, outer in self.values(reads[1:], inner):
                yield (first, *rest), outer

    def _value(self, read: Read, bound: Bound) -> Iterator[tuple[Value, Bound]]:
        match read:
            case Known(value):
                yield value, bound
            case Called(bind, name):
                if name in self._fixed[bind]:
                    yield self._fixed[bind][name], bound
                    return
                number, known = self._numbers[bind][name], bound[bind]
                settled = known[number]
                if settled is not None:
                    yield settled, bound
                    return
                if self._full(bind, known):
                    self.lacking.add(bind)
                for value in self._values[bind]:
                    if value not in known:
                        yield value, _extended(bound, bind, number, value)
            case Present(content):
                for inner, outer in self._value(content, bound):
                    yield (inner,), outer
            case Listed(elements, unordered):
                for items, outer in self.values(elements, bound):
                    yield tuple(sorted(set(items))) if unordered else items, outer
            case _:
                assert_never(read)


def _extended(bound: Bound, bind: int, number: int, value: Value) -> Bound:
    row = bound[bind]
    row = (*row[:number], value, *row[number + 1 :])
    return (*bound[:bind], row, *bound[bind + 1 :])
