"""Defines the protocols of the engines that `LevelSearch` runs. `States` finds and stores states;
`Stoppable` can also be stopped within a level, continued and saved.

The protocols do not prescribe how states are represented or which machine stores them. They also
leave open where and in which form a `Saver` keeps the states.
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
    """Signals that no state of a level leads to a given state of the next level. This means a bug
    or a forged checkpoint.
    """

    def __init__(self, level: int, state: object) -> None:
        super().__init__(f"no state of level {level} leads to {state}")
        self.level = level


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts since the beginning, indexed by the numbers that the model assigns."""

    taken: tuple[int, ...]
    refused: Mapping[int, int]
    """The number of times each guard of kind "capacity" was false, if any."""
    marks: frozenset[int]


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts since the beginning, including the current level."""

    initial: int
    """The number of choice vectors that gave an initial state."""
    steps: int
    """The number of completed steps, including those of partly expanded states."""
    size: int
    """The number of states in the last level alone."""
    outside: int
    """The number of distinct states outside the constraints."""
    stuck: int
    """The number of non-terminal states that have steps, but no step that makes progress."""
    first_stuck: tuple[State, int] | None
    """The least stuck state of the first level that contains any, with that level."""
    reached: frozenset[int]
    """The reachability properties that were true in some state."""
    totals: Callable[[], Totals]
    """Computes the other counts as of the same moment. Only the totals of the last level are
    requested.
    """
    visited: int | None = None
    """With symmetry, the number of visited states in the last level. The other counts refer to all
    states that the visited states represent.
    """


@dataclass(frozen=True, slots=True)
class Extent:
    """The extent of a search, including the current level.

    ``level`` is the number of the last level that was begun; the initial states form level 1.
    ``states`` is the number of states found; once states have been examined, those outside the
    constraints are not included. ``generated`` counts initial choices and steps, and ``expanded``
    counts expanded states. ``remark`` is shown with the progress.
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
        """The extent of the search. It is requested between method calls, and during them for
        progress.
        """
        ...

    def look_for(self, deadlock: bool, properties: Container[int]) -> None:
        """Sets which conditions are problems in the following work, in addition to failing
        evaluations.
        """

    def begin(self) -> None:
        """Finds the initial states."""

    def expand(self) -> None:
        """Finds the successors of the states of the last level, which form another level. Reports
        the problems of steps and of expanded states to the account, even if an exception
        interrupts the work.
        """

    def examine(self) -> None:
        """Checks the new states, and drops those outside the constraints. Reports the
        problems of the level to the account, even if an exception interrupts the work. Another
        call then continues it.
        """

    def count(self) -> Counts:
        """Returns the counts so far."""
        ...

    def predecessors(self, level: int, states: Sequence[State]) -> Sequence[State]:
        """Returns for each of these states of level ``level + 1`` its least predecessor in
        ``level``.
        """
        ...


@runtime_checkable
class Stoppable(States, Protocol):
    """An engine that works outside Python, in its own threads and memory.

    For other engines, a time limit raises `Expired` at any point in their thread, and the search
    compares ``--memory`` with the memory of the process. Python cannot raise an exception within
    machine code, so this engine is stopped by a method call. After `resume`, it can finish a level
    that was stopped, look for predecessors, and be saved. A search can only be saved with such an
    engine.
    """

    def stop(self, error: BaseException) -> None:
        """Ends the work as soon as possible; may be called from any thread. The running method
        raises ``error``, and so does each later method call until `resume`.
        """

    def resume(self) -> None:
        """Allows further work after a call of `stop`."""

    def settle(self) -> None:
        """Gives up checking the remaining new states of a stopped level. These states are kept."""

    def weigh(self) -> None:
        """Raises `Exhausted` if more memory is in use than ``--memory`` allows."""

    def close(self) -> None:
        """Ends the work, and frees the memory."""


# ---------------------------------------------------------------- checkpoints


def still_good(level: int) -> str:
    """Says which earlier saves remain valid after a save failed: those up to ``level``, or none if
    it is 0.
    """
    if level:
        return f"the save up to level {level} is still valid"
    return "no earlier save of this search exists"


def not_read(folder: str) -> Fact:
    """Returns the note for a search that ended before its checkpoint was read."""
    return Fact(f"The run ended before it had read the checkpoint {folder}, which is unchanged.")


class Saver(Protocol):
    """Saves a search between two levels, and restores it."""

    @property
    def resumed(self) -> Resumed | None:
        """The checkpoint that `restore` has read, or None if it has read none."""
        ...

    def restore(self) -> bool:
        """Restores the states and the account of the saved search. Returns False if no search was
        saved, so that the search has to begin.
        """
        ...

    def judged(self) -> None:
        """Marks the last level as complete, with further levels to follow. The state at this call
        is the one to save until the next call.
        """

    def save(self) -> bool:
        """Saves the search. Returns False if it is too early to save."""
        ...

    def cut(self) -> None:
        """Saves everything that is not saved yet, if possible, after the search was cut. The cut
        may have happened within a level.
        """

    def unusable(self, why: str) -> Rejected:
        """Returns an error which says that the checkpoint cannot be used, and why."""
        ...

    def noted(self, outcome: Outcome) -> tuple[str, ...]:
        """Returns notes for a search that has ended: where it can be resumed, or why that is
        impossible.
        """
        ...


class Checkpoint:
    """Saves a search about every ``seconds``."""

    def __init__(self, saver: Saver, seconds: float) -> None:
        self.restore = saver.restore
        self.cut = saver.cut
        self._saver = saver
        self._seconds = seconds
        self._saved_at = time.monotonic()

    def without(self, missing: NoPredecessor) -> Exception:
        """Returns the error for a missing predecessor. If the search was resumed, the error says
        that the checkpoint is wrong.
        """
        if self._saver.resumed is None:
            return missing
        before, after = missing.level, missing.level + 1
        return self._saver.unusable(
            f"no step leads from its level {before} to a state of level {after}"
        )

    def ended(self, outcome: Outcome) -> Outcome:
        """Adds notes on the checkpoints to the outcome of a finished search."""
        notes = (*outcome.notes, *self._saver.noted(outcome))
        return replace(outcome, notes=notes, resumed=self._saver.resumed)

    def judged(self) -> None:
        """Marks a level as complete, with further levels to follow, and saves the search if a save
        is due.
        """
        self._saver.judged()
        if time.monotonic() - self._saved_at >= self._seconds and self._saver.save():
            self._saved_at = time.monotonic()
