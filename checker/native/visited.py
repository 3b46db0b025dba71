"""The states that a worker has seen: tables that machine code fills, each enlarged alone.

Many small tables, of sizes spread between two enlargements, so that memory grows in small steps.
"""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.checker.native.build import Code
from fencepost.checker.native.context import TABLE_WORDS, Table
from fencepost.checker.native.memory import HUGE, PAGE, Memory, Region, words

FULLEST = 0.8
"""The share of places that may be taken."""
GROWTH = ((1 << 15, 4.0), (1 << 18, 2.0))
"""By how much tables of less than so many bytes are enlarged; larger ones by `SLOW_GROWTH`."""
SLOW_GROWTH = 1.5


class Visited:
    """The tables of one worker; ``address`` is where their descriptors stand."""

    def __init__(self, code: Code, memory: Memory, size: int, tables: int) -> None:
        self.code = code
        self._memory = memory
        self._size = size
        self._descriptors = memory.take(8 * TABLE_WORDS * tables)
        self._words = words(self._descriptors.address, TABLE_WORDS * tables)
        self._regions: list[Region] = []
        self.address = self._descriptors.address
        self.count = tables
        for number in range(tables):
            least = max(PAGE, 16 * 8 * size) * SLOW_GROWTH ** (number / tables)
            region = memory.take(int(least))
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
        new = self._memory.take(wanted)
        self._regions[number] = new
        self._describe(number, new, wanted)
        self.code.rehash(old.address, capacity, new.address, self._words[place + Table.CAPACITY])
        self._memory.give(old)

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
