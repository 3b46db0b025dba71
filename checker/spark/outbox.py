"""Successors on their way to their owners: a block for each owner, which machine code fills.

It does not know what is done with the records that become of full blocks.
"""

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
"""The room for successors on their way to one owner, and to all of them."""


class Called:
    """A function that machine code calls with the number of an owner.

    Machine code cannot pass on what the function raises: it drops the state for which there is no
    room, and goes on. So the exception is kept, and whoever called machine code has to `check`.
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
        """Raises what the function has raised."""
        if self._error is not None:
            raise self._error


def no_successors(owner: int) -> None:
    """For a context in which machine code has no successor to send."""
    raise AssertionError(f"a successor for owner {owner} where none is made")


class Outbox:
    """Blocks of successors; a full one becomes a record of ``kind`` and ``level`` among those that
    are ready; with ``parcels``, its states go there, and the record says where they are. ``sent``
    counts the states that were put into records, by owner. ``context`` is what machine code is
    given.
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
        self._full = Called(self._deliver)
        self.context = Context(memory, shipped.sizes, shipped.partitions, self._full)
        for owner in range(len(self._starts)):
            self._open(owner)

    def flush(self) -> None:
        """Makes records of all that is left."""
        for owner in range(len(self._starts)):
            self._deliver(owner)

    def take(self) -> list[bytes]:
        """The records that are ready, before each the number of its owner's task. Raises what went
        wrong while machine code filled the blocks, in which case states are missing.
        """
        self._full.check()
        taken, self._ready = self._ready, []
        return taken

    def _deliver(self, owner: int) -> None:
        """Makes a record of what is in a block."""
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
