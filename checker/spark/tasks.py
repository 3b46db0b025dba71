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

from fencepost.checker.native.codegen.context_words import Word
from fencepost.checker.native.machine.memory import Memory, Region, words
from fencepost.checker.native.machine.worker_context import Context, Packed
from fencepost.checker.spark import parcels, program, records
from fencepost.checker.spark.merging import Delivery, Merger
from fencepost.checker.spark.outbox import Called, Outbox, no_successors
from fencepost.checker.spark.parcels import Parceled, Parcels
from fencepost.checker.spark.program import Program
from fencepost.checker.spark.records import HEAD, Expanded, Incomplete, Kind, Merged, Order
from fencepost.checker.spark.table import Shelf, Table
from fencepost.checker.spark.watching import Watch

if TYPE_CHECKING:
    from pyspark import Accumulator
    from pyspark.core.broadcast import Broadcast

    Shipped: TypeAlias = Broadcast[Program]
    Accounts: TypeAlias = Accumulator["Account"]

Account: TypeAlias = dict[tuple[int, int], Merged]
"""What tasks that merge have found, by the number of the attempt and the owner."""

SLICE = 4096
"""The states that one call of machine code expands."""


class SideBySide(AccumulatorParam["Account"]):
    """Accounts of different tasks side by side. One that comes twice counts once."""

    def zero(self, value: Account) -> Account:
        return {}

    # The name is PySpark's.
    def addInPlace(self, value1: Account, value2: Account) -> Account:  # noqa: N802
        value1.update(value2)
        return value1


def _expanding(made: Program, context: Context, address: int, count: int) -> Iterator[float]:
    """Expands states in steps; the seconds of each."""
    table = (ctypes.c_uint64 * 3)(address, count, 0)
    while table[1] and not context.words[Word.STOP]:
        began = time.thread_time()
        # Better code may have come since the last step.
        code = program.code(made.text)
        code.expand(context.address, ctypes.addressof(table), 1, SLICE)
        yield time.thread_time() - began


def expand(shipped: Shipped, order: Order, task: int, given: Iterable[bytes]) -> Iterator[bytes]:
    """The successors of the states of the last level, before each record the number of the task
    that is to merge it.
    """
    made = shipped.value
    written = Parcels(made, order.attempt, task) if made.together else None
    done = False
    try:
        yield from _expanded(made, order, task, given, written)
        done = True
    finally:
        if written is not None:
            written.close(keep=done)


def _expanded(
    made: Program, order: Order, task: int, given: Iterable[bytes], written: Parcels | None
) -> Iterator[bytes]:
    began, native = time.thread_time(), 0.0
    memory = Memory()
    outbox = Outbox(memory, made, Kind.SUCCESSORS, order.level, written)
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
            yield from outbox.take()
    outbox.flush()
    expected = sum(order.frontier[owner] for owner in made.owners(task))
    if states != expected and not watch.enough:
        raise Incomplete(f"task {task} has {expected} states to expand")
    yield from outbox.take()
    for other in range(made.tasks):
        sent = sum(outbox.sent[owner] for owner in made.owners(other))
        account = b""
        if other == task:
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
        yield records.KEY.pack(other)
        yield records.record(Kind.END, order.level, sent, account)
    memory.close()


def route(
    shipped: Shipped, partition: int, given: Iterable[tuple[Kind, int, bytes]]
) -> Iterator[bytes]:
    """Records of states that anybody may own (kind, level, states), as records for their owners,
    before each the number of the owner's task.
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
        yield from outbox.take()
        memory.close()


def census(
    shipped: Shipped, task: int, given: Iterable[bytes]
) -> Iterator[tuple[int, int, dict[int, int]]]:
    """For each owner of a task its number, how many states it has seen, and how many of each level
    lie inside the constraints.
    """
    made = shipped.value
    seen = dict.fromkeys(made.owners(task), 0)
    inside = {owner: dict[int, int]() for owner in seen}
    for data in given:
        kind, level, owner = records.head(data)
        if owner not in seen:
            raise Incomplete(f"states of partition {owner} came to task {task}")
        number = records.count(data, made.words)
        if kind in records.KEPT:
            seen[owner] += number
        if kind in records.EXPANDED:
            inside[owner][level] = inside[owner].get(level, 0) + number
    for owner, number in seen.items():
        yield owner, number, inside[owner]


def clear(shipped: Shipped, task: int, given: Iterable[bytes]) -> Iterator[None]:
    """Removes the tables of the owners of a task, and what lies in files for others."""
    made = shipped.value
    for _ in given:
        pass
    parcels.clear(made, task)
    for owner in made.owners(task):
        Shelf(made, owner).clear()
    yield None


def sample(shipped: Shipped, most: int, task: int, given: Iterable[bytes]) -> Iterator[bytes]:
    """Of the states that the owners of a task have seen the first, ``most`` at most."""
    state_bytes = 8 * shipped.value.words
    for data in given:
        if most and records.head(data).kind in records.KEPT:
            some = data[HEAD.size : HEAD.size + most * state_bytes]
            most -= len(some) // state_bytes
            yield some


# ---------------------------------------------------------------- merging


def merge(
    shipped: Shipped, order: Order, accounts: Accounts, task: int, given: Iterable[bytes]
) -> Iterator[bytes]:
    """The states of a level that the owners of a task have, from the successors sent to them."""
    made = shipped.value
    memory = Memory()
    called = Called(no_successors)
    owners = made.owners(task)
    shelves = {owner: Shelf(made, owner, order.plan) for owner in owners}
    tables = dict[int, Table]()
    mergers = dict[int, Merger]()
    parceled = Parceled(made, memory)
    try:
        for owner, shelf in shelves.items():
            context = Context(memory, made.sizes, made.partitions, called)
            if order.rebuild:
                tables[owner] = shelf.create(order.seen[owner], context)
            else:
                tables[owner] = shelf.take(order.level - 1, context)
            mergers[owner] = Merger(made, order, owner, tables[owner].seen, memory, context)
        delivery = Delivery(made, order, task, mergers, parceled)
        yield from delivery.run(given)
        called.check()
        found = delivery.accounts()
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
    accounts.add({(order.attempt, owner): one for owner, one in found.items()})


# ---------------------------------------------------------------- looking back


def search_back(
    shipped: Shipped, level: int, targets: Sequence[Packed], task: int, given: Iterable[bytes]
) -> Iterator[tuple[int, list[Packed | None]]]:
    """How many states of a level the owners of a task have, and for each target the least of them
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
