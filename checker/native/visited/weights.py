"""For how many states each of the last level stands, where symmetry is used: found when a state is
looked at, and wanted when it is expanded.
"""

from __future__ import annotations

from fencepost.checker.native.codegen.context_words import Word
from fencepost.checker.native.machine.memory import Memory, Region
from fencepost.checker.native.machine.worker_context import Context


class Weights:
    """Those of the states that a worker has, in the order of its store; kept from `keep` on."""

    def __init__(self, context: Context, memory: Memory) -> None:
        self._words = context.words
        self._memory = memory
        self._kept = False
        self._room: Region | None = None
        self._whole = False

    def keep(self) -> None:
        """Keeps them from now on."""
        self._kept = True

    def begin(self, most: int) -> None:
        """A level of at most so many states is looked at. Raises `Exhausted`."""
        if not self._kept:
            return
        if self._room is None or self._room.size < 8 * most:
            self.close()
            self._room = self._memory.take(8 * most)
        self._words[Word.WEIGHTS] = self._room.address

    def expect(self, count: int) -> None:
        """The level, which has ``count`` states, is expanded now, unless it was not looked at
        whole.
        """
        made = self._words[Word.WEIGHTS]
        self._whole = self._room is not None and made == self._room.address + 8 * count
        self._words[Word.WEIGHTS] = 0

    def address(self, place: int) -> int:
        """Where the weights are from a state on; 0: they are not known."""
        return self._room.address + 8 * place if self._whole and self._room is not None else 0

    def close(self) -> None:
        """Gives the memory back."""
        if self._room is not None:
            self._memory.give(self._room)
            self._room = None
