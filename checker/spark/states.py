"""The states of a search on Spark: the first levels in this process, later ones on a cluster.

The level search uses both through one interface.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Container, Iterator, Sequence
from typing import TYPE_CHECKING

from fencepost.checker.layout import Layout
from fencepost.checker.native.explorer import Explorer, least
from fencepost.checker.native.machine import worker_context
from fencepost.checker.native.machine.build import CodeInUse
from fencepost.checker.native.machine.memory import Memory
from fencepost.checker.native.machine.worker_context import Packed, Sizes, SlotReport
from fencepost.checker.native.saving.notes import Counted
from fencepost.checker.native.states import LocalStates, PackedStates
from fencepost.checker.printing import units
from fencepost.checker.resources import processors
from fencepost.checker.search.limits import Watch
from fencepost.checker.search.states import Counts, Extent, NoPredecessor
from fencepost.checker.spark import levels
from fencepost.checker.spark.levels import Levels, Start
from fencepost.checker.spark.program import Program
from fencepost.checker.spark.records import Kind, MergeResult, Sight
from fencepost.spec.core.types import State
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.concrete import Observer

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.core.rdd import RDD

PORTION_BYTES = 1 << 20
"""The approximate number of bytes in each piece of the states that are handed over."""


@dataclass(frozen=True, slots=True)
class HandOver:
    """The transition from this process to the cluster. ``large`` decides when it happens. ``told``
    receives the results of the tasks of each level, and ``observer`` their observations.
    """

    spark: SparkContext
    program: Program
    large: Callable[[Explorer], bool]
    told: Callable[[Sequence[MergeResult]], None]
    observer: Observer | None = None


class SparkStates:
    """The states of a search on Spark. They are in this process (``first``) until a level is large,
    and then on the cluster (``there``, which is None until then). Implements `Stoppable`.
    """

    def __init__(
        self,
        watch: Watch,
        layout: Layout,
        sizes: Sizes,
        code: CodeInUse,
        hand_over: HandOver,
    ) -> None:
        workers, memory = processors(), Memory()
        self.account = watch.account
        self.first = LocalStates(watch, layout, sizes, code, workers, memory, hand_over.observer)
        self.there: ClusterStates | None = None
        self._hand_over = hand_over
        self._watch = watch
        self._problems: tuple[bool, Container[int]] = (True, ())
        self.begin, self.weigh = self.first.begin, self.first.weigh
        self.stop, self.resume = self.first.stop, self.first.resume

    @property
    def _current(self) -> LocalStates | ClusterStates:
        """The states that compute the next level."""
        return self.there or self.first

    @property
    def extent(self) -> Extent:
        return self._current.extent

    def look_for(self, deadlock: bool, properties: Container[int]) -> None:
        self._problems = deadlock, properties
        self._current.look_for(deadlock, properties)

    def expand(self) -> None:
        if self.there is None and self._hand_over.large(self.first.explorer):
            self.handed_over()
        self._current.expand()

    def examine(self) -> None:
        self._current.examine()

    def settle(self) -> None:
        self._current.settle()

    def count(self) -> Counts:
        return self._current.count()

    def predecessors(self, level: int, states: Sequence[State]) -> Sequence[State]:
        return self._current.predecessors(level, states)

    def close(self) -> None:
        if self.there is not None:
            self.there.levels.close()
        self.first.close()

    # ------------------------------------------------------------ handing over

    def handed_over(self) -> ClusterStates:
        """Returns the states on the cluster, after handing them over if necessary. The cluster then
        computes all later levels.
        """
        if self.there is None:
            self.first.assert_collected()
            explorer = self.first.explorer
            sizes = tuple(explorer.size(level) for level in range(1, explorer.level + 1))
            start = Start(explorer.level, self._given, explorer.visited, sizes)
            self.there = self._spread(start, explorer.level)
            self.there.look_for(*self._problems)
        return self.there

    def restore(
        self, start: Start, sizes: Sequence[int], outside: int, counted: Counted, tally: bytes
    ) -> None:
        """Continues a saved search on the cluster."""
        self.there = self._spread(start, 0, sizes, outside, counted, tally)

    def _spread(
        self,
        start: Start,
        handed: int,
        sizes: Sequence[int] = (),
        outside: int = 0,
        counted: Counted | None = None,
        tally: bytes | None = None,
    ) -> ClusterStates:
        over = self._hand_over
        levels = Levels(over.spark, over.program, start, self._watch.look, over.observer)
        return ClusterStates(self.first, levels, over, handed, sizes, outside, counted, tally)

    def _given(self, partitions: int) -> RDD[levels.States]:
        return self._hand_over.spark.parallelize([*self._states()], partitions)

    def _states(self) -> Iterator[levels.States]:
        """Yields all states that this process has visited, with their level if they have been or
        will be expanded.
        """
        explorer, last = self.first.explorer, self.first.explorer.level
        # States outside the constraints are only in the tables, which have no levels.
        kind = Kind.FRONTIER if explorer.outside else Kind.STATES
        for level in range(1, last + 1):
            yield from self._portions(kind, level, explorer.pieces(level))
        if explorer.outside:
            yield from self._portions(Kind.SEEN, last, explorer.seen())

    def _portions(
        self, kind: Kind, level: int, pieces: Iterator[tuple[int, int]]
    ) -> Iterator[levels.States]:
        state_bytes = self.first.explorer.state_bytes
        portion_states = max(PORTION_BYTES // state_bytes, 1)
        for address, count in pieces:
            for start in range(0, count, portion_states):
                length = min(portion_states, count - start) * state_bytes
                yield kind, level, ctypes.string_at(address + start * state_bytes, length)


class ClusterStates(PackedStates):
    """The states of the levels after ``handed``, on a cluster; ``first`` has the earlier levels.
    ``sizes`` and the following arguments restore the results of a saved search.
    """

    def __init__(
        self,
        first: LocalStates,
        levels: Levels,
        hand_over: HandOver,
        handed: int,
        sizes: Sequence[int],
        outside: int,
        counted: Counted | None,
        tally: bytes | None,
    ) -> None:
        super().__init__(first.account, first.layout, first.sizes)
        self.levels = levels
        self._remark = ""
        self._first = first
        self._hand_over = hand_over
        self._handed = handed
        self._level_sizes = [*sizes]
        # The number of states outside the constraints, and how many of them are new.
        self._outside, self._new_outside = outside, 0
        self._transitions, self._stuck, self._expanded = counted or Counted()
        self._tally = [] if tally is None else [tally]
        self._deadlock = False
        self._properties: frozenset[int] = frozenset()

    @property
    def _level(self) -> int:
        return self._handed + len(self._level_sizes)

    @property
    def extent(self) -> Extent:
        states = self._first.explorer.states + sum(self._level_sizes)
        counted = self.counted
        generated = self.account.initial_count + counted.transitions
        return Extent(self._level, states, generated, counted.expanded, self._remark)

    # ------------------------------------------------------------ the levels

    def look_for(self, deadlock: bool, properties: Container[int]) -> None:
        everything = range(self.sizes.slots.properties)
        self._deadlock = deadlock
        self._properties = frozenset(number for number in everything if number in properties)

    def expand(self) -> None:
        assert not self._new_outside, "the level before has not been examined"
        try:
            results = self.levels.advance(self._deadlock, self._properties)
        except BaseException:
            # Problems that tasks have reported count even if the level was cut.
            self._offer(self.levels.left())
            raise
        self._hand_over.told(results)
        self._offer(results)
        expanded = [result.expanded for result in results if result.expanded is not None]
        self._observe(
            [*(result.sight for result in expanded), *(result.sight for result in results)]
        )
        self._transitions += sum(result.transitions for result in expanded)
        self._stuck += sum(result.stuck for result in expanded)
        self._expanded += sum(result.states for result in expanded)
        seen = sum(result.seen for result in results)
        self._new_outside = seen - sum(result.kept for result in results)
        self._level_sizes.append(seen)
        tallies = [*(result.tally for result in results), *(result.tally for result in expanded)]
        self._tally = [worker_context.combined(self.sizes, [*self._tally, *tallies])]
        self._remark = self._describe(results)

    def examine(self) -> None:
        """Subtracts the new states outside the constraints from the level's size. Executors have
        already examined the states while merging them.
        """
        self._level_sizes[-1] -= self._new_outside
        self._outside += self._new_outside
        self._new_outside = 0

    def settle(self) -> None:
        self.examine()

    # ------------------------------------------------------------ what was found

    @property
    def counted(self) -> Counted:
        """The counts of the search, in the form in which they are saved."""
        explorer = self._first.explorer
        return Counted(
            explorer.transitions + self._transitions,
            explorer.stuck + self._stuck,
            explorer.expanded + self._expanded,
        )

    def tallies(self) -> list[bytes]:
        """Returns the current tallies."""
        return [*self._first.explorer.snapshot(), *self._tally]

    def count(self) -> Counts:
        outside = self._first.explorer.outside + self._outside
        size = self._level_sizes[-1] if self._level_sizes else self._first.count().size
        return self.counts(self.tallies(), size, outside, self.counted.stuck)

    def predecessors(self, level: int, states: Sequence[State]) -> list[State]:
        if level <= self._handed:
            return self._first.predecessors(level, states)
        return self.before(lambda packed: self._before(level, packed), states)

    def _before(self, level: int, states: Sequence[Packed]) -> list[Packed]:
        size = self._level_sizes[level - self._handed - 1]
        parts = self.levels.predecessors(level, size, states)
        least_predecessors: list[Packed] = []
        for state, best in zip(states, zip(*parts, strict=True), strict=True):
            candidates = [candidate for candidate in best if candidate is not None]
            if not candidates:
                raise NoPredecessor(level, state)
            least_predecessors.append(min(candidates, key=self.layout.decode))
        return least_predecessors

    def _offer(self, results: Sequence[MergeResult]) -> None:
        """Passes the findings of the tasks that computed the last level to the account."""
        reports: list[SlotReport] = []
        for result in results:
            reports += result.reports
            if result.expanded is not None:
                reports += result.expanded.reports
        self.offer(least(reports, self.layout.decode), self._level)

    def _observe(self, sights: Sequence[Sight]) -> None:
        """Passes the observations of a level's tasks to the observer."""
        observer = self._hand_over.observer
        if observer is None:
            return
        for number, values in sorted({seen for sight in sights for seen in sight.seen}):
            observer(number, values)
        assert not any(sight.enough for sight in sights), "a task has seen more than its driver"

    def _describe(self, results: Sequence[MergeResult]) -> str:
        """Describes the distribution of the last level over the cluster."""
        sizes = [result.kept for result in results]
        mean = sum(sizes) / len(sizes)
        sent = sum(result.expanded.sent for result in results if result.expanded is not None)
        words = f"frontier {sum(sizes):,} on {len(sizes)} partitions"
        if mean:
            words += f" (the largest {max(sizes) / mean:.2f} of the mean)"
        words += f", {units.size(8 * self.sizes.slots.words * sent)} sent"
        return words if self.levels.ui is None else f"{words}, {self.levels.ui}"
