"""Reconstructs a trace from the states along a path: the action and choices of each step."""

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
    """The trace through these states, followed by the first step of ``action`` that fails at
    ``site``; without states, the first failing choice of an initial state.
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
    """The site at which an action first fails in a state, in the order of its choices (without a
    state: at which the choice of an initial state fails), by evaluation or by an ``assertion``.
    """
    tried = runner.initial() if state is None else runner.attempts(action, state)
    for step in tried:
        if step.failure is not None and step.failure.assertion is assertion:
            return step.failure.site
    raise AssertionError(f"no step of action {action} fails")


def trace_from(
    runner: Runner, states: Sequence[State], action: int | None = None, site: int | None = None
) -> Trace:
    """The trace through these states, starting with any state. With a ``site``, it
    continues with the first step of ``action`` that fails there.
    """
    steps = [Step(None, (), states[0])]
    for before, after in pairwise(states):
        taken = next(step for step in runner.successors(before) if step.state == after)
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
    """The position of the first step of ``trace`` that the model cannot take; None if it can take
    all.
    """
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
        taken = next(step for step in tried if step.state == state)
        steps.append(Step(taken.action, taken.choices, taken.state))
    return steps
