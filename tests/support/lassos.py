"""Lassos looked for in the simplest way there is: all of them, up to a length.

What a step is, is asked of the successor function; what is fair and what holds, of the evaluator of
lassos. Nothing here knows automata or components.
"""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.checker.temporal.lasso import Lasso, reasons, violates
from fencepost.spec.core.ir import Model
from fencepost.spec.core.types import State
from fencepost.spec.semantics.stepper import Runner

Steps = dict[State, list[State]]


def steps_of(runner: Runner) -> tuple[list[State], Steps]:
    """The initial states inside the constraints, and for each reachable one those after it."""
    constraints = runner.model.searched(()).constraints

    def inside(state: State | None) -> bool:
        return state is not None and all(runner.holds(number, state) for number in constraints)

    initial = sorted({one.state for one in runner.initial() if inside(one.state) and one.state})
    found: Steps = {}
    waiting = list(initial)
    for state in waiting:
        if state not in found:
            after = {one.state for one in runner.successors(state) if inside(one.state)}
            found[state] = sorted(one for one in after if one is not None and one != state)
            waiting += found[state]
    return initial, found


def some_lasso(model: Model, property: int, stems: int, cycles: int) -> Lasso | None:
    """A fair lasso that violates a property, with a stem of at most so many steps, and so many at
    most in its cycle; None: there is none.
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
    """The ways from one state to another, of one step at least, without the first state."""
    if most == 0:
        return
    for after in steps[start]:
        if after == end:
            yield (after,)
        for rest in _walks(steps, after, end, most - 1):
            yield (after, *rest)
