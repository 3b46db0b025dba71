"""State graphs on values of Python: states by number, and the steps between them.

The machine code has a graph of packed states of its own (`native/graph.py`), with the same numbers
and rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from fencepost.spec.core.types import State
from fencepost.spec.semantics.stepper import Failure, Runner

Label = TypeVar("Label")


class TooLarge(Exception):
    """A graph has more states than it may have."""


class StateGraph(Generic[Label]):
    """The states reached from some initial ones, in the order of a search by levels.

    Its user goes through ``states``, which grow meanwhile, and calls `expand` for each. ``levels``
    has the number of steps to each state, and ``rows`` the steps of each expanded state, in order:
    a label, and the number of the target. This is None if the step has no target, or a state that
    does not enter the graph: ``enters`` is asked once for each state, with its level. ``before``
    has the first step to each state: its source and label, or None for an initial state. Raises
    `TooLarge` if there are more than ``most`` states.

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
        """Adds the steps of the first state that has no row yet."""
        source = len(self.rows)
        level = self.levels[source] + 1
        self.rows.append(
            [
                (label, None if to is None else self._number(to, level, (source, label)))
                for label, to in steps
            ]
        )

    def path(self, number: int) -> list[Label]:
        """The labels of a shortest path to a state."""
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
    """The steps from a state, each once, in order: the number of the action, and the target, which
    is None if the step fails.
    """
    steps = ((n, None if isinstance(to, Failure) else to) for n, to in runner.steps(state))
    return [*dict.fromkeys(steps)]
