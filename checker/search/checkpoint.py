"""When a search is saved, and that it goes on from there.

It does not know where states and accounts are kept, nor in what form: a `Saver` does.
"""

from __future__ import annotations

import time
from typing import Protocol

from fencepost.checker.search.states import States


class Saver(Protocol):
    """Saves a search between two levels, and brings it back."""

    def restore(self) -> States | None:
        """The states of a search that was saved, whose account is now that of this one; None: the
        search begins.
        """
        ...

    def save(self) -> bool:
        """Saves the search, which has counted its last level; whether that can be done."""
        ...


class Checkpoint:
    """A search that is saved about every ``seconds``."""

    def __init__(self, saver: Saver, seconds: float) -> None:
        self.restore = saver.restore
        self._save = saver.save
        self._seconds = seconds
        self._saved_at = time.monotonic()

    def judged(self) -> None:
        """A level counts, and others follow: saves the search if it is time to."""
        if time.monotonic() - self._saved_at >= self._seconds and self._save():
            self._saved_at = time.monotonic()
