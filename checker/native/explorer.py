"""A search level by level in machine code, in terms of packed states, slots and counts.

It does not know models: what makes a problem of what was found, and what to print, is decided
elsewhere.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Container, Iterable, Iterator, Sequence

from fencepost.checker.native.machine.build import Code, SetCode
from fencepost.checker.native.machine.memory import Memory, words
from fencepost.checker.native.machine.spill import Spill
from fencepost.checker.native.machine.worker_context import Mark, Packed, Reported, Sizes
from fencepost.checker.native.visited.plan import Plan, Salts
from fencepost.checker.native.visited.store import Piece, parts
from fencepost.checker.native.worker import SLICE, Worker
from fencepost.checker.native.worker_pool import Crew
from fencepost.checker.resources import Exhausted
from fencepost.checker.search.states import NoPredecessor
from fencepost.spec.core.types import State
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.concrete import Observer

PORTION = 2048
"""The number of states that a worker expands before another one may go on."""
SAMPLE = 1 << 17
"""The number of states from which a tree is chosen."""
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
        spill: Spill | None = None,
    ) -> None:
        self.level = 1
        self.spill = spill
        self.initial = 0
        self.state_bytes = 8 * sizes.slots.words
        self._stood_for = 0
        self._sizes = sizes
        self.memory = memory
        self._decode = decode
        # Code in use may be exchanged by what it calls, and must outlive its return.
        self._codes = [code]
        self._set_codes: list[SetCode] = []
        self._crew = Crew(owners, code, memory, sizes, look)
        self._workers = self._crew.workers

    def watch(self, observer: Observer) -> None:
        """Tells what is seen from now on."""
        for worker in self._workers:
            worker.watch(observer)

    # ------------------------------------------------------------ the search

    def begin(self) -> None:
        """Finds the initial states."""
        first = self._workers[0]

        def make(worker: Worker) -> None:
            if worker is first:
                worker.initial()

        try:
            self._crew.run(make, False)
        finally:
            self.initial = first.made

    def examine(self) -> None:
        """Looks at the new states, and drops those outside the constraints. Where it was stopped,
        it goes on when it is called again.
        """
        self._crew.run(Worker.examine, self.size(self.level) >= FEW)

    def settle(self) -> None:
        """Gives up looking at the rest of the new states, which stay."""
        for worker in self._workers:
            worker.settle()

    def expand(self) -> None:
        """Finds the successors of the states of the last level: another level."""
        few = self.size(self.level) < FEW
        for worker in self._workers:
            pieces = [other.store.levels[-1] for other in self._workers]
            entry_bytes = worker.store.entry_bytes
            worker.portions.extend(portions(pieces, worker.number, entry_bytes))
        self._expand(not few)

    def _expand(self, threaded: bool) -> None:
        """Finds another level, from the states that workers are to expand."""
        self.begin_level()
        self._crew.run(Worker.expand, threaded)

    def begin_level(self) -> None:
        """States that are new from now on belong to another level."""
        if self.spill is not None:
            self.spill.forget_pages()
            for worker in self._workers if self.spill.wanted else ():
                worker.store.put_away(self.spill)
        for worker in self._workers:
            worker.open_level()
        self.level += 1
        self._stood_for = self._inside_for

    def keep_dropped(self) -> None:
        """Keeps the states outside constraints that are dropped, to be saved."""
        for worker in self._workers:
            worker.dropped.keep(self.memory, SLICE)

    def keep_weights(self) -> None:
        """Keeps for how many states those of the last level stand, as symmetry is used."""
        for worker in self._workers:
            worker.weights.keep()

    def count_from(self, mark: Mark, initial: int, last: int) -> None:
        """Goes on with the counts of a search that was saved; where symmetry is used, the states of
        the last level stand for ``last``.
        """
        self._workers[0].count_from(mark)
        self.initial = initial
        self._stood_for = mark.stand_for[0] - last

    def share(self, phase: Callable[[Worker], None], threaded: bool = True) -> None:
        """Has every worker do its part of some work; raises what stopped it."""
        self._crew.run(phase, threaded)

    def pause(self) -> None:
        """Looks whether to go on, between pieces of work; raises what stops it."""
        self._crew.pause()

    @property
    def workers(self) -> Sequence[Worker]:
        return self._workers

    def look_for(self, deadlock: bool, properties: Container[int]) -> None:
        """Says what is a problem from now on, beside what always is."""
        for worker in self._workers:
            worker.look_for(deadlock, properties)

    def use(self, code: Code) -> None:
        """Goes on with other code for the same model."""
        self._codes.append(code)
        for worker in self._workers:
            worker.use(code)

    # ------------------------------------------------------------ compressed

    @property
    def compressed(self) -> bool:
        """Whether the states are kept compressed."""
        return bool(self._set_codes)

    def compress(self, code: SetCode, salts: Salts) -> bool:
        """Keeps the states compressed from now on, if enough of their words occur in many of them
        and there is room for the change; whether that is so.
        """
        try:
            plan = self._plan(code, salts)
            if plan is None:
                return False
            self._crew.run(lambda worker: worker.compress(plan, code), True)
        except BaseException as error:
            for worker in self._workers:
                worker.abandon()
            if not isinstance(error, Exhausted):
                raise
            self.resume()
            return False
        for worker in self._workers:
            worker.adopt()
        self._set_codes.append(code)
        return True

    def _plan(self, code: SetCode, salts: Salts) -> Plan | None:
        states: list[tuple[int, int]] = []
        left = SAMPLE
        for level in range(1, self.level + 1):
            for address, count in self.pieces(level):
                states.append((address, min(count, left)))
                left -= states[-1][1]
        return self._workers[0].plan(code, salts, [part for part in states if part[1]])

    def use_set(self, code: SetCode) -> None:
        """Goes on with other code for compressed states."""
        self._set_codes.append(code)
        for worker in self._workers:
            worker.use_set(code)

    def stop(self, error: BaseException) -> None:
        """Ends the work as soon as possible, from any thread; who waits for it gets ``error``."""
        self._crew.fail(error)

    def resume(self) -> None:
        """Goes on after the work was stopped, to look back."""
        self._crew.resume()

    def close(self) -> None:
        """Ends the work, and frees the memory."""
        self._crew.close()
        self.memory.close()
        if self.spill is not None:
            self.spill.close()

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
    def outside(self) -> int:
        """How many states seen were dropped, since they are outside the constraints."""
        return self.visited - self.states

    @property
    def stand_for(self) -> int:
        """Where symmetry is used: for how many states those of the last level stand."""
        return self._inside_for - self._stood_for

    @property
    def _inside_for(self) -> int:
        return sum(worker.stand_for[0] for worker in self._workers)

    @property
    def outside_for(self) -> int:
        """Where symmetry is used: for how many states those stand that were dropped."""
        return sum(worker.stand_for[1] for worker in self._workers)

    @property
    def stuck(self) -> int:
        """How many states were stuck."""
        return sum(worker.stuck for worker in self._workers)

    def size(self, level: int) -> int:
        """How many states a level has."""
        return sum(worker.store.size(level) for worker in self._workers)

    def has(self, level: int) -> bool:
        """Whether there is a level of this number."""
        return level <= self.level

    def pieces(self, level: int) -> Iterator[tuple[int, int]]:
        """Where the states of a level are: addresses and numbers; not of compressed ones."""
        assert not self.compressed
        self.check(level)
        for worker in self._workers:
            for piece in worker.store.levels[level - 1]:
                yield piece.address, piece.states

    def seen(self) -> Iterator[tuple[int, int]]:
        """All states seen, also those outside constraints: addresses and numbers, each good until
        the next.
        """
        for worker in self._workers:
            yield from worker.seen()

    @property
    def visited(self) -> int:
        """How many states were seen, also those outside constraints."""
        return sum(worker.visited for worker in self._workers)

    def packed(self, level: int) -> Iterator[Packed]:
        """The states of a level, worker by worker."""
        size = self._sizes.slots.words
        for address, count in self._decoded(level):
            found = words(address, count * size)
            for place in range(0, count * size, size):
                yield tuple(found[place : place + size])

    def _decoded(self, level: int) -> Iterator[tuple[int, int]]:
        """Where the states of a level are, worker by worker; each is good until the next."""
        self.check(level)
        for worker in self._workers:
            for piece in worker.store.levels[level - 1]:
                for part in parts(piece, worker.store.entry_bytes):
                    yield worker.whole(part), part.states
                    self._crew.pause()

    def check(self, level: int) -> None:
        """That the states of a level, where they were put away, are as they were. Raises `Lost`."""
        if self.spill is not None:
            for worker in self._workers:
                self.spill.check(worker.store.regions(level))

    def snapshot(self) -> list[bytes]:
        """The tallies up to now, for `worker_context.totals`; taken often, read once."""
        return [ctypes.string_at(w.tally.address, w.tally_size) for w in self._workers]

    def found(self) -> list[Found]:
        """The problems found since the last call, one a slot, by slots. They wait here until they
        are asked for, whatever else is called. As they belong to the last level that was begun,
        they are to be taken before the next one.
        """
        reported = [report for worker in self._workers for report in worker.reports()]
        return least(reported, self._decode)

    def predecessors(self, level: int, states: Sequence[Packed]) -> list[Packed]:
        """For each state the least state of ``level`` that leads to it."""
        self.check(level)
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
            if not best:
                raise NoPredecessor(level, states[number])
            found.append(min(best, key=self._decode))
        return found


def least(reported: Iterable[Reported], decode: Callable[[Packed], State]) -> list[Found]:
    """Of the problems in the slots of all workers the least, one a slot, by slots."""
    best: dict[int, Found] = {}
    for slot, site, *states in reported:
        state, before = (None if one is None else decode(one) for one in states)
        found = Found(slot, site, state, before)
        known = best.get(slot)
        if known is None or found.order < known.order:
            best[slot] = found
    return [best[slot] for slot in sorted(best)]


def portions(
    stores: Sequence[Sequence[Piece]], source: int, entry_bytes: int
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
                portion.append(piece.first(now))
                wanted -= now
                if now < piece.states:
                    pieces.append(piece.behind(now, entry_bytes))
        yield portion
