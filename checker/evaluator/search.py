"""Searches the states of a TLA+ module breadth first, by evaluating it. The counts are TLC's with
one worker.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, cast

from fencepost.checker.evaluator.alias import with_alias
from fencepost.checker.evaluator.liveness import decided, recorder_for
from fencepost.checker.evaluator.model import TlaModel, ValueTable, site_of
from fencepost.checker.evaluator.program import RECURSION
from fencepost.checker.evaluator.runner import TlaRunner
from fencepost.checker.outcome import POSTCONDITION, Fact, Finding, Outcome, Trace, Verdict
from fencepost.checker.request import Request, Translation, Unsupported
from fencepost.checker.search.account import Account, Candidate, without_states
from fencepost.checker.search.explain import trace_from
from fencepost.checker.search.interrupts import Interrupts
from fencepost.checker.search.levels import LevelSearch
from fencepost.checker.search.limits import Watch
from fencepost.checker.search.value_states import ValueStates
from fencepost.checker.search.visiting import Visitor
from fencepost.spec.core.ir import Model, Site
from fencepost.spec.core.properties import Rank
from fencepost.spec.core.types import State
from fencepost.spec.semantics.choice_points import EvaluationError
from fencepost.spec.semantics.stepper import Failure
from fencepost.spec.text.problem import listing
from fencepost.spec.tla.evaluate.machine import Located
from fencepost.spec.tla.evaluate.specification import Condition, Specification
from fencepost.spec.tla.modules.scopes import Operator
from fencepost.spec.tla.standard.rows import record, truth
from fencepost.spec.tla.values.kinds import TRUE, Value
from fencepost.spec.tla.values.symmetry import Permutation, permuted
from fencepost.spec.tla.values.universe import Universe


class Evaluator:
    """The engine that this module implements."""

    name = "evaluator"
    library = ""

    def obstacle(self) -> str | None:
        return None

    def translation(self, model: Model, properties: frozenset[int]) -> Translation | None:
        return None

    def run(self, request: Request) -> Outcome:
        return answer_module(request, searched)


ENGINE = Evaluator()


def searched(request: Request, model: TlaModel) -> Outcome:
    """Searches the states of a module."""
    account = FirstProblem(request)
    decided_before = without_search(model, account)
    if decided_before is not None:
        return decided_before
    specification: Specification = model.specification
    universe: Universe = specification.universe
    watch = Watch(request, account, Interrupts())
    runner = TlaRunner(model)
    states = TlaStates(watch, runner)
    runner.level_of = states.level_of
    universe.runtime.statistic = states.statistic
    search = LevelSearch(watch, states, runner=lambda: runner)
    recorder = runner.recorder = recorder_for(runner, model, request)

    def completed(outcome: Outcome) -> Outcome:
        if recorder is not None:
            outcome = decided(outcome, request, search, recorder)
        return with_postcondition(outcome, runner, states.deepest)

    outcome = with_calls(search.run(completed), specification)
    if model.has_levels:
        outcome = _without_levels(outcome, len(model.variables))
    outcome = with_alias(outcome, model)
    return replace(outcome, notes=(*outcome.notes, *_notes(specification), *specification.notes))


def answer_module(request: Request, search: Callable[[Request, TlaModel], Outcome]) -> Outcome:
    """Runs a search of a module, whose expressions may be nested deep."""
    model = request.model
    if not isinstance(model, TlaModel):
        raise Unsupported("it is for TLA+ modules")
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, RECURSION))
    try:
        return search(request, model)
    finally:
        sys.setrecursionlimit(before)


def without_search(model: TlaModel, account: Account) -> Outcome | None:
    """Returns the outcome if an assumption is false or the module has no behaviour, or else
    None.
    """
    specification: Specification = model.specification
    universe: Universe = specification.universe
    universe.runtime.statistic = partial(before_search, universe, model.checks_deadlock)
    broken = broken_assumptions(model)
    if broken is not None or specification.initial is not None:
        return broken
    notes = ("The assumptions of the module hold.", *specification.notes)
    return replace(without_states(model, Verdict.OK, account.elapsed), notes=notes)


def before_search(universe: Universe, deadlock: bool, name: str) -> Value:
    """Returns the value of TLCGet for a name that has one before the search."""
    if name != "config":
        return None
    return record(universe, {"mode": "bfs", "worker": 1, "deadlock": truth(deadlock)})


def _without_levels(outcome: Outcome, count: int) -> Outcome:
    """Returns an outcome whose traces have states of ``count`` variables only."""

    def cut(trace: Trace | None) -> Trace | None:
        if trace is None:
            return None
        steps = [replace(s, state=s.state and s.state[:count]) for s in trace.steps]
        return replace(trace, steps=tuple(steps))

    findings = tuple(replace(item, trace=cut(item.trace)) for item in outcome.findings)
    return replace(outcome, findings=findings)


def with_calls(outcome: Outcome, specification: Specification) -> Outcome:
    """Counts each step for the definitions that call the one that names it, too."""
    labels, parts = specification.actions, specification.compiler.parts
    taken = dict(zip(labels, outcome.coverage.taken, strict=False))
    counts = [taken[label] + sum(taken[part] for part in _below(label, parts)) for label in labels]
    rest = outcome.coverage.taken[len(labels) :]
    return replace(outcome, coverage=replace(outcome.coverage, taken=(*counts, *rest)))


def _below(label: Operator, parts: Mapping[Operator, set[Operator]]) -> set[Operator]:
    """Returns the definitions that a definition calls directly or through others."""
    below: set[Operator] = set()
    waiting = [label]
    while waiting:
        fresh = parts.get(waiting.pop(), set()) - below
        below |= fresh
        waiting += fresh
    return below - {label}


def _notes(specification: Specification) -> Iterator[str]:
    """Yields the remarks about traces and merged states."""
    view = specification.view
    files = [*specification.universe.runtime.files]
    if files:
        yield Fact(f"The module read {listing(files, 'and')}.")
    if view is not None:
        yield f"States with the same value of {view.name} count as one."
    if specification.permutations:
        yield (
            f"States that one of {len(specification.permutations) + 1:,} permutations maps to each "
            "other count as one; the search does not verify that the module is symmetric."
        )


def with_postcondition(
    outcome: Outcome, runner: TlaRunner, deepest: Callable[[], list[State]]
) -> Outcome:
    """Returns the outcome of a search, after the postcondition if the search was complete.
    ``deepest`` returns the path to the first state of the last level, or an empty list.
    """
    model = runner.tla
    condition = model.specification.postcondition
    if condition is None or outcome.verdict is not Verdict.OK:
        return outcome
    depth, verdict = outcome.statistics.depth, Verdict.ASSERTION
    try:
        if model.specification.value(condition, [None] * len(model.variables)) is TRUE:
            return outcome
        site = Site(POSTCONDITION, condition.span, f"{condition.name} is not true")
        path = deepest()
        trace = trace_from(runner, path) if path else None
    except Located as error:
        verdict, site, trace = Verdict.ERROR, site_of(error), None
    finding = Finding(verdict, None, depth, trace, site=site)
    notes = outcome.notes
    if trace is not None:
        notes = (*notes, Fact("The trace leads to the first state of the last level."))
    return replace(outcome, verdict=verdict, findings=(finding,), notes=notes)


def broken_assumptions(model: TlaModel) -> Outcome | None:
    """Returns the outcome if an assumption is false or has no value."""
    started = time.monotonic()
    findings: list[Finding] = []
    for assumption in model.specification.assumptions:
        try:
            nothing = [None] * len(model.variables)
            if not model.specification.holds(assumption, nothing):
                why = model.specification.reason(assumption, nothing)
                finding = Finding(Verdict.ASSUMPTION, None, 0, None, failing=assumption.span)
                findings.append(replace(finding, instance=model.choices(why.values)))
        except Located as error:
            findings.append(Finding(Verdict.ERROR, None, 0, None, site=site_of(error)))
    if not findings:
        return None
    outcome = without_states(model, findings[0].verdict, time.monotonic() - started)
    return replace(outcome, findings=tuple(findings))


class FirstProblem(Account):
    """The account of a search that visits states in TLC's order. As in TLC, the first problem is
    reported.
    """

    def offer(self, problem: Candidate) -> None:
        if self.keep_going or not self.candidates:
            super().offer(problem)


class TlaStates(ValueStates):
    """The states of a module, in the order of discovery, as TLC has it with one worker."""

    def __init__(self, watch: Watch, runner: TlaRunner) -> None:
        self.identity = Identity(runner.tla)
        self._tla = runner
        self._last: State | None = None
        self.universe, self.deadlock = self.identity.universe, runner.tla.checks_deadlock
        super().__init__(watch, runner, None, self._new_visitor)

    def _new_visitor(self, *arguments: Any, **named: Any) -> TlaVisitor:
        return TlaVisitor(self.identity, *arguments, **named)

    def ordered(self, states: list[State]) -> list[State]:
        return states

    def expand(self) -> None:
        self._last = self._visitor.fresh[0]
        super().expand()

    def level_of(self, state: State) -> int:
        """Returns the level of a state that was found."""
        level, before = 1, self._parents.get(state)
        while before is not None:
            level, before = level + 1, self._parents[before]
        return level

    def deepest(self) -> list[State]:
        """Returns the path to the first state of the last level, or an empty list."""
        path: list[State] = []
        state = self._last
        while state is not None:
            path.append(state)
            state = self._parents[state]
        return path[::-1]

    def statistic(self, name: str) -> Value:
        """Returns the value of TLCGet for a name."""
        extent, level = self.extent, self._tla.level
        level = extent.level - 1 if level is None else level
        match name:
            case "level":
                return level
            case "diameter":
                return max(1, level + bool(self._visitor.fresh))
            case "distinct":
                return extent.states
            case "generated":
                return extent.generated
            case "queue":
                return extent.states - extent.expanded
            case "duration":
                return int(self._watch.account.elapsed)
            case "stats":
                names = ("diameter", "distinct", "duration", "generated", "queue")
                return record(self.universe, {name: self.statistic(name) for name in names})
            case _:
                return before_search(self.universe, self.deadlock, name)


class Identity:
    """Decides which states count as one: by the view and by the symmetry of the configuration."""

    def __init__(self, model: TlaModel) -> None:
        self.model = model
        self.universe: Universe = model.specification.universe
        self.view: Condition | None = model.specification.view
        self.images: list[tuple[Permutation, dict[int, int]]] = [
            (permutation, {}) for permutation in model.specification.permutations
        ]
        """The permutations with the numbers of the values that they make."""
        self.keys: set[State] = set()
        """The keys of the states inside the constraints."""

    @property
    def merges(self) -> bool:
        """Whether different states may count as one."""
        return self.view is not None or bool(self.images)

    def key(self, state: State) -> State:
        """Returns the same key for states that count as one. Raises `Located`."""
        least = min((state, *(self._image(state, *pair) for pair in self.images)))
        if self.view is None:
            return least
        value = self.model.specification.value(self.view, self.model.values(least))
        count = len(self.model.variables)
        taken = least[count : count + bool(self.model.avoided)]
        return (self.model.table.number(value), *taken)

    def _image(self, state: State, permutation: Permutation, numbers: dict[int, int]) -> State:
        table: ValueTable = self.model.table
        members = cast("tuple[int, ...]", state[: len(self.model.variables)])
        for number in members:
            if number not in numbers:
                value = permuted(self.universe, table.values[number], permutation)
                numbers[number] = table.number(value)
        return (*[numbers[number] for number in members], *state[len(members) :])


class TlaVisitor(Visitor):
    """Visits the states of a module. A state is a deadlock if nothing at all follows it.

    A step outside of the action constraints is counted, but the state that it leads to is not kept,
    as it is with TLC; the invariants of this state and of the step are checked.
    """

    runner: TlaRunner

    def __init__(self, identity: Identity, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.identity = identity
        self.merges = identity.merges

    def expand(self, state: State) -> None:
        followed = False
        steps_matter, taken, seen = self.searched.step_invariants, self.taken, self.seen
        recorder = self.runner.recorder
        if recorder is not None:
            self._recorded(state, state, partial(recorder.begin, state))
        for action, after in self.runner.steps(state):
            followed = True
            if isinstance(after, Failure):
                self._fail(self.depth + 1, action, state, after)
                continue
            taken[action] += 1
            is_taken = self.runner.is_taken(state, after)
            if after not in seen:
                if is_taken:
                    self._discover(after, state)
                else:
                    self._examine(after, state)
            for number in steps_matter:
                self._check_step(number, after, state)
            if recorder is not None and is_taken:
                self._recorded(after, state, partial(recorder.step, state, after))
        if not followed and self.deadlock:
            self.account.offer(Candidate(self.depth, Rank.DEADLOCK, 0, state))

    def _discover(self, state: State, before: State | None) -> None:
        if not self.merges:
            super()._discover(state, before)
            return
        keys = self.identity.keys
        try:
            key = self.identity.key(state)
        except Located as error:
            self.seen[state] = before
            self._fail(self.depth + 1, 0, before, Failure(self.runner.tla.site(error), False))
            return
        if key not in keys:
            size = len(self.fresh)
            super()._discover(state, before)
            # A state outside the constraints does not represent others.
            if len(self.fresh) > size:
                keys.add(key)

    def _recorded(self, state: State, before: State, record: Callable[[], None]) -> None:
        """Records something for the properties of behaviours."""
        try:
            record()
        except EvaluationError as error:
            depth = self.depth if state is before else self.depth + 1
            number = self.searched.behaviours[0]
            self._fail_in(depth, number, state, None if state is before else before, error)
