"""Searches the states of a TLA+ module breadth first, by evaluating it. The counts are TLC's with
one worker.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from fencepost.checker.evaluator.model import EVALUATION, TlaModel
from fencepost.checker.evaluator.runner import TlaRunner
from fencepost.checker.outcome import Finding, Outcome, Verdict
from fencepost.checker.request import Request, Translation, Unsupported
from fencepost.checker.search.account import Account, Candidate, without_states
from fencepost.checker.search.interrupts import Interrupts
from fencepost.checker.search.levels import LevelSearch
from fencepost.checker.search.limits import Watch
from fencepost.checker.search.value_states import ValueStates
from fencepost.checker.search.visiting import Visitor
from fencepost.spec.core.ir import Model, Site
from fencepost.spec.core.properties import Rank
from fencepost.spec.core.types import State
from fencepost.spec.semantics.stepper import Failure
from fencepost.spec.tla.evaluate.machine import Located

RECURSION = 40_000
"""The depth of Python calls during an evaluation. A recursive operator takes several per call."""


class Evaluator:
    """The engine that this module implements."""

    name = "evaluator"
    library = ""

    def obstacle(self) -> str | None:
        return None

    def translation(self, model: Model, properties: frozenset[int]) -> Translation | None:
        return None

    def run(self, request: Request) -> Outcome:
        model = request.model
        if not isinstance(model, TlaModel):
            raise Unsupported("it is for TLA+ modules")
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(max(before, RECURSION))
        try:
            return _searched(request, model)
        finally:
            sys.setrecursionlimit(before)


ENGINE = Evaluator()


def _searched(request: Request, model: TlaModel) -> Outcome:
    account = Account(request)
    broken = _assumptions(model, account)
    if broken is not None:
        return broken
    if model.specification.initial is None:
        note = "The module has no behaviour; its assumptions hold."
        notes = (note, *model.specification.notes)
        return replace(without_states(model, Verdict.OK, account.elapsed), notes=notes)
    watch = Watch(request, account, Interrupts())
    runner = TlaRunner(model)
    states = ValueStates(watch, runner, None, TlaVisitor)
    outcome = LevelSearch(watch, states, runner=lambda: runner).run()
    return replace(outcome, notes=(*outcome.notes, *model.specification.notes))


def _assumptions(model: TlaModel, account: Account) -> Outcome | None:
    """Returns the outcome if an assumption is false or has no value."""
    findings: list[Finding] = []
    for assumption in model.specification.assumptions:
        try:
            if not model.specification.holds(assumption, [None] * len(model.variables)):
                findings.append(Finding(Verdict.ASSUMPTION, None, 0, None, failing=assumption.span))
        except Located as error:
            site = Site(EVALUATION, error.span, str(error))
            findings.append(Finding(Verdict.ERROR, None, 0, None, site=site))
    if not findings:
        return None
    outcome = without_states(model, findings[0].verdict, account.elapsed)
    return replace(outcome, findings=tuple(findings))


class TlaVisitor(Visitor):
    """Visits the states of a module. A state is a deadlock if nothing at all follows it.

    A step outside of the action constraints is counted, but the state that it leads to is not kept,
    as it is with TLC; its invariants are checked.
    """

    runner: TlaRunner

    def expand(self, state: State) -> None:
        followed = False
        steps_matter, taken, seen = self.searched.step_invariants, self.taken, self.seen
        for action, after in self.runner.steps(state):
            followed = True
            if isinstance(after, Failure):
                self._fail(self.depth + 1, action, state, after)
                continue
            taken[action] += 1
            if not self.runner.is_taken(state, after):
                if after not in seen:
                    self._examine(after, state)
                continue
            if after not in seen:
                self._discover(after, state)
            for number in steps_matter:
                self._check_step(number, after, state)
        if not followed and self.deadlock:
            self.account.offer(Candidate(self.depth, Rank.DEADLOCK, 0, state))
