"""Merges successors into the visited sets of a task's owners."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterable, Iterator, Mapping

from fencepost.checker.native.codegen.context_words import Want, Word
from fencepost.checker.native.machine.memory import Memory
from fencepost.checker.native.machine.worker_context import Context
from fencepost.checker.native.visited.compressed import rows_bytes
from fencepost.checker.spark import program, records
from fencepost.checker.spark.parcels import ParcelReader
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
from fencepost.checker.spark.table import Seen

CHUNK_BYTES = 1 << 21
"""New states are written out when they reach this many bytes, divided by the number of owners that
the task works for.
"""


class Merger:
    """Adds states to the visited set of an owner, and collects the new ones."""

    def __init__(
        self,
        made: Program,
        order: Order,
        owner: int,
        visited: Seen,
        memory: Memory,
        context: Context,
    ) -> None:
        self._made = made
        self._order = order
        self._owner = owner
        self._visited = visited
        self._context = context
        self._context.look_for(order.deadlock, order.properties)
        self._watch = Watch(context, memory, order.observer)
        self._words = context.words
        self._native = 0.0
        self._state_bytes, self._entry_bytes = 8 * made.words, 8 * visited.entry_words
        # Memory for the entries of new states, and for the states themselves if entries are
        # compressed.
        share = CHUNK_BYTES // len(made.owners(made.task(owner)))
        most = max(share // self._state_bytes, 1)
        self._chunk = memory.take(most * self._entry_bytes)
        self._chunk_end = self._chunk.address + most * self._entry_bytes
        self._states = memory.take(most * self._state_bytes)
        self._rows = memory.take(rows_bytes(made.words))
        self._seen = self._kept = 0

    def load(self, address: int, count: int) -> None:
        """Adds states of earlier levels, without reporting them as new."""
        for _ in self.merge(address, count, store=False):
            pass

    def loaded(self) -> None:
        """Checks the number of states loaded from earlier levels."""
        expected = self._order.seen[self._owner]
        if self._visited.states != expected:
            raise Incomplete(
                f"partition {self._owner} has seen {self._visited.states} states of {expected}"
            )
        self._open_chunk()

    def merge(self, address: int, left: int, store: bool = True) -> Iterator[bytes]:
        """Adds ``left`` states that start at ``address``. If ``store`` is set, new states are
        stored, and written out when enough have accumulated.
        """
        if not store:
            self._open_chunk()
        while left:
            began = time.thread_time()
            self._visited.merge(address, left)
            done = self._words[Word.DONE]
            left -= done
            address += done * self._state_bytes
            match self._words[Word.WANT]:
                case Want.PLACES:
                    self._visited.grow()
                case Want.ROOM:
                    if store:
                        yield from self.hand_on()
                    self._open_chunk()
                case _:
                    pass
            self._native += time.thread_time() - began

    def hand_on(self) -> Iterator[bytes]:
        """Examines the stored new states, and yields them as records."""
        entries, level = self._chunk.address, self._order.level
        count = (self._words[Word.STORE] - entries) // self._entry_bytes
        if not count:
            return
        start = self._visited.whole(entries, count, self._states.address, self._rows.address)
        seen = ctypes.string_at(start, count * self._state_bytes)
        program.code(self._made.text).examine(
            self._context.address, start, count, start, self._made.words, start
        )
        kept = self._words[Word.DONE]
        self._seen += count
        self._kept += kept
        self._open_chunk()
        if kept == count:
            yield records.record(Kind.STATES, level, self._owner, seen)
            return
        yield records.record(Kind.SEEN, level, self._owner, seen)
        if kept:
            inside = ctypes.string_at(start, kept * self._state_bytes)
            yield records.record(Kind.FRONTIER, level, self._owner, inside)

    def account(self, expanded: Expansion | None) -> MergeResult:
        """Returns the result for the owner. Raises `Incomplete` if states are missing."""
        context, expected = self._context, self._order.seen[self._owner] + self._seen
        if self._visited.states != expected:
            raise Incomplete(f"partition {self._owner} has not seen {expected} states")
        return MergeResult(
            self._seen,
            self._kept,
            context.counts(),
            context.take_reports(),
            expanded,
            self._native,
            program.process(),
            self._watch.sight,
            sum(region.size for region in self._visited.parts),
        )

    def _open_chunk(self) -> None:
        self._words[Word.STORE] = self._chunk.address
        self._words[Word.STORE_END] = self._chunk_end


class Delivery:
    """Distributes the input of a task to the mergers of its owners."""

    def __init__(
        self,
        made: Program,
        order: Order,
        task: int,
        mergers: Mapping[int, Merger],
        parcels: ParcelReader,
    ) -> None:
        self._made = made
        self._order = order
        self._task = task
        self._mergers = mergers
        self._parcels = parcels
        self._loading = True
        self._received = self._announced = self._ends = 0
        self._expanded: Expansion | None = None

    def run(self, blocks: Iterable[bytes]) -> Iterator[bytes]:
        """Processes the input records, and yields the records of the new level."""
        for data in blocks:
            kind, level, number = records.head(data)
            if kind in (Kind.SUCCESSORS, Kind.PARCEL, Kind.END):
                self._loaded()
                if level != self._order.level:
                    raise Incomplete(
                        f"successors for level {level} came to level {self._order.level}"
                    )
            if kind in (Kind.SUCCESSORS, Kind.PARCEL):
                merger = self._merger(number)
                address, count = self._states(kind, data)
                self._received += count
                yield from merger.merge(address, count)
            elif kind is Kind.END:
                self._end(number, data)
            elif kind in records.KEPT and self._order.rebuild:
                if not self._loading:
                    raise Incomplete("states that were seen before came late")
                self._merger(number).load(*self._states(kind, data))
        self._loaded()
        for merger in self._mergers.values():
            yield from merger.hand_on()
        if self._ends != self._made.tasks or self._received != self._announced:
            raise Incomplete(
                f"task {self._task} got {self._received} successors from {self._ends} tasks"
            )

    def accounts(self) -> dict[int, MergeResult]:
        """Returns the results by owner. Raises `Incomplete` if no expanding task has sent its
        account.
        """
        if self._expanded is None:
            raise Incomplete(f"task {self._task} got no account")
        first = min(self._mergers)
        return {
            owner: merger.account(self._expanded if owner == first else None)
            for owner, merger in self._mergers.items()
        }

    def _merger(self, owner: int) -> Merger:
        if owner not in self._mergers:
            raise Incomplete(f"states of partition {owner} came to task {self._task}")
        return self._mergers[owner]

    def _states(self, kind: Kind, data: bytes) -> tuple[int, int]:
        """Returns the address and the number of the states in a record."""
        if kind is Kind.PARCEL:
            return self._parcels.read(data)
        return records.address(data), records.count(data, self._made.words)

    def _loaded(self) -> None:
        if self._loading:
            self._loading = False
            for merger in self._mergers.values():
                merger.loaded()

    def _end(self, number: int, data: bytes) -> None:
        self._announced += number
        self._ends += 1
        if len(data) > HEAD.size:
            if self._expanded is not None:
                raise Incomplete(f"task {self._task} got two accounts")
            self._expanded = records.read(data)
