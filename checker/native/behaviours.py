"""Decides temporal properties on packed states. A lasso in the product of the state graph and an
automaton violates a property.

The lasso is the same as that of `temporal.decide`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from fencepost.checker.layout import Layout
from fencepost.checker.native.explorer import Explorer
from fencepost.checker.native.graph import Rows, StateGraph, Units
from fencepost.checker.native.lassos import Candidate, Source
from fencepost.checker.native.product import Product
from fencepost.checker.native.streett import Flags
from fencepost.checker.search.deciding import Decision
from fencepost.checker.temporal.automaton import violating
from fencepost.checker.temporal.lasso import Lasso
from fencepost.checker.temporal.units import most_units
from fencepost.spec.core.ir import Model


def units_of(model: Model) -> Units:
    """Returns the fairness units of a model, numbered as in machine code. An action with `each` has
    a unit for every value.
    """
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


class Behaviours:
    """Decides temporal ``properties``, which consist of ``predicates``, on the first ``levels``
    levels of a search. Raises `Exhausted`, and any error that the explorer raises between two
    pieces of work.
    """

    def __init__(
        self,
        model: Model,
        layout: Layout,
        explorer: Explorer,
        levels: int,
        properties: Sequence[int],
        predicates: Sequence[int],
        decision: Decision,
    ) -> None:
        self.model = model
        self.layout = layout
        self.decision = decision
        decision.enter("graph")
        self.graph = StateGraph(explorer, explorer.memory, layout.words, levels)
        self.units = units_of(self.model)
        self._properties = properties
        self._products: dict[int, list[Product]] = {}
        self.graph.memory.afford(self.graph.states)
        self._wanted: Flags = np.zeros(self.graph.states, np.bool_)
        self._places = {number: index for index, number in enumerate(predicates)}
        self._labels = self.graph.labels(len(predicates))

    @cached_property
    def rows(self) -> Rows:
        """The steps between the states that matter to some property, computed on demand."""
        for number in self._properties:
            self._products_of(number)
        self.decision.enter("graph")
        return Rows(self.graph, self.units, self._wanted)

    def violation(self, property: int) -> Lasso | None:
        """Returns the lasso that violates a property, or None if every behaviour satisfies it.
        Raises `TooLarge`.
        """
        products = self._products_of(property)
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

    def _products_of(self, property: int) -> list[Product]:
        """Returns the products for a property that may contain a violation, and marks their states
        as wanted. Raises `TooLarge`.
        """
        if property not in self._products:
            formula = self.model.properties[property].formula
            assert formula is not None
            self.decision.enter("automaton")
            products: list[Product] = []
            for automaton in violating(formula, self.decision.look):
                product = Product(self.graph, self._labels, self._places, automaton, self.decision)
                wanted = product.wanted()
                if wanted is not None:
                    self._wanted |= wanted
                    products.append(product)
            self._products[property] = products
        return self._products[property]
