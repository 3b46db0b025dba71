"""Decides temporal properties of TLA+ modules, with the algorithm of `temporal.decide`.

The search records for each state the steps from it, with the fairness constraints and the
conditions of formulas that each step meets, and the constraints that are enabled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from fencepost.checker.evaluator.model import TlaModel
from fencepost.checker.evaluator.runner import TlaRunner
from fencepost.checker.outcome import FairTo, Finding, Outcome, Trace, Verdict
from fencepost.checker.request import Request, Unsupported
from fencepost.checker.search.account import Cut, Expired
from fencepost.checker.search.alarm import raised_after
from fencepost.checker.search.deciding import Decision
from fencepost.checker.search.explain import trace_from
from fencepost.checker.search.levels import LevelSearch
from fencepost.checker.temporal.decide import SHARES, Graph, violation
from fencepost.checker.temporal.lasso import (
    Lasso,
    Reason,
    blame,
    fair_reasons,
    violates,
)
from fencepost.checker.temporal.pairs import Pairs, Step, without_bits
from fencepost.checker.temporal.units import Unit
from fencepost.checker.temporal.verdict import expanded_levels, judged
from fencepost.spec.core.formulas import Formula, predicates
from fencepost.spec.core.types import State
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.choice_points import EvaluationError
from fencepost.spec.semantics.stepper import Failure


@dataclass(slots=True)
class Recorder:
    """Records the steps of a module during a search. ``bits`` are the bits of the conditions on
    steps, by the numbers of their properties. ``merged`` says whether the search visits one of
    several symmetric states; properties of behaviours are decided on all of them.
    """

    runner: TlaRunner
    bits: Mapping[int, int]
    merged: bool
    _steps: dict[State, dict[State, Step]] = field(default_factory=dict[State, dict[State, Step]])
    _enabled: dict[State, frozenset[Unit]] = field(default_factory=dict[State, frozenset[Unit]])
    _truths: dict[tuple[int, State], bool] = field(default_factory=dict[tuple[int, State], bool])

    def initial(self) -> Iterator[State]:
        """Yields the initial states."""
        for successor in self.runner.initial():
            if successor.state is not None:
                yield successor.state

    def begin(self, state: State) -> None:
        """Starts the record of the steps from a state. Raises `EvaluationError`."""
        fairness = range(len(self.runner.tla.fair))
        self._steps[state], self._enabled[state] = {}, frozenset()
        self._enabled[state] = frozenset(
            Unit(number, ()) for number in fairness if self.runner.is_enabled(number, state)
        )

    def step(self, state: State, after: State) -> None:
        """Records a step. Raises `EvaluationError`."""
        steps = self._steps[state]
        if after == state or after in steps:
            return
        units = [
            unit
            for unit in self._enabled[state]
            if self.runner.is_fair_step(unit.constraint, state, after)
        ]
        met = [bit for number, bit in self.bits.items() if self.runner.holds(number, state, after)]
        steps[after] = frozenset(units), sum(met)

    def enabled(self, state: State) -> frozenset[Unit]:
        """Returns the fairness constraints that are enabled in a state."""
        return self._enabled[state]

    def steps(self, state: State) -> Mapping[State, Step]:
        """Returns the recorded steps from a state."""
        return self._steps[state] if self.has(state) else {}

    def holds(self, number: int, state: State) -> bool:
        """Returns whether a condition on states holds; it is evaluated once."""
        key = number, state
        if key not in self._truths:
            self._truths[key] = self.runner.holds(number, state)
        return self._truths[key]

    def has(self, state: State) -> bool:
        """Returns whether a state is expanded. If the search merged states, the others are expanded
        here.
        """
        if state in self._steps or not self.merged:
            return state in self._steps
        constraints = self.runner.tla.searched(()).constraints
        if not all(self.holds(number, state) for number in constraints):
            return False
        try:
            self.begin(state)
            for _, after in self.runner.steps(state):
                if isinstance(after, Failure):
                    raise EvaluationError(after.site)
                if self.runner.is_taken(state, after):
                    self.step(state, after)
        except EvaluationError as error:
            site = self.runner.tla.sites[error.site]
            message = "it needs a symmetric module, but a step fails in a symmetric state"
            raise Unsupported(message, site.span, "leave out SYMMETRY") from None
        return True


def decided(outcome: Outcome, request: Request, search: LevelSearch, recorder: Recorder) -> Outcome:
    """Adds the results for temporal properties to the outcome of a search."""
    account, pairs, graphs = search.account, Pairs(recorder), list[Graph]()

    def decide(formula: Formula, decision: Decision) -> Lasso | None:
        try:
            with raised_after(account.left, Expired):
                if not graphs:
                    levels, total = expanded_levels(outcome), outcome.statistics.distinct
                    graphs.append(pairs.graph(levels, decision, total))
                return violation(graphs[0], formula, decision)
        except Expired:
            raise Cut(account.expired) from None

    def finding_of(number: int, lasso: Lasso) -> Finding:
        result = finding(recorder, pairs, number, lasso)
        assert result is not None, "the lasso is not fair"
        return result

    with search.watch.deciding(SHARES) as decision:
        return judged(
            outcome, request, recorder.runner, decide, decision, account.started, finding_of
        )


def finding(recorder: Recorder, pairs: Pairs, number: int, lasso: Lasso) -> Finding | None:
    """Returns the finding for a lasso of pairs that violates a property, or None if the behaviour
    is not fair.
    """
    lasso = lasso.rotated()
    model = recorder.runner.tla
    formula = model.properties[number].formula
    assert formula is not None
    why = blame(pairs, formula, lasso)
    plain = without_bits(lasso)
    fair: list[FairTo] = []
    for unit, reason in _fair_reasons(recorder, plain).items():
        if reason is None:
            return None
        fair.append(FairTo(unit.constraint, (), reason.taken, reason.impossible))
    return Finding(
        Verdict.VIOLATED,
        number,
        len(plain.states),
        Trace(trace_from(recorder.runner, plain.states).steps, plain.loop),
        failing=why.part.span,
        index=len(model.actions) + number,
        since=why.position,
        fair=tuple(fair),
    )


def _fair_reasons(recorder: Recorder, lasso: Lasso) -> dict[Unit, Reason | None]:
    """Returns for each fairness constraint the reason why a lasso is fair to it, or None if the
    lasso is not.
    """
    leads = {
        state: {after: set(units) for after, (units, _) in recorder.steps(state).items()}
        for state in lasso.states
    }
    possible = {state: set(recorder.enabled(state)) for state in lasso.states}
    return fair_reasons(recorder.runner.tla, lasso, leads, possible, {})


def judged_lasso(
    runner: TlaRunner, formula: Formula, lasso: Lasso
) -> tuple[bool, dict[Unit, Reason | None]]:
    """Returns whether a lasso of any states violates a formula, and the reasons why it is fair to
    the constraints, as `_fair_reasons` does. A behaviour that leaves the constraints does not
    violate it. Raises `EvaluationError`.
    """
    model = runner.tla
    numbers = [n for n in predicates(formula) if model.is_of_steps(n)]
    recorder = Recorder(runner, {n: 1 << index for index, n in enumerate(numbers)}, merged=True)
    word = lasso.states[:-1] if lasso.cycle else lasso.states
    following = lasso.states[1:] if lasso.cycle else (*lasso.states[1:], lasso.states[-1])
    pairs: list[State] = []
    for state, after in zip(word, following, strict=True):
        taken = recorder.steps(state).get(after)
        if not recorder.has(state) or (taken is None and state != after):
            return False, {}
        pairs.append((*state, 0 if taken is None else taken[1]))
    size = len(lasso.stem)
    back = (pairs[size - 1],) if lasso.cycle else ()
    of_pairs = Lasso((*pairs[:size],), (*pairs[size:], *back))
    return violates(Pairs(recorder), formula, of_pairs), _fair_reasons(recorder, lasso)


def recorder_for(runner: TlaRunner, model: TlaModel, request: Request) -> Recorder | None:
    """Returns a recorder if the request has properties of behaviours."""
    searched = model.searched(request.properties)
    if not searched.behaviours:
        return None
    steps = [number for number in searched.predicates if model.is_of_steps(number)]
    view = model.specification.view
    if view is not None:
        name = model.properties[searched.behaviours[0]].name
        message = f"it does not decide {name} on states that VIEW {view.name} merges"
        raise Unsupported(message, view.span, "leave out VIEW or the property")
    bits = {number: 1 << index for index, number in enumerate(steps)}
    return Recorder(runner, bits, bool(model.specification.permutations))
