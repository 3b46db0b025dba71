"""Properties of behaviours, decided from packed states: what the product of the states and an
automaton has in it, as a lasso.

It finds the lasso that `temporal.decide` finds, by the rule that stands there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from fencepost.checker.layout import Layout
from fencepost.checker.native.explorer import Explorer
from fencepost.checker.native.graph import Rows, StateGraph, Units, Words
from fencepost.checker.native.machine.memory import Memory, words
from fencepost.checker.native.product import Fair, Flags, Product, Round
from fencepost.checker.temporal.automaton import violating
from fencepost.checker.temporal.decide import unrepeated
from fencepost.checker.temporal.lasso import Lasso
from fencepost.checker.temporal.paths import Edge, Pair
from fencepost.checker.temporal.paths import Round as Way
from fencepost.checker.temporal.units import Unit, most_units, outgoing, without_ghosts
from fencepost.spec.core.ir import Model
from fencepost.spec.core.types import State
from fencepost.spec.semantics.stepper import Runner


def units_of(model: Model) -> Units:
    """The units of a model, as machine code numbers them: with `each`, those of all values."""
    first: list[int] = []
    several: list[bool] = []
    strong: set[int] = set()
    count = 0
    for number, action in enumerate(model.actions):
        fairness = action.fairness
        first.append(0 if fairness is None else count + 1)
        several.append(fairness is not None and fairness.choices > 0)
        if fairness is not None:
            more = most_units(model, number)
            strong.update(range(count, count + more) if fairness.strong else ())
            count += more
    return Units(first, several, count, frozenset(strong))


def _is_strong(model: Model, unit: Unit) -> bool:
    fairness = model.actions[unit.action].fairness
    return fairness is not None and fairness.strong


class Behaviours:
    """What can be said of the behaviours within the first ``levels`` levels of a search: whether
    they meet each of some ``properties``, which are made of ``predicates``. ``pause`` is called
    between steps of the work. Raises `Exhausted`, and what ``pause`` raises.
    """

    def __init__(
        self,
        runner: Runner,
        layout: Layout,
        explorer: Explorer,
        memory: Memory,
        levels: int,
        properties: Sequence[int],
        predicates: Sequence[int],
        pause: Callable[[], None],
    ) -> None:
        self.model = runner.model
        self.layout = layout
        self.explorer = explorer
        self.runner = runner
        self.pause = pause
        self.graph = StateGraph(explorer, memory, layout.words, levels)
        self.units = units_of(self.model)
        self._properties = properties
        self._matter: dict[int, Flags | None] = {}
        self._places = {number: place for place, number in enumerate(predicates)}
        self._labels = self.graph.labels(len(predicates))

    @cached_property
    def rows(self) -> Rows:
        """The steps between the states that matter to some property, made as they are wanted."""
        wanted = np.zeros(self.graph.states, np.bool_)
        for number in self._properties:
            some = self._wanted(number)
            if some is not None:
                wanted |= some
        return Rows(self.graph, self.units, wanted)

    def violation(self, property: int) -> Lasso | None:
        """The lasso that violates a property; None: every behaviour meets it. Raises `TooLarge`."""
        if self._wanted(property) is None:
            return None
        product = self._product(property)
        rounds = list(product.rounds(self.rows))
        fair = product.fair(self.rows, rounds, self.units)
        return _Ways(self, product, rounds).lasso(fair) if fair else None

    def _wanted(self, property: int) -> Flags | None:
        """The states that matter to a property; None: there is nothing that can violate it."""
        if property not in self._matter:
            self._matter[property] = self._product(property).wanted()
        return self._matter[property]

    def _product(self, property: int) -> Product:
        formula = self.model.properties[property].formula
        assert formula is not None
        return Product(self.graph, self._labels, self._places, violating(formula))

    def state(self, number: int) -> State:
        """A state by its number."""
        return self.layout.decode(self.graph.packed(number))

    def number(self, state: State) -> int | None:
        """The number of a state; None: it is none of those that were expanded."""
        return self.graph.find(self.layout.encode(state))


class _Ways:
    """The lasso in a product, whose pairs are reached in these rounds."""

    def __init__(self, of: Behaviours, product: Product, rounds: Sequence[Round]) -> None:
        self.of = of
        self.product = product
        self.rounds = rounds
        self.nodes = product.nodes

    def lasso(self, fair: Sequence[Fair]) -> Lasso:
        """The one that begins at the least of the pairs round which it can go, by the number of
        steps to it, by state, and by node.
        """
        marks = self.product.graph.zeros(self.product.width)
        for one in fair:
            self.product.marked(marks, one.states, one.nodes)
        level, number, node = self.least(marks)
        marks.fill(0)
        for one in fair:
            here = (one.states == number) & (one.nodes == node)
            if here.any():
                inside = one.components == one.components[here][0]
                self.product.marked(marks, one.states[inside], one.nodes[inside])
        stem = self.stem(number, node, level)
        moves = _Moves(self.of, self.product, marks)
        way = Way(
            moves, self.product.automaton, moves.possible, lambda u: _is_strong(self.of.model, u)
        )
        return Lasso(unrepeated(stem), tuple(way.cycle(stem[-1])))

    def least(self, marks: Words) -> tuple[int, int, int]:
        """The least pair that is marked: the number of steps to it, the state and the node."""
        for level, one in enumerate(self.rounds):
            self.of.pause()
            hits = one.bits & marks[one.states]
            places = np.flatnonzero(hits.any(axis=1))
            if len(places):
                numbers = one.states[places].tolist()
                state = self.least_state(numbers) if len(numbers) > 1 else numbers[0]
                node = next(
                    node
                    for node in self.product.bound
                    if self.at(state, node, level) and self.product.has(marks, state, node)
                )
                return level, state, node
        raise AssertionError("nothing leads to what is fair")

    def least_state(self, numbers: Sequence[int]) -> int:
        """The least of some states."""
        ordered = self.of.explorer.ordered([(self.of.graph.address(n), 1) for n in numbers])
        try:
            address, _ = ordered.take()
            found = self.of.graph.find(tuple(words(address, self.of.layout.words)))
        finally:
            ordered.close()
        assert found is not None
        return found

    def at(self, number: int, node: int, level: int) -> bool:
        """Whether the shortest path to a pair has ``level`` steps."""
        if node in self.product.free:
            return self.of.graph.level(number) == level
        if level >= len(self.rounds):
            return False
        states, bits = self.rounds[level].states, self.rounds[level].bits
        place = int(np.searchsorted(states, number))
        if place == len(states) or states[place] != number:
            return False
        return self.product.has(bits, place, node)

    def stem(self, number: int, node: int, level: int) -> list[Pair]:
        """The path to a pair that `paths.path_to` finds, from its end backwards."""
        path = [(self.of.state(number), node)]
        while True:
            self.of.pause()
            before = self.before(number, node, level)
            if before is None:
                path.reverse()
                return path
            number, node, level = before
            path.append((self.of.state(number), node))

    def before(self, number: int, node: int, level: int) -> tuple[int, int, int] | None:
        """The pair through which a pair is found first, and the steps to it; None: it is first."""
        here = [one for one in range(len(self.nodes)) if self.at(number, one, level)]
        entries: dict[int, tuple[int, int, int] | None] = {}
        initial = level == 0 and self.of.graph.level(number) == 0
        for one in here:
            if initial and one in self.product.automaton.initial:
                entries[one] = None
            elif level:
                found = self.leading(number, one, level)
                if found is not None:
                    entries[one] = found
        known = dict(entries)
        waiting = list(entries)
        for one in waiting:
            for after in self.nodes[one].successors:
                if after in here and after not in known:
                    known[after] = number, one, level
                    waiting.append(after)
        return known[node]

    def leading(self, number: int, node: int, level: int) -> tuple[int, int, int] | None:
        """The least pair one step nearer to the beginning from which a step leads to a pair."""
        found: list[tuple[State, int, int]] = []
        free = [n for n in self.product.free if node in self.nodes[n].successors]
        if free and self.of.graph.level(number) == level:
            (packed,) = self.of.explorer.predecessors(level, [self.of.graph.packed(number)])
            source = self.of.graph.find(packed)
            assert source is not None
            found.append((self.of.state(source), min(free), source))
        places = np.full(self.of.graph.states, -1, np.int32)
        places[number] = 0
        states = self.rounds[level - 1].states
        sources, _, _ = self.of.rows.inside(states, places)
        for source in np.unique(states[sources]).tolist():
            leads = (
                one
                for one in self.product.bound
                if node in self.nodes[one].successors and self.at(source, one, level - 1)
            )
            one = next(leads, None)
            if one is not None:
                found.append((self.of.state(source), one, source))
        if not found:
            return None
        _, one, source = min(found)
        return source, one, level - 1


class _Moves:
    """The moves of the pairs that are marked, by the successor function; see `paths.Moves`."""

    def __init__(self, of: Behaviours, product: Product, marks: Words) -> None:
        self._of = of
        self._product = product
        self._marks = marks
        self._seen = without_ghosts(of.model)
        self._known: dict[State, tuple[dict[State, frozenset[Unit]], frozenset[Unit]]] = {}

    def _outgoing(self, state: State) -> tuple[dict[State, frozenset[Unit]], frozenset[Unit]]:
        if state not in self._known:
            self._of.pause()
            self._known[state] = outgoing(self._of.runner, self._seen, state)
        return self._known[state]

    def possible(self, state: State) -> frozenset[Unit]:
        """The units of which a step is possible in a state."""
        return self._outgoing(state)[1]

    def _has(self, state: State, node: int) -> bool:
        number = self._of.number(state) if node not in self._product.free else None
        return number is not None and self._product.has(self._marks, number, node)

    def stays(self, pair: Pair) -> list[Pair]:
        state, node = pair
        after = self._product.nodes[node].successors
        return [(state, one) for one in after if self._has(state, one)]

    def edges(self, pair: Pair) -> list[Edge]:
        state, node = pair
        return [
            Edge((after, following), units)
            for after, units in self._outgoing(state)[0].items()
            for following in self._product.nodes[node].successors
            if self._has(after, following)
        ]
