"""The states that a worker owns, in the order found, level by level, in chunks of memory: an entry
for each, the state itself or what it can be made from.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from fencepost.checker.native.machine.memory import Memory, Region
from fencepost.checker.native.machine.spill import Spill

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
