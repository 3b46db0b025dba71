"""The uncompressed visited set of a worker: hash tables that grow one at a time.

The sizes of the tables are spread out, so that memory grows in small steps. A table grows in place,
into reserved addresses: a copy would need the memory twice, and providing fresh pages costs more
than the copying itself.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

from fencepost.checker.native.codegen.context_words import TABLE_WORDS, Table, Word
from fencepost.checker.native.machine.build import Code
from fencepost.checker.native.machine.memory import HUGE_PAGE, PAGE, Memory, Region, words
from fencepost.checker.native.machine.worker_context import Context
from fencepost.checker.resources import spare_addresses

MAX_LOAD = 0.8
"""The maximum load of a table."""
GROWTH = ((1 << 15, 4.0), (1 << 18, 2.0))
"""Growth factors of tables that are smaller than the given size in bytes. Larger tables grow by
`SLOW_GROWTH`.
"""
SLOW_GROWTH = 1.5
ASIDE = 512
"""The initial capacity for displaced states while a table is spread. If it is exceeded, spreading
continues with a larger buffer.
"""
GATHERED = 1 << 14
"""The number of slots that one call searches for states."""


class Tables:
    """The descriptors of ``count`` tables at an address, for states of ``size`` words."""

    def __init__(self, address: int, count: int, size: int) -> None:
        self.size = size
        self._address = address
        self._count = count
        self._words = words(address, TABLE_WORDS * count)

    def use_in(self, context: Context) -> None:
        """Makes machine code with this context use these tables."""
        context.words[Word.TABLES] = self._address
        context.words[Word.TABLE_COUNT] = self._count

    @property
    def states(self) -> int:
        """The number of visited states."""
        return sum(self._words[TABLE_WORDS * n + Table.COUNT] for n in range(self._count))

    def capacity(self, number: int) -> int:
        """Returns the number of slots of a table."""
        return self._words[TABLE_WORDS * number + Table.CAPACITY]

    def place(self, number: int, address: int, capacity: int) -> None:
        """Sets the address of a table and its capacity in states."""
        start = TABLE_WORDS * number
        self._words[start + Table.ADDRESS] = address
        self._words[start + Table.CAPACITY] = capacity
        self._words[start + Table.LIMIT] = int(capacity * MAX_LOAD)

    def gather(self, code: Code, context: Context) -> Iterator[tuple[int, int]]:
        """Yields all visited states as addresses and counts. Each is valid until the next one."""
        room = (ctypes.c_uint64 * (GATHERED * self.size))()
        out = ctypes.addressof(room)
        for number in range(self._count):
            table = self._words[TABLE_WORDS * number + Table.ADDRESS]
            capacity = self.capacity(number)
            for start in range(0, capacity, GATHERED):
                places = min(GATHERED, capacity - start)
                code.gather(context.address, table + 8 * self.size * start, places, out)
                yield out, context.words[Word.DONE]


class Visited(Tables):
    """The tables of a worker (see `store.SeenStates`)."""

    def __init__(
        self, code: Code, memory: Memory, size: int, tables: int, context: Context
    ) -> None:
        descriptors = memory.take(8 * TABLE_WORDS * tables)
        super().__init__(descriptors.address, tables, size)
        self.code = code
        self.entry_words = size
        self._memory = memory
        self._context = context
        self._descriptors = descriptors
        # Twice a table's share of the machine's memory. A table that outgrows this limit is copied.
        self._most = 2 * spare_addresses() // tables
        self._regions: list[Region] = []
        for number in range(tables):
            least = int(max(PAGE, 16 * 8 * size) * SLOW_GROWTH ** (number / tables))
            region = memory.take(least, min(HUGE_PAGE, self._most))
            self._regions.append(region)
            self.place(number, region.address, least // (8 * size))
        self.use_in(context)

    def merge(self, address: int, count: int) -> None:
        """See `store.SeenStates`."""
        self.code.merge(self._context.address, address, count)

    def whole(self, address: int, count: int, room: int, rows: int) -> int:
        """See `store.SeenStates`. The entries are the states themselves."""
        return address

    def close(self) -> None:
        """Frees all memory."""
        for region in (self._descriptors, *self._regions):
            self._memory.give(region)

    def grow(self) -> None:
        """See `store.SeenStates`."""
        number: int = self._context.words[Word.FULL_TABLE]
        size = self.size
        old, capacity = self._regions[number], self.capacity(number)
        used = capacity * 8 * size
        factor = next((factor for below, factor in GROWTH if used < below), SLOW_GROWTH)
        wanted = int(used * factor)
        if wanted >= HUGE_PAGE:
            wanted = -(-wanted // HUGE_PAGE) * HUGE_PAGE
        if wanted <= old.most:
            new = self._memory.enlarge(old, wanted)
            self._spread(new.address, capacity, wanted // (8 * size))
        else:
            new = self._memory.take(
                wanted, min(HUGE_PAGE, self._most) if wanted < HUGE_PAGE else self._most
            )
            self.code.rehash(old.address, capacity, new.address, wanted // (8 * size))
            self._memory.give(old)
        self._regions[number] = new
        self.place(number, new.address, wanted // (8 * size))

    def _spread(self, table: int, used: int, capacity: int) -> None:
        """Redistributes the states of a table over more slots."""
        words = self._context.words
        room, aside = 0, None
        left = used
        while left or aside is None:
            room, before = max(ASIDE, 2 * room), aside
            aside = (ctypes.c_uint64 * (room * self.size))()
            if before is not None:
                ctypes.memmove(aside, before, ctypes.sizeof(before))
            self.code.spread(
                self._context.address, table, left, capacity, ctypes.addressof(aside), room
            )
            left = words[Word.DONE]
