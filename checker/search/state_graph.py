"""Stores state graphs of Python values: numbered states and the steps between them.

The machine code has its own graph of packed states (`native/graph.py`) with the same numbers and
rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from fencepost.spec.core.types import State
from fencepost.spec.semantics.stepper import Failure, Runner

Label = TypeVar("Label")


class TooLarge(Exception):
    """Signals that a graph has more states than allowed."""


class StateGraph(Generic[Label]):
    """The states that can be reached from some initial states, in the order of a search by levels.

    The caller iterates over ``states``, which grows meanwhile, and calls `expand` for each state.
    ``levels`` contains for each state the number of steps to it. ``rows`` contains the steps of
    each expanded state, in order. A step is a label and the number of its target, which is None if
    the step has no target or its target does not enter the graph. ``enters`` decides this; it is
    called once for each state, with the level of the state. ``before`` contains the first step to
    each state as its source and label, or None for an initial state. Raises `TooLarge` if there are
    more than ``most`` states.

    >>> graph = StateGraph[str]([(0,)], enters=lambda state, level: state < (3,))
    >>> for (n,) in graph.states:
    ...     graph.expand([("reset", (0,)), ("up", (n + 1,)), ("failing", None)])
    >>> graph.states, graph.levels, graph.path(2)
    ([(0,), (1,), (2,)], [0, 1, 2], ['up', 'up'])
    >>> graph.rows[1], graph.rows[2]
    ([('reset', 0), ('up', 2), ('failing', None)], [('reset', 0), ('up', None), ('failing', None)])
    """

    def __init__(
        self,
        initial: Iterable[State],
        enters: Callable[[State, int], bool] = lambda state, level: True,
        most: int | None = None,
    ) -> None:
        self.states: list[State] = []
        self.levels: list[int] = []
        self.rows: list[list[tuple[Label, int | None]]] = []
        self.before: list[tuple[int, Label] | None] = []
        self.numbers: dict[State, int | None] = {}
        self._enters = enters
        self._most = most
        for state in initial:
            self._number(state, 0, None)

    def expand(self, steps: Iterable[tuple[Label, State | None]]) -> None:
        """Adds the row of the first state that does not have one yet."""
        source = len(self.rows)
        level = self.levels[source] + 1
        self.rows.append(
            [
                (label, None if to is None else self._number(to, level, (source, label)))
                for label, to in steps
            ]
        )

    def path(self, number: int) -> list[Label]:
        """Returns the labels of the steps on a shortest path to a state."""
        labels: list[Label] = []
        while (step := self.before[number]) is not None:
            number, label = step
            labels.append(label)
        return labels[::-1]

    def _number(self, state: State, level: int, before: tuple[int, Label] | None) -> int | None:
        if state not in self.numbers:
            enters = self._enters(state, level)
            if enters and len(self.states) == self._most:
                raise TooLarge
            self.numbers[state] = len(self.states) if enters else None
            if enters:
                self.states.append(state)
                self.levels.append(level)
                self.before.append(before)
        return self.numbers[state]


def distinct_steps(runner: Runner, state: State) -> list[tuple[int, State | None]]:
    """Returns the distinct steps from a state, in order. A step is the number of the action and the
    target, which is None if the step fails.
    """
    steps = ((n, None if isinstance(to, Failure) else to) for n, to in runner.steps(state))
    return [*dict.fromkeys(steps)]
