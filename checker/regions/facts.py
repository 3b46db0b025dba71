"""Collects the observations of a symbolic constant in a search with terms, and determines the
values that satisfy them.

A term is either a constant or E0 + k. In a run, a term is identified by its value and by whether it
moves with E0. The value of E0 in the run is called the *pilot*, and k is the value of the term
minus the pilot. In a machine type of w bits, E0 + k wraps modulo 2^w; in a range, it does not wrap.

Four kinds of facts are recorded. A comparison or range check keeps its outcome (`Comparison`).
Terms that meet in one field remain different, so that states, messages and elements are equal in
the same cases (`Meeting`); if the language exposes the order of these terms (`Meeting.ordered`),
their order also remains the same. A term that is converted to a wider type keeps the number of
times that it has wrapped in the narrow type (`Widening`). All values of E0 that satisfy these facts
have the same state graph, with other numbers in it. A fact that only holds for the pilot creates a
region with a single value.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from fencepost.spec.records import dataclass
from fencepost.spec.text.problem import Problem

Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""A set of integers, represented by ascending, separate ranges. Both ends of a range are
included.
"""


def holding(low: int, high: int, starts: Iterable[int], test: Callable[[int], bool]) -> Ranges:
    """Returns the numbers in ``low..high`` that satisfy ``test``. The result of ``test`` may only
    change at ``starts``.
    """
    ranges: list[tuple[int, int]] = []
    inner = sorted({start for start in starts if low < start <= high})
    for first, end in zip([low, *inner], [*inner, high + 1], strict=True):
        if test(first):
            if ranges and ranges[-1][1] == first - 1:
                ranges[-1] = ranges[-1][0], end - 1
            else:
                ranges.append((first, end - 1))
    return tuple(ranges)


def common(left: Ranges, right: Ranges) -> Ranges:
    """Returns the intersection of two sets."""
    ranges: list[tuple[int, int]] = []
    i = j = 0
    while i < len(left) and j < len(right):
        low, high = max(left[i][0], right[j][0]), min(left[i][1], right[j][1])
        if low <= high:
            ranges.append((low, high))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return tuple(ranges)


def without(ranges: Ranges, numbers: Iterable[int]) -> Ranges:
    """Removes some numbers from a set."""
    if not ranges:
        return ()
    rest: list[tuple[int, int]] = []
    holes = sorted(set(numbers))
    index = 0
    for low, high in ranges:
        while index < len(holes) and holes[index] < low:
            index += 1
        while index < len(holes) and holes[index] <= high:
            if low < holes[index]:
                rest.append((low, holes[index] - 1))
            low = holes[index] + 1
            index += 1
        if low <= high:
            rest.append((low, high))
    return tuple(rest)


def beyond(left: Ranges, right: Ranges) -> Ranges:
    """Returns the difference of two sets."""
    ranges: list[tuple[int, int]] = []
    for first, last in left:
        low = first
        for start, end in right:
            if start > last:
                break
            if end >= low:
                if low < start:
                    ranges.append((low, start - 1))
                low = end + 1
        if low <= last:
            ranges.append((low, last))
    return tuple(ranges)


def size(ranges: Ranges) -> int:
    """Returns the number of elements in a set."""
    return sum(high - low + 1 for low, high in ranges)


def contains(ranges: Ranges, number: int) -> bool:
    return any(low <= number <= high for low, high in ranges)


def united(left: Ranges, right: Ranges) -> Ranges:
    """Returns the union of two sets."""
    ranges: list[tuple[int, int]] = []
    for low, high in sorted([*left, *right]):
        if ranges and low <= ranges[-1][1] + 1:
            ranges[-1] = ranges[-1][0], max(ranges[-1][1], high)
        else:
            ranges.append((low, high))
    return tuple(ranges)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of two integers by ``operator``, which is ``==``, ``<`` or ``<=``. The observed
    data are the value of the left integer, whether it moves, and the same for the right integer.
    """

    operator: str
    bits: int | None


@dataclass(frozen=True, slots=True)
class Meeting:
    """An integer that is stored in a field. The observed data are its value and whether it
    moves.
    """

    field: int
    bits: int | None
    ordered: bool


@dataclass(frozen=True, slots=True)
class Widening:
    """A term of ``bits`` bits that is converted to a wider type. The observed data are its
    value.
    """

    bits: int


@dataclass(frozen=True, slots=True)
class Refused:
    """An operation that a search with terms does not support."""

    problem: Problem


Seen: TypeAlias = Comparison | Meeting | Widening | Refused
Observed: TypeAlias = Mapping[int, Iterable[tuple[int, ...]]]
"""The observed data, by the number of the kind of observation."""


@dataclass(frozen=True, slots=True)
class Term:
    """A constant ``number`` or, if it ``moves``, the term E0 + ``number``. The term has ``bits``
    bits, or is unbounded if that is None.
    """

    number: int
    moves: bool
    bits: int | None

    def at(self, value: int) -> int:
        """Returns the value of the term for a value of E0."""
        if not self.moves:
            return self.number
        return wrapped(value + self.number, self.bits)

    def turns(self, low: int, high: int) -> Iterator[int]:
        """Yields the values of E0 in ``low..high`` at which the term wraps once more."""
        if self.moves and self.bits is not None:
            yield from _congruent(-(1 << (self.bits - 1)) - self.number, self.bits, low, high)

    def reaching(self, worth: int, low: int, high: int) -> Iterator[int]:
        """Yields the values of E0 in ``low..high`` that give the term the value ``worth``."""
        if not self.moves:
            return
        start = worth - self.number
        if self.bits is None:
            if low <= start <= high:
                yield start
        else:
            yield from _congruent(start, self.bits, low, high)


def wrapped(number: int, bits: int | None) -> int:
    """Reduces a number to a machine integer of ``bits`` bits."""
    if bits is None:
        return number
    half = 1 << (bits - 1)
    return ((number + half) & (2 * half - 1)) - half


def _congruent(start: int, bits: int, low: int, high: int) -> Iterator[int]:
    """Yields the numbers in ``low..high`` that differ from ``start`` by multiples of 2^bits."""
    step = 1 << bits
    yield from range(low + (start - low) % step, high + 1, step)


def term_of(worth: int, moves: bool, pilot: int, bits: int | None) -> Term:
    """Returns the term that has the value ``worth`` in a run with this pilot."""
    return Term(wrapped(worth - pilot, bits) if moves else worth, moves, bits)


class Coincidence(Exception):
    """Signals that two different terms in a field have the same value, so that the run is
    inconclusive.
    """


def region(seen: Sequence[Seen], observed: Observed, pilot: int, low: int, high: int) -> Ranges:
    """Returns the values in ``low..high`` that satisfy all observations made with the pilot.

    Raises `Coincidence`.
    """
    ranges: Ranges = ((low, high),)
    for number, values in observed.items():
        match seen[number]:
            case Comparison(operator, bits):
                for x, x_moves, y, y_moves in values:
                    left = term_of(x, bool(x_moves), pilot, bits)
                    right = term_of(y, bool(y_moves), pilot, bits)
                    ranges = common(ranges, comparison(operator, left, right, pilot, low, high))
            case Meeting(bits=bits, ordered=ordered):
                terms = {term_of(worth, bool(moves), pilot, bits) for worth, moves in values}
                ranges = apart(ranges, terms, pilot, low, high)
                if ordered:
                    ranges = in_order(ranges, terms, pilot, low, high)
            case Widening(bits):
                for (worth,) in values:
                    ranges = common(ranges, same_turn(worth, bits, pilot, low, high))
            case Refused():
                pass
    return ranges


def comparison(operator: str, left: Term, right: Term, pilot: int, low: int, high: int) -> Ranges:
    """Returns the values that give a comparison the same outcome as the pilot."""

    def outcome(value: int) -> bool:
        a, b = left.at(value), right.at(value)
        return a == b if operator == "==" else a < b or (operator == "<=" and a == b)

    if left.moves and right.moves and left.number == right.number:
        return ((low, high),)
    starts = [*left.turns(low, high), *right.turns(low, high)]
    for moving, fixed in ((left, right), (right, left)):
        if moving.moves and not fixed.moves:
            for equal in moving.reaching(fixed.number, low, high):
                starts += [equal, equal + 1]
    expected = outcome(pilot)
    return holding(low, high, starts, lambda value: outcome(value) is expected)


def apart(ranges: Ranges, terms: Iterable[Term], pilot: int, low: int, high: int) -> Ranges:
    """Returns the values that keep different terms in one field different. Raises `Coincidence`."""
    moving = [term for term in terms if term.moves]
    fixed = [term for term in terms if not term.moves]
    equal: set[int] = set()
    for term in moving:
        for other in fixed:
            equal.update(term.reaching(other.number, low, high))
    if pilot in equal:
        raise Coincidence
    return without(ranges, equal)


def in_order(ranges: Ranges, terms: Iterable[Term], pilot: int, low: int, high: int) -> Ranges:
    """Returns the values that keep the terms in one field in the same order as the pilot."""
    ascending = sorted(terms, key=lambda term: term.at(pilot))
    for less, greater in itertools.pairwise(ascending):
        ranges = common(ranges, comparison("<", less, greater, pilot, low, high))
    return ranges


def same_turn(worth: int, bits: int, pilot: int, low: int, high: int) -> Ranges:
    """Returns the values of E0 that keep the difference between a term and E0. The term may wrap,
    but must wrap the same number of times.
    """
    term = term_of(worth, True, pilot, bits)
    beyond = worth - pilot
    starts = term.turns(low, high)
    return holding(low, high, starts, lambda value: term.at(value) - value == beyond)
