"""Properties of behaviours, judged among the states that random runs went through.

Those states, and the steps between them, are a part of the graph of all states. A behaviour that
goes round in this part is one of the model, and what is possible in a state is known from all of
its steps, wherever they lead: so a lasso that is found there is fair and violates the property.
Finding none says nothing of the behaviours that leave the part.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from fencepost.checker.search.deciding import Decision
from fencepost.checker.temporal.decide import graph, violation
from fencepost.checker.temporal.lasso import Lasso
from fencepost.checker.temporal.units import Outgoing, outgoing, without_ghosts
from fencepost.spec.core.types import State
from fencepost.spec.semantics.stepper import Runner

FIRST_STATES = 250
"""How many states there are when a lasso is looked for the first time; from then on, whenever they
have doubled.
"""
MOST_STATES = 10_000
MOST_RUNS = 1_000
"""Bounds on the part that are no times, so what is found does not depend on the machine."""


class Part:
    """The part of the graph that some runs went through: the number of the ``runs``, and of its
    ``states``.
    """

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self._seen = without_ghosts(runner.model)
        self._known: dict[State, Outgoing] = {}
        self.runs = 0

    @property
    def states(self) -> int:
        return len(self._known)

    def violated(
        self,
        behaviours: Collection[int],
        runs: Iterable[Iterable[State]],
        decision: Decision,
    ) -> tuple[int, Lasso] | None:
        """The first of some properties that a lasso among the states of the first runs violates,
        and the lasso. Every state of a run was looked at, and none of its steps failed. Raises
        `TooLarge`.
        """
        decision.begin(next(iter(behaviours)))
        due, judged = FIRST_STATES, 0
        for states in runs:
            self.runs += 1
            for state in states:
                if state not in self._known:
                    decision.look()
                    self._known[state] = outgoing(self.runner, self._seen, state)
            if self.runs == MOST_RUNS or self.states >= MOST_STATES:
                break
            if self.states >= due:
                found = self._lasso(behaviours, decision)
                if found is not None:
                    return found
                due, judged = 2 * self.states, self.states
        return self._lasso(behaviours, decision) if self.states > judged else None

    def _lasso(self, behaviours: Collection[int], decision: Decision) -> tuple[int, Lasso] | None:
        known = graph(self.runner, decision=decision, among=self._known, total=self.states)
        for number in behaviours:
            decision.begin(number)
            lasso = violation(known, number, decision)
            if lasso is not None:
                return number, lasso
        return None
