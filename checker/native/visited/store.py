"""The states that a worker owns, in the order found, level by level, in chunks of memory: an entry
for each, the state itself or what it can be made from.
"""

from __future__ import annotations

import ctypes
import zlib
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from fencepost.checker.native.codegen.context_words import Word
from fencepost.checker.native.machine.memory import Memory, Region
from fencepost.checker.native.machine.spill import Spill
from fencepost.checker.native.machine.worker_context import Context

LEAST_CHUNK, LARGEST_CHUNK = 1 << 14, 1 << 22
TOGETHER = 2048
"""The number of states that are decoded together."""


class Piece(NamedTuple):
    """States whose entries stand one after the other, the number of the worker that made them, and
    that of the worker who has them; None: they are whole states, outside of any store. ``place``
    is how many states of its level that worker has before them.
    """

    source: int
    address: int
    states: int
    owner: int | None
    place: int = 0

    def first(self, count: int) -> Piece:
        """The first ``count`` states."""
        return self._replace(states=count)

    def behind(self, count: int, entry_bytes: int) -> Piece:
        """The states behind the first ``count``."""
        return self._replace(
            address=self.address + count * entry_bytes,
            states=self.states - count,
            place=self.place + count,
        )


def parts(piece: Piece, entry_bytes: int) -> Iterator[Piece]:
    """A piece in parts of at most `TOGETHER` states."""
    while piece.states > TOGETHER:
        yield piece.first(TOGETHER)
        piece = piece.behind(TOGETHER, entry_bytes)
    yield piece


class Store:
    """Machine code writes new states to where ``cursor`` is, up to ``end``; `append` takes them in.

    ``size`` are the words of an entry. ``count`` states are in it; ``levels`` are the pieces of
    each level, the last of which grows.
    """

    def __init__(self, memory: Memory, size: int, owner: int) -> None:
        self.entry_bytes = 8 * size
        self._owner = owner
        self.count = 0
        self.cursor = self.end = 0
        self.levels: list[list[Piece]] = []
        self._memory = memory
        self._regions: list[Region] = []
        self._bytes = 0
        self._chunk = 0
        self._rest: deque[Piece] | None = None
        self._away = 0
        # In which chunk each level begins.
        self._starts: list[int] = []
        self.before = 0
        self._level_start = 0, 0
        self.extend()
        self.open_level()

    def extend(self) -> None:
        """Adds a chunk. Raises `Exhausted`."""
        wanted = 1 << (self._bytes // 16).bit_length()
        wanted = max(LEAST_CHUNK, min(wanted, LARGEST_CHUNK), 4 * self.entry_bytes)
        region = self._memory.take(wanted)
        self._regions.append(region)
        self._bytes += region.size
        self._enter(region)

    def append(self, source: int, cursor: int) -> None:
        """Takes in what stands before ``cursor``: made by this worker."""
        count = (cursor - self.cursor) // self.entry_bytes
        if not count:
            return
        pieces, place = self.levels[-1], self._place
        made = Piece(source, self.cursor, count, self._owner, place)
        if pieces:
            last = pieces[-1]
            behind = last.address + last.states * self.entry_bytes
            if last.source == source and behind == self.cursor:
                made = last.first(last.states + count)
                pieces.pop()
        pieces.append(made)
        self._place += count
        self.cursor = cursor
        if self._rest is None:
            self.count += count

    def open_level(self) -> None:
        """States found from now on belong to the next level."""
        self._level_start = len(self._regions) - 1, self.cursor
        self._starts.append(self._level_start[0])
        self.levels.append([])
        self._place = 0

    def size(self, level: int) -> int:
        """How many states a level has; levels are counted from 1."""
        return sum(piece.states for piece in self.levels[level - 1])

    def put_away(self, spill: Spill) -> None:
        """Puts the states of all levels before the last one away; nobody writes there any more."""
        behind = self._level_start[0]
        self._away += spill.put_away(self._regions[self._away : behind])

    def regions(self, level: int) -> list[Region]:
        """Where the states of a level are."""
        behind = self._starts[level] if level < len(self._starts) else len(self._regions) - 1
        return self._regions[self._starts[level - 1] : behind + 1]

    # ------------------------------------------------------------ dropping states

    def begin_again(self) -> bool:
        """Empties the last level, whose ``before`` states are written anew, over themselves; False:
        that has been begun and not ended, and goes on.
        """
        if self._rest is not None:
            return False
        pieces = self.levels.pop()
        self.before = sum(piece.states for piece in pieces)
        self._rest = deque(pieces)
        self.levels.append([])
        self._place = 0
        chunk, cursor = self._level_start
        self._chunk = chunk
        self._enter(self._regions[chunk])
        self.cursor = cursor
        return True

    def again(self) -> Piece | None:
        """The states that are written anew next, as they were; None: that was all."""
        return self._rest[0] if self._rest else None

    def pass_by(self, count: int) -> None:
        """Marks the next ``count`` states as dealt with."""
        assert self._rest is not None
        piece = self._rest.popleft()
        if count < piece.states:
            self._rest.appendleft(piece.behind(count, self.entry_bytes))

    def room(self) -> int:
        """How many states may be written to where the cursor is now: one at least."""
        if self.cursor == self.end:
            self._chunk += 1
            self._enter(self._regions[self._chunk])
        return (self.end - self.cursor) // self.entry_bytes

    def end_again(self) -> None:
        """What is to be kept has been written, and what has not been dealt with stays as it is;
        where that is nothing, the rest of the chunks is free.
        """
        if self._rest is None:
            return
        if self._rest:
            self.levels[-1].extend(self._rest)
        else:
            for region in self._regions[self._chunk + 1 :]:
                self._bytes -= region.size
                self._memory.give(region)
            del self._regions[self._chunk + 1 :]
        self.count += self.size(len(self.levels)) - self.before
        self._rest = None

    def drop_level(self) -> None:
        """Takes the states of the last level back."""
        self.begin_again()
        assert self._rest is not None
        self._rest.clear()
        self.end_again()
        self.levels.pop()
        self._starts.pop()

    def close(self) -> None:
        """Frees all memory."""
        for region in self._regions:
            self._memory.give(region)
        self._regions.clear()

    def _enter(self, region: Region) -> None:
        self.cursor = region.address
        self.end = region.address + region.size // self.entry_bytes * self.entry_bytes


class SeenStates(Protocol):
    """The states that a worker has seen. The store keeps ``entry_words`` words of each new one, its
    entry, in the order found.
    """

    entry_words: int

    @property
    def states(self) -> int:
        """How many states have been seen."""
        ...

    def merge(self, address: int, count: int) -> None:
        """Adds states, and to the store the entries of new ones, as `search_kernels.merge` does."""

    def grow(self) -> None:
        """Makes the room that machine code has asked for. Raises `Exhausted`."""

    def whole(self, address: int, count: int, room: int, rows: int) -> int:
        """Where the states of some entries are: written to ``room``, if need be. Any worker may ask
        for that, whose own rows are at ``rows``.
        """
        ...


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
