"""The automaton of a formula's negation: what a behaviour that violates it does, state by state.

It is a tableau: a node says which predicates are true or false now, which node may come next, and
which promises ("some day") it does not put off. A behaviour violates the formula exactly if there
is a run of nodes along it in which no promise is put off from some state on. Since no formula can
tell a behaviour from the same one with states repeated, a run may as well stay in a state for a
while. There is one translation, and it is deterministic, so that every engine has the same nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, assert_never

from fencepost.spec.core import formulas
from fencepost.spec.core.formulas import Formula
from fencepost.spec.records import dataclass

MOST_NODES = 2_000
"""An automaton with more nodes is too large to be of use."""


class TooLarge(Exception):
    """The automaton of the formula has more than `MOST_NODES` nodes."""


@dataclass(frozen=True, slots=True)
class Node:
    """``requires``: the predicates that must be true or false now, by number. ``successors``: the
    nodes that may come next, in this state or the one after it. ``puts_off``: the promises that are
    put off here.
    """

    requires: tuple[tuple[int, bool], ...]
    successors: tuple[int, ...]
    puts_off: frozenset[int]

    def allows(self, truth: Sequence[bool] | dict[int, bool]) -> bool:
        """Whether a state in which the predicates have these values meets what it requires."""
        return all(truth[number] is value for number, value in self.requires)


@dataclass(frozen=True, slots=True)
class Automaton:
    """``initial`` are the nodes for a first state; promises are numbered from 0."""

    nodes: tuple[Node, ...]
    initial: tuple[int, ...]
    promises: int

    @property
    def predicates(self) -> tuple[int, ...]:
        """The numbers of the predicates on which it depends, ascending."""
        return tuple(sorted({number for node in self.nodes for number, _ in node.requires}))


# ---------------------------------------------------------------- normal form


@dataclass(frozen=True, slots=True)
class _Literal:
    predicate: int
    positive: bool


@dataclass(frozen=True, slots=True)
class _All:
    parts: tuple[_Normal, ...]


@dataclass(frozen=True, slots=True)
class _Any:
    parts: tuple[_Normal, ...]


@dataclass(frozen=True, slots=True)
class _Until:
    """``right`` some day, and ``left`` till then: a promise."""

    left: _Normal
    right: _Normal


@dataclass(frozen=True, slots=True)
class _Release:
    """``right`` until ``left`` holds as well, or for ever."""

    left: _Normal
    right: _Normal


_Normal: TypeAlias = _Literal | _All | _Any | _Until | _Release

_TRUE, _FALSE = _All(()), _Any(())


def _normal(formula: Formula, truth: bool) -> _Normal:
    """``formula``, or (``truth`` false) its negation, with negations at predicates only."""
    match formula:
        case formulas.Holds(number):
            return _Literal(number, truth)
        case formulas.Chosen(body=body):
            return _normal(body, truth)
        case formulas.Not(operand):
            return _normal(operand, not truth)
        case formulas.And(parts):
            return _joined(_All if truth else _Any, [_normal(part, truth) for part in parts])
        case formulas.Or(parts):
            return _joined(_Any if truth else _All, [_normal(part, truth) for part in parts])
        case formulas.Implies(left, right):
            sides = [_normal(left, not truth), _normal(right, truth)]
            return _joined(_Any if truth else _All, sides)
        case formulas.Iff(left, right):
            both = _joined(_All, [_normal(left, True), _normal(right, truth)])
            neither = _joined(_All, [_normal(left, False), _normal(right, not truth)])
            return _joined(_Any, [both, neither])
        case formulas.Always(operand) if truth:
            return _Release(_FALSE, _normal(operand, True))
        case formulas.Always(operand):
            return _Until(_TRUE, _normal(operand, False))
        case formulas.Eventually(operand) if truth:
            return _Until(_TRUE, _normal(operand, True))
        case formulas.Eventually(operand):
            return _Release(_FALSE, _normal(operand, False))
        case formulas.Until(left, right) if truth:
            return _Until(_normal(left, True), _normal(right, True))
        case formulas.Until(left, right):
            return _Release(_normal(left, False), _normal(right, False))
        case formulas.LeadsTo(left, right):
            response = formulas.Implies(left, formulas.Eventually(right))
            return _normal(formulas.Always(response), truth)
        case _:
            assert_never(formula)


def _joined(kind: type[_All] | type[_Any], parts: Sequence[_Normal]) -> _Normal:
    """Several parts as one, those of its own kind written flat and none twice."""
    flat: dict[_Normal, None] = {}
    for part in parts:
        match part:
            case _All(inner) | _Any(inner) if isinstance(part, kind):
                flat.update(dict.fromkeys(inner))
            case _All(()) | _Any(()):
                # True among the parts of "any", or false among those of "all", decides.
                return part
            case _:
                flat[part] = None
    return next(iter(flat)) if len(flat) == 1 else kind(tuple(flat))


# ---------------------------------------------------------------- the tableau


@dataclass(frozen=True, slots=True)
class _Way:
    """One way to meet some formulas: what must be true now, what is left for the next state, and
    the promises that are put off.
    """

    requires: frozenset[tuple[int, bool]]
    rest: frozenset[_Normal]
    puts_off: frozenset[_Normal]

    def covers(self, other: _Way) -> bool:
        """Whether a behaviour that goes the ``other`` way can go this one as well."""
        return (
            self.requires <= other.requires
            and self.rest <= other.rest
            and self.puts_off <= other.puts_off
        )


def _ways(demands: frozenset[_Normal], pause: Callable[[], None]) -> list[_Way]:
    """The ways to meet some formulas, in a fixed order, without those that another one covers."""
    found: list[_Way] = []
    start = _Way(frozenset(), frozenset(), frozenset())
    _follow(sorted(demands, key=repr), start, found, pause)
    distinct = list(dict.fromkeys(found))
    kept: list[_Way] = []
    for way in distinct:
        pause()
        if not any(other is not way and other.covers(way) for other in distinct):
            kept.append(way)
    return kept


def _follow(
    demands: list[_Normal], way: _Way, found: list[_Way], pause: Callable[[], None]
) -> None:
    pause()
    if not demands:
        found.append(way)
        return
    first, *others = demands

    def go(*more: _Normal, rest: _Normal | None = None, put_off: _Normal | None = None) -> None:
        left = way.rest if rest is None else way.rest | {rest}
        off = way.puts_off if put_off is None else way.puts_off | {put_off}
        _follow([*more, *others], _Way(way.requires, left, off), found, pause)

    match first:
        case _Literal(predicate, positive):
            if (predicate, not positive) not in way.requires:
                requires = way.requires | {(predicate, positive)}
                _follow(others, _Way(requires, way.rest, way.puts_off), found, pause)
        case _All(parts):
            go(*parts)
        case _Any(parts):
            for part in parts:
                go(part)
        case _Until(left, right):
            go(right)
            if isinstance(right, _Literal) and _Release(_FALSE, first) in way.rest:
                # It is promised anew: where it can be had now, putting it off gains nothing.
                left = _joined(_All, [_Literal(right.predicate, not right.positive), left])
            go(left, rest=first, put_off=first)
        case _Release(left, right):
            go(right, left)
            go(right, rest=first)
        case _:
            assert_never(first)


def violating(formula: Formula, pause: Callable[[], None] = lambda: None) -> Automaton:
    """The automaton of the behaviours that violate a formula. Calls ``pause`` often, which may
    raise. Raises `TooLarge`.
    """
    first = frozenset([_normal(formula, False)])
    known: dict[frozenset[_Normal], list[_Way]] = {}
    numbers: dict[_Way, int] = {}
    order: list[_Way] = []

    def enter(demands: frozenset[_Normal]) -> tuple[int, ...]:
        if demands not in known:
            known[demands] = _ways(demands, pause)
        for way in known[demands]:
            if way not in numbers:
                numbers[way] = len(order)
                order.append(way)
                if len(order) > MOST_NODES:
                    raise TooLarge
        return tuple(sorted(numbers[way] for way in known[demands]))

    initial = enter(first)
    successors: list[tuple[int, ...]] = []
    for way in order:  # It grows on the way.
        successors.append(enter(way.rest))
    promises = {one: number for number, one in enumerate(dict.fromkeys(_promises(order)))}
    nodes = tuple(
        Node(
            tuple(sorted(way.requires)),
            following,
            frozenset(promises[one] for one in way.puts_off),
        )
        for way, following in zip(order, successors, strict=True)
    )
    return Automaton(nodes, initial, len(promises))


def _promises(order: Sequence[_Way]) -> list[_Normal]:
    return [one for way in order for one in sorted(way.puts_off, key=repr)]
