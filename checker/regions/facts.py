"""What a search with terms has seen of its symbolic constant, and for which values it holds.

A term is a constant, or E0 + k. In a run it is known by what it is worth there and whether it moves
with E0: k is what it is worth less E0's own value in this run, the *pilot*. At a machine type of w
bits E0 + k wraps modulo 2^w, in a range it does not.

Four kinds of facts are recorded. A comparison or range check keeps its outcome (`Compared`). All
that ever met in one field stays different, so that what is one state, message or element stays
one (`Met`); where the language shows their order (`Met.ordered`), that stays, too. A term that
went on in a wider type stays in the same turn of the narrow one (`Widened`). The values of E0 for
which all of that holds have the same state graph, with other numbers in it. A fact that holds for
the pilot alone makes a region of one value.

It does not know models.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from fencepost.checker.regions.ranges import Ranges, common, holding, without
from fencepost.spec.records import dataclass
from fencepost.spec.text.problem import Problem


@dataclass(frozen=True, slots=True)
class Compared:
    """Two integers were compared by ``operator``: ``==``, ``<`` or ``<=``. Observed: what the left
    one is worth, whether it moves, and the same of the right one.
    """

    operator: str
    bits: int | None


@dataclass(frozen=True, slots=True)
class Met:
    """An integer came into a field. Observed: what it is worth, and whether it moves."""

    field: int
    bits: int | None
    ordered: bool


@dataclass(frozen=True, slots=True)
class Widened:
    """A term of ``bits`` bits went on in a wider type. Observed: what it is worth."""

    bits: int


@dataclass(frozen=True, slots=True)
class Refused:
    """Something came up that such a search does not do."""

    problem: Problem


Seen: TypeAlias = Compared | Met | Widened | Refused
Observed: TypeAlias = Mapping[int, Iterable[tuple[int, ...]]]
"""By the number of the kind of observation: the values that were observed."""


@dataclass(frozen=True, slots=True)
class Term:
    """A constant, or (``moves``) E0 + ``number``; of ``bits`` bits, or (None) of any size."""

    number: int
    moves: bool
    bits: int | None

    def at(self, value: int) -> int:
        """What it is worth where E0 has a value."""
        if not self.moves:
            return self.number
        return wrapped(value + self.number, self.bits)

    def turns(self, low: int, high: int) -> Iterator[int]:
        """The values of E0 in ``low..high`` from which on it wraps once more."""
        if self.moves and self.bits is not None:
            yield from _congruent(-(1 << (self.bits - 1)) - self.number, self.bits, low, high)

    def reaching(self, worth: int, low: int, high: int) -> Iterator[int]:
        """The values of E0 in ``low..high`` for which it is worth ``worth``."""
        if not self.moves:
            return
        start = worth - self.number
        if self.bits is None:
            if low <= start <= high:
                yield start
        else:
            yield from _congruent(start, self.bits, low, high)


def wrapped(number: int, bits: int | None) -> int:
    """A number as a machine integer of ``bits`` bits."""
    if bits is None:
        return number
    half = 1 << (bits - 1)
    return ((number + half) & (2 * half - 1)) - half


def _congruent(start: int, bits: int, low: int, high: int) -> Iterator[int]:
    """The numbers of ``low..high`` that differ from ``start`` by multiples of 2^bits."""
    step = 1 << bits
    yield from range(low + (start - low) % step, high + 1, step)


def term_of(worth: int, moves: bool, pilot: int, bits: int | None) -> Term:
    """The term that is worth ``worth`` in a run with this pilot."""
    return Term(wrapped(worth - pilot, bits) if moves else worth, moves, bits)


class Coincidence(Exception):
    """Two terms of a field are different and worth the same: this run says nothing."""


def region(seen: Sequence[Seen], observed: Observed, pilot: int, low: int, high: int) -> Ranges:
    """The values of ``low..high`` for which all that was observed with the pilot holds as well.

    Raises `Coincidence`.
    """
    ranges: Ranges = ((low, high),)
    for number, values in observed.items():
        match seen[number]:
            case Compared(operator, bits):
                for x, x_moves, y, y_moves in values:
                    left = term_of(x, bool(x_moves), pilot, bits)
                    right = term_of(y, bool(y_moves), pilot, bits)
                    ranges = common(ranges, comparison(operator, left, right, pilot, low, high))
            case Met(bits=bits, ordered=ordered):
                terms = {term_of(worth, bool(moves), pilot, bits) for worth, moves in values}
                ranges = apart(ranges, terms, pilot, low, high)
                if ordered:
                    ranges = in_order(ranges, terms, pilot, low, high)
            case Widened(bits):
                for (worth,) in values:
                    ranges = common(ranges, same_turn(worth, bits, pilot, low, high))
            case Refused():
                pass
    return ranges


def comparison(operator: str, left: Term, right: Term, pilot: int, low: int, high: int) -> Ranges:
    """Where a comparison comes out as it does with the pilot."""

    def outcome(value: int) -> bool:
        a, b = left.at(value), right.at(value)
        return a == b if operator == "==" else a < b or (operator == "<=" and a == b)

    if left.moves and right.moves and left.number == right.number:
        return ((low, high),)
    starts = [*left.turns(low, high), *right.turns(low, high)]
    for one, other in ((left, right), (right, left)):
        if one.moves and not other.moves:
            for equal in one.reaching(other.number, low, high):
                starts += [equal, equal + 1]
    wanted = outcome(pilot)
    return holding(low, high, starts, lambda value: outcome(value) is wanted)


def apart(ranges: Ranges, terms: Iterable[Term], pilot: int, low: int, high: int) -> Ranges:
    """Where different terms of one field are worth different numbers. Raises `Coincidence`."""
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
    """Where the terms of one field stand in the same order as with the pilot."""
    ascending = sorted(terms, key=lambda term: term.at(pilot))
    for one, other in itertools.pairwise(ascending):
        ranges = common(ranges, comparison("<", one, other, pilot, low, high))
    return ranges


def same_turn(worth: int, bits: int, pilot: int, low: int, high: int) -> Ranges:
    """Where a term is worth E0 and what it is worth beyond E0 with the pilot: it may wrap, but as
    often as there.
    """
    term = term_of(worth, True, pilot, bits)
    beyond = worth - pilot
    starts = term.turns(low, high)
    return holding(low, high, starts, lambda value: term.at(value) - value == beyond)
