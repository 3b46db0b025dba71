"""Decides temporal properties on packed states. A lasso in the product of the state graph and an
automaton violates a property.

The lasso is the same as that of `temporal.decide`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from fencepost.checker.layout import Layout
from fencepost.checker.native.explorer import Explorer
from fencepost.checker.native.graph import BYTE, Ids, Rows, StateGraph, Units, units_in
from fencepost.checker.native.lassos import Candidate, Source
from fencepost.checker.native.machine.memory import Memory
from fencepost.checker.native.product import Product, column
from fencepost.checker.native.streett import Flags
from fencepost.checker.search.deciding import Decision
from fencepost.checker.temporal.automaton import violating
from fencepost.checker.temporal.decide import Graph, violation
from fencepost.checker.temporal.lasso import Lasso
from fencepost.checker.temporal.pairs import Pairs, Recorded, Step, without_bits
from fencepost.checker.temporal.units import (
    Unit,
    distinguishing_choices,
    labels_of,
    most_labels,
    most_units,
)
from fencepost.spec.core.formulas import Formula, predicates
from fencepost.spec.core.ir import Model
from fencepost.spec.core.types import State
from fencepost.spec.records import replace
from fencepost.spec.semantics.stepper import Runner


def units_of(model: Model, memory: Memory, steps: Sequence[int] = ()) -> Units:
    """Returns the fairness units of a model and the labels of steps, numbered as in machine code. A
    constraint with `each` has a unit for every value. ``steps`` are the step predicates. Raises
    `Exhausted`.
    """
    if steps:
        return _units_of_pairs(model, memory, steps)
    starts: list[int] = []
    strong: set[int] = set()
    count = 0
    for fairness in model.fairness:
        starts.append(count)
        more = most_units(model, fairness)
        strong.update(range(count, count + more) if fairness.strong else ())
        count += more
    first: list[int] = []
    several: list[bool] = []
    served: list[tuple[int, ...]] = [()]
    for number in range(len(model.actions)):
        labels = most_labels(model, number)
        first.append(len(served) if labels else 0)
        several.append(bool(distinguishing_choices(model, number)))
        served += labels_of(model, number, starts) if labels else ()
    conditions = [item for item in model.fairness if item.condition is not None]
    units = Units(first, several, count, frozenset(strong))
    if not conditions and served[1:] == [(unit,) for unit in range(count)]:
        return units
    memory.afford(units.width * len(served))
    restricted = [
        (
            item.condition,
            units.bits(unit for unit in range(count) if bisect_right(starts, unit) - 1 == number),
        )
        for number, item in enumerate(model.fairness)
        if item.condition is not None
    ]
    table = np.array([units.bits(some) for some in served], np.uint8)
    return replace(units, served=table, conditions=restricted)


def _units_of_pairs(model: Model, memory: Memory, steps: Sequence[int]) -> Units:
    """Returns the units of a model whose constraints are pairs of predicates."""
    pairs = [item.pair for item in model.fairness if item.pair is not None]
    count, labels = len(pairs), 1 << len(steps)
    strong = frozenset(number for number, item in enumerate(model.fairness) if item.strong)
    nothing = [0] * len(model.actions)
    units = Units(nothing, [False] * len(nothing), count, strong)
    memory.afford(8 * units.width * labels)
    served = np.zeros((labels, units.width), np.uint8)
    for unit, (_, taken) in enumerate(pairs):
        counts = (np.arange(labels) >> steps.index(taken)) & 1 != 0
        served[counts, unit // BYTE] |= np.uint8(1 << unit % BYTE)
    return replace(units, served=served, enabled=[enabled for enabled, _ in pairs])


class Behaviours:
    """Decides temporal ``formulas``, which consist of ``predicates`` and of step predicates, the
    ``steps``, on the first ``levels`` levels of a search. Raises `Exhausted`, and any error that
    the explorer raises between two pieces of work.
    """

    def __init__(
        self,
        model: Model,
        layout: Layout,
        explorer: Explorer,
        levels: int,
        formulas: Sequence[Formula],
        predicates: Sequence[int],
        steps: Sequence[int],
        decision: Decision,
    ) -> None:
        self.model = model
        self._steps = steps
        self.layout = layout
        self.decision = decision
        decision.enter("graph")
        self.graph = StateGraph(explorer, explorer.memory, layout.words, levels)
        self.units = units_of(self.model, self.graph.memory, steps)
        self._formulas = formulas
        self._products: dict[Formula, list[Product]] = {}
        self.graph.memory.afford(self.graph.states)
        self._wanted: Flags = np.zeros(self.graph.states, np.bool_)
        self._places = {number: index for index, number in enumerate(predicates)}
        self._labels = self.graph.labels(len(predicates))

    @cached_property
    def rows(self) -> Rows:
        """The steps between the states that matter to some formula, computed on demand."""
        for formula in self._formulas:
            self._products_of(formula)
        self.decision.enter("graph")
        return Rows(self.graph, self.units, self._wanted, predicates=self._truths)

    def _truths(self, states: Ids, predicate: int) -> Flags:
        """Returns which of some states satisfy a predicate."""
        return column(self._labels, states, self._places[predicate])

    def violation(self, formula: Formula) -> Lasso | None:
        """Returns the lasso that violates one of the formulas, or None if every behaviour satisfies
        it. Raises `TooLarge`.
        """
        if self._is_of_steps(formula):
            lasso = violation(self._graph_of_pairs, formula, self.decision)
            return None if lasso is None else without_bits(lasso)
        products = self._products_of(formula)
        if not products:
            return None
        rows = self.rows
        source = Source(self.graph, self.layout, rows, self.units)
        best: Candidate | None = None
        for product in products:
            self.decision.enter("product", rows.wanted)
            rounds = list(product.rounds(rows))
            fair = product.fair(rows, rounds, self.units)
            if fair:
                self.decision.enter("lasso")
                candidate = Candidate(source, product, rounds, fair)
                if best is None or candidate.key < best.key:
                    best = candidate
        return None if best is None else best.lasso()

    def _products_of(self, formula: Formula) -> list[Product]:
        """Returns the products for a formula that may contain a violation, and marks their states
        as wanted. Raises `TooLarge`.
        """
        if self._is_of_steps(formula):
            self._wanted[:] = True
            return []
        if formula not in self._products:
            self.decision.enter("automaton")
            products: list[Product] = []
            for automaton in violating(formula, self.decision.look):
                product = Product(self.graph, self._labels, self._places, automaton, self.decision)
                wanted = product.wanted()
                if wanted is not None:
                    self._wanted |= wanted
                    products.append(product)
            self._products[formula] = products
        return self._products[formula]

    # ------------------------------------------------------------ formulas with step predicates

    def _is_of_steps(self, formula: Formula) -> bool:
        return not self._places.keys() >= {*predicates(formula)}

    @cached_property
    def _graph_of_pairs(self) -> Graph:
        """The graph whose states are pairs, see `temporal.pairs`."""
        rows, count = self.rows, self.graph.states
        self.decision.enter("product", count)
        every = np.arange(count)
        rows.make(every)
        states = [self.layout.decode(self.graph.packed(number)) for number in range(count)]
        possible: list[frozenset[int]] = [units_in(bits) for bits in rows.possible]
        steps: dict[State, dict[State, Step]] = {state: {} for state in states}
        places = self.graph.places()
        places[:] = every
        assert self.units.served is not None, "a formula has conditions on steps"
        served: list[frozenset[int]] = [units_in(bits) for bits in self.units.served]
        sources, targets, labels = rows.inside(every, places)
        columns: Iterator[tuple[int, int, int]]
        columns = zip(sources.tolist(), targets.tolist(), labels.tolist(), strict=True)
        for source, target, label in columns:
            units = frozenset(Unit(unit, ()) for unit in possible[source] & served[label])
            steps[states[source]][states[target]] = units, label
        recorded = Recorded(
            Runner(self.model),
            {number: 1 << index for index, number in enumerate(self._steps)},
            states[: self.graph.starts[1]] if len(self.graph.starts) > 1 else [],
            steps,
            {s: frozenset(Unit(u, ()) for u in p) for s, p in zip(states, possible, strict=True)},
        )
        return Pairs(recorded).graph(None, self.decision, count)
