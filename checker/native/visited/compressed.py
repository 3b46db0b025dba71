"""The compressed visited set of a worker. The kernels in `kernels.compressed` work on this set.

Tables and nodes grow one at a time. Other workers may decode roots at the same time, so the memory
that they read stays valid until `settle`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from fencepost.checker.native.codegen.context_words import Word
from fencepost.checker.native.kernels.compressed import NODES, TABLES, Set
from fencepost.checker.native.kernels.quotient import (
    LINE_BYTES,
    MAX_DISTANCE,
    PLACE_BITS,
    QUOTIENT_WORDS,
    TABLE_BITS,
    TABLE_COUNT,
    Quotient,
    factors,
)
from fencepost.checker.native.kernels.tree import BATCH, LOW, NODE_WORDS, Kind, Node
from fencepost.checker.native.machine.build import SetCode
from fencepost.checker.native.machine.memory import HUGE_PAGE, PAGE, Region, Regions, words
from fencepost.checker.native.machine.worker_context import Context
from fencepost.checker.native.visited.plan import Plan
from fencepost.checker.resources import Exhausted, spare_addresses

MAX_LOAD = 0.9
"""The maximum load of a table."""
GROWTH, LATE_GROWTH, LARGE_TABLE = 2.0, 1.5, 1 << 25
"""The growth factor of a table, and that of a table of at least ``LARGE_TABLE`` bytes. In large
tables memory matters more than time.
"""
SPARE_NUMBERS = 4 / 3
"""The factor by which the capacity for pair numbers exceeds the numbers in use. The spare capacity
prevents all tables from having to be widened at once.
"""
MIN_BITS = 12
INDEX_GROWTH = 1.5
LOAD, SMALL_LOAD, SMALL = 3 / 4, 1 / 3, 1 << 18
"""The maximum load of an index, and that of a small index, which holds fewer than ``SMALL`` pairs
at that load. A low load is faster, and costs little memory if the index is small.
"""
MAX_NUMBERS = 1 << 32
"""Pair numbers have 32 bits."""


class Compressed:
    """A visited set of compressed states (see `store.SeenStates`). ``expected`` is the number of
    states that it will soon contain.

    If ``parts`` are given, they are the regions of another set with the same plan, which this set
    continues.
    """

    entry_words = 1

    def __init__(
        self,
        code: SetCode,
        memory: Regions,
        plan: Plan,
        context: Context,
        expected: int,
        parts: Sequence[Region] = (),
    ) -> None:
        self.code = code
        self._memory = memory
        self._plan = plan
        self._context = context
        self._old: list[Region] = []
        self._spare = spare_addresses() // (4 * len(plan.joins) + 4)
        length = NODES + NODE_WORDS * len(plan.joins)
        head = -(-8 * length // PAGE) * PAGE
        self._set = parts[0] if parts else memory.take(head + rows_bytes(plan.words))
        self._words = words(self._set.address, length)
        self._words[Set.ROWS] = self._set.address + head
        self._pairs: list[Region] = []
        self._indexes: list[Region] = []
        self._tables: list[Region] = []
        self._limits: list[int] = []
        if parts:
            self._go_on(parts[1:])
            return
        alone = not plan.joins
        first = 0 if alone else plan.leaves
        for field, value in (
            (Set.WORDS, plan.words),
            (Set.LEAVES, plan.leaves),
            (Set.NODES, len(plan.joins)),
            (Set.LEFT, plan.left - first),
            (Set.RIGHT, plan.right - first),
            (Set.MASK, (1 << 63) - 1 if alone else (1 << 64) - 1),
            (Set.ALWAYS, 1 << 63 if alone else 0),
        ):
            self._words[field] = value
        for factor, value in enumerate(factors(plan.salts.first, plan.salts.second)):
            self._words[Set.MIX + factor] = value
        try:
            self._begin(expected)
        except Exhausted:
            self.close()
            raise

    def _begin(self, expected: int) -> None:
        for number, (left, right) in enumerate(self._plan.joins):
            start = self._node(number)
            self._words[start + Node.LEFT] = left
            self._words[start + Node.RIGHT] = max(right, 0)
            self._words[start + Node.KIND] = self._plan.kind(number)
            self._words[start + Node.SALT] = self._plan.salts.tree
            self._pairs.append(self._memory.take(PAGE, min(HUGE_PAGE, self._spare)))
            self._indexes.append(self._memory.take(PAGE))
            self._describe_node(number)
        for number in range(TABLE_COUNT):
            wanted = int(expected / TABLE_COUNT * GROWTH ** (number / TABLE_COUNT))
            region, descriptor = self._table_for(*self._widths(), wanted)
            self._tables.append(region)
            self._limits.append(descriptor[Quotient.LIMIT])
            self._describe(number, descriptor)

    def _go_on(self, parts: Sequence[Region]) -> None:
        behind = TABLE_COUNT + self._nodes
        self._tables = [*parts[:TABLE_COUNT]]
        self._pairs, self._indexes = [*parts[TABLE_COUNT:behind]], [*parts[behind:]]
        for number, region in enumerate(self._tables):
            start = self._table(number)
            self._words[start + Quotient.ADDRESS] = region.address
            self._limits.append(self._words[start + Quotient.LIMIT])
        for number in range(self._nodes):
            self._describe_node(number)

    @property
    def parts(self) -> list[Region]:
        """The regions of this set. Another set can continue with them."""
        assert not self._old
        return [self._set, *self._tables, *self._pairs, *self._indexes]

    @property
    def states(self) -> int:
        """See `store.SeenStates`."""
        return sum(self._words[self._table(n) + Quotient.COUNT] for n in range(TABLE_COUNT))

    @property
    def pairs(self) -> int:
        """The total number of pairs in all nodes."""
        return sum(self._words[self._node(n) + Node.COUNT] for n in range(self._nodes))

    def merge(self, address: int, count: int) -> None:
        """See `store.SeenStates`."""
        self.code.add(self._context.address, self._set.address, address, count)

    def whole(self, address: int, count: int, room: int, rows: int) -> int:
        """See `store.SeenStates`."""
        if not self._nodes:
            return address
        self.code.decode(self._set.address, address, count, room, rows)
        return room

    def grow(self) -> None:
        """See `store.SeenStates`."""
        number: int = self._context.words[Word.FULL_TABLE]
        if number < TABLE_COUNT:
            self._grow_table(number)
        else:
            self._grow_node(number - TABLE_COUNT)

    def settle(self) -> None:
        """Frees memory that is no longer read. No worker may decode in the meantime."""
        for region in self._old:
            self._memory.give(region)
        self._old.clear()

    def close(self) -> None:
        """Frees all memory."""
        self.settle()
        for region in self.parts:
            self._memory.give(region)

    # ------------------------------------------------------------ tables

    def _table(self, number: int) -> int:
        return TABLES + QUOTIENT_WORDS * number

    def _widths(self) -> tuple[int, int]:
        """Returns the widths, in bits, of the two halves of a root. The second width excludes the
        bits that select the table.
        """
        if self._nodes:
            counts = (
                self._words[self._node(self._words[side]) + Node.COUNT]
                for side in (Set.LEFT, Set.RIGHT)
            )
            left, right = (
                max(MIN_BITS, min(int(count * SPARE_NUMBERS), LOW).bit_length()) for count in counts
            )
        else:
            left = self._words[Set.LEFT_SEEN].bit_length()
            right = self._words[Set.RIGHT_SEEN].bit_length()
        return left, max(0, right - TABLE_BITS)

    def _describe(self, number: int, descriptor: list[int]) -> None:
        start = self._table(number)
        for index, value in enumerate(descriptor):
            self._words[start + index] = value

    def _table_for(self, left: int, right: int, wanted: int) -> tuple[Region, list[int]]:
        """Returns an empty table for about ``wanted`` keys, and the descriptor of that table."""
        lines = 1
        for _ in range(3):
            lines = int(wanted / (MAX_LOAD * _slots(left + right, lines)[0])) + 1
        # Reading the last entry of a line also reads the bytes that follow it.
        region = self._memory.take(LINE_BYTES * (lines + MAX_DISTANCE + 1), close=True)
        lines = region.size // LINE_BYTES - MAX_DISTANCE - 1
        slots, body, rest = _slots(left + right, lines)
        descriptor = [0] * QUOTIENT_WORDS
        for field, value in (
            (Quotient.ADDRESS, region.address),
            (Quotient.LINES, lines),
            (Quotient.LIMIT, int(MAX_LOAD * slots * lines)),
            (Quotient.LEFT_BITS, left),
            (Quotient.RIGHT_BITS, right),
            (Quotient.KEY_BITS, left + right),
            (Quotient.REST, (1 << rest) - 1),
            (Quotient.SLOTS, slots),
            (Quotient.SLOT_MASK, (1 << slots) - 1),
            (Quotient.BODY, body),
            (Quotient.BODY_MASK, (1 << body) - 1),
        ):
            descriptor[field] = value
        return region, descriptor

    def _grow_table(self, number: int) -> None:
        start = self._table(number)
        has = self._words[start + Quotient.LEFT_BITS], self._words[start + Quotient.RIGHT_BITS]
        left, right = (max(pair) for pair in zip(has, self._widths(), strict=True))
        growth = GROWTH if self._tables[number].size < LARGE_TABLE else LATE_GROWTH
        wanted = self._limits[number] * (1 if (left, right) != has else growth)
        while True:
            region, descriptor = self._table_for(left, right, int(wanted))
            new = (ctypes.c_uint64 * QUOTIENT_WORDS)(*descriptor)
            old = self._set.address + 8 * start
            mix = self._set.address + 8 * Set.MIX
            self.code.move(self._context.address, mix, old, ctypes.addressof(new))
            if not self._context.words[Word.DONE]:
                break
            # Some key has no free slot near its home, which happens in very full tables.
            self._memory.give(region)
            wanted *= 1.06
        descriptor[Quotient.COUNT] = new[Quotient.COUNT]
        self._describe(number, descriptor)
        self._limits[number] = descriptor[Quotient.LIMIT]
        self._memory.give(self._tables[number])
        self._tables[number] = region

    # ------------------------------------------------------------ nodes

    @property
    def _nodes(self) -> int:
        return len(self._plan.joins)

    def _node(self, number: int) -> int:
        return NODES + NODE_WORDS * number

    def _pair_bytes(self, number: int) -> int:
        return 16 if self._plan.kind(number) is Kind.WIDE else 8

    def _describe_node(self, number: int) -> None:
        """Writes the addresses and the capacity of a node to the words that machine code reads."""
        start, pairs, index = self._node(number), self._pairs[number], self._indexes[number]
        capacity = index.size // 4
        self._words[start + Node.PAIRS] = pairs.address
        self._words[start + Node.INDEX] = index.address
        self._words[start + Node.CAPACITY] = capacity
        self._words[start + Node.LIMIT] = min(
            pairs.size // self._pair_bytes(number), self._indexable(number), MAX_NUMBERS
        )

    def _indexable(self, number: int) -> int:
        """Returns the number of pairs that the index of a node can hold."""
        capacity = self._indexes[number].size // 4
        load = SMALL_LOAD if capacity * SMALL_LOAD < SMALL else LOAD
        return int(capacity * load)

    def _grow_node(self, number: int) -> None:
        start = self._node(number)
        needed = self._words[start + Node.COUNT] + BATCH
        if needed > MAX_NUMBERS:
            raise Exhausted
        if needed > self._pairs[number].size // self._pair_bytes(number):
            self._grow_pairs(number)
        if needed > self._indexable(number):
            old = self._indexes[number]
            self._indexes[number] = self._memory.take(int(old.size * INDEX_GROWTH), close=True)
            self._describe_node(number)
            self.code.reindex(self._set.address + 8 * start)
            self._memory.give(old)
        self._describe_node(number)

    def _grow_pairs(self, number: int) -> None:
        """Enlarges the array of pairs, in place if possible."""
        old = self._pairs[number]
        wanted = old.size + max(PAGE, old.size // 8)
        if wanted >= HUGE_PAGE:
            wanted = -(-wanted // HUGE_PAGE) * HUGE_PAGE
        if wanted <= old.most:
            self._pairs[number] = self._memory.enlarge(old, wanted)
            return
        most = min(HUGE_PAGE, self._spare) if wanted < HUGE_PAGE else self._spare
        region = self._pairs[number] = self._memory.take(wanted, most)
        ctypes.memmove(region.address, old.address, old.size)
        self._old.append(old)


def _slots(bits: int, lines: int) -> tuple[int, int, int]:
    """Returns the number of entries per line for keys of ``bits`` bits, the number of bits that an
    entry has beyond its low byte, and the number of key bits that an entry stores.
    """
    rest = max(0, bits - (lines.bit_length() - 1))
    body = max(0, rest + PLACE_BITS - 8)
    return 8 * LINE_BYTES // (8 + body), body, rest


def rows_bytes(words: int) -> int:
    """Returns the size in bytes of a buffer for compressing or decoding states of ``words``
    words: a row for each node and each part, if words are halved.
    """
    return 8 * BATCH * 4 * max(words, 1)
