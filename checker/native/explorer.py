"""A search level by level in machine code, in terms of packed states, slots and counts.

It does not know models: what makes a problem of what was found, and what to print, is decided
elsewhere.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from fencepost.checker.native.build import Code
from fencepost.checker.native.context import Report
from fencepost.checker.native.crew import Crew
from fencepost.checker.native.memory import Memory, words
from fencepost.checker.native.store import Piece
from fencepost.checker.native.worker import Sizes, Worker
from fencepost.spec.types import State

Packed: TypeAlias = tuple[int, ...]
PORTION = 2048
"""So many states are expanded by one worker before another one may go on."""
FEW = 2000
"""A level of fewer states is not worth waking other threads for."""


@dataclass(frozen=True, slots=True)
class Found:
    """A problem in a slot: where evaluation failed, the least state that shows it, and the one
    before it, if that matters.
    """

    slot: int
    site: int
    state: State | None
    before: State | None

    @property
    def order(self) -> tuple[State, State]:
        """Of two in the same slot, the lesser one counts."""
        return self.state or (), self.before or ()


@dataclass(frozen=True, slots=True)
class Totals:
    """What was counted since the beginning, over all workers, by the numbers of the model."""

    taken: tuple[int, ...]
    refused: tuple[int, ...]
    marks: frozenset[int]
    reached: frozenset[int]


class Explorer:
    """The states found so far. ``level`` is the number of the last level that has been begun; its
    states are new until they are examined, then they may be expanded.

    ``look`` is called often; what it raises stops the work, and is raised by the method called.
    """

    def __init__(
        self,
        code: Code,
        sizes: Sizes,
        owners: int,
        memory: Memory,
        decode: Callable[[Packed], State],
        look: Callable[[], None],
    ) -> None:
        self.level = 1
        self._sizes = sizes
        self.memory = memory
        self._decode = decode
        # Code in use may be exchanged by what it calls, and must outlive its return.
        self._codes = [code]
        self._crew = Crew(owners, code, memory, sizes, look)
        self._workers = self._crew.workers

    # ------------------------------------------------------------ the search

    def begin(self) -> int:
        """Finds the initial states; how many vectors of choices gave one."""
        counts: list[int] = []
        first = self._workers[0]
        self._crew.run(lambda w: counts.append(w.initial()) if w is first else None, False)
        return counts[0]

    def examine(self) -> int:
        """Looks at the new states, and drops those outside the constraints: so many."""
        before = self.states
        self._crew.run(Worker.examine, self.size(self.level) >= FEW)
        return before - self.states

    def expand(self) -> None:
        """Finds the successors of the states of the last level: another level."""
        few = self.size(self.level) < FEW
        for worker in self._workers:
            pieces = [other.store.levels[-1] for other in self._workers]
            worker.portions.extend(portions(pieces, worker.number, 8 * self._sizes.slots.words))
        for worker in self._workers:
            worker.store.open_level()
        self.level += 1
        self._crew.run(Worker.expand, not few)

    def look_for(self, deadlock: bool, properties: Container[int]) -> None:
        """Says what is a problem from now on, beside what always is."""
        for worker in self._workers:
            worker.look_for(deadlock, properties)

    def use(self, code: Code) -> None:
        """Goes on with other code for the same model."""
        self._codes.append(code)
        for worker in self._workers:
            worker.use(code)

    def resume(self) -> None:
        """Goes on after the work was stopped, to look back."""
        self._crew.resume()

    def close(self) -> None:
        """Ends the work, and frees the memory."""
        self._crew.close()
        self.memory.close()

    # ------------------------------------------------------------ what was found

    @property
    def states(self) -> int:
        """How many states there are, those outside constraints not counted once examined."""
        return sum(worker.store.count for worker in self._workers)

    @property
    def transitions(self) -> int:
        """How many completed steps there were."""
        return sum(worker.transitions for worker in self._workers)

    @property
    def expanded(self) -> int:
        """How many states were expanded."""
        return sum(worker.expanded for worker in self._workers)

    @property
    def stuck(self) -> int:
        """How many states were stuck."""
        return sum(worker.stuck for worker in self._workers)

    def size(self, level: int) -> int:
        """How many states a level has."""
        return sum(worker.store.size(level) for worker in self._workers)

    def packed(self, level: int) -> Iterator[Packed]:
        """The states of a level, worker by worker."""
        size = self._sizes.slots.words
        for worker in self._workers:
            for _, address, count in worker.store.levels[level - 1]:
                piece = words(address, count * size)
                for place in range(0, count * size, size):
                    yield tuple(piece[place : place + size])

    def snapshot(self) -> list[bytes]:
        """The counts up to now, for `totals`; taken often, read once."""
        return [ctypes.string_at(w.tally.address, w.tally_size) for w in self._workers]

    def reached(self, snapshot: Sequence[bytes]) -> frozenset[int]:
        """The reachables that were true."""
        count = self._sizes.slots.properties
        flags = [part[len(part) - count :] for part in snapshot]
        return frozenset(n for n in range(count) if any(part[n] for part in flags))

    def totals(self, snapshot: Sequence[bytes]) -> Totals:
        """The counts of a snapshot."""
        sizes = self._sizes
        actions, numbers = sizes.slots.actions, sizes.slots.actions + sizes.guards
        sums, marks, reached = [0] * numbers, 0, set[int]()
        for part in snapshot:
            for place, number in enumerate(memoryview(part)[: 8 * numbers].cast("Q")):
                sums[place] += number
            behind = 8 * (numbers + sizes.mark_words)
            marks |= int.from_bytes(part[8 * numbers : behind], sys.byteorder)
            reached.update(number for number, flag in enumerate(part[behind:]) if flag)
        bits = (number for number in range(sizes.marks) if marks >> number & 1)
        return Totals(
            tuple(sums[:actions]), tuple(sums[actions:]), frozenset(bits), frozenset(reached)
        )

    def found(self) -> list[Found]:
        """The problems found since the last call, one a slot, by slots."""
        best: dict[int, Found] = {}
        for worker in self._workers:
            if worker.reported:
                for found in self._reports(worker):
                    known = best.get(found.slot)
                    if known is None or found.order < known.order:
                        best[found.slot] = found
                worker.clear_reports()
        return [best[slot] for slot in sorted(best)]

    def predecessors(self, level: int, states: Sequence[Packed]) -> list[Packed]:
        """For each state the least state of ``level`` that leads to it."""
        size = self._sizes.slots.words
        length = 2 * size * len(states)
        table = [0] * length
        for number, state in enumerate(states):
            table[2 * size * number : 2 * size * number + size] = state
        tables = [(ctypes.c_uint64 * length)(*table) for _ in self._workers]
        try:
            for worker, targets in zip(self._workers, tables, strict=True):
                worker.aim(ctypes.addressof(targets), len(states))
            self._crew.run(lambda worker: worker.search(level), self.size(level) >= FEW)
        finally:
            for worker in self._workers:
                worker.aim(0, 0)
        found: list[Packed] = []
        for number in range(len(states)):
            start = 2 * size * number + size
            best = [tuple(part[start : start + size]) for part in tables if part[start]]
            assert best, f"nothing at level {level} leads to {states[number]}"
            found.append(min(best, key=self._decode))
        return found

    def _reports(self, worker: Worker) -> list[Found]:
        slots, size = self._sizes.slots, self._sizes.slots.words
        found: list[Found] = []
        for slot in range(slots.count):
            record = worker.reports[slot * slots.size : (slot + 1) * slots.size]
            if record[Report.TAKEN]:
                state = record[Report.STATES : Report.STATES + size]
                before = record[Report.STATES + size :]
                site = record[Report.SITE]
                found.append(Found(slot, site, self._state(state), self._state(before)))
        return found

    def _state(self, packed: list[int]) -> State | None:
        return self._decode(tuple(packed)) if packed[0] else None


def portions(
    stores: Sequence[Sequence[Piece]], source: int, state_bytes: int
) -> Iterator[list[Piece]]:
    """What one worker has made of a level, to be expanded about in the order in which it was made.

    Each portion takes a like share of what went to each store.
    """
    mine = [[piece for piece in pieces if piece.source == source] for pieces in stores]
    totals = [sum(piece.states for piece in pieces) for pieces in mine]
    count = -(-sum(totals) // PORTION)
    for pieces in mine:
        pieces.reverse()
    taken = [0] * len(stores)
    for number in range(1, count + 1):
        portion: list[Piece] = []
        for place, pieces in enumerate(mine):
            wanted = totals[place] * number // count - taken[place]
            taken[place] += wanted
            while wanted:
                piece = pieces.pop()
                now = min(wanted, piece.states)
                portion.append(Piece(source, piece.address, now))
                wanted -= now
                if now < piece.states:
                    rest = piece.address + now * state_bytes
                    pieces.append(Piece(source, rest, piece.states - now))
        yield portion
