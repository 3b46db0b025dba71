"""Reconstructs a trace from the states along a path, and explains why a property is false: by the
failing instance and the innermost part that is to blame.

An explanation descends into the property, evaluating its parts, until it reaches the part that
decides the value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from fencepost.checker.outcome import Finding, Misfit, Step, Trace, Unfit
from fencepost.spec.core import ir, types
from fencepost.spec.core.types import State, Value
from fencepost.spec.semantics.stepper import Attempt, Choice, Reason, Runner, Successor
from fencepost.spec.text.source import Span


def trace_to_failure(runner: Runner, states: Sequence[State], action: int, site: int) -> Trace:
    """Reconstructs the trace through these states, followed by the first step of ``action`` that
    fails at ``site``. Without states, the trace consists of the first failing choice of an initial
    state.
    """
    tried = runner.successors(states[-1]) if states else runner.initial()
    for step in tried:
        if (
            step.failure is not None
            and step.failure.site == site
            and (not states or step.action == action)
        ):
            before = trace_from(runner, states).steps if states else ()
            return Trace((*before, Step(step.action, step.choices, None)))
    # The steps of a module may depend on random values.
    assert runner.model.is_opaque, f"no step fails at site {site}"
    return Trace((*(trace_from(runner, states).steps if states else ()), Step(action, (), None)))


def first_failure(runner: Runner, state: State | None, action: int, assertion: bool) -> int:
    """Returns the site at which an action first fails in a state, trying the choices in order.
    Without a state, returns the site at which the choice of an initial state fails. ``assertion``
    selects whether a failed assertion or a failed evaluation is searched for.
    """
    tried = runner.initial() if state is None else runner.attempts(action, state)
    for step in tried:
        if step.failure is not None and step.failure.assertion is assertion:
            return step.failure.site
    raise AssertionError(f"no step of action {action} fails")


def trace_from(
    runner: Runner, states: Sequence[State], action: int | None = None, site: int | None = None
) -> Trace:
    """Reconstructs the trace through these states, which may start in any state. Each step is the
    first one, by action and choices, that leads from one state to the next. With a ``site``, the
    trace continues with the first step of ``action`` that fails at that site.

    An initial state has no visible choices (see `Pick`), so its choices are not made again.
    """
    steps = [Step(None, (), states[0])]
    for before, after in pairwise(states):
        taken = runner.between(before, after)
        steps.append(Step(taken.action, taken.choices, taken.state))
    if site is not None:
        failing = next(
            step
            for step in runner.successors(states[-1])
            if step.action == action and step.failure is not None and step.failure.site == site
        )
        steps.append(Step(failing.action, failing.choices, None))
    return Trace(tuple(steps))


def first_impossible(runner: Runner, trace: Trace) -> int | None:
    """Returns the position of the first step of ``trace`` that the model cannot take, or None if
    the model can take all steps.
    """
    before: State | None = None
    for position, step in enumerate(trace.steps):
        if position == 0:
            tried: Iterable[Successor] = runner.initial(step.state)
        elif before is not None and step.action is not None:
            tried = runner.again(step.action, before, step.choices)
        else:
            return position
        if all(
            (other.action, other.choices, other.state) != (step.action, step.choices, step.state)
            for other in tried
        ):
            return position
        before = step.state
    return None


def explained(
    runner: Runner, finding: Finding, property: int, before: State | None, state: State
) -> Finding:
    """Adds to a finding the reason why a property is violated at the end of a path. ``before`` and
    ``state`` are the last states of the path.
    """
    declared = runner.model.properties[property]
    if declared.abstract is not None:
        return replace(finding, misfit=misfit(runner, property, before, state))
    why = explain(runner, property, *declared.kind.place(before, state))
    return replace(finding, instance=why.instance, failing=why.failing, read=why.read)


def explain(runner: Runner, property: int, state: State, after: State | None) -> Reason:
    """Explains why a property is violated. ``after`` is the next state, for a step invariant."""
    if runner.model.is_opaque:
        return runner.reason(property, state, after)
    search = _Blame(runner, state, after)
    body = runner.model.properties[property].body
    search.descend(body, False, {})
    return Reason(tuple(search.instance), search.span)


@dataclass(slots=True)
class _Blame:
    """A descent into a property, for fixed states."""

    runner: Runner
    state: State
    after: State | None
    instance: list[Choice] = field(default_factory=list[Choice])
    span: Span | None = None

    def value(self, expr: ir.Expr, bindings: Mapping[int, Value]) -> Value:
        return self.runner.value(expr, bindings, self.state, self.after)

    def descend(self, expr: ir.Expr, truth: bool, bindings: Mapping[int, Value]) -> None:
        """Continues from ``expr``, whose value is ``truth`` although it should be the opposite, to
        the part that decides this value. Stops if no single part does.

        Only false parts are blamed. Below a negation, the parts at fault are true, and pointing at
        a true part would suggest that it is false.
        """
        if expr.span is not None and not truth:
            self.span = expr.span
        match expr:
            case ir.Let(_, slot, bound, body):
                self.descend(body, truth, {**bindings, slot: self.value(bound, bindings)})
            case ir.Demand(_, _, _, body) | ir.Witness(_, body):
                self.descend(body, truth, bindings)
            case ir.Not(operand):
                self.descend(operand, not truth, bindings)
            case ir.And(parts) if not truth:
                self.descend(self.first(parts, False, bindings), truth, bindings)
            case ir.Or(parts) if truth:
                self.descend(self.first(parts, True, bindings), truth, bindings)
            case ir.Or((ir.Not(), conclusion)):
                # This is an implication whose premise has the expected value.
                self.descend(conclusion, truth, bindings)
            case ir.Conditional(_, condition, then, otherwise):
                arm = then if self.value(condition, bindings) else otherwise
                self.descend(arm, truth, bindings)
            case ir.Quantified(every, slot, domain, body, name) if every is not truth:
                self.choose(slot, domain, body, name, truth, bindings)
            case _:
                pass

    def first(
        self, parts: tuple[ir.Expr, ...], truth: bool, bindings: Mapping[int, Value]
    ) -> ir.Expr:
        return next(part for part in parts if self.value(part, bindings) is truth)

    def choose(
        self,
        slot: int,
        domain: ir.Expr,
        body: ir.Expr,
        name: str,
        truth: bool,
        bindings: Mapping[int, Value],
    ) -> None:
        """Continues with the first element whose ``body`` decides the quantified expression."""
        elements, kind = self.value(domain, bindings), types.as_collection(domain.type)
        assert not isinstance(elements, int), "a set, which may be too large to be stored"
        for element in elements:
            inner = {**bindings, slot: element}
            if self.value(body, inner) is truth:
                if name:
                    self.instance.append(Choice(name, kind.element, element))
                self.descend(body, truth, inner)
                return


def misfit(runner: Runner, property: int, before: State | None, state: State) -> Misfit:
    """Explains a step that the refined model cannot take: returns the images of both states and,
    for each action, the reason why it does not fit. If ``before`` is None, ``state`` is an initial
    state.
    """
    there = runner.refined(property).runner
    after = runner.image(property, state)
    if before is None:
        initial_states = [
            candidate.state for candidate in there.initial() if candidate.state is not None
        ]
        nearest = min(
            initial_states, key=lambda candidate: _distance(candidate, after), default=None
        )
        return Misfit(None, after, (Unfit(None, (), nearest),))
    image = runner.image(property, before)
    actions = range(len(there.model.actions))
    return Misfit(
        image, after, tuple(_unfit(there, candidate, image, after) for candidate in actions)
    )


def _unfit(runner: Runner, action: int, before: State, after: State) -> Unfit:
    """Returns the step of an action that comes nearest to ``after``. If the action has no step,
    returns a failing attempt or, if no attempt fails, the guards that are false.
    """
    nearest: Attempt | None = None
    failing: Attempt | None = None
    guards: set[int] = set()
    for attempt in runner.attempts(action, before):
        if attempt.state is not None:
            if nearest is None or _distance(attempt.state, after) < _distance(nearest.state, after):
                nearest = attempt
        elif attempt.failure is not None:
            failing = failing or attempt
        elif attempt.guard is not None:
            guards.add(attempt.guard)
    if nearest is not None:
        return Unfit(action, nearest.choices, nearest.state)
    if failing is not None and failing.failure is not None:
        return Unfit(action, failing.choices, site=failing.failure.site)
    return Unfit(action, (), guards=tuple(sorted(guards)))


def _distance(state: State | None, other: State) -> int:
    """Counts the variables that differ between two states."""
    return sum(a != b for a, b in zip(state or (), other, strict=False))
