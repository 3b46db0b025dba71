"""Shortest paths of pairs, and the cycle of a lasso that is made of them.

A *pair* is a state and a node of an automaton. Moves that leave the state as it is cost nothing. It
does not know where pairs come from, nor how a fair component is found. The way round it is decided
by `Round`, for states as for numbers that stand for them; `Walk` finds its parts among states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, Protocol, TypeAlias, TypeVar

from fencepost.checker.temporal.automaton import Automaton
from fencepost.checker.temporal.units import Unit
from fencepost.spec.core.types import State
from fencepost.spec.records import dataclass

Pair: TypeAlias = tuple[State, int]
S = TypeVar("S")
"""A state, or what stands for one."""
U = TypeVar("U")
"""A unit of fairness, or what stands for one."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A step to another state: where it leads, and the units for which it counts."""

    to: Pair
    units: frozenset[Unit]


class Moves(Protocol):
    """The moves of pairs, ascending: within one state, and to others."""

    def stays(self, pair: Pair) -> Sequence[Pair]: ...
    def edges(self, pair: Pair) -> Sequence[Edge]: ...


class Tree:
    """What can be reached from some pairs, layer by layer: the pairs of layer N take N steps.

    ``before`` is the pair through which each one was found first: pairs are gone through in
    ascending order, and what they lead to while the state stays comes behind them.
    """

    def __init__(self, moves: Moves, roots: Iterable[Pair]) -> None:
        self._moves = moves
        self.before: dict[Pair, Pair | None] = dict.fromkeys(sorted(roots))
        self.last = self._closed(list(self.before))

    def grow(self) -> bool:
        """Adds a layer; whether there is one."""
        fresh: dict[Pair, Pair] = {}
        for pair in self.last:
            for edge in self._moves.edges(pair):
                if edge.to not in self.before:
                    fresh.setdefault(edge.to, pair)
        self.before.update(fresh)
        self.last = self._closed(sorted(fresh))
        return bool(self.last)

    def _closed(self, layer: list[Pair]) -> list[Pair]:
        for pair in layer:  # It grows on the way.
            for after in self._moves.stays(pair):
                if after not in self.before:
                    self.before[after] = pair
                    layer.append(after)
        return sorted(layer)

    def path(self, end: Pair) -> list[Pair]:
        """The pairs from a root to ``end``, both included."""
        found: list[Pair] = []
        one: Pair | None = end
        while one is not None:
            found.append(one)
            one = self.before[one]
        found.reverse()
        return found


def path_to(moves: Moves, roots: Iterable[Pair], end: Pair) -> list[Pair]:
    """The shortest path from one of some pairs to ``end``, which there is."""
    tree = Tree(moves, roots)
    while end not in tree.before:
        grown = tree.grow()
        assert grown, f"nothing leads to {end}"
    return tree.path(end)


@dataclass(frozen=True, slots=True)
class Owed(Generic[U]):
    """What is owed on the way round a fair component: a promise until a node does not put it off; a
    weak unit until a step counts for it or it is not possible in a state; a strong unit that was
    possible in a state, until a step counts for it; and a condition that was asked for in a state,
    until a state meets it.
    """

    promises: frozenset[int]
    weak: frozenset[U]
    strong: frozenset[U]
    conditions: frozenset[int]

    def __bool__(self) -> bool:
        return bool(self.promises or self.weak or self.strong or self.conditions)


class Inside(Protocol[S, U]):
    """A fair component: the units that are possible in a state, the conditions that a state asks
    for and those that it meets, the units for which a move within the component counts, the
    shortest path behind a pair to the nearest step or pair that meets something that is owed, the
    least of them, and the shortest one, of one move at least, to another pair.
    """

    def possible(self, state: S, /) -> frozenset[U]: ...
    def conditions(self, state: S, /) -> tuple[frozenset[int], frozenset[int]]: ...
    def counts(self, before: tuple[S, int], after: tuple[S, int], /) -> frozenset[U]: ...
    def nearest(self, start: tuple[S, int], owed: Owed[U], /) -> Sequence[tuple[S, int]]: ...
    def home(self, pair: tuple[S, int], start: tuple[S, int], /) -> Sequence[tuple[S, int]]: ...


class Round(Generic[S, U]):
    """The way round a fair component; ``strong`` tells which units are."""

    def __init__(
        self, inside: Inside[S, U], automaton: Automaton, strong: Callable[[U], bool]
    ) -> None:
        self._inside = inside
        self._nodes = automaton.nodes
        self._is_strong = strong
        self._promises = set(range(automaton.promises))
        self._weak: set[U] = set()
        self._strong: set[U] = set()
        self._taken: set[U] = set()
        self._asked: set[int] = set()
        self._met: set[int] = set()

    def cycle(self, start: tuple[S, int]) -> list[S]:
        """The states behind ``start`` on the way round and back to it; none where it can stay.

        It goes on to the nearest step or pair that meets something that is owed, until nothing is;
        then back, and on again if that made something owed.
        """
        made = [start]
        self._weak = {one for one in self._inside.possible(start[0]) if not self._is_strong(one)}
        self._visit(start)
        while True:
            while owed := self._owed():
                made += self._gone(made[-1], self._inside.nearest(made[-1], owed))
            if len(made) > 1 and made[-1] == start:
                break
            made += self._gone(made[-1], self._inside.home(made[-1], start))
        states = [made[0][0]]
        for state, _ in made[1:]:
            if state != states[-1]:
                states.append(state)
        return states[1:]

    def _owed(self) -> Owed[U]:
        return Owed(
            frozenset(self._promises),
            frozenset(self._weak),
            frozenset(self._strong),
            frozenset(self._asked - self._met),
        )

    def _visit(self, pair: tuple[S, int]) -> None:
        state, node = pair
        self._promises &= self._nodes[node].puts_off
        asks, meets = self._inside.conditions(state)
        self._asked |= asks
        self._met |= meets
        possible = self._inside.possible(state)
        self._weak &= possible
        self._strong |= {one for one in possible - self._taken if self._is_strong(one)}

    def _gone(self, start: tuple[S, int], path: Sequence[tuple[S, int]]) -> Sequence[tuple[S, int]]:
        """Takes into account that it goes from ``start`` along a path, which is returned."""
        for before, after in zip([start, *path], path, strict=False):
            self._taken |= self._inside.counts(before, after)
            self._weak -= self._taken
            self._strong -= self._taken
            self._visit(after)
        return path


class States(Protocol):
    """The units that are possible in each state, and the conditions that it asks for and meets."""

    asks: dict[State, frozenset[int]]
    meets: dict[State, frozenset[int]]

    def possible(self, state: State, /) -> frozenset[Unit]: ...


class Walk:
    """What `Round` asks of a component whose ``moves`` are those of states."""

    def __init__(self, moves: Moves, automaton: Automaton, states: States) -> None:
        self._moves = moves
        self._nodes = automaton.nodes
        self._states = states
        self.possible = states.possible

    def conditions(self, state: State) -> tuple[frozenset[int], frozenset[int]]:
        """The conditions that a state asks for, and those that it meets."""
        return self._states.asks[state], self._states.meets[state]

    def counts(self, before: Pair, after: Pair) -> frozenset[Unit]:
        """The units for which a step counts that leads from a pair to another."""
        edges = self._moves.edges(before)
        return frozenset(unit for edge in edges if edge.to == after for unit in edge.units)

    def _serves(self, pair: Pair, owed: Owed[Unit]) -> bool:
        state, node = pair
        return (
            not owed.promises <= self._nodes[node].puts_off
            or not owed.weak <= self.possible(state)
            or not owed.conditions.isdisjoint(self._states.meets[state])
        )

    def nearest(self, start: Pair, owed: Owed[Unit]) -> list[Pair]:
        """The path behind ``start`` to what meets something that is owed."""
        tree = Tree(self._moves, [start])
        units = owed.weak | owed.strong
        there = min((pair for pair in tree.last if self._serves(pair, owed)), default=None)
        while there is None:
            before = tree.last
            grown = tree.grow()
            steps = [
                (edge.to, pair)
                for pair in before
                for edge in self._moves.edges(pair)
                if not units.isdisjoint(edge.units)
            ]
            assert grown or steps, "what is owed cannot be had"
            there = min((pair for pair in tree.last if self._serves(pair, owed)), default=None)
            taken = min(steps, default=None)
            if taken is not None and (there is None or taken[0] < there):
                return [*tree.path(taken[1])[1:], taken[0]]
        return tree.path(there)[1:]

    def home(self, pair: Pair, start: Pair) -> list[Pair]:
        """The shortest path behind ``pair`` to ``start``, of one move at least."""
        if pair != start:
            return path_to(self._moves, [pair], start)[1:]
        tree = Tree(self._moves, [pair])
        while True:
            closing = [one for one in tree.last if start in self._moves.stays(one)]
            if not closing:
                closing = [
                    one
                    for one in tree.last
                    if any(edge.to == start for edge in self._moves.edges(one))
                ]
            if closing:
                return [*tree.path(closing[0])[1:], start]
            grown = tree.grow()
            assert grown, "nothing leads back"
