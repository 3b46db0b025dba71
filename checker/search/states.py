"""What a search by levels needs of whatever finds and keeps its states: the protocol `States`.

It does not know what a state looks like in memory, nor which machine it is on.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from fencepost.spec.core.types import State
from fencepost.spec.records import dataclass


class NoPredecessor(Exception):
    """No state of a level leads to a state of the next one: a bug, or a forged checkpoint."""

    def __init__(self, level: int, state: object) -> None:
        super().__init__(f"no state of level {level} leads to {state}")
        self.level = level


@dataclass(frozen=True, slots=True)
class Totals:
    """What was counted since the beginning, by the numbers of the model."""

    taken: tuple[int, ...]
    refused: Mapping[int, int]
    """How often a guard of kind "capacity" was false, where it ever was."""
    marks: frozenset[int]


@dataclass(frozen=True, slots=True)
class Counts:
    """What was counted since the beginning, the level under way included."""

    initial: int
    """How many vectors of choices gave an initial state."""
    steps: int
    """Completed steps, also those of states that have not taken all of theirs."""
    size: int
    """The states of the last level alone."""
    outside: int
    """Distinct states outside the constraints."""
    stuck: int
    """States that are not terminal, and none of whose steps is progress."""
    first_stuck: tuple[State, int] | None
    """The least of the first level that has any, and that level."""
    reached: frozenset[int]
    """The reachables that were true."""
    totals: Callable[[], Totals]
    """The rest, of the same moment; of all levels only the last one's is asked for."""
    visited: int | None = None
    """Where symmetry is used, how many states of the last level were visited; the other counts are
    those of all states for which they stand.
    """


class States(Protocol):
    """What finds and keeps the states of a search.

    `begin` and `expand` find a level. Its states are new until `examine` has looked at them; then
    they may be expanded. What is found does not depend on who finds it first: of several problems
    of one kind in a level the least state's is kept, and `predecessors` are the least ones.

    Whoever makes it is given a function that is called often while there is work. What this raises
    ends the work, and is raised by the method that does it; so is `Exhausted`.
    """

    @property
    def remark(self) -> str:
        """What else there is to say of the progress."""
        ...

    @property
    def level(self) -> int:
        """The number of the last level that was begun; the initial states are level 1."""
        ...

    @property
    def size(self) -> int:
        """How many states the last level has."""
        ...

    @property
    def states(self) -> int:
        """How many states there are, those outside constraints not counted once examined."""
        ...

    @property
    def generated(self) -> int:
        """How many initial choices and steps there were, for progress."""
        ...

    @property
    def expanded(self) -> int:
        """How many states were expanded, for progress."""
        ...

    # ------------------------------------------------------------ the levels

    def look_for(self, deadlock: bool, properties: Container[int]) -> None:
        """Says what is a problem from now on, beside what always is."""

    def begin(self) -> None:
        """Finds the initial states."""

    def onward(self) -> States:
        """What finds the next level: itself, or whom it has handed all over to."""
        ...

    def expand(self) -> None:
        """Finds the successors of the states of the last level: another level."""

    def examine(self) -> None:
        """Looks at the new states, and drops those outside the constraints. Where it was stopped,
        it goes on when it is called again.
        """

    def settle(self) -> None:
        """Gives up looking at the rest of the new states, which stay."""

    # ------------------------------------------------------------ what was found

    def collect(self, depth: int) -> None:
        """Offers the account the problems that were found since the last call, by expanding the
        states of level ``depth``.
        """

    def count(self) -> Counts:
        """What was counted up to now."""
        ...

    def predecessors(self, level: int, states: Sequence[State]) -> Sequence[State]:
        """For each state, of the level behind ``level``, the least state that leads to it."""
        ...

    # ------------------------------------------------------------ limits

    def timed(self, seconds: float | None) -> AbstractContextManager[None]:
        """Meanwhile `Expired` ends the work once this time is over, also within one state; None:
        never. Raises `MemoryError` where there is no room to watch.
        """
        ...

    def stop(self, error: BaseException) -> None:
        """Ends the work as soon as possible, from any thread; who waits for it gets ``error``."""

    def resume(self) -> None:
        """Goes on after the work was stopped, to look back."""

    def weigh(self) -> None:
        """Looks how much memory the process has. May raise `Exhausted`."""

    def close(self) -> None:
        """Ends the work, and frees the memory."""
