"""When a search is saved, and that it goes on from there.

It does not know where states and accounts are kept, nor in what form: a `Saver` does.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Protocol

from fencepost.checker.outcome import Outcome, Resumed
from fencepost.checker.search.states import NoPredecessor
from fencepost.spec.text.problem import Rejected


def still_good(level: int) -> str:
    """What a resumed search can rely on after a save failed; level 0: on no earlier save."""
    if level:
        return f"the save down to level {level} is still good"
    return "no earlier save of this search exists"


class Saver(Protocol):
    """Saves a search between two levels, and brings it back."""

    @property
    def resumed(self) -> Resumed | None:
        """The checkpoint that `restore` read; None if it read none."""
        ...

    def restore(self) -> bool:
        """Restores the states and the account of the saved search; False: there is none, and the
        search begins.
        """
        ...

    def judged(self) -> None:
        """The last level counts now, and others follow: until the next one does, this is what is
        saved.
        """

    def save(self) -> bool:
        """Saves the search; False: it is too early for that."""
        ...

    def cut(self) -> None:
        """The search is cut, perhaps within a level: saves what is not saved yet, if it can."""

    def unusable(self, why: str) -> Rejected:
        """The checkpoint cannot be used, for this reason."""
        ...

    def noted(self, outcome: Outcome) -> tuple[str, ...]:
        """What to say of a search that is over: where it may go on, or why it cannot."""
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
        """The error of a search in which a predecessor is missing: its checkpoint is wrong if it
        was resumed.
        """
        if self._saver.resumed is None:
            return missing
        before, after = missing.level, missing.level + 1
        return self._saver.unusable(
            f"no step leads from its level {before} to a state of level {after}"
        )

    def ended(self, outcome: Outcome) -> Outcome:
        """The outcome of a search that is over, with its checkpoints."""
        notes = (*outcome.notes, *self._saver.noted(outcome))
        return replace(outcome, notes=notes, resumed=self._saver.resumed)

    def judged(self) -> None:
        """A level counts, and others follow: saves the search if it is time to."""
        self._saver.judged()
        if time.monotonic() - self._saved_at >= self._seconds and self._saver.save():
            self._saved_at = time.monotonic()
