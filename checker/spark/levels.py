"""The levels of a search as RDDs, and the jobs that make one from the last.

The new states of each level are an RDD of their own, partitioned by owner and persisted; together
they are the visited set. A job expands the last level, sends the successors to their owners, and
merges them there into a table that the executor keeps from the level before. Where a table is
missing, it is made anew from the RDDs; where blocks of those are lost, the levels are made anew
from where the driver handed over. It does not know what a state means, nor what is searched for.
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
from fencepost.checker.spark.outbox import Called, no_successors
from fencepost.checker.spark.program import Program, set_code
from fencepost.checker.spark.records import Kind, Merged, Order
from fencepost.checker.spark.tasks import Account, SideBySide
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.concrete import Observer

SAMPLE = explorer.SAMPLE
"""The number of states from which a plan is chosen; with fewer, states are kept whole."""
WORTH_BYTES = 1 << 22
"""So they are where whole ones take less than this on average of all partitions: a compressed table
consists of many files, which take longer to make than small tables save.
"""

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.core.rdd import RDD

T = TypeVar("T")
TROUBLE = (*blocks.ERRORS, OSError, PicklingError)
"""What a call of Spark raises: also on this side, where it writes files."""
States: TypeAlias = tuple[Kind, int, bytes]
"""Packed states of one kind and level, whoever owns them."""

LOOK_SECONDS = 0.1
LEAST_PATIENCE_SECONDS = 3.0
PATIENCE = 2.0
"""A task waits for its executor this multiple of the time of the last level."""
ATTEMPTS = 4
"""How often a level may fail before the search does."""


@dataclass(frozen=True, slots=True)
class Start:
    """Where the levels begin: everything up to ``level`` is there. ``states`` brings it, as an RDD
    of about the given number of partitions; ``seen`` is the number of states that it must hold,
    ``sizes`` the number of each level's states inside the constraints, from the first level on.
    ``saved``: it comes from a checkpoint; ``reused``: later checkpoints rely on its files.
    ``intact`` says whether `states`, read since its last call, brought each record once.
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
    """A level: its new states, and by partition how many have been seen up to here and how many
    are to be expanded.
    """

    number: int
    blocks: Blocks
    seen: tuple[int, ...]
    frontier: tuple[int, ...]


class Levels:
    """``look`` is called often; what it raises ends a job, and is raised. ``observer`` looks on
    where the states are; what tasks have seen is in their accounts.
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
        # What was ordered for each level since the start, and the levels that are there.
        self._orders: dict[int, Order] = {}
        self._levels: list[Level] = []
        # What each level was like when it was made first, by partition.
        self._sizes: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}
        self._number = start.level
        self._saved = start.level if start.saved and start.reused else 0
        # The number of the last attempt to make a level, and the number of that level.
        self._attempts, self._made = 0, start.level
        self._rebuild = True
        self._anew = False
        # How tables keep states, and whether that has been decided for good.
        self._plan: Plan | None = None
        self._planned = False
        self._seconds = 0.0
        self._doing = "hand-over"
        self._again(lambda: None)

    @property
    def ui(self) -> str | None:
        """Where Spark's own user interface is; None: it is off."""
        return blocks.ui(self._spark)

    @property
    def last(self) -> Level:
        """The level made last."""
        return self._levels[-1]

    def advance(self, deadlock: bool, properties: frozenset[int]) -> list[Merged]:
        """Makes the next level; what each partition has found."""
        number = self._number + 1

        def work() -> tuple[Order, Level, list[Merged]]:
            last = self.last
            order = Order(
                number, deadlock, properties, last.frontier, last.seen, False, 0, self._observer
            )
            return order, *self._next(order)

        self._doing = f"level {number}"
        order, level, found = self._again(work)
        self._orders[number] = order
        self._add(level)
        self._number = number
        return found

    def left(self) -> list[Merged]:
        """What was found for the next level, where making it was ended: by those tasks that had
        come to their own end.
        """
        if self._made != self._number + 1:
            return []  # One of the levels before was being made again, and told all long ago.
        known: Account = self._accounts.value
        return [found for (attempt, _), found in known.items() if attempt == self._attempts]

    def predecessors(
        self, level: int, size: int, targets: Sequence[Packed]
    ) -> list[list[Packed | None]]:
        """For each partition, for each target, the least state of ``level`` that leads to it;
        ``size`` is how many states that level has.
        """

        def search() -> list[list[Packed | None]]:
            # The first that is here holds those before it, too.
            before = [one for one in self._levels if one.number <= level] or self._levels[:1]
            found = before[-1].blocks.mapPartitionsWithIndex(
                partial(tasks.search_back, self._shipped, level, targets)
            )
            parts = self._job(found.collect)
            looked_at = sum(number for number, _ in parts)
            if looked_at != size:
                raise Failed(f"Incomplete: level {level} has {size} states, {looked_at} were there")
            return [best for _, best in parts]

        self._doing = f"the way back to level {level}"
        return self._again(search)

    def save(self, write: Callable[[int, int, Blocks], Start]) -> None:
        """Has what is new since the last time written: ``write`` is given the number of the last
        level, how many states have been seen, and their records. The levels may begin there.
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
        """What comes of a job over the records of all levels."""

        def together() -> T:
            everything = self._spark.union([level.blocks for level in self._levels])
            return self._job(lambda: work(everything))

        self._doing = doing
        return self._again(together)

    def close(self) -> None:
        """Removes what is left on the executors, as far as it can be reached."""
        try:
            self._doing = "the end"
            self._clear()
            for level in self._levels:
                level.blocks.unpersist()
        except (Failed, *TROUBLE):
            pass  # The cluster is gone, and what was there with it.
        self._jobs.shutdown()

    def _clear(self) -> None:
        """Removes files on the executors, as far as they can be reached."""
        if self._levels:
            with suppress(Failed, *TROUBLE):
                left = self.last.blocks.mapPartitionsWithIndex(partial(tasks.clear, self._shipped))
                self._job(left.count, looking=False)

    # ------------------------------------------------------------ levels

    def _epoch(self) -> None:
        """Begins with empty hands: nothing that is on executors will be used."""
        self._clear()
        for level in self._levels:
            level.blocks.unpersist()
        self._levels.clear()
        self._program = replace(self._program, run=uuid.uuid4().hex)
        self._shipped = self._spark.broadcast(self._program)
        self._rebuild = True

    def _first(self) -> Level:
        """What the levels begin with, sent to its owners."""
        start, count = self._start, self._program.partitions
        pieces = self._program.tasks
        routed = start.states(pieces).mapPartitionsWithIndex(partial(tasks.route, self._shipped))
        made = blocks.kept(blocks.sent(routed, pieces))
        counted = made.mapPartitionsWithIndex(partial(tasks.census, self._shipped))
        found = {number: (seen, inside) for number, seen, inside in self._job(counted.collect)}
        if not start.intact():
            raise Failed("Damaged: the checkpoint has other records than were saved")
        self._check([found[number] for number in range(count)])
        seen = tuple(found[number][0] for number in range(count))
        frontier = tuple(found[number][1].get(start.level, 0) for number in range(count))
        return Level(start.level, made, seen, frontier)

    def _check(self, found: Sequence[tuple[int, Mapping[int, int]]]) -> None:
        """Sees to it that the states that the levels begin with are all there, level by level."""
        start = self._start
        trouble = "Damaged: the checkpoint" if start.saved else "Incomplete: what was handed over"
        seen = sum(number for number, _ in found)
        if seen != start.seen:
            raise Failed(f"{trouble} has {seen} states of {start.seen}")
        sizes = Counter[int]()
        for _, inside in found:
            sizes.update(inside)
        wanted = {level: size for level, size in enumerate(start.sizes, 1) if size}
        for level in sorted({*sizes, *wanted}):
            if sizes[level] != wanted.get(level, 0):
                raise Failed(
                    f"{trouble} has {sizes[level]} states at level {level}, not "
                    f"{wanted.get(level, 0)}"
                )

    def _next(self, order: Order) -> tuple[Level, list[Merged]]:
        """The level that is ordered, from the last one."""
        if not self._planned and wants_plan(self._program, sum(self.last.seen)):
            self._choose()
        self._attempts, self._made = self._attempts + 1, order.level
        self._accounts.value = {}
        order = replace(order, rebuild=self._rebuild, attempt=self._attempts, plan=self._plan)
        expanded = self.last.blocks.mapPartitionsWithIndex(
            partial(tasks.expand, self._shipped, order)
        )
        successors = blocks.sent(expanded, self._program.tasks)
        # A task runs where the last level is, since there its tables are.
        before = [level.blocks for level in self._levels]
        if not order.rebuild:
            before = [blocks.near(self.last.blocks)]
        together = self._spark.union([*before, successors])
        merge = partial(tasks.merge, self._shipped, order, self._accounts)
        made = blocks.kept(blocks.raw(together.mapPartitionsWithIndex(merge, True)))
        blocks.be_patient(self._spark, max(LEAST_PATIENCE_SECONDS, PATIENCE * self._seconds))
        began = time.monotonic()
        try:
            self._job(lambda: blocks.count(made))
        except BaseException:
            made.unpersist()
            raise
        self._seconds = time.monotonic() - began
        # Accounts of earlier attempts, which may come late, are never taken for those of this one.
        known: Account = self._accounts.value
        keys = [(order.attempt, number) for number in range(self._program.partitions)]
        missing = [number for attempt, number in keys if (attempt, number) not in known]
        if missing:
            made.unpersist()
            raise Failed(f"Incomplete: partitions {missing} have given no account of {self._doing}")
        found = [known[key] for key in keys]
        self._rebuild = False
        seen = tuple(s + f.seen for s, f in zip(order.seen, found, strict=True))
        return Level(order.level, made, seen, tuple(f.kept for f in found)), found

    def _choose(self) -> None:
        """Decides how tables keep states from now on. Those that are there are made anew."""
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
        """Does some work; where it fails for a reason that may pass, again."""
        attempts = 0
        first: Failed | None = None
        while True:
            try:
                return self._tried(work)
            except Failed as failed:
                if failed.missing and not self._rebuild:
                    # No sign of trouble: without tables, the level will be made.
                    self._rebuild = True
                    continue
                attempts += 1
                # What comes later may only follow from it.
                first = first or failed
                if attempts == ATTEMPTS or failed.hopeless:
                    raise gave_up(failed if failed.hopeless else first) from None
                # Tables are made anew first. If that does not do, levels are.
                self._anew = failed.lost or attempts > 1
                self._rebuild = True

    def _tried(self, work: Callable[[], T]) -> T:
        try:
            self._ready()
            return work()
        except TROUBLE as error:
            # Not in a job: the driver's own part of Spark is stopped or gone, or has no room.
            raise Failed(blocks.told(error)) from None

    def _ready(self) -> None:
        """Sees to it that all levels that were made are there."""
        if self._anew or not self._levels:
            self._anew = False
            self._epoch()
            self._add(self._first())
        while self.last.number < self._number:
            order = self._orders[self.last.number + 1]
            level, _ = self._next(order)
            self._add(level)

    def _add(self, level: Level) -> None:
        """Takes in a level that was made; one that is made again has to be the same."""
        sizes = level.seen, level.frontier
        if self._sizes.setdefault(level.number, sizes) != sizes:
            raise Failed(f"Incomplete: level {level.number} was made again, and is another one")
        self._levels.append(level)

    # ------------------------------------------------------------ jobs

    def _job(self, action: Callable[[], T], looking: bool = True) -> T:
        """Runs a job, and looks about meanwhile. Raises `Failed`."""

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
    """Whether a plan is to be chosen for this number of states."""
    return states >= SAMPLE and 8 * program.words * states >= WORTH_BYTES * program.partitions


def choose_plan(program: Program, states: bytes, look: Callable[[], None]) -> Plan | None:
    """The plan for states like these, packed; None: they are kept whole, since they do not share
    enough of their words. States of one word are not asked for. ``look`` is called often.
    """
    memory = Memory()
    try:
        context = Context(memory, program.sizes, program.partitions, Called(no_successors))
        address = ctypes.cast(ctypes.c_char_p(states), ctypes.c_void_p).value
        assert address is not None
        places = [(address, len(states) // (8 * program.words))]
        salts = plan.salts(program.text)
        return plan.chosen(set_code(), context, memory, places, program.words, salts, look)
    except Exhausted:
        return None
    finally:
        memory.close()
