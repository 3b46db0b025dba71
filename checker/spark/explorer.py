"""The states of a search: the first levels in this process, and the later ones on a cluster.

To the search it is one explorer; it does not know what a problem is, nor when a search ends.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Container, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from fencepost.checker.native.explorer import Explorer, Found, least
from fencepost.checker.native.leading import Rewound
from fencepost.checker.native.machine import worker_context
from fencepost.checker.native.machine.build import Code
from fencepost.checker.native.machine.worker_context import Packed, Reported, Sizes, Totals
from fencepost.checker.printing import units
from fencepost.checker.spark.blocks import Blocks
from fencepost.checker.spark.levels import Levels, Start, States
from fencepost.checker.spark.records import Kind, Merged
from fencepost.checker.spark.watching import Sight
from fencepost.spec.core.types import State
from fencepost.spec.semantics.concrete import Observer

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.core.rdd import RDD

T = TypeVar("T")
PORTION_BYTES = 1 << 20
"""States are handed over in pieces of about this size."""


class Counts(NamedTuple):
    """What has been counted so far."""

    transitions: int
    stuck: int
    expanded: int


class Spread:
    """``local`` has the states as long as it is not ``large``; from then on they are on the cluster
    that ``spread`` gives them to. ``watch`` is told what the tasks of each level have found,
    ``observer`` what they have seen.
    """

    def __init__(
        self,
        local: Explorer,
        sizes: Sizes,
        decode: Callable[[Packed], State],
        large: Callable[[Explorer], bool],
        spread: Callable[[Start], Levels],
        spark: SparkContext,
        watch: Callable[[Sequence[Merged]], None],
        observer: Observer | None = None,
    ) -> None:
        self._watch = watch
        self._observer = observer
        if observer is not None:
            local.watch(observer)
        self._spark = spark
        self._local = local
        self._sizes = sizes
        self._decode = decode
        self._large = large
        self._spread = spread
        self._levels: Levels | None = None
        self._handed = 0
        self._deadlock = False
        self._properties: frozenset[int] = frozenset()
        # What tasks have found is added here, and taken by `found` only.
        self._reports: list[Reported] = []
        self._sizes_of: dict[int, int] = {}
        self._outside = 0
        self._transitions = self._stuck = self._expanded = 0
        self._tally: list[bytes] = []
        self._remark = ""

    # ------------------------------------------------------------ the search

    @property
    def level(self) -> int:
        return self._handed + len(self._sizes_of) if self._levels else self._local.level

    def begin(self) -> int:
        return self._local.begin()

    def examine(self) -> int:
        """Executors have looked at the states when they merged them; their sizes change now."""
        if self._levels is None:
            return self._local.examine()
        outside, self._outside = self._outside, 0
        self._sizes_of[self.level] -= outside
        return outside

    def inside(self) -> int:
        """How many of the new states are inside the constraints; drops none."""
        if self._levels is None:
            return self._local.inside()
        return self._sizes_of[self.level] - self._outside

    def settle(self) -> int:
        """Gives up looking at the rest of the new states; how many are dropped."""
        return self._local.settle() if self._levels is None else self.examine()

    def rewind(self) -> Rewound | None:
        """Takes the last level back; None: on the cluster, that cannot be done."""
        return self._local.rewind() if self._levels is None else None

    @property
    def initial(self) -> int:
        return self._local.initial

    def expand(self) -> None:
        if self._levels is None and not self._large(self._local):
            self._local.expand()
            return
        levels = self._on_cluster()
        assert not self._reports, "there are problems that have not been taken in"
        assert not self._outside, "the level before has not been examined"
        try:
            found = levels.advance(self._deadlock, self._properties)
        except BaseException:
            # Whatever cuts the level, the problems that its tasks have told are problems.
            self._take_in(levels.left())
            raise
        self._watch(found)
        self._take_in(found)
        expanded = [one.expanded for one in found]
        self._observe([*(one.sight for one in expanded), *(one.sight for one in found)])
        self._transitions += sum(one.transitions for one in expanded)
        self._stuck += sum(one.stuck for one in expanded)
        self._expanded += sum(one.states for one in expanded)
        seen = sum(one.seen for one in found)
        self._outside = seen - sum(one.kept for one in found)
        self._sizes_of[self.level + 1] = seen
        tallies = [*(one.tally for one in found), *(one.tally for one in expanded)]
        self._tally = [worker_context.combined(self._sizes, [*self._tally, *tallies])]
        self._remark = self._describe(found)

    def look_for(self, deadlock: bool, properties: Container[int]) -> None:
        self._local.look_for(deadlock, properties)
        self._deadlock = deadlock
        everything = range(self._sizes.slots.properties)
        self._properties = frozenset(number for number in everything if number in properties)

    def save(self, write: Callable[[int, int, Blocks], Start]) -> bool:
        """Has the states written, where they are on the cluster; whether they are."""
        if self._levels is None:
            return False
        self._levels.save(write)
        return True

    def whole(self, doing: str, work: Callable[[Blocks], T]) -> T:
        """What comes of a job over the records of all states, none of which stays here."""
        return self._on_cluster().whole(doing, work)

    def restore(self, start: Start, sizes: Sequence[int], counts: Counts, tally: bytes) -> None:
        """Goes on from levels of these sizes, which were saved."""
        self._sizes_of = dict(enumerate(sizes, 1))
        self._transitions, self._stuck, self._expanded = counts
        self._tally = [tally]
        self._levels = self._spread(start)

    @property
    def counts(self) -> Counts:
        """What `restore` is given."""
        return Counts(self.transitions, self.stuck, self.expanded)

    def use(self, code: Code) -> None:
        self._local.use(code)

    def stop(self, error: BaseException) -> None:
        """On the cluster, what is called often sees to it."""
        self._local.stop(error)

    def resume(self) -> None:
        self._local.resume()

    def close(self) -> None:
        if self._levels is not None:
            self._levels.close()
        self._local.close()

    def weigh(self) -> None:
        self._local.weigh()

    # ------------------------------------------------------------ what was found

    @property
    def states(self) -> int:
        return self._local.states + sum(self._sizes_of.values())

    @property
    def transitions(self) -> int:
        return self._local.transitions + self._transitions

    @property
    def expanded(self) -> int:
        return self._local.expanded + self._expanded

    @property
    def stuck(self) -> int:
        return self._local.stuck + self._stuck

    @property
    def remark(self) -> str:
        return self._remark

    def size(self, level: int) -> int:
        if level > self._handed and self._levels is not None:
            return self._sizes_of[level]
        return self._local.size(level)

    def snapshot(self) -> list[bytes]:
        return [*self._local.snapshot(), *self._tally]

    def reached(self, snapshot: Sequence[bytes]) -> frozenset[int]:
        return worker_context.reached(self._sizes, snapshot)

    def totals(self, snapshot: Sequence[bytes]) -> Totals:
        return worker_context.totals(self._sizes, snapshot)

    def found(self) -> list[Found]:
        if self._levels is None:
            return self._local.found()
        reports, self._reports = self._reports, []
        return least(reports, self._decode)

    def _take_in(self, found: Sequence[Merged]) -> None:
        """Keeps the problems that tasks have found, until they are asked for."""
        for one in found:
            self._reports += one.reports
            self._reports += one.expanded.reports

    def predecessors(self, level: int, states: Sequence[Packed]) -> list[Packed]:
        if self._levels is None or level <= self._handed:
            return self._local.predecessors(level, states)
        parts = self._levels.predecessors(level, self.size(level), states)
        found: list[Packed] = []
        for state, best in zip(states, zip(*parts, strict=True), strict=True):
            there = [one for one in best if one is not None]
            assert there, f"nothing at level {level} leads to {state}"
            found.append(min(there, key=self._decode))
        return found

    def _observe(self, sights: Sequence[Sight]) -> None:
        """Tells who looks on what the tasks of a level have seen."""
        if self._observer is None:
            return
        for number, values in sorted({seen for sight in sights for seen in sight.seen}):
            self._observer(number, values)
        assert not any(sight.enough for sight in sights), "a task has seen more than its driver"

    # ------------------------------------------------------------ handing over

    def _on_cluster(self) -> Levels:
        """The levels on the cluster, which from now on there are."""
        if self._levels is None:
            local = self._local
            assert not local.found(), "there are problems that have not been taken in"
            last = local.level
            sizes = tuple(local.size(level) for level in range(1, last + 1))
            levels = self._spread(Start(last, self._given, local.visited, sizes))
            # From here on they are on the cluster, and not sooner.
            self._handed, self._levels = last, levels
        return self._levels

    def _given(self, partitions: int) -> RDD[States]:
        return self._spark.parallelize([*self._states()], partitions)

    def _states(self) -> Iterator[States]:
        """All states that this process has seen, by level those that were or are to be expanded."""
        local, last = self._local, self._local.level
        levels = range(1, last + 1)
        # States outside constraints are known to the tables only, which know no levels.
        cut = sum(local.size(level) for level in levels) != local.visited
        kind = Kind.FRONTIER if cut else Kind.STATES
        for level in levels:
            yield from self._portions(kind, level, local.pieces(level))
        if cut:
            yield from self._portions(Kind.SEEN, last, local.seen())

    def _portions(
        self, kind: Kind, level: int, pieces: Iterator[tuple[int, int]]
    ) -> Iterator[States]:
        state_bytes = 8 * self._sizes.slots.words
        most = max(PORTION_BYTES // state_bytes, 1)
        for address, count in pieces:
            for place in range(0, count, most):
                length = min(most, count - place) * state_bytes
                yield kind, level, ctypes.string_at(address + place * state_bytes, length)

    def _describe(self, found: Sequence[Merged]) -> str:
        """How the last level was spread."""
        assert self._levels is not None
        sizes = [one.kept for one in found]
        mean = sum(sizes) / len(sizes)
        sent = sum(one.expanded.sent for one in found) * 8 * self._sizes.slots.words
        words = f"frontier {sum(sizes):,} on {len(sizes)} partitions"
        if mean:
            words += f" (the largest {max(sizes) / mean:.2f} of the mean)"
        words += f", {units.size(sent)} sent"
        return words if self._levels.ui is None else f"{words}, {self._levels.ui}"
