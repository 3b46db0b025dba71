"""The states that a worker has seen: tables that machine code fills, each enlarged alone.

Many small tables, of sizes spread between two enlargements, so that memory grows in small steps.
A table is enlarged where it is, into room that was left behind it: what is copied elsewhere needs
memory twice, and memory that is given back and taken anew costs a system more than the copying.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

from fencepost.checker.native.codegen.context_words import TABLE_WORDS, Table, Word
from fencepost.checker.native.machine.build import Code
from fencepost.checker.native.machine.memory import HUGE, PAGE, Memory, Region, words
from fencepost.checker.native.machine.worker_context import Context
from fencepost.checker.resources import spare_addresses

FULLEST = 0.8
"""The share of places that may be taken."""
GROWTH = ((1 << 15, 4.0), (1 << 18, 2.0))
"""By how much tables of less than so many bytes are enlarged; larger ones by `SLOW_GROWTH`."""
SLOW_GROWTH = 1.5
ASIDE = 512
"""How many states may wait while a table is spread; if more have to, it is begun again."""


class Visited:
    """The tables of one worker; ``address`` is where their descriptors stand."""

    def __init__(
        self, code: Code, memory: Memory, size: int, tables: int, context: Context
    ) -> None:
        self.code = code
        self._memory = memory
        self._size = size
        self._context = context
        self._descriptors = memory.take(8 * TABLE_WORDS * tables)
        # Twice the share of a table if the states of this worker fill the machine; with more it
        # is copied to where there is room again.
        self._most = 2 * spare_addresses() // tables
        self._words = words(self._descriptors.address, TABLE_WORDS * tables)
        self._regions: list[Region] = []
        self.address = self._descriptors.address
        self.count = tables
        for number in range(tables):
            least = max(PAGE, 16 * 8 * size) * SLOW_GROWTH ** (number / tables)
            region = memory.take(int(least), min(HUGE, self._most))
            self._regions.append(region)
            self._describe(number, region, int(least))

    def grow(self, number: int) -> None:
        """Enlarges a table. Raises `Exhausted`."""
        place = TABLE_WORDS * number
        old, capacity = self._regions[number], self._words[place + Table.CAPACITY]
        used = capacity * 8 * self._size
        factor = next((factor for below, factor in GROWTH if used < below), SLOW_GROWTH)
        wanted = int(used * factor)
        if wanted >= HUGE:
            wanted = -(-wanted // HUGE) * HUGE
        if wanted <= old.most:
            new = self._memory.enlarge(old, wanted)
            self._spread(new.address, capacity, wanted // (8 * self._size))
        else:
            new = self._memory.take(wanted, min(HUGE, self._most) if wanted < HUGE else self._most)
            self.code.rehash(old.address, capacity, new.address, wanted // (8 * self._size))
            self._memory.give(old)
        self._regions[number] = new
        self._describe(number, new, wanted)

    def _spread(self, table: int, used: int, capacity: int) -> None:
        """Has the states of a table use more places."""
        words = self._context.words
        room, aside = 0, None
        left = used
        while left or aside is None:
            room, before = max(ASIDE, 2 * room), aside
            aside = (ctypes.c_uint64 * (room * self._size))()
            if before is not None:
                ctypes.memmove(aside, before, ctypes.sizeof(before))
            self.code.spread(
                self._context.address, table, left, capacity, ctypes.addressof(aside), room
            )
            left = words[Word.DONE]

    @property
    def states(self) -> int:
        """How many states have been seen."""
        return sum(self._words[TABLE_WORDS * n + Table.COUNT] for n in range(self.count))

    def places(self) -> Iterator[tuple[int, int]]:
        """The places of each table, free ones among them: address and number."""
        for number in range(self.count):
            place = TABLE_WORDS * number
            yield self._words[place + Table.ADDRESS], self._words[place + Table.CAPACITY]

    def _describe(self, number: int, region: Region, size: int) -> None:
        place = TABLE_WORDS * number
        capacity = size // (8 * self._size)
        self._words[place + Table.ADDRESS] = region.address
        self._words[place + Table.CAPACITY] = capacity
        self._words[place + Table.LIMIT] = int(capacity * FULLEST)
