"""The states outside the constraints that a worker has dropped since the search was saved last:
its store has them no more, and what was seen must not be forgotten where it goes on.
"""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Iterator

from fencepost.checker.native.codegen.context_words import Word
from fencepost.checker.native.machine.memory import Memory, Region
from fencepost.checker.native.machine.worker_context import Context


class Dropped:
    """They are kept, compressed, from `keep` on. Machine code writes those of one call."""

    def __init__(self, context: Context, state_bytes: int) -> None:
        self._words = context.words
        self._state_bytes = state_bytes
        self._room: Region | None = None
        self._blocks: dict[int, list[tuple[int, bytes]]] = {}

    def keep(self, memory: Memory, most: int) -> None:
        """Keeps them from now on; ``most`` are looked at in one call. Raises `Exhausted`."""
        self._room = memory.take(most * self._state_bytes)

    def begin(self) -> None:
        """A call of machine code begins."""
        if self._room is not None:
            self._words[Word.DROPPED] = self._room.address

    def take(self, level: int) -> None:
        """Keeps those that the last call has dropped from a level."""
        if self._room is None:
            return
        size = self._words[Word.DROPPED] - self._room.address
        if size:
            data = ctypes.string_at(self._room.address, size)
            block = size // self._state_bytes, zlib.compress(data, 1)
            self._blocks.setdefault(level, []).append(block)

    def blocks(self, level: int) -> Iterator[tuple[int, bytes]]:
        """Those of the levels down to one: numbers of states, and these compressed by zlib."""
        for one, blocks in self._blocks.items():
            if one <= level:
                yield from blocks

    def count(self, level: int) -> int:
        """How many there are of the levels down to one."""
        return sum(count for count, _ in self.blocks(level))

    def forget(self, level: int) -> None:
        """Those of the levels down to one are kept elsewhere."""
        self._blocks = {one: blocks for one, blocks in self._blocks.items() if one > level}
