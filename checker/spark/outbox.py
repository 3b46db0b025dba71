"""Outgoing successors, collected in one block per owner that machine code fills."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from fencepost.checker.native.codegen.context_words import Word
from fencepost.checker.native.machine.memory import Memory
from fencepost.checker.native.machine.worker_context import Context
from fencepost.checker.spark.parcels import Parcels
from fencepost.checker.spark.program import Program
from fencepost.checker.spark.records import HEAD, KEY, Kind

BLOCK_BYTES, ALL_BLOCKS_BYTES = 1 << 18, 1 << 26
"""The maximum number of bytes for the successors of one owner, and for those of all owners
together.
"""


class Callback:
    """A callback for machine code, which passes the number of an owner.

    An exception cannot propagate through machine code, which drops the state and continues. The
    callback therefore keeps the exception, and the caller of the machine code must call `check`.
    """

    def __init__(self, function: Callable[[int], None]) -> None:
        self._function = function
        self._error: BaseException | None = None

    def __call__(self, owner: int) -> None:
        try:
            if self._error is None:
                self._function(owner)
        except BaseException as error:
            self._error = error

    def check(self) -> None:
        """Raises the exception that occurred in the callback, if any."""
        if self._error is not None:
            raise self._error


def no_successors(owner: int) -> None:
    """The callback for a context whose machine code must not produce successors."""
    raise AssertionError(f"a successor for owner {owner} where none is made")


class Outbox:
    """Blocks of successors. A full block becomes a record of ``kind`` and ``level``.

    With ``parcels``, the states are written to files, and records only refer to them. ``sent``
    counts the states in records by owner. ``context`` is the context for the machine code.
    """

    def __init__(
        self,
        memory: Memory,
        shipped: Program,
        kind: Kind,
        level: int,
        parcels: Parcels | None = None,
    ) -> None:
        self.sent = [0] * shipped.partitions
        self._ready: list[bytes] = []
        self._level, self._parcels = level, parcels
        owners = range(shipped.partitions)
        self._keys = [KEY.pack(shipped.task(owner)) for owner in owners]
        self._heads = [HEAD.pack(kind, level, owner) for owner in owners]
        self._state_bytes = 8 * shipped.words
        size = min(BLOCK_BYTES, ALL_BLOCKS_BYTES // shipped.partitions)
        self._room = max(size // self._state_bytes, 1) * self._state_bytes
        step = HEAD.size + self._room
        region = memory.take(step * shipped.partitions)
        self._starts = [region.address + step * n for n in range(shipped.partitions)]
        self._full = Callback(self._deliver)
        self.context = Context(memory, shipped.sizes, shipped.partitions, self._full)
        for owner in range(len(self._starts)):
            self._open(owner)

    def flush(self) -> None:
        """Turns all states that are left in the blocks into records."""
        for owner in range(len(self._starts)):
            self._deliver(owner)

    def take(self) -> list[bytes]:
        """Returns the finished records, each preceded by the number of its owner's task.

        Raises the exception that occurred while machine code filled the blocks, if any; in that
        case states are missing.
        """
        self._full.check()
        taken, self._ready = self._ready, []
        return taken

    def _deliver(self, owner: int) -> None:
        """Turns the content of a block into a record."""
        start = self._starts[owner]
        used = self.context.words[Word.BLOCKS + 2 * owner] - start - HEAD.size
        if used:
            if self._parcels is None:
                ctypes.memmove(start, self._heads[owner], HEAD.size)
                data = ctypes.string_at(start, HEAD.size + used)
            else:
                data = self._parcels.put(self._level, owner, start + HEAD.size, used)
            self._ready += self._keys[owner], data
            self.sent[owner] += used // self._state_bytes
            self._open(owner)

    def _open(self, owner: int) -> None:
        start = self._starts[owner] + HEAD.size
        self.context.words[Word.BLOCKS + 2 * owner] = start
        self.context.words[Word.BLOCKS + 2 * owner + 1] = start + self._room
