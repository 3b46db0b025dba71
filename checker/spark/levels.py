"""The levels of a search as RDDs, and the jobs that compute each from the previous one.

The new states of each level form an RDD, partitioned by owner and persisted; together these RDDs
are the visited set. A job expands the last level, sends the successors to their owners, and merges
them into tables that executors keep between levels. A missing table is rebuilt from the RDDs. If
blocks of the RDDs are lost, the levels are recomputed from the states that the driver handed over.
"""

from __future__ import annotations

import ctypes
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pickle import PicklingError
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from fencepost.checker.native import explorer
from fencepost.checker.native.machine.memory import Memory
from fencepost.checker.native.machine.worker_context import Context, Packed
from fencepost.checker.native.visited import plan
from fencepost.checker.native.visited.plan import Plan
from fencepost.checker.resources import Exhausted
from fencepost.checker.spark import blocks, tasks
from fencepost.checker.spark.blocks import Blocks
from fencepost.checker.spark.failures import Failed, gave_up
from fencepost.checker.spark.outbox import Callback, no_successors
from fencepost.checker.spark.program import Program, set_code
from fencepost.checker.spark.records import Kind, MergeResult, Order
from fencepost.checker.spark.tasks import Account, SideBySide
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.concrete import Observer

SAMPLE = explorer.SAMPLE
"""Minimum number of states for choosing a storage plan. Until then, states are stored whole."""
WORTH_BYTES = 1 << 22
"""Minimum average size of a partition, in bytes, for compression. A compressed table consists of
many files, and for small tables creating them costs more time than compression saves.
"""

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.core.rdd import RDD

T = TypeVar("T")
TROUBLE = (*blocks.ERRORS, OSError, PicklingError)
"""Exceptions that calls to Spark raise, including failures to write files on the driver."""
States: TypeAlias = tuple[Kind, int, bytes]
"""Packed states of one kind and level, from any owner."""

LOOK_SECONDS = 0.1
MIN_PATIENCE_SECONDS = 3.0
PATIENCE_SECONDS = 2.0
"""A task waits for its preferred executor for this multiple of the last level's duration, but at
least `MIN_PATIENCE_SECONDS`.
"""
ATTEMPTS = 4
"""Maximum number of times that the computation of a level may fail."""


@dataclass(frozen=True, slots=True)
class Start:
    """The starting point of the search on the cluster: all levels up to ``level`` already exist.

    ``states`` returns their states as an RDD with about the given number of partitions. ``seen`` is
    the number of states it must contain, and ``sizes`` has the number of states within the
    constraints for each level. ``saved`` is set if the states come from a checkpoint, ``reused`` if
    later checkpoints depend on its files. ``intact`` returns whether the last read of ``states``
    yielded each record exactly once.
    """

    level: int
    states: Callable[[int], RDD[States]]
    seen: int
    sizes: tuple[int, ...]
    saved: bool = False
    reused: bool = True
    intact: Callable[[], bool] = lambda: True


@dataclass(frozen=True, slots=True)
class Level:
    """A level: its new states, and for each partition the number of visited states and the number
    of states to expand.
    """

    number: int
    blocks: Blocks
    seen: tuple[int, ...]
    frontier: tuple[int, ...]


class Levels:
    """The levels on the cluster. ``look`` is called frequently and may raise an exception to cancel
    a job. ``observer`` is copied to the tasks, which return their observations in their accounts.
    """

    def __init__(
        self,
        spark: SparkContext,
        program: Program,
        start: Start,
        look: Callable[[], None],
        observer: Observer | None = None,
    ) -> None:
        self._spark = spark
        self._program = program
        self._start = start
        self._look = look
        self._observer = observer
        self._group = f"fencepost-{program.run}"
        self._jobs = ThreadPoolExecutor(1, "fencepost jobs")
        self._accounts = spark.accumulator(Account(), SideBySide())
        # The order of each level since the start, and the levels that exist now.
        self._orders: dict[int, Order] = {}
        self._levels: list[Level] = []
        # The sizes of each level by partition, from its first computation.
        self._sizes: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}
        self._number = start.level
        self._saved = start.level if start.saved and start.reused else 0
        # The number of the last attempt, and the level that it computes.
        self._attempts, self._made = 0, start.level
        self._rebuild = True
        self._anew = False
        # The storage plan of tables, and whether it is final.
        self._plan: Plan | None = None
        self._planned = False
        self._seconds = 0.0
        self._doing = "hand-over"
        self._again(lambda: None)

    @property
    def ui(self) -> str | None:
        """The URL of Spark's user interface, or None if it is off."""
        return blocks.ui(self._spark)

    @property
    def last(self) -> Level:
        """The last level."""
        return self._levels[-1]

    def advance(self, deadlock: bool, properties: frozenset[int]) -> list[MergeResult]:
        """Computes the next level, and returns the results for its partitions."""
        number = self._number + 1

        def work() -> tuple[Order, Level, list[MergeResult]]:
            last = self.last
            order = Order(
                number, deadlock, properties, last.frontier, last.seen, False, 0, self._observer
            )
            return order, *self._next(order)

        self._doing = f"level {number}"
        order, level, results = self._again(work)
        self._orders[number] = order
        self._add(level)
        self._number = number
        return results

    def left(self) -> list[MergeResult]:
        """Returns the results of the tasks that finished before the computation of the next level
        was cancelled.
        """
        if self._made != self._number + 1:
            return []  # A recomputed earlier level; its results were already reported.
        accounts: Account = self._accounts.value
        return [merged for (attempt, _), merged in accounts.items() if attempt == self._attempts]

    def predecessors(
        self, level: int, size: int, targets: Sequence[Packed]
    ) -> list[list[Packed | None]]:
        """Returns, for each partition and target, the least predecessor in ``level``, or None if
        there is none. ``size`` is the number of states of that level.
        """

        def search() -> list[list[Packed | None]]:
            # The first existing level includes all earlier ones.
            before = [
                candidate for candidate in self._levels if candidate.number <= level
            ] or self._levels[:1]
            searched = before[-1].blocks.mapPartitionsWithIndex(
                partial(tasks.search_back, self._shipped, level, targets)
            )
            parts = self._job(searched.collect)
            examined = sum(number for number, _ in parts)
            if examined != size:
                raise Failed(f"Incomplete: level {level} has {size} states, {examined} were there")
            return [best for _, best in parts]

        self._doing = f"the way back to level {level}"
        return self._again(search)

    def save(self, write: Callable[[int, int, Blocks], Start]) -> None:
        """Saves the records since the last save. ``write`` receives the number of the last level,
        the number of visited states, and the records; it returns a start that rebuilds the levels.
        """

        def work() -> Start:
            new = [level.blocks for level in self._levels if level.number > self._saved]
            together = self._spark.union(new)
            return self._job(lambda: write(self._number, sum(self.last.seen), together))

        self._doing = f"checkpoint at level {self._number}"
        self._start = self._again(work)
        self._saved = self._number
        self._orders.clear()

    def whole(self, doing: str, work: Callable[[Blocks], T]) -> T:
        """Runs a job over the records of all levels."""

        def together() -> T:
            everything = self._spark.union([level.blocks for level in self._levels])
            return self._job(lambda: work(everything))

        self._doing = doing
        return self._again(together)

    def close(self) -> None:
        """Removes the search's data from all executors that can be reached."""
        try:
            self._doing = "the end"
            self._clear()
            for level in self._levels:
                level.blocks.unpersist()
        except (Failed, *TROUBLE):
            pass  # The cluster and its data no longer exist.
        self._jobs.shutdown()

    def _clear(self) -> None:
        """Removes the search's files from all executors that can be reached."""
        if self._levels:
            with suppress(Failed, *TROUBLE):
                left = self.last.blocks.mapPartitionsWithIndex(partial(tasks.clear, self._shipped))
                self._job(left.count, looking=False)

    # ------------------------------------------------------------ levels

    def _epoch(self) -> None:
        """Discards all executor state and starts a new run id."""
        self._clear()
        for level in self._levels:
            level.blocks.unpersist()
        self._levels.clear()
        self._program = replace(self._program, run=uuid.uuid4().hex)
        self._shipped = self._spark.broadcast(self._program)
        self._rebuild = True

    def _first(self) -> Level:
        """Sends the states of the start to their owners, and returns them as the first level."""
        start, count = self._start, self._program.partitions
        pieces = self._program.tasks
        routed = start.states(pieces).mapPartitionsWithIndex(partial(tasks.route, self._shipped))
        kept_blocks = blocks.kept(blocks.sent(routed, pieces))
        counted = kept_blocks.mapPartitionsWithIndex(partial(tasks.census, self._shipped))
        counts = {number: (seen, inside) for number, seen, inside in self._job(counted.collect)}
        if not start.intact():
            raise Failed("Damaged: the checkpoint has other records than were saved")
        self._check([counts[number] for number in range(count)])
        seen = tuple(counts[number][0] for number in range(count))
        frontier = tuple(counts[number][1].get(start.level, 0) for number in range(count))
        return Level(start.level, kept_blocks, seen, frontier)

    def _check(self, counts: Sequence[tuple[int, Mapping[int, int]]]) -> None:
        """Raises `Failed` unless every level of the start has all its states."""
        start = self._start
        trouble = "Damaged: the checkpoint" if start.saved else "Incomplete: what was handed over"
        seen = sum(number for number, _ in counts)
        if seen != start.seen:
            raise Failed(f"{trouble} has {seen} states of {start.seen}")
        sizes = Counter[int]()
        for _, inside in counts:
            sizes.update(inside)
        wanted = {level: size for level, size in enumerate(start.sizes, 1) if size}
        for level in sorted({*sizes, *wanted}):
            if sizes[level] != wanted.get(level, 0):
                raise Failed(
                    f"{trouble} has {sizes[level]} states at level {level}, not "
                    f"{wanted.get(level, 0)}"
                )

    def _next(self, order: Order) -> tuple[Level, list[MergeResult]]:
        """Computes the level after the last one."""
        if not self._planned and wants_plan(self._program, sum(self.last.seen)):
            self._choose()
        self._attempts, self._made = self._attempts + 1, order.level
        self._accounts.value = {}
        order = replace(order, rebuild=self._rebuild, attempt=self._attempts, plan=self._plan)
        expanded = self.last.blocks.mapPartitionsWithIndex(
            partial(tasks.expand, self._shipped, order)
        )
        successors = blocks.sent(expanded, self._program.tasks)
        # Merging tasks should run where the last level is stored, since their tables are there.
        before = [level.blocks for level in self._levels]
        if not order.rebuild:
            before = [blocks.near(self.last.blocks)]
        together = self._spark.union([*before, successors])
        merge = partial(tasks.merge, self._shipped, order, self._accounts)
        kept_blocks = blocks.kept(blocks.raw(together.mapPartitionsWithIndex(merge, True)))
        blocks.be_patient(self._spark, max(MIN_PATIENCE_SECONDS, PATIENCE_SECONDS * self._seconds))
        began = time.monotonic()
        try:
            self._job(lambda: blocks.count(kept_blocks))
        except BaseException:
            kept_blocks.unpersist()
            raise
        self._seconds = time.monotonic() - began
        # Accounts that arrive late from earlier attempts are ignored.
        accounts: Account = self._accounts.value
        keys = [(order.attempt, number) for number in range(self._program.partitions)]
        missing = [number for attempt, number in keys if (attempt, number) not in accounts]
        if missing:
            kept_blocks.unpersist()
            raise Failed(f"Incomplete: partitions {missing} have given no account of {self._doing}")
        results = [accounts[key] for key in keys]
        self._rebuild = False
        seen = tuple(s + f.seen for s, f in zip(order.seen, results, strict=True))
        return Level(order.level, kept_blocks, seen, tuple(f.kept for f in results)), results

    def _choose(self) -> None:
        """Chooses the storage plan of all later tables. If a plan is chosen, existing tables are
        rebuilt.
        """
        program, states = self._program, list[bytes]()
        if program.words > 1:
            share = -(-SAMPLE // program.tasks)
            everything = self._spark.union([level.blocks for level in self._levels])
            sample = partial(tasks.sample, self._shipped, share)
            states = self._job(everything.mapPartitionsWithIndex(sample).collect)
        self._plan = choose_plan(program, b"".join(states), self._look)
        self._planned = True
        self._rebuild = self._rebuild or self._plan is not None

    def _again(self, work: Callable[[], T]) -> T:
        """Runs ``work``, and repeats it after temporary failures."""
        attempts = 0
        first: Failed | None = None
        while True:
            try:
                return self._tried(work)
            except Failed as failed:
                if failed.missing and not self._rebuild:
                    # Not an error: the level is recomputed from the RDDs, without tables.
                    self._rebuild = True
                    continue
                attempts += 1
                # Later failures may only be consequences of the first.
                first = first or failed
                if attempts == ATTEMPTS or failed.hopeless:
                    raise gave_up(failed if failed.hopeless else first) from None
                # The first retry rebuilds the tables; further retries recompute the levels.
                self._anew = failed.lost or attempts > 1
                self._rebuild = True

    def _tried(self, work: Callable[[], T]) -> T:
        try:
            self._ready()
            return work()
        except TROUBLE as error:
            # The failure occurred outside of jobs: the driver's JVM has exited, or its disk is
            # full.
            raise Failed(blocks.told(error)) from None

    def _ready(self) -> None:
        """Recomputes missing levels."""
        if self._anew or not self._levels:
            self._anew = False
            self._epoch()
            self._add(self._first())
        while self.last.number < self._number:
            order = self._orders[self.last.number + 1]
            level, _ = self._next(order)
            self._add(level)

    def _add(self, level: Level) -> None:
        """Adds a level. A recomputed level must have the same sizes as before."""
        sizes = level.seen, level.frontier
        if self._sizes.setdefault(level.number, sizes) != sizes:
            raise Failed(f"Incomplete: level {level.number} was made again, and is another one")
        self._levels.append(level)

    # ------------------------------------------------------------ jobs

    def _job(self, action: Callable[[], T], looking: bool = True) -> T:
        """Runs a job, and calls ``look`` while it runs. Raises `Failed`."""

        def work() -> T:
            self._spark.setJobGroup(self._group, f"fencepost: {self._doing}", True)
            return action()

        future = self._jobs.submit(work)
        while True:
            try:
                return future.result(LOOK_SECONDS)
            except NotYet:
                try:
                    if looking:
                        self._look()
                except BaseException:
                    while wait([future], LOOK_SECONDS).not_done:
                        with suppress(*blocks.ERRORS):
                            self._spark.cancelJobGroup(self._group)
                    raise
            except TROUBLE as error:
                raise Failed(blocks.told(error)) from None


def wants_plan(program: Program, states: int) -> bool:
    """Whether a storage plan should be chosen for this number of states."""
    return states >= SAMPLE and 8 * program.words * states >= WORTH_BYTES * program.partitions


def choose_plan(program: Program, states: bytes, look: Callable[[], None]) -> Plan | None:
    """Chooses a storage plan for states like these. Returns None if they do not share enough words
    to be worth compressing.

    States of one word are never compressed. ``look`` is called frequently.
    """
    memory = Memory()
    try:
        context = Context(memory, program.sizes, program.partitions, Callback(no_successors))
        address = ctypes.cast(ctypes.c_char_p(states), ctypes.c_void_p).value
        assert address is not None
        regions = [(address, len(states) // (8 * program.words))]
        salts = plan.salts(program.text)
        return plan.chosen(set_code(), context, memory, regions, program.words, salts, look)
    except Exhausted:
        return None
    finally:
        memory.close()
