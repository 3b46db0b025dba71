"""The times at which a search is saved, and its resumption.

A `Saver` decides on the location and format.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Protocol

from fencepost.checker.outcome import Fact, Outcome, Resumed
from fencepost.checker.search.states import NoPredecessor
from fencepost.spec.text.problem import Rejected


def still_good(level: int) -> str:
    """The earlier saves that remain valid after a save failed, up to ``level`` (0: none)."""
    if level:
        return f"the save down to level {level} is still good"
    return "no earlier save of this search exists"


def not_read(place: str) -> Fact:
    """The note of a search that ended before its checkpoint was read."""
    return Fact(f"The run ended before it had read the checkpoint {place}, which is unchanged.")


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
