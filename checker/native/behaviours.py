"""Decides temporal properties on packed states. A lasso in the product of the state graph and an
automaton violates a property.

The lasso is the same as that of `temporal.decide`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from fencepost.checker.layout import Layout
from fencepost.checker.native.explorer import Explorer
from fencepost.checker.native.graph import Ids, Rows, StateGraph, Units
from fencepost.checker.native.lassos import Candidate, Source
from fencepost.checker.native.machine.memory import Memory
from fencepost.checker.native.product import Product, column
from fencepost.checker.native.streett import Flags
from fencepost.checker.search.deciding import Decision
from fencepost.checker.temporal.automaton import violating
from fencepost.checker.temporal.lasso import Lasso
from fencepost.checker.temporal.units import (
    distinguishing_choices,
    labels_of,
    most_labels,
    most_units,
)
from fencepost.spec.core.formulas import Formula
from fencepost.spec.core.ir import Model
from fencepost.spec.records import replace


def units_of(model: Model, memory: Memory) -> Units:
    """Returns the fairness units of a model and the labels of steps, numbered as in machine code. A
    constraint with `each` has a unit for every value. Raises `Exhausted`.
    """
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
    memory.afford(8 * units.width * len(served))
    restricted = [
        (
            item.condition,
            units.words(unit for unit in range(count) if bisect_right(starts, unit) - 1 == number),
        )
        for number, item in enumerate(model.fairness)
        if item.condition is not None
    ]
    table = np.array([units.words(some) for some in served], np.uint64)
    return replace(units, served=table, conditions=restricted)


class Behaviours:
    """Decides temporal ``formulas``, which consist of ``predicates``, on the first ``levels``
    levels of a search. Raises `Exhausted`, and any error that the explorer raises between two
    pieces of work.
    """

    def __init__(
        self,
        model: Model,
        layout: Layout,
        explorer: Explorer,
        levels: int,
        formulas: Sequence[Formula],
        predicates: Sequence[int],
        decision: Decision,
    ) -> None:
        self.model = model
        self.layout = layout
        self.decision = decision
        decision.enter("graph")
        self.graph = StateGraph(explorer, explorer.memory, layout.words, levels)
        self.units = units_of(self.model, self.graph.memory)
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
