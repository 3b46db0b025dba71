"""The protocols of the engines that `LevelSearch` runs: `States` finds and stores states, and
`Stoppable` can also be stopped within a level, continued and saved.

They do not prescribe the representation of states or the machine that stores them, nor where and in
what form a `Saver` keeps them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

from fencepost.checker.outcome import Fact, Outcome, Resumed
from fencepost.spec.core.types import State
from fencepost.spec.records import dataclass
from fencepost.spec.text.problem import Rejected


class NoPredecessor(Exception):
    """No state of a level leads to a state of the next one: a bug, or a forged checkpoint."""

    def __init__(self, level: int, state: object) -> None:
        super().__init__(f"no state of level {level} leads to {state}")
        self.level = level


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts since the beginning, by the numbers of the model."""

    taken: tuple[int, ...]
    refused: Mapping[int, int]
    """The number of times each guard of kind "capacity" was false, if any."""
    marks: frozenset[int]


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts since the beginning, including the current level."""

    initial: int
    """The number of vectors of choices that gave an initial state."""
    steps: int
    """Completed steps, including those of partly expanded states."""
    size: int
    """The states of the last level alone."""
    outside: int
    """Distinct states outside the constraints."""
    stuck: int
    """Non-terminal states without a step that is progress."""
    first_stuck: tuple[State, int] | None
    """The least stuck state of the first level that has any, and that level."""
    reached: frozenset[int]
    """The reachables that were true."""
    totals: Callable[[], Totals]
    """The other counts at the same moment; only those of the last level are requested."""
    visited: int | None = None
    """With symmetry, the number of visited states of the last level; the other counts refer to all
    states that they represent.
    """


@dataclass(frozen=True, slots=True)
class Extent:
    """The extent of a search, including the current level.

    ``level`` is the number of the last level that was begun; the initial states are level 1.
    ``states`` are those found, without those outside the constraints once they have been examined;
    ``generated`` counts initial choices and steps, and ``expanded`` the expanded states. ``remark``
    is shown with the progress.
    """

    level: int
    states: int
    generated: int
    expanded: int
    remark: str = ""


class States(Protocol):
    """An engine that finds and keeps the states of a search.

    `begin` and `expand` find the states of a level. They are new until `examine` has checked them;
    after that they may be expanded. Results do not depend on the order of an engine's work:
    of several problems of one kind in a level it reports the one of the least state, and
    `predecessors` are the least ones.

    An engine calls `Watch.look` often while it works. An exception that `look` raises, or
    `Exhausted`, ends the work and leaves the method.

    The smallest engine, on values of Python. `Visitor` handles one state and its steps; ``before``
    has the states that were seen, each with its predecessor.

    >>> from fencepost.checker.search.visiting import Visitor
    >>> class SmallestStates:
    ...     def __init__(self, watch, runner):
    ...         self.runner, self.watch, self.before, self.expanded = runner, watch, {}, 0
    ...         self.visitor = Visitor(runner, watch.account, self.before, watch.limits.max_states)
    ...         self.look_for = self.visitor.look_for
    ...
    ...     def begin(self):
    ...         for successor in self.runner.initial():
    ...             self.watch.look()
    ...             self.visitor.begin(successor)
    ...
    ...     def expand(self):
    ...         frontier, self.visitor.fresh = sorted(self.visitor.fresh), []
    ...         self.visitor.depth += 1
    ...         for state in frontier:
    ...             self.watch.look()
    ...             self.visitor.expand(state)
    ...             self.expanded += 1
    ...
    ...     def examine(self):
    ...         pass  # The visitor checks a state when it finds it.
    ...
    ...     def count(self):
    ...         return self.visitor.counts(len(self.visitor.fresh))
    ...
    ...     def predecessors(self, level, states):
    ...         return [self.before[state] for state in states]
    ...
    ...     @property
    ...     def extent(self):
    ...         generated = self.visitor.initial + sum(self.visitor.taken)
    ...         return Extent(self.visitor.depth + 1, self.visitor.count, generated, self.expanded)

    `LevelSearch` does the rest, from the order of levels to the shortest trace.

    >>> from fencepost.checker.request import Request
    >>> from fencepost.checker.search.account import Account
    >>> from fencepost.checker.search.interrupts import Interrupts
    >>> from fencepost.checker.search.levels import LevelSearch
    >>> from fencepost.checker.search.limits import Watch
    >>> from fencepost.spec.elaborate.claims.program import build, load
    >>> from fencepost.spec.semantics.stepper import Runner
    >>> from fencepost.spec.text.library import shipped_models
    >>> model = build(load(shipped_models()["classics/die_hard"]), None)
    >>> request = Request(model, frozenset(range(len(model.properties))))
    >>> watch = Watch(request, Account(request), Interrupts())
    >>> outcome = LevelSearch(watch, SmallestStates(watch, Runner(model))).run()
    >>> outcome.verdict.value, outcome.statistics.levels, len(outcome.findings[0].trace.steps)
    ('violated', (1, 2, 3, 2, 2, 2, 2), 7)
    """

    @property
    def extent(self) -> Extent:
        """The extent of the search; requested between two methods, and within them for progress."""
        ...

    def look_for(self, deadlock: bool, properties: Container[int]) -> None:
        """Sets which conditions are problems from now on, besides failing evaluations."""

    def begin(self) -> None:
        """Finds the initial states."""

    def expand(self) -> None:
        """Finds the successors of the states of the last level: another level. Offers the account
        the problems of steps and of expanded states, also if it is ended by an exception.
        """

    def examine(self) -> None:
        """Checks the new states, and drops those outside the constraints. Offers the account the
        problems of the level, also if it is ended by an exception; then another call continues.
        """

    def count(self) -> Counts:
        """The counts so far."""
        ...

    def predecessors(self, level: int, states: Sequence[State]) -> Sequence[State]:
        """For each of some states of level ``level + 1``, its least predecessor in ``level``."""
        ...


@runtime_checkable
class Stoppable(States, Protocol):
    """An engine that works outside Python, in threads and memory of its own.

    A limit on time raises `Expired` in the thread of other engines, wherever that is, and the
    search compares ``--memory`` with the memory of the process. Python cannot raise an exception
    within machine code, so this engine is stopped by a method; after `resume` it can finish a level
    that was stopped, look for predecessors, and be saved. A search that is saved needs such an
    engine.
    """

    def stop(self, error: BaseException) -> None:
        """Ends the work as soon as possible, from any thread; the running method raises ``error``,
        and so does each further one until `resume`.
        """

    def resume(self) -> None:
        """Allows further work after a stop."""

    def settle(self) -> None:
        """Gives up checking the rest of the new states of a stopped level; they remain."""

    def weigh(self) -> None:
        """Raises `Exhausted` if more memory is in use than ``--memory`` allows."""

    def close(self) -> None:
        """Ends the work, and frees the memory."""


# ---------------------------------------------------------------- checkpoints


def still_good(level: int) -> str:
    """The earlier saves that remain valid after a save failed, up to ``level`` (0: none)."""
    if level:
        return f"the save up to level {level} is still valid"
    return "no earlier save of this search exists"


def not_read(folder: str) -> Fact:
    """The note of a search that ended before its checkpoint was read."""
    return Fact(f"The run ended before it had read the checkpoint {folder}, which is unchanged.")


class Saver(Protocol):
    """Saves a search between two levels, and restores it."""

    @property
    def resumed(self) -> Resumed | None:
        """The checkpoint that `restore` has read, or None."""
        ...

    def restore(self) -> bool:
        """Restores the states and the account of the saved search. Returns False if there is none,
        so that the search begins.
        """
        ...

    def judged(self) -> None:
        """Marks the last level as complete, with others to follow: until the next call, this is the
        state to save.
        """

    def save(self) -> bool:
        """Saves the search. Returns False if it is too early for that."""
        ...

    def cut(self) -> None:
        """Saves what is not saved yet, if possible, after the search was cut, perhaps within a
        level.
        """

    def unusable(self, why: str) -> Rejected:
        """The error that the checkpoint cannot be used, for this reason."""
        ...

    def noted(self, outcome: Outcome) -> tuple[str, ...]:
        """Notes for a search that has ended: where it can be resumed, or why it cannot."""
        ...


class Checkpoint:
    """A search that is saved about every ``seconds``."""

    def __init__(self, saver: Saver, seconds: float) -> None:
        self.restore = saver.restore
        self.cut = saver.cut
        self._saver = saver
        self._seconds = seconds
        self._saved_at = time.monotonic()

    def without(self, missing: NoPredecessor) -> Exception:
        """The error for a missing predecessor: after a resumption, the checkpoint is wrong."""
        if self._saver.resumed is None:
            return missing
        before, after = missing.level, missing.level + 1
        return self._saver.unusable(
            f"no step leads from its level {before} to a state of level {after}"
        )

    def ended(self, outcome: Outcome) -> Outcome:
        """The outcome of a finished search, with notes on its checkpoints."""
        notes = (*outcome.notes, *self._saver.noted(outcome))
        return replace(outcome, notes=notes, resumed=self._saver.resumed)

    def judged(self) -> None:
        """Marks a level as complete, with others to follow, and saves the search if it is time."""
        self._saver.judged()
        if time.monotonic() - self._saved_at >= self._seconds and self._saver.save():
            self._saved_at = time.monotonic()
