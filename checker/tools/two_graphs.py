"""Step-by-step comparison of the state graphs of two models with the same variables."""

from __future__ import annotations

from fencepost.checker.search.state_graph import StateGraph, distinct_steps
from fencepost.spec.core.ir import Model
from fencepost.spec.core.types import State
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.stepper import Runner

COMPARED = 200_000
"""Maximum number of steps of graphs that are compared."""


@dataclass(frozen=True, slots=True)
class Parting:
    """A first state, on a shortest path, with different steps in the two models.

    ``way`` names the actions on the path. ``gone`` and ``new`` name actions with a step in only one
    of the models; a failing step counts. ``changed`` are the variables that differ between steps of
    the same action.
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
    graph = StateGraph[int](state for state in first if state is not None)
    for number, state in enumerate(graph.states):
        steps, others = distinct_steps(left_runner, state), distinct_steps(right_runner, state)
        if set(steps) != set(others):
            way = tuple(left.actions[action].name for action in graph.path(number))
            return _apart(left, way, steps, others), False
        most -= len(steps)
        if most < 0:
            return None, False
        graph.expand(steps)
    return None, True


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
