"""Finds the lasso in a product of the state graph and an automaton, in terms of state numbers.

The lasso is the same as that of `temporal.decide`, since the same rule selects it: among paths of
equal length, the one with the least states wins. Bits of pairs are carried along the recorded steps
layer by layer. Paths are built from the layers, backwards from their ends.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from typing import TypeAlias

import numpy as np

from fencepost.checker.layout import Layout
from fencepost.checker.native.graph import (
    Bits,
    Ids,
    Numbers,
    Rows,
    StateGraph,
    Units,
    units_in,
)
from fencepost.checker.native.product import COLUMN_BYTES, Product, Round
from fencepost.checker.native.streett import Fair, filled
from fencepost.checker.temporal.decide import unrepeated
from fencepost.checker.temporal.lasso import Lasso
from fencepost.checker.temporal.paths import Obligations
from fencepost.checker.temporal.paths import Round as Way
from fencepost.spec.core.types import State
from fencepost.spec.records import dataclass

Spot: TypeAlias = tuple[int, int]
"""The number of a state, and a node."""

BATCH = 1 << 14
"""The number of states whose steps are read together."""
ROUND_BYTES, MARK_BYTES = 16, 40
"""The memory in bytes per state of a layer, and per pair that is being marked."""


@dataclass(frozen=True, slots=True)
class Source:
    """The states of a finished search."""

    graph: StateGraph
    layout: Layout
    rows: Rows
    units: Units

    def state(self, number: int) -> State:
        """Returns the state with a number."""
        return self.layout.decode(self.graph.packed(number))


class Candidate:
    """The lasso of one product. Its cycle begins at the first pair on a fair cycle; pairs are
    ordered by distance, state and node. ``rounds`` are the reachable pairs, by distance. ``key``
    orders the candidates of several products.
    """

    def __init__(
        self, of: Source, product: Product, rounds: Sequence[Round], fair: Sequence[Fair]
    ) -> None:
        self._of = of
        self._product = product
        self._rounds = rounds
        self._fair = fair
        marks = product.graph.bits(product.width)
        for component in fair:
            of.graph.memory.afford(MARK_BYTES * len(component.states))
            product.marked(marks, component.states, component.nodes)
        self._level, self._start = _first(of, product, rounds, marks)
        self.key = self._level, of.state(self._start[0])

    def lasso(self) -> Lasso:
        of, product, (number, node) = self._of, self._product, self._start
        marks = product.graph.bits(product.width)
        for component in self._fair:
            of.graph.memory.afford(MARK_BYTES * len(component.states))
            here = (component.states == number) & (component.nodes == node)
            if here.any():
                inside = component.components == component.components[here][0]
                product.marked(marks, component.states[inside], component.nodes[inside])
        places = of.graph.places()
        layers = _Layers(
            of, product, list(self._rounds), product.automaton.initial, product.free, places
        )
        stem = layers.path((number, node), self._level)
        way = Way(_Component(of, product, marks), product.automaton, of.units.strong.__contains__)
        cycle = way.cycle((number, node))
        return Lasso(
            unrepeated((of.state(number), node) for number, node in stem),
            tuple(of.state(number) for number in cycle),
        )


def _first(of: Source, product: Product, rounds: Sequence[Round], marks: Bits) -> tuple[int, Spot]:
    """Returns the distance of the first marked pair, and the pair."""
    for level, pairs in enumerate(rounds):
        of.graph.explorer.pause()
        of.graph.memory.afford(16 * product.width * len(pairs.states))
        pair = _least(of, product, pairs.states, pairs.bits & marks[pairs.states])
        if pair is not None:
            return level, pair
    raise AssertionError("nothing leads to what is fair")


def _least(of: Source, product: Product, states: Ids, bits: Bits) -> Spot | None:
    """Returns the least pair among the bits of some states, whose numbers must be ascending.
    Returns None if no bit is set.
    """
    kept = filled(bits)
    state_bytes = 8 * (of.layout.words + 1 + bits.shape[1])
    of.graph.memory.afford(state_bytes * int(np.count_nonzero(kept)))
    states, bits = states[kept], bits[kept]
    if not len(states):
        return None
    packed, position = of.graph.copied(states), 0
    worker = of.graph.explorer.workers[0]
    for start in range(1, len(states), BATCH):
        count = min(BATCH, len(states) - start)
        position = worker.call("least", packed.ctypes.data, position, start, count)
    return int(states[position]), next(n for n in product.bound if product.has(bits, position, n))


class _Layers:
    """Pairs by distance, and the shortest paths to them from the initial pairs. The initial pairs
    are those of ``rounds[0]`` with nodes in ``initial``. Nodes in ``free`` have no bits, since
    their pairs are reachable whenever the state is. ``places`` must be -1 everywhere.
    """

    def __init__(
        self,
        of: Source,
        product: Product,
        rounds: list[Round],
        initial: Sequence[int],
        free: frozenset[int],
        places: Numbers,
    ) -> None:
        self.rounds = rounds
        self._of = of
        self._product = product
        self._nodes = product.nodes
        self._initial = initial
        self._free = free
        self._every = sorted([*product.bound, *free])
        self._places = places

    def at(self, number: int, node: int, level: int) -> bool:
        """Returns whether the shortest path to a pair has ``level`` steps."""
        if node in self._free:
            return self._of.graph.level(number) == level
        if level >= len(self.rounds):
            return False
        pairs = self.rounds[level]
        position = int(np.searchsorted(pairs.states, number))
        if position == len(pairs.states) or pairs.states[position] != number:
            return False
        return self._product.has(pairs.bits, position, node)

    def path(self, end: Spot, level: int) -> list[Spot]:
        """Returns the path to a pair at distance ``level``. It is the same path as that of
        `paths.path_to`.
        """
        pairs: list[Spot] = []
        here: tuple[Spot, int] | None = (end, level)
        while here is not None:
            self._of.graph.explorer.pause()
            pairs.append(here[0])
            here = self._before(*here)
        return pairs[::-1]

    def _before(self, pair: Spot, level: int) -> tuple[Spot, int] | None:
        """Returns the predecessor of a pair on the first path that reaches the pair, and the
        distance of this predecessor. Returns None for an initial pair.
        """
        number, node = pair
        here = [candidate for candidate in self._every if self.at(number, candidate, level)]
        origins: dict[int, tuple[Spot, int] | None] = {}
        for candidate in here:
            if level:
                source = self._leading(number, candidate, level)
                if source is not None:
                    origins[candidate] = source, level - 1
            elif candidate in self._initial:
                origins[candidate] = None
        waiting = list(origins)
        for candidate in waiting:
            for after in self._nodes[candidate].successors:
                if after in here and after not in origins:
                    origins[after] = (number, candidate), level
                    waiting.append(after)
        return origins[node]

    def _leading(self, number: int, node: int, level: int) -> Spot | None:
        """Returns the least pair in the previous layer that has a step to a pair, or None."""
        candidates: list[tuple[State, int, int]] = []
        free = [n for n in self._free if node in self._nodes[n].successors]
        graph = self._of.graph
        if free and graph.level(number) == level:
            (packed,) = graph.explorer.predecessors(level, [graph.packed(number)])
            source = graph.find(packed)
            assert source is not None
            candidates.append((self._of.state(source), min(free), source))
        self._places[number] = 0
        states = self.rounds[level - 1].states
        sources, _, _ = self._of.rows.inside(states, self._places)
        self._places[number] = -1
        for source in np.unique(states[sources]).tolist():
            leads = (
                before
                for before in self._product.bound
                if node in self._nodes[before].successors and self.at(source, before, level - 1)
            )
            before = next(leads, None)
            if before is not None:
                candidates.append((self._of.state(source), before, source))
        if not candidates:
            return None
        _, before, source = min(candidates)
        return source, before


class _Component:
    """A fair component, which consists of the pairs in ``marks``; see `paths.Inside`. Units are
    numbered from 0.
    """

    def __init__(self, of: Source, product: Product, marks: Bits) -> None:
        graph = of.graph
        self._of = of
        self._product = product
        self._marks = marks
        self._opened, self._fresh = graph.bits(product.width), graph.bits(product.width)
        self._opened[:] = marks
        graph.memory.afford(COLUMN_BYTES * graph.states)
        states = np.flatnonzero(filled(marks))
        graph.memory.afford(ROUND_BYTES * len(states))
        self._places = graph.places()
        self._places[states] = states
        self._scratch = graph.places()

    def possible(self, state: int) -> frozenset[int]:
        """Returns the units that have a possible step in a state."""
        return units_in(self._of.rows.possible[state])

    def conditions(self, state: int) -> tuple[frozenset[int], frozenset[int]]:
        """Returns the acceptance conditions that a state requires, and those that it meets."""
        rows = list(enumerate(self._product.conditions(np.array([state], np.int64))))
        return (
            frozenset(number for number, (asks, _) in rows if asks[0]),
            frozenset(number for number, (_, meets) in rows if meets[0]),
        )

    def counts(self, before: Spot, after: Spot) -> frozenset[int]:
        """Returns the units that a step between two pairs serves."""
        units, rows = self._of.units, self._of.rows
        _, targets, labels = rows.inside(np.array([before[0]], np.int64), self._places)
        labels = labels[(targets == after[0]) & (labels > 0)]
        if units.served is None:
            return frozenset((labels - 1).tolist())
        served = np.bitwise_or.reduce(units.served[labels], axis=0)
        return units_in(served & rows.possible[before[0]])

    def nearest(self, start: Spot, owed: Obligations[int]) -> Sequence[Spot]:
        """Returns the shortest path from ``start`` (excluded) to a pair or a step that meets one of
        the obligations in ``owed``.
        """
        wanted = self._of.units.bits(owed.weak | owed.strong)
        layers = self._layers(start)
        step: tuple[Spot, Spot] | None = None
        with closing(self._spread(start)) as spread:
            for level, pairs in enumerate(spread):
                there = _least(self._of, self._product, pairs.states, self._serving(pairs, owed))
                if step is not None and (there is None or self._key(step[1]) < self._key(there)):
                    break
                layers.rounds.append(pairs)
                if there is not None:
                    return layers.path(there, level)[1:]
                step = self._step(pairs, wanted) if wanted.any() else None
        assert step is not None, "what is owed cannot be had"
        return [*layers.path(step[0], len(layers.rounds) - 1)[1:], step[1]]

    def home(self, pair: Spot, start: Spot) -> Sequence[Spot]:
        """Returns the shortest path of at least one move from ``pair`` (excluded) to ``start``."""
        number, node = start
        layers = self._layers(pair)
        with closing(self._spread(pair)) as spread:
            for level, pairs in enumerate(spread):
                layers.rounds.append(pairs)
                if pair != start:
                    if layers.at(number, node, level):
                        return layers.path(start, level)[1:]
                    continue
                for before in self._product.bound:
                    if self._product.leads(before, node) and layers.at(number, before, level):
                        return [*layers.path((number, before), level)[1:], start]
                step = self._step(pairs, None, start)
                if step is not None:
                    return [*layers.path(step[0], level)[1:], start]
        raise AssertionError("nothing leads back")

    def _layers(self, start: Spot) -> _Layers:
        return _Layers(self._of, self._product, [], start[1:], frozenset(), self._scratch)

    def _spread(self, start: Spot) -> Generator[Round]:
        return self._product.spread(self._of.rows, start, self._opened, self._fresh)

    def _key(self, pair: Spot) -> tuple[State, int]:
        return self._of.state(pair[0]), pair[1]

    def _serving(self, pairs: Round, owed: Obligations[int]) -> Bits:
        """Returns the pairs of a layer that meet one of the obligations in ``owed`` by themselves,
        without a step.
        """
        nodes = self._product.nodes
        meeting = self._product.mask(
            node for node in self._product.bound if not owed.promises <= nodes[node].puts_off
        )
        bits = pairs.bits & meeting
        if owed.weak:
            weak = self._of.units.bits(owed.weak)
            idle = filled(weak & ~self._of.rows.possible[pairs.states])
            bits[idle] = pairs.bits[idle]
        if owed.conditions:
            conditions = self._product.conditions(pairs.states)
            for number in owed.conditions:
                _, meets = conditions[number]
                bits[meets] = pairs.bits[meets]
        return bits

    def _step(
        self, pairs: Round, wanted: Bits | None, target: Spot | None = None
    ) -> tuple[Spot, Spot] | None:
        """Returns the least step from a layer that counts for a ``wanted`` unit, or that leads to
        ``target`` if this is not None. Steps are ordered by their target pair, then by their source
        pair. Returns None if there is no such step.
        """
        product = self._product
        ends, sources, reached = list[Ids](), list[Ids](), list[Bits]()
        only = None if target is None else product.mask([target[1]])
        for begin in range(0, len(pairs.states), BATCH):
            part = slice(begin, begin + BATCH)
            leaving, reaching, labels = self._of.rows.inside(pairs.states[part], self._places)
            if target is not None:
                kept = reaching == target[0]
            else:
                assert wanted is not None
                states, possible = pairs.states[part][leaving], self._of.rows.possible
                kept = self._of.units.serve(labels, states, possible, wanted)
            leaving, reaching = leaving[kept], reaching[kept]
            bits = product.onward(pairs.bits[part][leaving]) & self._marks[reaching]
            if only is not None:
                bits &= only
            kept = filled(bits)
            ends.append(reaching[kept].astype(np.int64))
            sources.append(leaving[kept].astype(np.int64) + begin)
            reached.append(bits[kept])
        every, bits = np.concatenate(ends), np.concatenate(reached)
        if not len(every):
            return None
        order = np.argsort(every, kind="stable")
        states, firsts = np.unique(every[order], return_index=True)
        to = _least(self._of, product, states, np.bitwise_or.reduceat(bits[order], firsts))
        assert to is not None
        rows = np.unique(np.concatenate(sources)[every == to[0]])
        leading = product.mask(node for node in product.bound if product.leads(node, to[1]))
        before = _least(self._of, product, pairs.states[rows], pairs.bits[rows] & leading)
        assert before is not None
        return before, to
