"""Tasks on executors: expanding, merging, and searching for predecessors.

Each task knows how many states it should receive, and fails if the number differs. This check is
necessary because the input of a task ends early, without an error, if Spark cancels the task.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from pyspark.accumulators import AccumulatorParam

from fencepost.checker.native.codegen.context_words import Word
from fencepost.checker.native.machine.memory import Memory, Region, words
from fencepost.checker.native.machine.worker_context import Context, Packed
from fencepost.checker.spark import parcels, program, records
from fencepost.checker.spark.merging import Delivery, Merger
from fencepost.checker.spark.outbox import Callback, Outbox, no_successors
from fencepost.checker.spark.parcels import ParcelReader, Parcels
from fencepost.checker.spark.program import Program
from fencepost.checker.spark.records import (
    HEAD,
    Expansion,
    Incomplete,
    Kind,
    MergeResult,
    Order,
    Watch,
)
from fencepost.checker.spark.table import Shelf, Table

if TYPE_CHECKING:
    from pyspark import Accumulator
    from pyspark.core.broadcast import Broadcast

    Shipped: TypeAlias = Broadcast[Program]
    Accounts: TypeAlias = Accumulator["Account"]

Account: TypeAlias = dict[tuple[int, int], MergeResult]
"""The results of merging tasks, by attempt and owner."""

SLICE = 4096
"""The maximum number of states that one call of machine code expands."""


class SideBySide(AccumulatorParam["Account"]):
    """Collects the accounts of tasks; an account that is repeated counts once."""

    def zero(self, value: Account) -> Account:
        return {}

    # The name is defined by PySpark.
    def addInPlace(self, value1: Account, value2: Account) -> Account:  # noqa: N802
        value1.update(value2)
        return value1


def _expanding(shipped: Program, context: Context, address: int, count: int) -> Iterator[float]:
    """Expands states in slices, and yields the processor time of each slice in seconds."""
    table = (ctypes.c_uint64 * 3)(address, count, 0)
    while table[1] and not context.words[Word.STOP]:
        began = time.thread_time()
        # Optimized code may have become available in the meantime.
        code = program.code(shipped.text)
        code.expand(context.address, ctypes.addressof(table), 1, SLICE)
        yield time.thread_time() - began


def expand(shipped: Shipped, order: Order, task: int, blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Expands the states of the last level. Yields records with their successors, each preceded by
    the number of the merging task.
    """
    shipped_program = shipped.value
    written = Parcels(shipped_program, order.attempt, task) if shipped_program.together else None
    done = False
    try:
        yield from _expanded(shipped_program, order, task, blocks, written)
        done = True
    finally:
        if written is not None:
            written.close(keep=done)


def _expanded(
    shipped: Program, order: Order, task: int, blocks: Iterable[bytes], written: Parcels | None
) -> Iterator[bytes]:
    began, native = time.thread_time(), 0.0
    memory = Memory()
    outbox = Outbox(memory, shipped, Kind.SUCCESSORS, order.level, written)
    context = outbox.context
    context.look_for(order.deadlock, order.properties)
    watch = Watch(context, memory, order.observer)
    states = 0
    for data in blocks:
        kind, level, _ = records.head(data)
        if kind not in records.EXPANDED or level != order.level - 1:
            continue
        number = records.count(data, shipped.words)
        states += number
        for seconds in _expanding(shipped, context, records.address(data), number):
            native += seconds
            yield from outbox.take()
    outbox.flush()
    expected = sum(order.frontier[owner] for owner in shipped.owners(task))
    if states != expected and not watch.enough:
        raise Incomplete(f"task {task} has {expected} states to expand")
    yield from outbox.take()
    for other in range(shipped.tasks):
        sent = sum(outbox.sent[owner] for owner in shipped.owners(other))
        account = b""
        if other == task:
            account = records.written(
                Expansion(
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
        yield records.KEY.pack(other)
        yield records.record(Kind.END, order.level, sent, account)
    memory.close()


def route(
    shipped: Shipped, partition: int, portions: Iterable[tuple[Kind, int, bytes]]
) -> Iterator[bytes]:
    """Distributes states to their owners. Yields records, each preceded by the number of the
    owner's task.
    """
    shipped_program = shipped.value
    code = program.code(shipped_program.text)
    for kind, level, states in portions:
        memory = Memory()
        outbox = Outbox(memory, shipped_program, kind, level)
        data = records.record(kind, level, 0, states)
        number = records.count(data, shipped_program.words)
        code.route(outbox.context.address, records.address(data), number)
        outbox.flush()
        yield from outbox.take()
        memory.close()


def census(
    shipped: Shipped, task: int, blocks: Iterable[bytes]
) -> Iterator[tuple[int, int, dict[int, int]]]:
    """Counts the states of a task's owners. Yields, for each owner, its number, the number of its
    visited states, and the number of states within the constraints by level.
    """
    shipped_program = shipped.value
    seen = dict.fromkeys(shipped_program.owners(task), 0)
    inside = {owner: dict[int, int]() for owner in seen}
    for data in blocks:
        kind, level, owner = records.head(data)
        if owner not in seen:
            raise Incomplete(f"states of partition {owner} came to task {task}")
        number = records.count(data, shipped_program.words)
        if kind in records.KEPT:
            seen[owner] += number
        if kind in records.EXPANDED:
            inside[owner][level] = inside[owner].get(level, 0) + number
    for owner, number in seen.items():
        yield owner, number, inside[owner]


def clear(shipped: Shipped, task: int, blocks: Iterable[bytes]) -> Iterator[None]:
    """Removes the tables of a task's owners and the task's parcel files."""
    shipped_program = shipped.value
    for _ in blocks:
        pass
    parcels.clear(shipped_program, task)
    for owner in shipped_program.owners(task):
        Shelf(shipped_program, owner).clear()
    yield None


def sample(shipped: Shipped, most: int, task: int, blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yields the first visited states of a task's owners, at most ``most`` of them."""
    state_bytes = 8 * shipped.value.words
    for data in blocks:
        if most and records.head(data).kind in records.KEPT:
            some = data[HEAD.size : HEAD.size + most * state_bytes]
            most -= len(some) // state_bytes
            yield some


# ---------------------------------------------------------------- merging


def merge(
    shipped: Shipped, order: Order, accounts: Accounts, task: int, blocks: Iterable[bytes]
) -> Iterator[bytes]:
    """Merges the successors sent to a task's owners into their visited sets. Yields the records of
    the new level.
    """
    shipped_program = shipped.value
    memory = Memory()
    called = Callback(no_successors)
    owners = shipped_program.owners(task)
    shelves = {owner: Shelf(shipped_program, owner, order.plan) for owner in owners}
    tables = dict[int, Table]()
    mergers = dict[int, Merger]()
    parceled = ParcelReader(shipped_program, memory)
    try:
        for owner, shelf in shelves.items():
            context = Context(memory, shipped_program.sizes, shipped_program.partitions, called)
            if order.rebuild:
                tables[owner] = shelf.create(order.seen[owner], context)
            else:
                tables[owner] = shelf.take(order.level - 1, context)
            mergers[owner] = Merger(
                shipped_program, order, owner, tables[owner].seen, memory, context
            )
        delivery = Delivery(shipped_program, order, task, mergers, parceled)
        yield from delivery.run(blocks)
        called.check()
        results = delivery.accounts()
        for owner in owners:
            shelves[owner].put(tables[owner], order.level)
            del tables[owner]
    except BaseException:
        for owner, table in tables.items():
            shelves[owner].drop(table)
        raise
    finally:
        parceled.close()
        memory.close()
    accounts.add({(order.attempt, owner): merged for owner, merged in results.items()})


# ---------------------------------------------------------------- looking back


def search_back(
    shipped: Shipped, level: int, targets: Sequence[Packed], task: int, blocks: Iterable[bytes]
) -> Iterator[tuple[int, list[Packed | None]]]:
    """Searches a level for predecessors. Yields the number of states of the level that belong to
    the task's owners, and for each target the least of these states that leads to it, or None.
    """
    shipped_program = shipped.value
    memory = Memory()
    called = Callback(no_successors)
    context = Context(memory, shipped_program.sizes, shipped_program.partitions, called)
    examined = 0
    size = shipped_program.words
    region: Region = memory.take(16 * size * len(targets))
    table = words(region.address, 2 * size * len(targets))
    for number, state in enumerate(targets):
        table[2 * size * number : 2 * size * number + size] = [*state]
    context.aim(region.address, len(targets))
    for data in blocks:
        kind, at, _ = records.head(data)
        if kind in records.EXPANDED and at == level:
            states = records.count(data, size)
            examined += states
            for _ in _expanding(shipped_program, context, records.address(data), states):
                called.check()
    best: list[Packed | None] = []
    for number in range(len(targets)):
        offset = 2 * size * number + size
        best.append(tuple(table[offset : offset + size]) if table[offset] else None)
    memory.close()
    yield examined, best
