"""Builds traces from the titles of their steps."""

from __future__ import annotations

from fencepost.checker.outcome import Step, Trace
from fencepost.checker.trace.steps import title
from fencepost.spec.core.ir import Model
from fencepost.spec.semantics.stepper import Runner


def walk(model: Model, *titles: str) -> Trace:
    """Returns the trace with these steps, given by their titles."""
    runner = Runner(model)
    first = next(iter(runner.initial()))
    steps = [Step(None, first.choices, first.state)]
    for wanted in titles:
        state = steps[-1].state
        assert state is not None
        tried = (Step(s.action, s.choices, s.state) for s in runner.successors(state))
        steps.append(next(step for step in tried if title(model, step) == wanted))
    return Trace(tuple(steps))
