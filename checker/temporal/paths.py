"""Finds shortest paths of pairs, and composes the cycle of a lasso from them.

A *pair* is a state and a node of an automaton. Moves that do not change the state cost nothing.
`Round` determines the cycle, both for states and for state numbers. `Walk` finds the parts of the
cycle for states.
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
"""A state, or the number of a state."""
U = TypeVar("U")
"""A unit of fairness, or the number of a unit."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A step to another state: the pair that it leads to, and the units that it serves."""

    to: Pair
    units: frozenset[Unit]


class Moves(Protocol):
    """The moves of pairs, in ascending order: those that stay in the same state, and those that
    lead to other states.
    """

    def stays(self, pair: Pair) -> Sequence[Pair]: ...
    def edges(self, pair: Pair) -> Sequence[Edge]: ...


class Tree:
    """The pairs that can be reached from some pairs, layer by layer. Pairs in layer N are reached
    by N steps.

    ``before`` contains the predecessor through which each pair was found first. Pairs are processed
    in ascending order, and each pair is followed by the pairs that it reaches without a change of
    state.
    """

    def __init__(self, moves: Moves, roots: Iterable[Pair]) -> None:
        self._moves = moves
        self.before: dict[Pair, Pair | None] = dict.fromkeys(sorted(roots))
        self.last = self._closed(list(self.before))

    def grow(self) -> bool:
        """Adds a layer. Returns whether the new layer contains any pairs."""
        fresh: dict[Pair, Pair] = {}
        for pair in self.last:
            for edge in self._moves.edges(pair):
                if edge.to not in self.before:
                    fresh.setdefault(edge.to, pair)
        self.before.update(fresh)
        self.last = self._closed(sorted(fresh))
        return bool(self.last)

    def _closed(self, layer: list[Pair]) -> list[Pair]:
        for pair in layer:  # The list grows during the loop.
            for after in self._moves.stays(pair):
                if after not in self.before:
                    self.before[after] = pair
                    layer.append(after)
        return sorted(layer)

    def path(self, end: Pair) -> list[Pair]:
        """Returns the pairs from a root to ``end``, including both."""
        path: list[Pair] = []
        pair: Pair | None = end
        while pair is not None:
            path.append(pair)
            pair = self.before[pair]
        path.reverse()
        return path


def path_to(moves: Moves, roots: Iterable[Pair], end: Pair) -> list[Pair]:
    """Returns the shortest path from one of ``roots`` to ``end``. Such a path must exist."""
    tree = Tree(moves, roots)
    while end not in tree.before:
        grown = tree.grow()
        assert grown, f"nothing leads to {end}"
    return tree.path(end)


@dataclass(frozen=True, slots=True)
class Obligations(Generic[U]):
    """The outstanding obligations on a cycle through a fair component.

    A promise is outstanding until some node does not postpone it. A weak unit is outstanding until
    a step counts for it or it is not possible in some state. A strong unit that was possible in a
    state is outstanding until a step counts for it. A condition that some state asks for is
    outstanding until a state meets it.
    """

    promises: frozenset[int]
    weak: frozenset[U]
    strong: frozenset[U]
    conditions: frozenset[int]

    def __bool__(self) -> bool:
        return bool(self.promises or self.weak or self.strong or self.conditions)


class Inside(Protocol[S, U]):
    """Answers queries about a fair component.

    ``possible`` returns the units that are possible in a state. ``conditions`` returns the
    conditions that a state asks for and those that it meets. ``counts`` returns the units that a
    move within the component serves. ``nearest`` returns the shortest path from a pair to the
    nearest step or pair that meets an obligation, or the least such path. ``home`` returns the
    shortest path, with at least one move, from one pair to another.
    """

    def possible(self, state: S, /) -> frozenset[U]: ...
    def conditions(self, state: S, /) -> tuple[frozenset[int], frozenset[int]]: ...
    def counts(self, before: tuple[S, int], after: tuple[S, int], /) -> frozenset[U]: ...
    def nearest(self, start: tuple[S, int], owed: Obligations[U], /) -> Sequence[tuple[S, int]]: ...
    def home(self, pair: tuple[S, int], start: tuple[S, int], /) -> Sequence[tuple[S, int]]: ...


class Round(Generic[S, U]):
    """Composes the cycle through a fair component. ``strong`` returns whether a unit is strong."""

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
        """Returns the states that follow ``start`` on the cycle, up to and including its return to
        ``start``. The result is empty if the cycle can stutter.

        The path repeatedly takes the shortest way to a step or pair that meets an obligation, until
        no obligation is left. It then returns, and repeats all this if the way back created new
        obligations.
        """
        pairs = [start]
        self._weak = {unit for unit in self._inside.possible(start[0]) if not self._is_strong(unit)}
        self._visit(start)
        while True:
            while owed := self._owed():
                pairs += self._gone(pairs[-1], self._inside.nearest(pairs[-1], owed))
            if len(pairs) > 1 and pairs[-1] == start:
                break
            pairs += self._gone(pairs[-1], self._inside.home(pairs[-1], start))
        states = [pairs[0][0]]
        for state, _ in pairs[1:]:
            if state != states[-1]:
                states.append(state)
        return states[1:]

    def _owed(self) -> Obligations[U]:
        return Obligations(
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
        self._strong |= {unit for unit in possible - self._taken if self._is_strong(unit)}

    def _gone(self, start: tuple[S, int], path: Sequence[tuple[S, int]]) -> Sequence[tuple[S, int]]:
        """Records the moves along a path from ``start``, and returns the path."""
        for before, after in zip([start, *path], path, strict=False):
            self._taken |= self._inside.counts(before, after)
            self._weak -= self._taken
            self._strong -= self._taken
            self._visit(after)
        return path


class States(Protocol):
    """The units that are possible in each state, and the conditions that the state asks for and
    meets.
    """

    asks: dict[State, frozenset[int]]
    meets: dict[State, frozenset[int]]

    def possible(self, state: State, /) -> frozenset[Unit]: ...


class Walk:
    """Implements the queries of `Round` for a component whose ``moves`` are moves between
    states.
    """

    def __init__(self, moves: Moves, automaton: Automaton, states: States) -> None:
        self._moves = moves
        self._nodes = automaton.nodes
        self._states = states
        self.possible = states.possible

    def conditions(self, state: State) -> tuple[frozenset[int], frozenset[int]]:
        """Returns the conditions that a state asks for, and those that it meets."""
        return self._states.asks[state], self._states.meets[state]

    def counts(self, before: Pair, after: Pair) -> frozenset[Unit]:
        """Returns the units that a step from one pair to another serves."""
        edges = self._moves.edges(before)
        return frozenset(unit for edge in edges if edge.to == after for unit in edge.units)

    def _serves(self, pair: Pair, owed: Obligations[Unit]) -> bool:
        state, node = pair
        return (
            not owed.promises <= self._nodes[node].puts_off
            or not owed.weak <= self.possible(state)
            or not owed.conditions.isdisjoint(self._states.meets[state])
        )

    def nearest(self, start: Pair, owed: Obligations[Unit]) -> list[Pair]:
        """Returns the path from ``start`` to the nearest step or pair that meets an obligation."""
        tree = Tree(self._moves, [start])
        units = owed.weak | owed.strong
        target = min((pair for pair in tree.last if self._serves(pair, owed)), default=None)
        while target is None:
            before = tree.last
            grown = tree.grow()
            steps = [
                (edge.to, pair)
                for pair in before
                for edge in self._moves.edges(pair)
                if not units.isdisjoint(edge.units)
            ]
            assert grown or steps, "what is owed cannot be had"
            target = min((pair for pair in tree.last if self._serves(pair, owed)), default=None)
            taken = min(steps, default=None)
            if taken is not None and (target is None or taken[0] < target):
                return [*tree.path(taken[1])[1:], taken[0]]
        return tree.path(target)[1:]

    def home(self, pair: Pair, start: Pair) -> list[Pair]:
        """Returns the shortest path from ``pair`` to ``start`` with at least one move."""
        if pair != start:
            return path_to(self._moves, [pair], start)[1:]
        tree = Tree(self._moves, [pair])
        while True:
            closing = [
                last_pair for last_pair in tree.last if start in self._moves.stays(last_pair)
            ]
            if not closing:
                closing = [
                    last_pair
                    for last_pair in tree.last
                    if any(edge.to == start for edge in self._moves.edges(last_pair))
                ]
            if closing:
                return [*tree.path(closing[0])[1:], start]
            grown = tree.grow()
            assert grown, "nothing leads back"
