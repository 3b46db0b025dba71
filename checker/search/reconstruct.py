"""From the states along a path to a trace: which action, under which choices, led from each to
the next. It does not know how the path was found.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from fencepost.checker.outcome import Step, Trace
from fencepost.spec.core.types import State
from fencepost.spec.semantics.stepper import Runner, Successor


def trace_along(runner: Runner, states: Sequence[State]) -> Trace:
    """The trace through these states: each step is the first, by action and choices, that leads
    from one to the next.
    """
    return Trace(tuple(_steps(runner, states)))


def trace_to_failure(runner: Runner, states: Sequence[State], action: int, site: int) -> Trace:
    """The trace through these states and on to the first step of ``action`` that fails at
    ``site``; with no states, to the first failing choice of an initial state.
    """
    tried = runner.successors(states[-1]) if states else runner.initial()
    for step in tried:
        if (
            step.failure is not None
            and step.failure.site == site
            and (not states or step.action == action)
        ):
            return Trace((*_steps(runner, states), Step(step.action, step.choices, None)))
    raise AssertionError(f"no step fails at site {site}")


def first_failure(runner: Runner, state: State | None, action: int, assertion: bool) -> int:
    """The site at which an action first fails in a state, in the order of its choices (with no
    state: at which the choice of an initial state does): by evaluation, or by an ``assertion``.
    """
    tried = runner.initial() if state is None else runner.attempts(action, state)
    for step in tried:
        if step.failure is not None and step.failure.assertion is assertion:
            return step.failure.site
    raise AssertionError(f"no step of action {action} fails")


def trace_from(
    runner: Runner, states: Sequence[State], action: int | None = None, site: int | None = None
) -> Trace:
    """The trace through these states, of which the first may be any; and on, where a ``site`` is
    given, to the first step of ``action`` that fails there.
    """
    steps = [Step(None, (), states[0])]
    for before, after in pairwise(states):
        found = next(step for step in runner.successors(before) if step.state == after)
        steps.append(Step(found.action, found.choices, found.state))
    if site is not None:
        failing = next(
            step
            for step in runner.successors(states[-1])
            if step.action == action and step.failure is not None and step.failure.site == site
        )
        steps.append(Step(failing.action, failing.choices, None))
    return Trace(tuple(steps))


def first_impossible(runner: Runner, trace: Trace) -> int | None:
    """The position of the first step of ``trace`` that the model cannot make; None: it can all."""
    before: State | None = None
    for position, step in enumerate(trace.steps):
        if position == 0:
            tried: Iterable[Successor] = runner.initial()
        elif before is not None:
            tried = runner.successors(before)
        else:
            return position
        if all(
            (other.action, other.choices, other.state) != (step.action, step.choices, step.state)
            for other in tried
        ):
            return position
        before = step.state
    return None


def _steps(runner: Runner, states: Sequence[State]) -> list[Step]:
    steps: list[Step] = []
    for position, state in enumerate(states):
        tried = runner.successors(states[position - 1]) if position else runner.initial()
        found = next(step for step in tried if step.state == state)
        steps.append(Step(found.action, found.choices, found.state))
    return steps
