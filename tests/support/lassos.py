"""An exhaustive search for lassos up to a given length.

The steps come from the successor function, and the evaluator of lassos decides fairness and truth.
This module uses neither automata nor components.
"""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.checker.temporal.lasso import Lasso, reasons, violates
from fencepost.spec.core.ir import Model
from fencepost.spec.core.types import State
from fencepost.spec.semantics.stepper import Runner

Steps = dict[State, list[State]]


def steps_of(runner: Runner) -> tuple[list[State], Steps]:
    """Returns the initial states that satisfy the constraints, and the successors of each reachable
    state.
    """
    constraints = runner.model.searched(()).constraints

    def inside(state: State | None) -> bool:
        return state is not None and all(runner.holds(number, state) for number in constraints)

    initial = sorted(
        {result.state for result in runner.initial() if inside(result.state) and result.state}
    )
    steps: Steps = {}
    waiting = list(initial)
    for state in waiting:
        if state not in steps:
            after = {result.state for result in runner.successors(state) if inside(result.state)}
            steps[state] = sorted(
                result for result in after if result is not None and result != state
            )
            waiting += steps[state]
    return initial, steps


def some_lasso(model: Model, property: int, stems: int, cycles: int) -> Lasso | None:
    """Returns a fair lasso that violates a property, or None if there is none.

    The stem has at most ``stems`` steps and the cycle at most ``cycles``.
    """
    runner = Runner(model)
    formula = model.properties[property].formula
    assert formula is not None
    initial, steps = steps_of(runner)
    fair: dict[State, list[tuple[State, ...]]] = {}
    for state in steps:
        fair[state] = [
            cycle
            for cycle in ((), *_walks(steps, state, state, cycles))
            if None not in reasons(runner, Lasso((state,), cycle)).values()
        ]
    for start in initial:
        for state in steps:
            ways: list[tuple[State, ...]] = [(start,)] if start == state else []
            ways += [(start, *way) for way in _walks(steps, start, state, stems)]
            for way in ways:
                for cycle in fair[state]:
                    lasso = Lasso(way, cycle)
                    if violates(runner, formula, lasso):
                        return lasso
    return None


def _walks(steps: Steps, start: State, end: State, most: int) -> Iterator[tuple[State, ...]]:
    """Yields the paths from one state to another, of at least one step, without the first state."""
    if most == 0:
        return
    for after in steps[start]:
        if after == end:
            yield (after,)
        for rest in _walks(steps, after, end, most - 1):
            yield (after, *rest)
