"""The context of a worker: the words that it shares with machine code, and the memory to which
these words point.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Container, Iterable, Sequence
from typing import NamedTuple, TypeAlias

from fencepost.checker.native.codegen.context_words import (
    RECENT_BYTES,
    SEEN_PLACES,
    SEEN_WORDS,
    Report,
    Slots,
    Word,
    recent_states,
    seen_from,
)
from fencepost.checker.native.codegen.emitter import signed
from fencepost.checker.native.machine.memory import Memory, data, words
from fencepost.checker.search.states import Totals
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.concrete import Observer

Packed: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of a model's buffers: the numbers of marks, guards and scratch words, and the size
    in bytes of the cache of recent states. ``refined`` is the number of words for refinements.
    """

    slots: Slots
    marks: int
    guards: int
    scratch: int
    recent_bytes: int = RECENT_BYTES
    refined: int = 0

    @property
    def mark_words(self) -> int:
        """The number of words with one bit per mark."""
        return -(-self.marks // 64)


@dataclass(frozen=True, slots=True)
class Mark:
    """A snapshot of a worker's counts."""

    tally: bytes
    transitions: int
    stuck: int
    expanded: int
    stand_for: tuple[int, int]


class SlotReport(NamedTuple):
    """A reported problem: the site of the failing evaluation, the state that shows the problem, and
    the predecessor of this state, or None.
    """

    slot: int
    site: int
    state: Packed | None
    before: Packed | None


class Context:
    """The context of a worker. Machine code gets its ``address`` as an argument. ``full`` is called
    with the number of an owner when the block of this owner is full.
    """

    def __init__(
        self, memory: Memory, sizes: Sizes, owners: int, full: Callable[[int], None]
    ) -> None:
        self._sizes = sizes
        slots, properties = sizes.slots, sizes.slots.properties
        length = Word.BLOCKS + 2 * owners
        self.address = memory.take(8 * length).address
        self.words = words(self.address, length)
        self._full = ctypes.CFUNCTYPE(None, ctypes.c_int64)(full)
        address = ctypes.cast(self._full, ctypes.c_void_p).value
        assert address is not None
        self.words[Word.FULL] = address
        self.words[Word.OWNERS] = owners

        # All counts of a level are in one region, so that they can be copied as a whole.
        numbers = slots.actions + sizes.guards + sizes.mark_words
        self.tally_size = 8 * numbers + properties
        self.tally = memory.take(self.tally_size)
        start = self.tally.address
        self.words[Word.TAKEN] = start
        self.words[Word.REFUSED] = start + 8 * slots.actions
        self.words[Word.MARKS] = start + 8 * (slots.actions + sizes.guards)
        self.words[Word.REACHED] = start + 8 * numbers

        room = memory.take(8 * slots.size * slots.count + 8 * sizes.scratch + properties)
        start = room.address
        self.words[Word.REPORTS] = start
        self._reports = words(start, slots.size * slots.count)
        start += 8 * slots.size * slots.count
        self.words[Word.CHOICES] = start
        start += 8 * sizes.scratch
        self.words[Word.ACTIVE] = start
        self._active = data(start, properties)

        self._recent_bytes = recent_states(slots.words, sizes.recent_bytes) * 8 * slots.words
        self._recent = memory.take(self._recent_bytes)
        self.words[Word.RECENT] = self._recent.address
        if sizes.refined:
            self.words[Word.REFINED] = memory.take(8 * sizes.refined).address

    def watch(self, memory: Memory, observer: Observer) -> None:
        """Forwards the observations of machine code to ``observer``, each at least once."""

        def see(index: int) -> None:
            start = SEEN_WORDS * index
            kind, *values = table[start : start + SEEN_WORDS]
            number, count = seen_from(kind)
            observer(number, tuple(signed(value) for value in values[:count]))

        address = memory.take(8 * SEEN_WORDS * SEEN_PLACES).address
        table = words(address, SEEN_WORDS * SEEN_PLACES)
        self._see = ctypes.CFUNCTYPE(None, ctypes.c_int64)(see)
        function = ctypes.cast(self._see, ctypes.c_void_p).value
        assert function is not None
        self.words[Word.SEE] = function
        self.words[Word.SEEN] = address

    @property
    def transitions(self) -> int:
        """The number of steps completed so far."""
        return self.words[Word.TRANSITIONS]

    @property
    def stuck(self) -> int:
        """The number of stuck states so far."""
        return self.words[Word.STUCK]

    def counts(self) -> bytes:
        """Returns the current tally, for `totals`."""
        return ctypes.string_at(self.tally.address, self.tally_size)

    @property
    def stand_for(self) -> tuple[int, int]:
        """The number of states that the examined states represent under symmetry: within the
        constraints, and outside of them.
        """
        return self.words[Word.STAND_FOR], self.words[Word.OUTSIDE_FOR]

    @stand_for.setter
    def stand_for(self, counts: tuple[int, int]) -> None:
        self.words[Word.STAND_FOR], self.words[Word.OUTSIDE_FOR] = counts

    def restore(self, tally: bytes, transitions: int, stuck: int) -> None:
        """Resets the counts to the given values, and discards reports and recent states."""
        ctypes.memmove(self.tally.address, tally, len(tally))
        self.words[Word.TRANSITIONS], self.words[Word.STUCK] = transitions, stuck
        self.take_reports()
        ctypes.memset(self._recent.address, 0, self._recent_bytes)

    def take_reports(self) -> list[SlotReport]:
        """Returns and clears the reported problems."""
        if not self.words[Word.REPORTED]:
            return []
        slots, size = self._sizes.slots, self._sizes.slots.words
        reports: list[SlotReport] = []
        for slot in range(slots.count):
            record = self._reports[slot * slots.size : (slot + 1) * slots.size]
            if record[Report.TAKEN]:
                state = record[Report.STATES : Report.STATES + size]
                before = record[Report.STATES + size :]
                reports.append(SlotReport(slot, record[Report.SITE], _some(state), _some(before)))
        ctypes.memset(self.words[Word.REPORTS], 0, ctypes.sizeof(self._reports))
        self.words[Word.REPORTED] = 0
        return reports

    def look_for(self, deadlock: bool, properties: Container[int]) -> None:
        """Sets which problems are reported, in addition to those that always are."""
        self.words[Word.DEADLOCK] = deadlock
        for number in range(len(self._active)):
            self._active[number] = number in properties

    def aim(self, targets: int, count: int) -> None:
        """Sets the address and the number of the target states when predecessors are searched for.
        The address 0 ends this search.
        """
        self.words[Word.TARGETS], self.words[Word.TARGET_COUNT] = targets, count


def _some(state: list[int]) -> Packed | None:
    return tuple(state) if state[0] else None


def combined(sizes: Sizes, parts: Sequence[bytes]) -> bytes:
    """Returns the combination of several tallies."""
    count = sizes.slots.actions + sizes.guards
    split, length = 8 * count, len(parts[0])
    rows = [memoryview(part)[:split].cast("Q") for part in parts]
    numbers = b"".join(sum(column).to_bytes(8, sys.byteorder) for column in zip(*rows, strict=True))
    flags = 0
    for part in parts:
        flags |= int.from_bytes(part[split:], sys.byteorder)
    return numbers + flags.to_bytes(length - split, sys.byteorder)


def totals(sizes: Sizes, parts: Iterable[bytes]) -> Totals:
    """Returns the totals of several tallies."""
    actions, numbers = sizes.slots.actions, sizes.slots.actions + sizes.guards
    sums, marks = [0] * numbers, 0
    for part in parts:
        for index, number in enumerate(memoryview(part)[: 8 * numbers].cast("Q")):
            sums[index] += number
        marks |= int.from_bytes(part[8 * numbers : 8 * (numbers + sizes.mark_words)], sys.byteorder)
    refused = {guard: times for guard, times in enumerate(sums[actions:]) if times}
    bits = (number for number in range(sizes.marks) if marks >> number & 1)
    return Totals(tuple(sums[:actions]), refused, frozenset(bits))


def steps(sizes: Sizes, parts: Iterable[bytes]) -> int:
    """Returns the number of completed steps in several tallies."""
    return sum(sum(memoryview(part)[: 8 * sizes.slots.actions].cast("Q")) for part in parts)


def reached(sizes: Sizes, parts: Sequence[bytes]) -> frozenset[int]:
    """Returns the `reachable` properties that were true according to several tallies."""
    count = sizes.slots.properties
    flags = [part[len(part) - count :] for part in parts]
    return frozenset(n for n in range(count) if any(part[n] for part in flags))
