"""Breadth-first search on Python values, which defines the result of every engine.

The states of a level are expanded in ascending order, with actions in declaration order and the
choices of each action in their own order. The first state that is found to lead to another state is
therefore its least predecessor, and the first state in a level that breaks a property is the least
such state.

A limit on time or memory ends the search within a level. Everything found up to then counts:
states, steps, and a problem, even if the rest of the level may contain a lesser problem.
``--max-states N`` ends the search after the first level that brings the number of states above N.
At most N initial states count: the first N in this order.
"""

from __future__ import annotations

from dataclasses import replace

from fencepost.checker.outcome import INTERRUPTED, Outcome
from fencepost.checker.request import Request, Translation, refuse_symbols
from fencepost.checker.resources import Exhausted
from fencepost.checker.search.account import Account, Cut, Expired, before_search
from fencepost.checker.search.alarm import raised_after
from fencepost.checker.search.deciding import Decision
from fencepost.checker.search.interrupts import Interrupts
from fencepost.checker.search.levels import LevelSearch
from fencepost.checker.search.limits import Watch, out_of_memory
from fencepost.checker.search.orbits import note_permutations, orbits
from fencepost.checker.search.value_states import ValueStates
from fencepost.checker.temporal.decide import SHARES, Graph, graph, violation
from fencepost.checker.temporal.lasso import Lasso
from fencepost.checker.temporal.verdict import expanded_levels, judged
from fencepost.spec.core.formulas import Formula
from fencepost.spec.core.ir import Model
from fencepost.spec.semantics.stepper import Runner


class Interpreter:
    """The engine that this module implements."""

    name = "interpreter"
    library = ""

    def obstacle(self) -> str | None:
        return None

    def translation(self, model: Model, properties: frozenset[int]) -> Translation | None:
        return None

    def run(self, request: Request) -> Outcome:
        refuse_symbols(request.model)
        account = Account(request)
        early = before_search(account)
        if early is not None:
            return early
        runner = Runner(request.model, request.observer)
        watch = Watch(request, account, Interrupts())
        orbits_searched = orbits(request)
        note = note_permutations(orbits_searched)
        states = ValueStates(watch, runner, orbits_searched)
        search = LevelSearch(watch, states, runner=lambda: runner)

        def completed(outcome: Outcome) -> Outcome:
            outcome = _judged(outcome, request, search, runner)
            if not outcome.deserves_growth:
                return outcome
            return replace(outcome, growth=states.contributions())

        outcome = search.run(completed)
        return outcome if note is None else replace(outcome, notes=(*outcome.notes, note))


ENGINE = Interpreter()


def _judged(outcome: Outcome, request: Request, search: LevelSearch, runner: Runner) -> Outcome:
    """Adds a decision on liveness to the outcome. The decision uses a separate graph of the
    states.
    """
    account, graphs = search.account, list[Graph]()

    def decide(formula: Formula, decision: Decision) -> Lasso | None:
        try:
            with raised_after(account.left, Expired):
                if not graphs:
                    levels, total = expanded_levels(outcome), outcome.statistics.distinct
                    graphs.append(graph(runner, levels, decision, total=total))
                return violation(graphs[0], formula, decision)
        except Expired:
            raise Cut(account.expired) from None
        except KeyboardInterrupt:
            raise Cut(INTERRUPTED) from None
        except (Exhausted, MemoryError):
            raise Cut(out_of_memory(request.limits)) from None

    with search.watch.deciding(SHARES) as decision:
        return judged(outcome, request, runner, decide, decision, search.account.started)
