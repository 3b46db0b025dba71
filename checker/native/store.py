"""The states that a worker has found, in the order found, level by level, in chunks of memory."""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.checker.native.memory import Memory, Region

LEAST_CHUNK, LARGEST_CHUNK = 1 << 14, 1 << 22


class Store:
    """Machine code appends to the last chunk, up to where `fill` says; `extend` adds another one.

    ``count`` states are in it. A level is a range of positions; a position is the number of a chunk
    and of a state in it.
    """

    def __init__(self, memory: Memory, size: int) -> None:
        self._memory = memory
        self.state_bytes = 8 * size
        self._regions: list[Region] = []
        self._used: list[int] = []
        self._starts: list[tuple[int, int]] = []
        self._bytes = 0
        self.count = 0
        self.extend()
        self.open_level()

    @property
    def levels(self) -> int:
        """How many levels there are, the one being found included."""
        return len(self._starts)

    @property
    def free(self) -> tuple[int, int]:
        """Where the next new state goes, and where the last chunk ends."""
        start, places = self.chunk(len(self._regions) - 1)
        return start + self._used[-1] * self.state_bytes, start + places * self.state_bytes

    def extend(self) -> None:
        """Adds a chunk. Raises `Exhausted`."""
        wanted = 1 << (self._bytes // 16).bit_length()
        wanted = max(LEAST_CHUNK, min(wanted, LARGEST_CHUNK), 4 * self.state_bytes)
        region = self._memory.take(wanted)
        self._regions.append(region)
        self._used.append(0)
        self._bytes += region.size

    def fill(self, cursor: int) -> None:
        """Says up to which address the last chunk is filled."""
        used = (cursor - self._regions[-1].address) // self.state_bytes
        self.count += used - self._used[-1]
        self._used[-1] = used

    def open_level(self) -> None:
        """States found from now on belong to the next level."""
        self._starts.append((len(self._regions) - 1, self._used[-1]))

    def level(self, number: int) -> Iterator[tuple[int, int]]:
        """The states of level ``number`` (from 1), as pieces: an address, and how many states."""
        first, skipped = self._starts[number - 1]
        last, rest = len(self._regions) - 1, self._used[-1]
        if number < len(self._starts):
            last, rest = self._starts[number]
        for chunk in range(first, last + 1):
            start = skipped if chunk == first else 0
            behind = rest if chunk == last else self._used[chunk]
            if behind > start:
                yield self._regions[chunk].address + start * self.state_bytes, behind - start

    def size(self, number: int) -> int:
        """How many states level ``number`` has."""
        return sum(count for _, count in self.level(number))

    # ------------------------------------------------------------ dropping states

    def rewrite(self) -> Rewriting:
        """Ready to keep only some states of the last level."""
        return Rewriting(self, *self._starts[-1])

    def chunk(self, number: int) -> tuple[int, int]:
        """Where a chunk begins, and how many states it can hold."""
        region = self._regions[number]
        return region.address, region.size // self.state_bytes

    def keep(self, chunk: int, used: int) -> None:
        """Drops what stands behind this position."""
        for region in self._regions[chunk + 1 :]:
            self._bytes -= region.size
            self._memory.give(region)
        before = self._starts[-1][0]
        self.count -= sum(self._used[before:])
        self._used[before:] = [*(self.chunk(number)[1] for number in range(before, chunk)), used]
        self.count += sum(self._used[before:])
        del self._regions[chunk + 1 :]


class Rewriting:
    """The last level of a store, written anew over itself: what is kept moves to the front."""

    def __init__(self, store: Store, chunk: int, used: int) -> None:
        self._store = store
        self._state_bytes = store.state_bytes
        self._chunk, self._used = chunk, used
        self._start: int
        self._places: int
        self._start, self._places = store.chunk(chunk)

    def room(self) -> tuple[int, int]:
        """Where the next states kept go, and how many have room there: one at least."""
        if self._used == self._places:
            self._chunk, self._used = self._chunk + 1, 0
            self._start, self._places = self._store.chunk(self._chunk)
        return self._start + self._used * self._state_bytes, self._places - self._used

    def kept(self, count: int) -> None:
        """So many states were written there."""
        self._used += count

    def close(self) -> None:
        """Nothing more is kept."""
        self._store.keep(self._chunk, self._used)
