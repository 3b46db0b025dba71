"""The graph of the states of a search that is over, as arrays: states by numbers, steps in rows.

The states are numbered from 0 in the order of their levels. Machine code makes the steps once more;
every worker takes its share. It does not know what is looked for in the graph.
"""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fencepost.checker.native.codegen.context_words import Word
from fencepost.checker.native.explorer import Explorer
from fencepost.checker.native.kernels.behaviours import UNIT_SHIFT
from fencepost.checker.native.machine.memory import Memory, Region, words
from fencepost.checker.native.machine.worker_context import Packed
from fencepost.checker.native.worker import Worker
from fencepost.checker.resources import Exhausted

Words: TypeAlias = npt.NDArray[np.uint64]
Numbers: TypeAlias = npt.NDArray[np.int32]

CHUNK = 2048
"""So many states are dealt with by one call of machine code."""
LEAST_ROOM, MOST_ROOM = 1 << 16, 1 << 24
"""Bytes of room for steps that are taken at once."""


@dataclass(frozen=True, slots=True)
class Units:
    """The units of fairness: ``first`` is that of each action, from 1 on (0: it has none), and
    ``family`` whether it has one for each instance. ``count`` are all; ``strong`` those that are,
    from 0 on.
    """

    first: Sequence[int]
    family: Sequence[bool]
    count: int
    strong: frozenset[int]

    @property
    def width(self) -> int:
        """How many words have a bit for each unit."""
        return max(1, -(-self.count // 64))


@dataclass(frozen=True, slots=True)
class Rows:
    """The steps: those from state N stand from ``ends[N - 1]`` to ``ends[N]``. ``targets`` are the
    states that they lead to, ``units`` what they count for, from 1 on (0: nothing). ``possible``
    are bits for each state and unit.
    """

    ends: npt.NDArray[np.int64]
    targets: Numbers
    units: npt.NDArray[np.uint16]
    possible: Words


class StateGraph:
    """The first ``levels`` levels of the states of an explorer; ``starts`` are the first numbers of
    each, and the number of all states. Raises `Exhausted`.
    """

    def __init__(self, explorer: Explorer, memory: Memory, size: int, levels: int) -> None:
        self._explorer = explorer
        self._memory = memory
        self._bytes = 8 * size
        self._size = size
        self._kept: list[object] = []
        self._pieces: list[tuple[int, int, int]] = []
        self.starts = [0]
        for level in range(1, levels + 1):
            first = self.starts[-1]
            for address, count in explorer.pieces(level):
                self._pieces.append((address, count, first))
                first += count
            self.starts.append(first)
        self.states = self.starts[-1]
        self._note()

    # ------------------------------------------------------------ states

    def packed(self, number: int) -> Packed:
        """A state by its number."""
        address, _, first = next(
            piece for piece in self._pieces if piece[2] <= number < piece[2] + piece[1]
        )
        return tuple(words(address + (number - first) * self._bytes, self._size))

    def level(self, number: int) -> int:
        """The number of steps to a state."""
        return int(np.searchsorted(np.asarray(self.starts), number, side="right")) - 1

    def find(self, state: Packed) -> int | None:
        """The number of a state; None: it has none."""
        given = (ctypes.c_uint64 * self._size)(*state)
        found = ctypes.c_uint64()
        worker = self._explorer.workers[0]
        worker.call("find", ctypes.addressof(given), 1, ctypes.addressof(found))
        return found.value - 1 if found.value else None

    def labels(self, predicates: int) -> Words:
        """Which predicates hold in each state: bits."""
        width = max(1, -(-predicates // 64))
        self._memory.afford(8 * width * self.states)
        made = np.zeros((self.states, width), np.uint64)
        start = made.ctypes.data
        chunks = deque(self._chunks())

        def label(worker: Worker) -> None:
            for address, count, first in _taken(chunks):
                worker.call("label", address, count, start + 8 * width * first, width)

        self._explorer.share(label, self.states >= CHUNK)
        return made

    # ------------------------------------------------------------ steps

    def rows(self, units: Units) -> Rows:
        """The steps from every state, also from those that nobody asks about."""
        for worker in self._explorer.workers:
            self._prepare(worker, units)
        self._memory.afford(8 * (units.width + 2) * self.states)
        possible = np.zeros((self.states, units.width), np.uint64)
        ends = np.zeros(self.states, np.uint64)
        chunks = deque(self._chunks())
        rooms = [_Room(self._memory, worker) for worker in self._explorer.workers]
        done: list[list[_Done]] = [[] for _ in rooms]

        def collect(worker: Worker) -> None:
            for address, count, first in _taken(chunks):
                before = worker.get(Word.EDGE_COUNT)
                worker.call(
                    "edges",
                    address,
                    count,
                    ends.ctypes.data + 8 * first,
                    possible.ctypes.data + 8 * units.width * first,
                    units.width,
                )
                rooms[worker.number].check()
                noted = slice(before, worker.get(Word.EDGE_COUNT))
                done[worker.number].append(_Done(first, count, worker.number, noted))
                ends[first : first + count] -= np.uint64(before)

        try:
            self._explorer.share(collect, self.states >= CHUNK)
        finally:
            for worker in self._explorer.workers:
                worker.put(Word.COLLECTS, 0)
                worker.aim(0, 0)
        return self._joined(rooms, done, ends, possible)

    def _joined(
        self,
        rooms: Sequence[_Room],
        done: Sequence[Sequence[_Done]],
        ends: Words,
        possible: Words,
    ) -> Rows:
        """All steps in the order of the states that they leave."""
        total = sum(room.count for room in rooms)
        self._memory.afford((8 + 4 + 2) * total)
        targets, units = np.empty(total, np.int32), np.empty(total, np.uint16)
        made = [room.words() for room in rooms]
        place = 0
        for one in sorted((one for taken in done for one in taken), key=lambda one: one.first):
            part = made[one.worker][one.noted]
            here = slice(place, place + len(part))
            targets[here] = (part & np.uint64((1 << UNIT_SHIFT) - 1)).astype(np.int32) - 1
            units[here] = (part >> np.uint64(UNIT_SHIFT)).astype(np.uint16)
            ends[one.first : one.first + one.count] += np.uint64(place)
            place = here.stop
        assert place == total
        for room in rooms:
            room.close()
        return Rows(ends.astype(np.int64), targets, units, possible)

    def _prepare(self, worker: Worker, units: Units) -> None:
        table = [number for pair in zip(units.first, units.family, strict=True) for number in pair]
        kept = (ctypes.c_uint64 * max(1, len(table)))(*table)
        self._kept.append(kept)
        worker.put(Word.UNITS, ctypes.addressof(kept))
        worker.put(Word.EDGE_COUNT, 0)
        worker.put(Word.COLLECTS, 1)
        # No predecessor is looked for; but what makes steps asks for this first.
        worker.aim(ctypes.addressof(kept), 0)

    # ------------------------------------------------------------ numbers

    def _note(self) -> None:
        """Has every state's number stand beside its place among those seen."""
        workers = self._explorer.workers
        peers = (ctypes.c_uint64 * len(workers))(*(w.get(Word.TABLES) for w in workers))
        bases: list[int] = []
        for worker in workers:
            capacities = worker.capacities
            region = self._memory.take(8 * sum(capacities))
            place = region.address
            for capacity in capacities:
                bases.append(place)
                place += 8 * capacity
        numbers = (ctypes.c_uint64 * len(bases))(*bases)
        self._kept += [peers, numbers]
        for worker in workers:
            worker.put(Word.PEERS, ctypes.addressof(peers))
            worker.put(Word.NUMBERS, ctypes.addressof(numbers))
        chunks = deque(self._chunks())

        def note(worker: Worker) -> None:
            for address, count, first in _taken(chunks):
                worker.call("number", address, count, first + 1)

        self._explorer.share(note, self.states >= CHUNK)

    def _chunks(self) -> Iterator[tuple[int, int, int]]:
        for address, count, first in self._pieces:
            for start in range(0, count, CHUNK):
                now = min(CHUNK, count - start)
                yield address + start * self._bytes, now, first + start


def _taken(chunks: deque[tuple[int, int, int]]) -> Iterator[tuple[int, int, int]]:
    """What one of several workers takes of some chunks: the next one, as long as there is one."""
    while chunks:
        try:
            yield chunks.popleft()
        except IndexError:
            return


@dataclass(frozen=True, slots=True)
class _Done:
    """The steps from ``count`` states, from number ``first`` on: which of those that a worker noted
    they are.
    """

    first: int
    count: int
    worker: int
    noted: slice


class _Room:
    """Room for the steps that a worker notes."""

    def __init__(self, memory: Memory, worker: Worker) -> None:
        self._memory = memory
        self._worker = worker
        self._full: list[tuple[Region, int]] = []
        self._now: Region | None = None
        self._error: BaseException | None = None
        self._call: Any = ctypes.CFUNCTYPE(None, ctypes.c_int64)(self._more)
        address = ctypes.cast(self._call, ctypes.c_void_p).value
        assert address is not None
        worker.put(Word.EDGES_FULL, address)
        worker.put(Word.EDGE, 0)
        worker.put(Word.EDGES_END, 0)

    @property
    def count(self) -> int:
        return self._worker.get(Word.EDGE_COUNT)

    def check(self) -> None:
        """Raises what kept it from finding more room."""
        if self._error is not None:
            raise self._error

    def _more(self, _: int) -> None:
        try:
            self._put_by()
            size = LEAST_ROOM << min(len(self._full), 8)
            region = self._now = self._memory.take(min(size, MOST_ROOM))
            self._worker.put(Word.EDGE, region.address)
            self._worker.put(Word.EDGES_END, region.address + region.size // 8 * 8)
        except Exhausted as error:
            # Machine code cannot pass it on; it notes no more steps.
            self._error = error
            self._worker.stop()

    def _put_by(self) -> None:
        if self._now is not None:
            used = (self._worker.get(Word.EDGE) - self._now.address) // 8
            self._full.append((self._now, used))
            self._now = None

    def words(self) -> Words:
        """All that was noted, in order."""
        self._put_by()
        parts = [np.ctypeslib.as_array(words(region.address, used)) for region, used in self._full]
        return np.concatenate(parts) if parts else np.zeros(0, np.uint64)

    def close(self) -> None:
        for region, _ in self._full:
            self._memory.give(region)
        self._full.clear()
