"""Shortens the path to a problem. The reference stepper is used for this, so that the result is
again a path of the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias

from fencepost.checker.search.account import Candidate
from fencepost.spec.core.properties import Rank
from fencepost.spec.core.types import State
from fencepost.spec.semantics.choice_points import EvaluationError
from fencepost.spec.semantics.stepper import Choice, Runner

MAX_REPLAYED = 20_000
"""Maximum number of replayed steps. Steps are limited instead of time so that results do not depend
on the machine.
"""

Step: TypeAlias = tuple[int, tuple[Choice, ...]]
"""An action and the choices of a step of it."""


@dataclass(slots=True)
class _Budget:
    left: int = MAX_REPLAYED


def shortened(
    runner: Runner, problem: Candidate, way: Sequence[State]
) -> tuple[Candidate, list[State]]:
    """Returns the problem and a shorter path to it. The new problem has the same kind, and concerns
    the same property or action. ``way`` leads to the state with the problem, or to the source of a
    failing step.
    """
    budget = _Budget()
    # If a step itself is the problem, the step and the state before it are kept.
    last = 1 if problem.before is not None else 0
    best = _direct(runner, way, last, budget)
    while True:
        shorter = _without_steps(runner, problem, best, budget)
        shorter = _direct(runner, shorter, last, budget)
        if len(shorter) == len(best):
            return _moved(problem, best), best
        best = shorter


def _direct(runner: Runner, way: Sequence[State], last: int, budget: _Budget) -> list[State]:
    """Finds the shortest path that only uses states of ``way``. The ``last`` steps are kept."""
    end = len(way) - 1 - last
    goal = way[end]
    on_path = set(way[: end + 1])
    reached: dict[State, State | None] = {way[0]: None}
    level = [way[0]]
    while level and goal not in reached and budget.left > 0:
        following: list[State] = []
        for state in level:
            budget.left -= 1
            for step in runner.successors(state):
                after = step.state
                if after is not None and after in on_path and after not in reached:
                    reached[after] = state
                    following.append(after)
        level = following
    if goal not in reached:
        return list(way)
    back: list[State] = []
    at: State | None = goal
    while at is not None:
        back.append(at)
        at = reached[at]
    return [*reversed(back), *way[end + 1 :]]


def _without_steps(
    runner: Runner, problem: Candidate, way: Sequence[State], budget: _Budget
) -> list[State]:
    """Removes steps that the problem does not need. Tries to remove halves of the path first, then
    quarters, and so on.
    """
    best = list(way)
    size = (len(best) - 1) // 2
    steps = _steps(runner, best)
    while size:
        start = 0
        while start + size <= len(steps) and budget.left > 0:
            tried = _replayed(runner, best[: start + 1], steps[start + size :], budget)
            if _shows(runner, problem, tried):
                best = tried
                steps = _steps(runner, best)
            else:
                start += size
        size //= 2
    return best


def _steps(runner: Runner, way: Sequence[State]) -> list[Step]:
    result: list[Step] = []
    for before, after in pairwise(way):
        step = next(
            successor for successor in runner.successors(before) if successor.state == after
        )
        assert step.action is not None
        result.append((step.action, step.choices))
    return result


def _replayed(
    runner: Runner, way: Sequence[State], steps: Sequence[Step], budget: _Budget
) -> list[State]:
    """Extends a path by those of the given steps that can be taken."""
    states = list(way)
    for action, choices in steps:
        budget.left -= 1
        candidates = (
            attempt.state
            for attempt in runner.attempts(action, states[-1])
            if attempt.choices == choices
        )
        after = next((state for state in candidates if state is not None), None)
        if after is not None:
            states.append(after)
    return states


def _shows(runner: Runner, problem: Candidate, way: Sequence[State]) -> bool:
    """Checks whether the problem occurs at the end of the path, and no constraint ends the path
    before.
    """
    properties = runner.model.properties
    constraints = [n for n, item in enumerate(properties) if item.kind.bounds_search]
    expanded = way if problem.failed_step or problem.rank is Rank.DEADLOCK else way[:-1]
    last, number = way[-1], problem.number
    try:
        if not all(runner.holds(n, state) for state in expanded for n in constraints):
            return False
        if problem.rank is Rank.DEADLOCK:
            return _is_deadlock(runner, last)
    except EvaluationError:
        return False
    if number is None:
        return any(
            item.failure is not None and item.failure.site == problem.site
            for item in runner.attempts(problem.index, last)
        )
    if properties[number].kind.allows_end:
        # The property is only evaluated in states without successors.
        return False
    before = way[-2] if len(way) > 1 else None
    if properties[number].kind.of_steps and before is None:
        return False
    states = properties[number].kind.place(before, last)
    try:
        return not runner.holds(number, *states) and problem.rank is not Rank.ERROR
    except EvaluationError as error:
        return problem.rank is Rank.ERROR and error.site == problem.site


def _is_deadlock(runner: Runner, state: State) -> bool:
    steps, failures = runner.expand(state)
    if steps or failures:
        return False
    ends = [n for n, p in enumerate(runner.model.properties) if p.kind.allows_end]
    return not any(runner.holds(number, state) for number in ends)


def _moved(problem: Candidate, way: Sequence[State]) -> Candidate:
    """Returns the problem as it occurs at the end of the path."""
    depth = len(way) + 1 if problem.failed_step else len(way)
    if problem.before is not None:
        return replace(problem, depth=depth, before=way[-2], state=way[-1])
    return replace(problem, depth=depth, state=way[-1])
