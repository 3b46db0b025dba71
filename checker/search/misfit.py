"""Why a step is none of the model that is refined: both images, and what keeps each action there
from making it.

It does not know how the step was found.
"""

from __future__ import annotations

from fencepost.checker.outcome import Misfit, Unfit
from fencepost.spec.core.types import State
from fencepost.spec.semantics.stepper import Attempt, Runner


def misfit(runner: Runner, property: int, before: State | None, state: State) -> Misfit:
    """Of a step that violates a refinement; without a state before, of an initial state."""
    there = runner.refined(property).runner
    after = runner.image(property, state)
    if before is None:
        made = [one.state for one in there.initial() if one.state is not None]
        nearest = min(made, key=lambda one: _distance(one, after), default=None)
        return Misfit(None, after, (Unfit(None, (), nearest),))
    image = runner.image(property, before)
    actions = range(len(there.model.actions))
    return Misfit(image, after, tuple(_unfit(there, one, image, after) for one in actions))


def _unfit(runner: Runner, action: int, before: State, after: State) -> Unfit:
    """Of the steps of an action, the one that comes nearest; where it has none, a failing one, else
    the guards that are false.
    """
    nearest: Attempt | None = None
    failing: Attempt | None = None
    guards: set[int] = set()
    for one in runner.attempts(action, before):
        if one.state is not None:
            if nearest is None or _distance(one.state, after) < _distance(nearest.state, after):
                nearest = one
        elif one.failure is not None:
            failing = failing or one
        elif one.guard is not None:
            guards.add(one.guard)
    if nearest is not None:
        return Unfit(action, nearest.choices, nearest.state)
    if failing is not None and failing.failure is not None:
        return Unfit(action, failing.choices, site=failing.failure.site)
    return Unfit(action, (), guards=tuple(sorted(guards)))


def _distance(state: State | None, other: State) -> int:
    """In how many variables two states differ."""
    return sum(a != b for a, b in zip(state or (), other, strict=False))
