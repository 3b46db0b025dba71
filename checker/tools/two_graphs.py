"""Step-by-step comparison of the state graphs of two models with the same variables."""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.spec.core.ir import Model
from fencepost.spec.core.types import State
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.stepper import Failure, Runner

COMPARED = 200_000
"""Maximum number of steps of graphs that are compared."""


@dataclass(frozen=True, slots=True)
class Parting:
    """A first state, on a shortest path, with different steps in the two models.

    ``way`` names the actions on the path. ``gone`` and ``new`` name actions with a step in only one
    of the models; a failing step counts. ``changed`` are the variables in which steps of the same
    action differ.
    """

    way: tuple[str, ...]
    gone: tuple[str, ...]
    new: tuple[str, ...]
    changed: tuple[str, ...]


def same_graph(left: Model, right: Model, most: int = COMPARED) -> bool:
    """Whether the graphs are equal; False if that takes more than ``most`` steps to determine."""
    return compared(left, right, most) == (None, True)


def compared(left: Model, right: Model, most: int) -> tuple[Parting | None, bool]:
    """Returns the first difference or None, and whether the graphs were compared completely.

    The result is (None, False) if that takes more than ``most`` steps.
    """
    left_runner, right_runner = Runner(left), Runner(right)
    first = {step.state: None for step in left_runner.initial()}
    if first.keys() != {step.state for step in right_runner.initial()}:
        return Parting((), ("init",), ("init",), ()), False
    if None in first:
        return None, False
    before: dict[State, tuple[State, str] | None] = {
        state: None for state in first if state is not None
    }
    level = [*before]
    while level:
        below: list[State] = []
        for state in level:
            steps, others = _steps(left_runner, state), _steps(right_runner, state)
            if set(steps) != set(others):
                way = tuple(reversed([*_way(before, state)]))
                return _apart(left, way, steps, others), False
            most -= len(steps)
            if most < 0:
                return None, False
            for action, after in steps:
                if after is not None and after not in before:
                    before[after] = state, left.actions[action].name
                    below.append(after)
        level = below
    return None, True


def _steps(runner: Runner, state: State) -> list[tuple[int, State | None]]:
    """The distinct steps from a state, in order; None as the target of a failing step."""
    steps = ((action, _completed(step)) for action, step in runner.steps(state))
    return [*dict.fromkeys(steps)]


def _completed(step: State | Failure) -> State | None:
    # The index of a failing site differs between models.
    return None if isinstance(step, Failure) else step


def _way(before: dict[State, tuple[State, str] | None], state: State) -> Iterator[str]:
    """The actions on the path to a state, in reverse."""
    while (step := before[state]) is not None:
        state, name = step
        yield name


def _apart(
    model: Model,
    way: tuple[str, ...],
    steps: list[tuple[int, State | None]],
    others: list[tuple[int, State | None]],
) -> Parting:
    gone = [step for step in steps if step not in set(others)]
    new = [step for step in others if step not in set(steps)]
    changed = {
        variable.name
        for action, left in gone
        for action_of_right, right in new
        if action == action_of_right and left is not None and right is not None
        for variable, a, b in zip(model.variables, left, right, strict=True)
        if a != b
    }
    return Parting(
        way,
        tuple(dict.fromkeys(model.actions[action].name for action, _ in gone)),
        tuple(dict.fromkeys(model.actions[action].name for action, _ in new)),
        tuple(variable.name for variable in model.variables if variable.name in changed),
    )
