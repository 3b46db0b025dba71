"""What runs on executors: expanding, merging and looking back over the records of a partition.

Each task says how many states it was to get, and fails if it got others: where Spark gives a task
up, what the task reads ends early without an error. It does not know levels before and after, nor
who asked.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from pyspark.accumulators import AccumulatorParam

from fencepost.checker.native.codegen.context_words import Want, Word
from fencepost.checker.native.machine.memory import Memory, Region, words
from fencepost.checker.native.machine.worker_context import Context, Packed
from fencepost.checker.native.visited.compressed import rows_bytes
from fencepost.checker.native.visited.plan import Plan
from fencepost.checker.spark import program, records
from fencepost.checker.spark.outbox import Called, Outbox, no_successors
from fencepost.checker.spark.program import Program
from fencepost.checker.spark.records import HEAD, Expanded, Kind, Merged
from fencepost.checker.spark.table import Seen, Shelf
from fencepost.checker.spark.watching import Watch
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.concrete import Observer

if TYPE_CHECKING:
    from pyspark import Accumulator
    from pyspark.core.broadcast import Broadcast

    Shipped: TypeAlias = Broadcast[Program]
    Accounts: TypeAlias = Accumulator["Account"]

Account: TypeAlias = dict[tuple[int, int], Merged]
"""What tasks that merge have found, by the number of the attempt and the partition."""

SLICE = 4096
"""The states that one call of machine code expands."""
CHUNK_BYTES = 1 << 21
"""New states are handed on when they take this many bytes."""


class SideBySide(AccumulatorParam["Account"]):
    """Accounts of different tasks side by side. One that comes twice counts once."""

    def zero(self, value: Account) -> Account:
        return {}

    # The name is PySpark's.
    def addInPlace(self, value1: Account, value2: Account) -> Account:  # noqa: N802
        value1.update(value2)
        return value1


class Incomplete(Exception):
    """A task did not get what it was to get."""


@dataclass(frozen=True, slots=True)
class Order:
    """What is asked of all tasks of a level: to make level ``level``.

    ``frontier`` says how many states each partition has to expand, ``seen`` how many it has seen.
    ``rebuild``: the visited set is among the records, and no table is looked for. ``attempt`` tells
    the jobs of a search apart, also where they make the same level. ``observer`` looks on.
    ``plan``: how tables keep states, None: whole.
    """

    level: int
    deadlock: bool
    properties: frozenset[int]
    frontier: tuple[int, ...]
    seen: tuple[int, ...]
    rebuild: bool
    attempt: int
    observer: Observer | None = None
    plan: Plan | None = None


def _expanding(made: Program, context: Context, address: int, count: int) -> Iterator[float]:
    """Expands states in steps; the seconds of each."""
    table = (ctypes.c_uint64 * 3)(address, count, 0)
    while table[1] and not context.words[Word.STOP]:
        began = time.thread_time()
        # Better code may have come since the last step.
        code = program.code(made.text)
        code.expand(context.address, ctypes.addressof(table), 1, SLICE)
        yield time.thread_time() - began


def expand(
    shipped: Shipped, order: Order, partition: int, given: Iterable[bytes]
) -> Iterator[bytes]:
    """The successors of the states of the last level, each owner's number before its records."""
    began, native = time.thread_time(), 0.0
    made = shipped.value
    memory = Memory()
    outbox = Outbox(memory, made, Kind.SUCCESSORS, order.level)
    context = outbox.context
    context.look_for(order.deadlock, order.properties)
    watch = Watch(context, memory, order.observer)
    states = 0
    for data in given:
        kind, level, _ = records.head(data)
        if kind not in records.EXPANDED or level != order.level - 1:
            continue
        number = records.count(data, made.words)
        states += number
        for seconds in _expanding(made, context, records.address(data), number):
            native += seconds
            for owner, block in outbox.take():
                yield records.KEY.pack(owner)
                yield block
    outbox.flush()
    if states != order.frontier[partition] and not watch.enough:
        raise Incomplete(f"partition {partition} has {order.frontier[partition]} states to expand")
    for owner, block in outbox.take():
        yield records.KEY.pack(owner)
        yield block
    for owner in range(made.partitions):
        account = b""
        if owner == partition:
            account = records.written(
                Expanded(
                    states,
                    context.transitions,
                    context.stuck,
                    context.counts(),
                    context.take_reports(),
                    sum(outbox.sent),
                    time.thread_time() - began,
                    native,
                    program.process(),
                    watch.sight,
                )
            )
        yield records.KEY.pack(owner)
        yield records.record(Kind.END, order.level, outbox.sent[owner], account)
    memory.close()


def route(
    shipped: Shipped, partition: int, given: Iterable[tuple[Kind, int, bytes]]
) -> Iterator[bytes]:
    """Records of states that anybody may own (kind, level, states), as records for their owners,
    each owner's number before them.
    """
    made = shipped.value
    code = program.code(made.text)
    for kind, level, states in given:
        memory = Memory()
        outbox = Outbox(memory, made, kind, level)
        data = records.record(kind, level, 0, states)
        number = records.count(data, made.words)
        code.route(outbox.context.address, records.address(data), number)
        outbox.flush()
        for owner, block in outbox.take():
            yield records.KEY.pack(owner)
            yield block
        memory.close()


def census(
    shipped: Shipped, partition: int, given: Iterable[bytes]
) -> Iterator[tuple[int, int, dict[int, int]]]:
    """The number of the partition, how many states it has seen, and how many of each level lie
    inside the constraints.
    """
    seen, inside = 0, dict[int, int]()
    for data in given:
        kind, level, _ = records.head(data)
        number = records.count(data, shipped.value.words)
        if kind in records.KEPT:
            seen += number
        if kind in records.EXPANDED:
            inside[level] = inside.get(level, 0) + number
    yield partition, seen, inside


def clear(shipped: Shipped, partition: int, given: Iterable[bytes]) -> Iterator[None]:
    """Removes the tables of the partition."""
    made = shipped.value
    for _ in given:
        pass
    Shelf(made, partition).clear()
    yield None


def sample(shipped: Shipped, most: int, partition: int, given: Iterable[bytes]) -> Iterator[bytes]:
    """Of the states that the partition has seen the first, ``most`` at most."""
    state_bytes = 8 * shipped.value.words
    for data in given:
        if most and records.head(data).kind in records.KEPT:
            some = data[HEAD.size : HEAD.size + most * state_bytes]
            most -= len(some) // state_bytes
            yield some


# ---------------------------------------------------------------- merging


def merge(
    shipped: Shipped, order: Order, accounts: Accounts, partition: int, given: Iterable[bytes]
) -> Iterator[bytes]:
    """The states of a level that the partition owns, from the successors sent to it."""
    made = shipped.value
    memory = Memory()
    called = Called(no_successors)
    context = Context(memory, made.sizes, made.partitions, called)
    shelf = Shelf(made, partition, order.plan)
    if order.rebuild:
        table = shelf.create(order.seen[partition], context)
    else:
        table = shelf.take(order.level - 1, context)
    try:
        merger = _Merger(made, order, partition, table.seen, memory, context)
        yield from merger.run(given)
        called.check()
        account = merger.account()
    except BaseException:
        shelf.drop(table)
        memory.close()
        raise
    shelf.put(table, order.level)
    memory.close()
    accounts.add({(order.attempt, partition): account})


class _Merger:
    def __init__(
        self,
        made: Program,
        order: Order,
        partition: int,
        visited: Seen,
        memory: Memory,
        context: Context,
    ) -> None:
        self.began, self.native = time.thread_time(), 0.0
        self.made = made
        self.order = order
        self.partition = partition
        self.visited = visited
        self.context = context
        self.context.look_for(order.deadlock, order.properties)
        self.watch = Watch(self.context, memory, order.observer)
        self.words = self.context.words
        self.state_bytes, self.entry_bytes = 8 * made.words, 8 * visited.entry_words
        # The entries of new states; and room for the states, where they are something else.
        most = max(CHUNK_BYTES // self.state_bytes, 1)
        self.chunk = memory.take(most * self.entry_bytes)
        self.chunk_end = self.chunk.address + most * self.entry_bytes
        self.states = memory.take(most * self.state_bytes)
        self.rows = memory.take(rows_bytes(made.words))
        self.seen = self.kept = 0
        self.received = self.announced = 0
        self.ends = 0
        self.expanded: Expanded | None = None

    def run(self, given: Iterable[bytes]) -> Iterator[bytes]:
        """Takes in the records, and hands on those of the new level."""
        order = self.order
        loading = True
        for data in given:
            kind, level, number = records.head(data)
            if kind in (Kind.SUCCESSORS, Kind.END):
                if loading:
                    self._loaded()
                    loading = False
                if level != order.level:
                    raise Incomplete(f"successors for level {level} came to level {order.level}")
            if kind is Kind.SUCCESSORS:
                self.received += records.count(data, self.made.words)
                yield from self._merge(data)
            elif kind is Kind.END:
                self.announced += number
                self.ends += 1
                if len(data) > HEAD.size:
                    if self.expanded is not None:
                        raise Incomplete(f"partition {self.partition} got two accounts")
                    self.expanded = records.read(data)
            elif kind in records.KEPT and order.rebuild:
                if not loading:
                    raise Incomplete("states that were seen before came late")
                for _ in self._merge(data, store=False):
                    pass
        if loading:
            self._loaded()
        yield from self._hand_on()
        if self.ends != self.made.partitions or self.received != self.announced:
            raise Incomplete(
                f"partition {self.partition} got {self.received} successors from {self.ends} tasks"
            )

    def account(self) -> Merged:
        """What was found, when everything has been taken in."""
        context, expected = self.context, self.order.seen[self.partition] + self.seen
        if self.visited.states != expected or self.expanded is None:
            raise Incomplete(f"partition {self.partition} has not seen {expected} states")
        return Merged(
            self.seen,
            self.kept,
            context.counts(),
            context.take_reports(),
            self.expanded,
            time.thread_time() - self.began,
            self.native,
            program.process(),
            self.watch.sight,
            sum(region.size for region in self.visited.parts),
        )

    def _loaded(self) -> None:
        """All that was seen before is there now."""
        expected = self.order.seen[self.partition]
        if self.visited.states != expected:
            raise Incomplete(
                f"partition {self.partition} has seen {self.visited.states} states of {expected}"
            )
        self._open_chunk()

    def _open_chunk(self) -> None:
        self.words[Word.STORE] = self.chunk.address
        self.words[Word.STORE_END] = self.chunk_end

    def _merge(self, data: bytes, store: bool = True) -> Iterator[bytes]:
        """Adds states; those that are new are stored, and handed on when there are many."""
        address, left = records.address(data), records.count(data, self.made.words)
        if not store:
            self._open_chunk()
        while left:
            began = time.thread_time()
            self.visited.merge(address, left)
            done = self.words[Word.DONE]
            left -= done
            address += done * self.state_bytes
            match self.words[Word.WANT]:
                case Want.PLACES:
                    self.visited.grow()
                case Want.ROOM:
                    if store:
                        yield from self._hand_on()
                    self._open_chunk()
                case _:
                    pass
            self.native += time.thread_time() - began

    def _hand_on(self) -> Iterator[bytes]:
        """Looks at the new states, and makes records of them."""
        entries, level = self.chunk.address, self.order.level
        count = (self.words[Word.STORE] - entries) // self.entry_bytes
        if not count:
            return
        start = self.visited.whole(entries, count, self.states.address, self.rows.address)
        seen = ctypes.string_at(start, count * self.state_bytes)
        program.code(self.made.text).examine(
            self.context.address, start, count, start, self.made.words, start
        )
        kept = self.words[Word.DONE]
        self.seen += count
        self.kept += kept
        self._open_chunk()
        if kept == count:
            yield records.record(Kind.STATES, level, 0, seen)
            return
        yield records.record(Kind.SEEN, level, 0, seen)
        if kept:
            inside = ctypes.string_at(start, kept * self.state_bytes)
            yield records.record(Kind.FRONTIER, level, 0, inside)


# ---------------------------------------------------------------- looking back


def search_back(
    shipped: Shipped, level: int, targets: Sequence[Packed], partition: int, given: Iterable[bytes]
) -> Iterator[tuple[int, list[Packed | None]]]:
    """How many states of a level there are in this partition, and for each target the least of them
    that leads to it.
    """
    made = shipped.value
    memory = Memory()
    called = Called(no_successors)
    context = Context(memory, made.sizes, made.partitions, called)
    looked_at = 0
    size = made.words
    region: Region = memory.take(16 * size * len(targets))
    table = words(region.address, 2 * size * len(targets))
    for number, state in enumerate(targets):
        table[2 * size * number : 2 * size * number + size] = [*state]
    context.aim(region.address, len(targets))
    for data in given:
        kind, at, _ = records.head(data)
        if kind in records.EXPANDED and at == level:
            states = records.count(data, size)
            looked_at += states
            for _ in _expanding(made, context, records.address(data), states):
                called.check()
    best: list[Packed | None] = []
    for number in range(len(targets)):
        place = 2 * size * number + size
        best.append(tuple(table[place : place + size]) if table[place] else None)
    memory.close()
    yield looked_at, best
