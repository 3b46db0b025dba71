"""Two models with the same variables, step by step: whether their graphs are the same, and where
they come apart first.

It does not know why the models differ.
"""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.spec.core.ir import Model
from fencepost.spec.core.types import State
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.stepper import Failure, Runner

COMPARED = 200_000
"""The steps of two state graphs are compared one by one where there are at most this many."""


@dataclass(frozen=True, slots=True)
class Parting:
    """A state, reached by a shortest way in the one model, where the other model has other steps.

    ``way`` names the actions that lead there. ``gone`` and ``new`` name the actions of which some
    step is only in the one model, or only in the other; a step that fails is a step. ``changed``
    are the variables in which steps of the same action lead elsewhere.
    """

    way: tuple[str, ...]
    gone: tuple[str, ...]
    new: tuple[str, ...]
    changed: tuple[str, ...]


def same_graph(left: Model, right: Model, most: int = COMPARED) -> bool:
    """Whether two models with the same variables have the same initial states, and the same steps
    from every state that can be reached; False where that takes more than ``most`` steps to see.
    """
    return compared(left, right, most) == (None, True)


def compared(left: Model, right: Model, most: int) -> tuple[Parting | None, bool]:
    """Where the graphs of two models with the same variables come apart first, and whether they
    were compared to their end; (None, False) where that takes more than ``most`` steps to see.
    """
    one, other = Runner(left), Runner(right)
    first = {step.state: None for step in one.initial()}
    if first.keys() != {step.state for step in other.initial()}:
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
            steps, others = _steps(one, state), _steps(other, state)
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
    """The steps from a state, each once, in order; None: the step fails."""
    steps = ((action, _completed(step)) for action, step in runner.steps(state))
    return [*dict.fromkeys(steps)]


def _completed(step: State | Failure) -> State | None:
    # Where a step fails has another number in each model.
    return None if isinstance(step, Failure) else step


def _way(before: dict[State, tuple[State, str] | None], state: State) -> Iterator[str]:
    """The actions on the way to a state, the last one first."""
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
        for other, right in new
        if action == other and left is not None and right is not None
        for variable, a, b in zip(model.variables, left, right, strict=True)
        if a != b
    }
    return Parting(
        way,
        tuple(dict.fromkeys(model.actions[action].name for action, _ in gone)),
        tuple(dict.fromkeys(model.actions[action].name for action, _ in new)),
        tuple(one.name for one in model.variables if one.name in changed),
    )
