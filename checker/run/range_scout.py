"""Visits the first states of a model without ranges, so that a search rarely has to begin again.

The ranges include only values of reachable states, so they are never wider than necessary. Values
that are stored elsewhere, such as in the parameters of a def, are left to the search.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator

from fencepost.checker.run.job import Job
from fencepost.spec.core.open_ranges import (
    NARROWEST,
    Range,
    exceeds_64_bits,
    is_open,
    of_elements,
    stored,
    widened,
)
from fencepost.spec.core.types import State
from fencepost.spec.semantics.choice_points import EvaluationError
from fencepost.spec.semantics.stepper import Failure, Runner

MAX_STATES, MAX_SECONDS = 3_000, 0.5
"""The maximum number of states to visit, and the maximum time of the processor, so that a busy
machine finds the same ranges.
"""
MAX_PROPERTIES = 8
"""The maximum number of properties to evaluate."""


def scouted(job: Job) -> dict[str, Range]:
    """Returns ranges for a search of the job, whose model assumes none.

    States are visited level by level. The last level is the one that would end the search, unless
    the job has many properties, whose evaluation would take too long. Bounds are powers of two, so
    that later values rarely leave a range. Elements of sets have the range of the values found, if
    the second half of the states adds none: a wider range would take more bits.
    """
    model = job.model
    keys = [item.key for item in model.open_ranges]
    kinds = [(n, item.type) for n, item in enumerate(model.variables) if is_open(item.type)]
    tight = {number for _, kind in kinds for number in of_elements(kind)}
    found: dict[int, Range] = {}
    changed: dict[int, int] = {}
    """The last position of a state that extends a range."""
    position = 0
    for position, state in enumerate(_visited(job)):
        values = [pair for index, kind in kinds for pair in stored(kind, state[index])]
        if any(exceeds_64_bits(value, value) for _, value in values):
            break
        for number, value in values:
            low, high = found.get(number, (value, value))
            if number not in found or not low <= value <= high:
                found[number] = min(low, value), max(high, value)
                changed[number] = position
    return {
        keys[number]: span
        if number in tight and 2 * changed[number] <= position
        else widened(widened(NARROWEST, span[0]), span[1])
        for number, span in found.items()
    }


def _visited(job: Job) -> Iterator[State]:
    """Yields distinct states until a limit is reached."""
    runner, limits, searched = Runner(job.model), job.limits, job.model.searched(job.properties)
    evaluated = len(searched.must_hold) <= MAX_PROPERTIES
    invariants = searched.invariants if evaluated else ()
    step_invariants = searched.step_invariants if evaluated else ()
    last, end = time.monotonic() + (limits.timeout or math.inf), time.thread_time() + MAX_SECONDS
    most = min(MAX_STATES, limits.max_states or MAX_STATES)
    level = {step.state: None for step in runner.initial() if step.state is not None}
    visited: set[State] = set()
    depth, ended = 0, False
    while level and not ended:
        following: dict[State, None] = {}
        for state in [state for state in level if state not in visited]:
            yield state
            visited.add(state)
            if len(visited) >= most or time.thread_time() > end or time.monotonic() > last:
                return
            ended = ended or not _hold(runner, invariants, state)
            if depth == limits.depth or not _hold(runner, searched.constraints, state):
                continue
            for _, step in [*runner.steps(state)]:
                if isinstance(step, Failure):
                    ended = True
                else:
                    following[step] = None
                    ended = ended or not _hold(runner, step_invariants, state, step)
        ended = ended and not job.settings.keep_going
        level, depth = following, depth + 1


def _hold(
    runner: Runner, properties: Iterable[int], state: State, after: State | None = None
) -> bool:
    """Returns whether all properties hold. A property that is undefined does not hold."""
    try:
        return all(runner.holds(number, state, after) for number in properties)
    except EvaluationError:
        return False
