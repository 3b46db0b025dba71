"""The state graph of a finished search: numbered states, predicates, and rows of steps.

States are numbered from 0 in the order of their levels. Machine code computes the steps again, but
only for states in the graph.
"""

from __future__ import annotations

import ctypes
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt

from fencepost.checker.native.codegen.context_words import (
    COLLECT_FAIR,
    EDGES_BYTES,
    ROW_SHIFT,
    Edges,
    Word,
)
from fencepost.checker.native.components import Marks, search
from fencepost.checker.native.explorer import Explorer
from fencepost.checker.native.kernels.behaviours import BATCH, seek_words
from fencepost.checker.native.kernels.components import OUTSIDE, SINGLE
from fencepost.checker.native.kernels.rows import LABEL_BITS
from fencepost.checker.native.machine.memory import Memory, data, words
from fencepost.checker.native.machine.worker_context import Packed
from fencepost.checker.native.worker import Worker
from fencepost.checker.resources import Exhausted, spare_addresses
from fencepost.spec.records import dataclass

Words: TypeAlias = npt.NDArray[np.uint64]
Bits: TypeAlias = npt.NDArray[np.uint8]
"""Sets of small numbers, one per row: the bits of byte K are those of the numbers from 8 K on."""
Ids: TypeAlias = npt.NDArray[np.int64]
Numbers: TypeAlias = npt.NDArray[np.int32]
Labels: TypeAlias = npt.NDArray[np.uint16]

_T = TypeVar("_T")

CHUNK = 4096
"""The number of states per call of machine code."""
STEP_BATCH = 1 << 14
"""The number of states per call that numbers states or follows steps."""
MIN_ROOM = 1 << 16
"""The minimum size of the memory for steps, and its minimum growth, in bytes."""
PLACE_BYTES = 4
"""The size of an entry of `StateGraph.places` in bytes."""
CHOOSE_BYTES, GATHER_BYTES = 10, 26
"""The memory in bytes per state while some states are selected, and per target while targets are
gathered.
"""
CONDITION_BYTES = 24
"""The memory in bytes per state while the condition of a fairness constraint is applied."""
BYTE = 8
"""The number of bits of a byte."""
NARROW_BITS = 32
"""A step takes four bytes if the number of its target and its label together fit into this many
bits.
"""


@dataclass(frozen=True, slots=True)
class Units:
    """The fairness units, numbered from 0, and the labels of steps, numbered from 1. The label of a
    step tells for which units it counts; label 0 is for none.

    ``first`` holds the first label of each action, or 0 if no unit covers its steps. ``several``
    tells whether the label also depends on the first choices of a step. ``count`` is the number of
    units, and ``strong`` holds the strongly fair ones. ``served`` has the bits of the units for
    each label, from 0 on; it is None if label N serves unit N - 1, without a condition. Each of
    ``conditions`` is the number of a predicate, and the bits of the units that it restricts: a step
    counts for them only if it starts in a state that satisfies the predicate.

    If the model has step predicates, label N has the bits of those that a step satisfies, and
    ``enabled`` holds the number of a predicate for each unit, which is possible in the states that
    satisfy it.
    """

    first: Sequence[int]
    several: Sequence[bool]
    count: int
    strong: frozenset[int]
    served: Bits | None = None
    conditions: Sequence[tuple[int, Bits]] = ()
    enabled: Sequence[int] = ()

    @property
    def labels(self) -> int:
        """The number of labels without label 0."""
        return self.count if self.served is None else len(self.served) - 1

    @property
    def width(self) -> int:
        """The number of bytes with a bit for each unit."""
        return width_of(self.count)

    def of_strength(self, strong: bool) -> Bits:
        """Returns the bits of the strong units, or of the other units."""
        return self.bits(unit for unit in range(self.count) if (unit in self.strong) is strong)

    def bits(self, units: Iterable[int]) -> Bits:
        """Returns the bits of some units."""
        return bits_of(sum(1 << unit for unit in set(units)), self.width)

    def serve(
        self, labels: Labels, sources: Ids, possible: Bits, wanted: Bits
    ) -> npt.NDArray[np.bool_]:
        """Returns which of some steps from states ``sources`` count for a ``wanted`` unit.
        ``possible`` holds the units that are possible in each state.
        """
        if self.served is None:
            flags = np.zeros(self.count + 1, np.bool_)
            flags[[unit + 1 for unit in units_in(wanted)]] = True
            return flags[labels]
        bits = self.served[labels] & possible[sources] & wanted
        counting: npt.NDArray[np.bool_] = (bits != 0).any(axis=1)
        return counting


def width_of(count: int) -> int:
    """Returns the number of bytes with a bit for each of ``count`` numbers."""
    return max(1, -(-count // BYTE))


def bits_of(bits: int, width: int) -> Bits:
    """Returns an integer as ``width`` bytes, the lowest bits first."""
    return np.frombuffer(bits.to_bytes(width, "little"), np.uint8).copy()


def units_in(bits: Bits) -> frozenset[int]:
    """Returns the numbers of the units whose bits are set."""
    every = int.from_bytes(bits.tobytes(), "little")
    return frozenset(unit for unit in range(every.bit_length()) if every >> unit & 1)


class StateGraph:
    """The first ``levels`` levels of an explorer's states. ``starts`` holds the number of the first
    state of each level, and then the number of all states. Raises `Exhausted`.
    """

    def __init__(self, explorer: Explorer, memory: Memory, size: int, levels: int) -> None:
        self.explorer = explorer
        self.memory = memory
        self._bytes = 8 * size
        self._size = size
        self._kept: list[object] = []
        self._all_numbered = False
        self._pieces: list[tuple[int, int, int]] = []
        self.starts = [0]
        for level in range(1, levels + 1):
            first = self.starts[-1]
            for address, count in explorer.pieces(level):
                self._pieces.append((address, count, first))
                first += count
            self.starts.append(first)
        self.states = self.starts[-1]
        if self.states >= SINGLE:
            # Numbers of states have 31 bits here. So many states take more memory than any machine
            # that was tried has.
            raise Exhausted

    def bits(self, width: int) -> Bits:
        """Returns ``width`` zero bytes for each state. Their memory is freed with the array. Raises
        `Exhausted`.
        """
        region = self.memory.take(width * self.states)
        # Untouched pages are not measured when memory is weighed, so later allocations would seem
        # to fit.
        self.memory.touch(region)
        room = data(region.address, width * self.states)
        weakref.finalize(room, self.memory.give, region)
        return np.ctypeslib.as_array(room).reshape(self.states, width)

    def places(self) -> Numbers:
        """Returns an array of -1 for each state, as `Rows.inside` needs it. Raises `Exhausted`."""
        self.memory.afford(PLACE_BYTES * self.states)
        return np.full(self.states, -1, np.int32)

    # ------------------------------------------------------------ states

    def packed(self, number: int) -> Packed:
        """Returns the packed state with a number."""
        return tuple(words(self.address(number), self._size))

    def address(self, number: int) -> int:
        """Returns the address of a state."""
        piece = int(np.searchsorted(self._firsts, number, side="right")) - 1
        address, _, first = self._pieces[piece]
        return address + (number - first) * self._bytes

    def copied(self, numbers: Ids) -> Words:
        """Returns the packed states with the given numbers, which must be ascending, in one
        contiguous array.
        """
        packed = np.empty((len(numbers), self._size), np.uint64)
        pieces = np.searchsorted(self._firsts, numbers, side="right") - 1
        ends = np.flatnonzero(np.diff(pieces, append=-1)) + 1
        start = 0
        for end in ends.tolist():
            address, count, first = self._pieces[int(pieces[start])]
            piece = np.ctypeslib.as_array(words(address, count * self._size))
            packed[start:end] = piece.reshape(count, self._size)[numbers[start:end] - first]
            start = end
        return packed

    def pieces(self, numbers: Ids) -> Iterator[tuple[int, Ids]]:
        """Splits numbers of states, which must be ascending, by contiguous memory. Yields the
        address that state 0 would have there, and the numbers.
        """
        start = 0
        while start < len(numbers):
            piece = int(np.searchsorted(self._firsts, int(numbers[start]), side="right")) - 1
            address, count, first = self._pieces[piece]
            end = start + int(np.searchsorted(numbers[start:], first + count))
            yield address - first * self._bytes, numbers[start:end]
            start = end

    @cached_property
    def _firsts(self) -> Ids:
        return np.array([first for _, _, first in self._pieces], np.int64)

    def level(self, number: int) -> int:
        """Returns the distance of a state from the initial states, in steps."""
        return int(np.searchsorted(np.asarray(self.starts), number, side="right")) - 1

    def find(self, state: Packed) -> int | None:
        """Returns the number of a state, or None if the state has no number."""
        self.number(None)
        words_of_state = (ctypes.c_uint64 * self._size)(*state)
        entry = ctypes.c_uint64()
        worker = self.explorer.workers[0]
        by_tag = worker.get(Word.BY_TAG)
        worker.put(Word.BY_TAG, 0)
        worker.call("find", ctypes.addressof(words_of_state), 1, ctypes.addressof(entry))
        worker.put(Word.BY_TAG, by_tag)
        return entry.value - 1 if entry.value else None

    def labels(self, predicates: int) -> Bits:
        """Returns the bits of the predicates that hold in each state."""
        size, width = max(1, -(-predicates // 64)), width_of(predicates)
        labels = self.bits(width)
        chunks = deque(self._chunks())

        def label(worker: Worker) -> None:
            room = np.zeros((CHUNK, size), np.uint64)
            for address, count, first in taken(chunks):
                room[:count] = 0
                worker.call("label", address, count, room.ctypes.data, size)
                labels[first : first + count] = room[:count].view(np.uint8)[:, :width]

        self.explorer.share(label, self.states >= CHUNK)
        return labels

    # ------------------------------------------------------------ numbers

    def number(self, wanted: npt.NDArray[np.bool_] | None) -> None:
        """Stores the numbers of all states, or only of the ``wanted`` states, next to the entries
        of the visited sets.
        """
        if self._all_numbered:
            return
        if not self._kept:
            self._make_room()
        self._all_numbered = wanted is None
        chunks = deque(self._chunks(STEP_BATCH))

        flags = 0 if wanted is None else wanted.ctypes.data

        def note(worker: Worker) -> None:
            for address, count, first in taken(chunks):
                worker.call("number", address, count, first, flags)

        self.look_up_by_tag(False)
        self.explorer.share(note, self.states >= CHUNK)
        if self.states == self.explorer.visited:
            # Every successor is one of the states, so equal tags imply equal states.
            self.look_up_by_tag(not self._ambiguous())

    def look_up_by_tag(self, by_tag: bool) -> None:
        """Sets whether the workers look up states by their tags, see `Seek`."""
        for worker in self.explorer.workers:
            worker.put(Word.BY_TAG, by_tag)

    def _ambiguous(self) -> bool:
        """Returns whether some states cannot be told apart by their tags."""
        ambiguous: list[int] = []

        def look(worker: Worker) -> None:
            if worker.call("ambiguous", worker.number):
                ambiguous.append(worker.number)

        self.explorer.share(look, self.states >= CHUNK)
        return bool(ambiguous)

    def _make_room(self) -> None:
        """Prepares the workers for looking up states."""
        workers = self.explorer.workers
        peers = (ctypes.c_uint64 * len(workers))(*(w.get(Word.TABLES) for w in workers))
        bases: list[int] = []
        for worker in workers:
            capacities = worker.capacities
            region = self.memory.take(8 * sum(capacities))
            self.memory.touch(region)
            address = region.address
            for capacity in capacities:
                bases.append(address)
                address += 8 * capacity
        numbers = (ctypes.c_uint64 * len(bases))(*bases)
        self._kept += [peers, numbers]
        for worker in workers:
            pending = self.memory.take(8 * BATCH * seek_words(self._size))
            worker.put(Word.PENDING, pending.address)
            worker.put(Word.PENDING_COUNT, 0)
            worker.put(Word.PEERS, ctypes.addressof(peers))
            worker.put(Word.NUMBERS, ctypes.addressof(numbers))

    def _chunks(self, size: int = CHUNK) -> Iterator[tuple[int, int, int]]:
        for address, count, first in self._pieces:
            for start in range(0, count, size):
                count_now = min(size, count - start)
                yield address + start * self._bytes, count_now, first + start


class Rows:
    """The steps from states to (at least) the ``wanted`` states, computed on demand. ``collect``
    selects the steps that count for their units. ``predicates`` returns which of some states
    satisfy a predicate with a given number.

    ``possible`` has a bit for each state and unit. The bits of a state are valid once its steps
    have been computed. Raises `Exhausted`.
    """

    def __init__(
        self,
        graph: StateGraph,
        units: Units,
        wanted: npt.NDArray[np.bool_],
        collect: int = COLLECT_FAIR,
        predicates: Callable[[Ids, int], npt.NDArray[np.bool_]] | None = None,
    ) -> None:
        graph.number(wanted)
        self.wanted = int(wanted.sum())
        self._collect = collect
        self._graph = graph
        self._explorer = graph.explorer
        self._width = units.width
        self._conditions = units.conditions
        self._enabled = units.enabled
        self._predicates = predicates
        self.possible = graph.bits(units.width)
        self._edges = graph.bits(EDGES_BYTES).view(np.uint32)
        graph.memory.afford(graph.states)
        self._made = np.zeros(graph.states, np.bool_)
        self._steps: list[int] = []
        shift = max(1, graph.states.bit_length())
        narrow = shift + units.labels.bit_length() <= NARROW_BITS
        self.step_bytes = 4 if narrow else 8
        workers = self._explorer.workers
        self._bases = (ctypes.c_uint64 * len(workers))()
        table = [number for pair in zip(units.first, units.several, strict=True) for number in pair]
        self._units = (ctypes.c_uint64 * max(1, len(table)))(*table)
        self._served = units.served
        wide = units.labels.bit_length() > LABEL_BITS
        self._label_type = cast("type[np.uint16]", np.uint32) if wide else np.uint16
        self._rooms = [_Room(graph.memory, worker, self._moved) for worker in workers]
        for worker in workers:
            worker.put(Word.LABELS, ctypes.addressof(self._units))
            worker.put(Word.SERVED, 0 if units.served is None else units.served.ctypes.data)
            worker.put(Word.SERVED_WIDTH, units.width)
            worker.put(Word.ROWS, self._edges.ctypes.data)
            worker.put(Word.ROW_BASES, ctypes.addressof(self._bases))
            worker.put(Word.ROW_TAG, worker.number << ROW_SHIFT)
            worker.put(Word.EDGE_BYTES, self.step_bytes)
            worker.put(Word.EDGE_MASK, (1 << 8 * self.step_bytes) - 1)
            worker.put(Word.TARGET_MASK, (1 << shift) - 1)
            worker.put(Word.UNIT_SHIFT, shift)

    def _moved(self, worker: int, address: int) -> None:
        self._bases[worker] = address

    @property
    def steps(self) -> int:
        """The number of recorded steps."""
        return sum(self._steps)

    def count(self, states: Ids) -> int:
        """Returns the number of recorded steps from some states. Raises `Exhausted`."""
        self._graph.memory.afford(8 * len(states))
        return int(self._edges[states, Edges.COUNT].sum())

    def make(self, states: Ids) -> None:
        """Computes the steps from the states with the given numbers, which must be ascending."""
        self._shared(states, lambda _, __: None)

    def advance(self, states: Ids, bits: Bits, opened: Bits, fresh: Bits) -> Ids:
        """Carries the ``bits`` of ``states`` along their steps, which are computed unless they are
        known. A bit reaches a target if it is set in ``opened`` there; it then moves from
        ``opened`` to ``fresh``, which must be 0 everywhere. Returns the targets that bits have
        reached, in ascending order.
        """
        targets: list[Ids] = []

        def carry(worker: Worker, part: slice) -> None:
            some = states[part]
            room = np.empty(self.count(some), np.int64)
            arrays = (bits[part], opened, fresh, room)
            count = self._call(worker, "advance", some, *arrays, number=bits.shape[1])
            targets.append(room[:count].copy())

        self._shared(states, carry)
        self._graph.memory.afford(GATHER_BYTES * sum(map(len, targets)))
        return distinct(targets)

    def _shared(self, states: Ids, use: Callable[[Worker, slice], None]) -> None:
        """Shares some states among the workers. Each computes the steps from its part unless they
        are known, and then calls ``use``.
        """
        chunks = deque(range(0, len(states), CHUNK))
        workers = self._explorer.workers

        def collect(worker: Worker) -> None:
            for start in taken(chunks):
                part = slice(start, min(len(states), start + CHUNK))
                self._record(worker, states[part])
                use(worker, part)

        try:
            for worker in workers:
                worker.put(Word.COLLECTS, self._collect)
                worker.put(Word.MISSED, 0)
                # This is not a search for predecessors, but machine code collects steps only if
                # targets are set.
                worker.aim(ctypes.addressof(self._units), 0)
            self._explorer.share(collect, len(states) >= CHUNK)
            # The states of a complete search include all successors.
            assert not any(w.get(Word.BY_TAG) and w.get(Word.MISSED) for w in workers)
        finally:
            for worker in workers:
                worker.put(Word.COLLECTS, 0)
                worker.aim(0, 0)

    def _record(self, worker: Worker, states: Ids) -> None:
        """Computes the steps from some states unless they are known."""
        self._graph.memory.afford(CHOOSE_BYTES * len(states))
        states = states[~self._made[states]]
        if not len(states):
            return
        self._made[states] = True
        for address, numbers in self._graph.pieces(states):
            worker.call(
                "edges",
                address,
                len(numbers),
                numbers.ctypes.data,
                self.possible.ctypes.data,
                self._width,
            )
        self._rooms[worker.number].check()
        for predicate, restricted in self._conditions:
            assert self._predicates is not None
            self._graph.memory.afford(CONDITION_BYTES * len(states))
            # This also corrects the steps, since a step counts only for units that are possible.
            self.possible[states[~self._predicates(states, predicate)]] &= ~restricted
        for unit, predicate in enumerate(self._enabled):
            assert self._predicates is not None
            self._graph.memory.afford(CONDITION_BYTES * len(states))
            part = states[self._predicates(states, predicate)]
            self.possible[part, unit // BYTE] |= np.uint8(1 << unit % BYTE)
        self._steps.append(self.count(states))

    # ------------------------------------------------------------ along the steps

    def inside(
        self, states: Ids, places: Numbers, advance: Callable[[int], None] = lambda _: None
    ) -> tuple[Numbers, Numbers, Labels]:
        """Returns the steps from ``states`` to states whose entry in ``places`` is not negative, as
        three arrays: the position of the source in ``states``, the entry of the target, and the
        label. Calls ``advance`` with the number of states that have been
        finished since the last call.
        """
        sources: list[Numbers] = []
        targets: list[Numbers] = []
        labels: list[Labels] = []
        for part in self._parts(states):
            some = states[part]
            size = self.count(some)
            positions, reached = np.empty(size, np.int32), np.empty(size, np.int32)
            read_labels = np.empty(size, self._label_type)
            worker = self._explorer.workers[0]
            count = self._call(worker, "inside", some, places, positions, reached, read_labels)
            sources.append(positions[:count] + np.int32(part.start))
            targets.append(reached[:count].copy())
            labels.append(read_labels[:count].copy())
            advance(len(some))
        return (
            np.concatenate([np.zeros(0, np.int32), *sources]),
            np.concatenate([np.zeros(0, np.int32), *targets]),
            np.concatenate([np.zeros(0, np.uint16), *labels]),
        )

    def components(self, states: Ids) -> Marks:
        """Computes the strongly connected components of the graph that consists of some states and
        the steps between them. Returns the mark of each state of the whole graph, which is valid
        until the next call (see `components.search`).
        """
        marks = self._edges[:, Edges.MARK]
        marks[:] = OUTSIDE
        marks[states] = 0
        search(self._explorer, self._graph.memory, states)
        return marks

    def _parts(self, states: Ids) -> Iterator[slice]:
        for start in range(0, len(states), STEP_BATCH):
            self._explorer.pause()
            yield slice(start, min(len(states), start + STEP_BATCH))

    def _call(
        self,
        worker: Worker,
        kernel: str,
        states: Ids,
        *arrays: npt.NDArray[Any],
        number: int | None = None,
    ) -> int:
        states = np.ascontiguousarray(states)
        assert all(array.flags.c_contiguous for array in arrays)
        rest = [array.ctypes.data for array in arrays] + ([] if number is None else [number])
        return worker.call(kernel, states.ctypes.data, len(states), *rest)


def distinct(arrays: Sequence[Ids]) -> Ids:
    """Returns the distinct numbers in some arrays, in ascending order."""
    every = np.concatenate([np.zeros(0, np.int64), *arrays])
    every.sort()
    fresh: npt.NDArray[np.bool_] = np.diff(every, prepend=-1) != 0
    return every[fresh]


def taken(chunks: deque[_T]) -> Iterator[_T]:
    """Yields the chunks that one of several workers takes from a shared queue."""
    while chunks:
        try:
            yield chunks.popleft()
        except IndexError:
            return


class _Room:
    """The memory for the steps that a worker records. It may move; then ``moved`` is called with
    the number of the worker and the new address.
    """

    def __init__(self, memory: Memory, worker: Worker, moved: Callable[[int, int], None]) -> None:
        self._memory = memory
        self._worker = worker
        self._moved = moved
        self._most = spare_addresses()
        self._error: BaseException | None = None
        self._region = memory.take(MIN_ROOM, self._most)
        self._call: Any = ctypes.CFUNCTYPE(None, ctypes.c_int64)(self._more)
        address = ctypes.cast(self._call, ctypes.c_void_p).value
        assert address is not None
        worker.put(Word.EDGES_FULL, address)
        self._enter(0)

    def check(self) -> None:
        """Raises the error that prevented this memory from growing."""
        if self._error is not None:
            raise self._error

    def _enter(self, used: int) -> None:
        region, put = self._region, self._worker.put
        put(Word.EDGES, region.address)
        put(Word.EDGE, region.address + used)
        put(Word.EDGES_END, region.address + region.size)
        self._moved(self._worker.number, region.address)

    def _more(self, _: int) -> None:
        old = self._region
        used = self._worker.get(Word.EDGE) - old.address
        wanted = old.size + max(old.size // 2, MIN_ROOM)
        try:
            if wanted <= old.most:
                self._region = self._memory.enlarge(old, wanted)
            else:
                self._region = self._memory.take(wanted, self._most)
                ctypes.memmove(self._region.address, old.address, used)
                self._memory.give(old)
        except Exhausted as error:
            # An exception cannot pass through machine code, which records no more steps after this.
            self._error = error
            self._worker.stop()
        self._enter(used)
