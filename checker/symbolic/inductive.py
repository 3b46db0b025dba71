"""Builds the step case of an induction: K + 1 consecutive states, starting with an arbitrary one,
and the obligations to prove in them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

from fencepost.checker.outcome import Finding, Verdict
from fencepost.checker.search.explain import explain, trace_from
from fencepost.checker.symbolic import order, terms, unknowns, values
from fencepost.checker.symbolic.formulas import Formulas, Level
from fencepost.checker.symbolic.run_limits import WatchedRunner
from fencepost.checker.symbolic.solver import Solver
from fencepost.checker.symbolic.terms import Truth
from fencepost.checker.symbolic.values import Tree
from fencepost.spec.core.instantiate import instance
from fencepost.spec.core.ir import Expr, Model
from fencepost.spec.core.types import State
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.choice_points import EvaluationError
from fencepost.spec.semantics.stepper import Runner

EVALUATION = "no evaluation error"
ASSERTION = "no failed assertion"
DEADLOCK = "no deadlock"


@dataclass(frozen=True, slots=True)
class Fault:
    """A possible evaluation failure in a step of ``action``, or in the last state if ``action`` is
    None.
    """

    condition: Truth
    site: int
    action: int | None


@dataclass(frozen=True, slots=True)
class Obligation:
    """A statement to be proved.

    ``assumed`` is the condition that the statement holds in every state (or on every step) except
    the last, and ``wrong`` is the condition that it fails at the end. ``number`` is the number of
    the property, if the statement is one. ``faults`` are possible evaluation failures.
    """

    subject: str
    assumed: Truth
    wrong: Truth
    number: int | None = None
    faults: tuple[Fault, ...] = ()


class StepCase:
    """The formulas of the step case. ``levels`` are the consecutive states. ``obligations`` are the
    statements to be proved, in declaration order.
    """

    def __init__(
        self, model: Model, chosen: frozenset[int], deadlock: bool, k: int, solver: Solver
    ) -> None:
        self.model = model
        self.formulas = formulas = Formulas(model)
        self.last: Truth = True
        for fact in formulas.facts:
            solver.add(fact)
        first = [unknowns.fresh(v.type, v.name) for v in model.variables]
        for _, fact in first:
            solver.add(fact)
        self.levels = [Level(tuple(tree for tree, _ in first))]
        self.searched = model.searched(chosen)
        faults: list[Fault] = []
        assertions: list[Fault] = []
        for number in range(k):
            before = self.levels[-1]
            for constraint in self.searched.constraints:
                solver.add(formulas.property(constraint, before).holds)
            move = formulas.move(before)
            after: list[Tree] = []
            for kind, tree in zip(formulas.kinds, move.store, strict=True):
                name, fact = values.named(kind, tree, f"s{number + 1}")
                after.append(name)
                solver.add(fact)
            self.levels.append(Level(tuple(after)))
            if number < k - 1:
                solver.add(move.path)
                continue
            self.last = move.path
            for action, failure in move.failures:
                kind_of = assertions if failure.assertion else faults
                kind_of.append(Fault(failure.condition, failure.site, action))
        # A shortest path to a failure visits no state twice, so the states must differ.
        for left, right in combinations(self.levels[:-1], 2):
            solver.add(terms.negation(self._same(left, right)))
        self.obligations = self._obligations(deadlock, faults, assertions)

    def _same(self, first: Level, second: Level) -> Truth:
        columns = zip(first.store, second.store, self.formulas.kinds, strict=True)
        return terms.both(*(order.equal(a, b, kind) for a, b, kind in columns))

    def _obligations(
        self, deadlock: bool, faults: list[Fault], assertions: list[Fault]
    ) -> list[Obligation]:
        formulas, searched, last = self.formulas, self.searched, self.levels[-1]
        obligations = [self.of_property(number) for number in searched.must_hold]
        failures = [*formulas.bounds(last, searched.constraints).failures]
        for number in searched.reachables:
            failures += [(number, failure) for failure in formulas.property(number, last).failures]
        end = formulas.end(last, searched, deadlock)
        for _, failure in (*failures, *end.failures):
            wrong = terms.both(self.last, failure.condition)
            faults.append(Fault(wrong, failure.site, None))
        obligations.append(_without(EVALUATION, faults))
        if assertions:
            obligations.append(_without(ASSERTION, assertions))
        if deadlock:
            obligations.append(Obligation(DEADLOCK, True, terms.both(self.last, end.dead)))
        return obligations

    def of_property(self, number: int) -> Obligation:
        """Returns the obligation to prove that a property holds at the end."""
        item = self.model.properties[number]
        if item.kind.of_steps:
            pairs = pairwise(self.levels)
            answers = [self.formulas.property(number, *pair) for pair in pairs]
        else:
            answers = [self.formulas.property(number, level) for level in self.levels]
        assumed = terms.both(*(answer.holds for answer in answers[:-1]))
        wrong = terms.both(self.last, terms.negation(answers[-1].holds))
        faults = tuple(Fault(f.condition, f.site, None) for f in answers[-1].failures)
        return Obligation(item.title, assumed, wrong, number, faults)

    def guess(self, condition: Expr) -> tuple[Truth, Truth]:
        """For a condition on states, returns the condition that it holds before the end, and the
        condition that it fails at the end.
        """
        truths = [self.formulas.truth(condition, level) for level in self.levels]
        return terms.both(*truths[:-1]), terms.both(self.last, terms.negation(truths[-1]))


def _without(subject: str, faults: Sequence[Fault]) -> Obligation:
    wrong = terms.either(*(fault.condition for fault in faults))
    return Obligation(subject, True, wrong, None, tuple(faults))


def counterexample(
    case: StepCase,
    obligation: Obligation,
    model: Any,
    assumed: Sequence[Obligation],
    look: Callable[[], None],
) -> Finding:
    """Returns a finding which shows that an obligation is not inductive: consecutive states of
    which the last one, or the step after it, breaks the obligation. The interpreter replays the
    steps and confirms the truth values of the solver.
    """
    constants = case.formulas.constants_in(model)
    runner = WatchedRunner(instance(case.model, [choice.value for choice in constants]), look)
    states = [case.formulas.state_in(model, level) for level in case.levels]
    fault = next((f for f in obligation.faults if terms.truth_in(model, f.condition)), None)
    finding = Finding(Verdict.INCONCLUSIVE, obligation.number, 0, None, constants=constants)
    if fault is not None:
        site = runner.model.sites[fault.site]
        finding = replace(finding, site=site)
    if fault is not None and fault.action is not None:
        trace = trace_from(runner, states[:-1], fault.action, fault.site)
    else:
        trace = trace_from(runner, states)
    finding = replace(finding, trace=trace)
    for other in (*assumed, obligation):
        _confirm(case, runner, other, states[:-1])
    if obligation.number is None or fault is not None:
        if obligation.subject == DEADLOCK:
            finding = replace(finding, blocked=runner.blocked(states[-1]))
        return finding
    at, after = case.model.properties[obligation.number].kind.place(*states[-2:])
    assert not _holds(runner, obligation.number, at, after), "the counterexample does not replay"
    why = explain(runner, obligation.number, at, after)
    return replace(finding, instance=why.instance, failing=why.failing)


def _confirm(
    case: StepCase, runner: Runner, obligation: Obligation, states: Sequence[State]
) -> None:
    """Asserts, using the interpreter, that a property holds where it was assumed."""
    if obligation.number is None:
        return
    kind = case.model.properties[obligation.number].kind
    positions = pairwise(states) if kind.of_steps else ((state, None) for state in states)
    good = all(_holds(runner, obligation.number, *position) for position in positions)
    assert good, "what was assumed does not hold in the counterexample"


def _holds(runner: Runner, number: int, state: State, after: State | None) -> bool:
    try:
        return runner.holds(number, state, after)
    except EvaluationError:
        return False
