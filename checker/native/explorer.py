"""Searches level by level in machine code, in terms of packed states, slots and counts. The workers
of the search run one after another in this thread, or each in its own thread.

Callers turn the findings into violations and reports.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from queue import Empty, SimpleQueue
from typing import TypeAlias

from fencepost.checker.native.machine.build import Code, SetCode
from fencepost.checker.native.machine.memory import Memory, words
from fencepost.checker.native.machine.spill import Spill
from fencepost.checker.native.machine.worker_context import Mark, Packed, Sizes, SlotReport
from fencepost.checker.native.visited.plan import Plan, Salts
from fencepost.checker.native.visited.store import Piece, parts
from fencepost.checker.native.worker import SLICE, WAIT_SECONDS, Worker
from fencepost.checker.resources import Exhausted
from fencepost.checker.search.states import NoPredecessor
from fencepost.spec.core.types import State
from fencepost.spec.records import dataclass
from fencepost.spec.semantics.concrete import Observer

Phase: TypeAlias = Callable[[Worker], None]


class Stopped(Exception):
    """The work is being stopped. The reason is raised elsewhere."""


class Crew:
    """A crew of ``owners`` workers. ``look`` is called often, always in the thread that calls
    `run`. If it raises an exception, the work stops.
    """

    def __init__(
        self, owners: int, code: Code, memory: Memory, sizes: Sizes, look: Callable[[], None]
    ) -> None:
        self.threaded = False
        self.workers: list[Worker] = []
        self._look = look
        self._error: BaseException | None = None
        # `fail` may be called from any thread at any time, but must not overlap with `resume`.
        # Otherwise workers could be stopped without an error, and return partial results as
        # complete ones.
        self._failing = threading.Lock()
        self._running = False
        self._tasks: list[SimpleQueue[Phase | None]] = []
        self._done: SimpleQueue[int] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        for number in range(owners):
            self.workers.append(Worker(number, owners, code, memory, sizes, self))

    def run(self, phase: Phase, threaded: bool) -> None:
        """Runs a phase on every worker. If an error stops the phase, raises this error once all
        workers have stopped.
        """
        self._running = True
        try:
            self._run(phase, threaded)
        finally:
            self._running = False

    def _run(self, phase: Phase, threaded: bool) -> None:
        self.threaded = threaded and len(self.workers) > 1
        waiting = 0
        if self.threaded:
            try:
                self._begin()
            except Exhausted as error:
                self.fail(error)
                raise
            waiting = len(self._tasks)
            for tasks in self._tasks:
                tasks.put(phase)
        try:
            for worker in self.workers[:1] if self.threaded else self.workers:
                phase(worker)
        except BaseException as error:
            self.fail(error)
        while waiting:
            try:
                self._done.get(timeout=WAIT_SECONDS)
                waiting -= 1
            except Empty:
                self._check()
        if self._error is not None:
            raise self._error

    def resume(self) -> None:
        """Prepares the workers for another phase after a phase was stopped."""
        with self._failing:
            self._error = None
            for worker in self.workers:
                worker.forget_messages()
                worker.stop(False)

    def pause(self) -> None:
        """Checks whether to continue, while no worker is running. Raises the exception that stops
        the work.
        """
        if self._error is not None:
            raise self._error
        self._look()

    def close(self) -> None:
        """Ends the threads."""
        for tasks in self._tasks:
            tasks.put(None)
        for thread in self._threads:
            thread.join()

    # ------------------------------------------------------------ called by workers

    def tick(self, worker: Worker) -> None:
        """Called often. Raises an exception if every worker has to return. Within `run`, this is
        `Stopped`, and `run` itself raises the error. If a worker is called directly, it is the
        error.
        """
        if self._error is not None:
            raise Stopped if self._running else self._error
        if worker.number == 0 or not self.threaded:
            self._look()

    def fail(self, error: BaseException) -> None:
        """Stops all workers; `run` raises the first error."""
        with self._failing:
            if self._error is None and not isinstance(error, Stopped):
                self._error = error
                for worker in self.workers:
                    worker.stop()

    # ------------------------------------------------------------ threads

    def _begin(self) -> None:
        for worker in self.workers[len(self._tasks) + 1 :]:
            tasks: SimpleQueue[Phase | None] = SimpleQueue()
            name = f"fencepost worker {worker.number}"
            thread = threading.Thread(target=self._work, args=(worker, tasks), name=name)
            thread.daemon = True
            try:
                thread.start()
            except RuntimeError:  # There is no memory for its stack.
                raise Exhausted from None
            self._tasks.append(tasks)
            self._threads.append(thread)

    def _work(self, worker: Worker, tasks: SimpleQueue[Phase | None]) -> None:
        while True:
            phase = tasks.get()
            if phase is None:
                return
            try:
                phase(worker)
            except BaseException as error:
                self.fail(error)
            self._done.put(worker.number)

    def _check(self) -> None:
        try:
            self._look()
        except BaseException as error:
            self.fail(error)


PORTION = 2048
"""The number of states that a worker expands before it takes another portion."""
SAMPLE, MAX_SAMPLE = 1 << 17, 1 << 19
"""The number of states in the sample that first decides on compression, and in later samples."""
MIN_PARALLEL = 2000
"""The minimum size of a level that is worth waking other threads."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding that a slot holds: where the evaluation failed, the least state with this
    finding, and its predecessor if it matters.
    """

    slot: int
    site: int
    state: State | None
    before: State | None

    @property
    def order(self) -> tuple[State, State]:
        """The key that orders findings of the same slot."""
        return self.state or (), self.before or ()


class Explorer:
    """The states found so far. ``level`` is the number of the last level begun; its states can be
    expanded once they have been examined.

    ``look`` is called often. An exception that it raises stops the work, and is raised by the
    method that was called.
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
        self.refused: str | None = None
        """Why the last attempt to compress the states failed."""
        self.spill = spill
        self.initial = 0
        self.state_bytes = 8 * sizes.slots.words
        self._stood_for = 0
        self._sizes = sizes
        self.memory = memory
        self._decode = decode
        # Code that is replaced may still be running, so it is kept.
        self._codes = [code]
        self._set_codes: list[SetCode] = []
        self._crew = Crew(owners, code, memory, sizes, look)
        self._workers = self._crew.workers

    def watch(self, observer: Observer) -> None:
        """Makes the workers report observations to an observer."""
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
        """Examines the new states, and drops those outside the constraints. After an interruption,
        another call continues the work.
        """
        self._crew.run(Worker.examine, self.size(self.level) >= MIN_PARALLEL)

    def settle(self) -> None:
        """Keeps the new states that have not been examined, without examining them."""
        for worker in self._workers:
            worker.settle()

    def expand(self) -> None:
        """Finds the successors of the states in the last level. They form the next level."""
        few = self.size(self.level) < MIN_PARALLEL
        for worker in self._workers:
            pieces = [other.store.levels[-1] for other in self._workers]
            entry_bytes = worker.store.entry_bytes
            worker.portions.extend(portions(pieces, worker.number, entry_bytes))
        self._expand(not few)

    def _expand(self, threaded: bool) -> None:
        """Finds the states of another level by expanding the portions of the workers."""
        self.begin_level()
        self._crew.run(Worker.expand, threaded)

    def begin_level(self) -> None:
        """Begins the next level. New states will belong to it."""
        if self.spill is not None:
            self.spill.forget_pages()
            for worker in self._workers if self.spill.wanted else ():
                worker.store.put_away(self.spill)
        for worker in self._workers:
            worker.open_level()
        self.level += 1
        self._stood_for = self._inside_for

    def keep_dropped(self) -> None:
        """Keeps the states that the constraints drop, so that they can be saved."""
        for worker in self._workers:
            worker.dropped.keep(self.memory, SLICE)

    def keep_weights(self) -> None:
        """If symmetry is used, keeps the sizes of the orbits that the states of the last level
        represent.
        """
        for worker in self._workers:
            worker.weights.keep()

    def count_from(self, mark: Mark, initial: int, last: int) -> None:
        """Continues the counts of a saved search. If symmetry is used, the states of the last level
        represent ``last`` states.
        """
        self._workers[0].count_from(mark)
        self.initial = initial
        self._stood_for = mark.stand_for[0] - last

    def share(self, phase: Callable[[Worker], None], threaded: bool = True) -> None:
        """Runs a phase on every worker. Raises the error that stopped the phase."""
        self._crew.run(phase, threaded)

    def pause(self) -> None:
        """Checks whether to continue, between two pieces of work. Raises the exception that stops
        the work.
        """
        self._crew.pause()

    @property
    def workers(self) -> Sequence[Worker]:
        return self._workers

    def look_for(self, deadlock: bool, properties: Container[int]) -> None:
        """Sets which findings count, in addition to those that always do."""
        for worker in self._workers:
            worker.look_for(deadlock, properties)

    def use(self, code: Code) -> None:
        """Switches to other code for the same model."""
        self._codes.append(code)
        for worker in self._workers:
            worker.use(code)

    # ------------------------------------------------------------ compressed

    @property
    def compressed(self) -> bool:
        """Whether the states are kept compressed."""
        return bool(self._set_codes)

    def compress(self, code: SetCode, salts: Salts, sample: int = SAMPLE) -> bool:
        """Switches to compressed states if ``sample`` of them share enough parts and there is
        enough memory for the change. Returns whether it switched.
        """
        try:
            plan = self._plan(code, salts, sample)
            if plan is None:
                self.refused = "they share too little"
                return False
            self._crew.run(lambda worker: worker.compress(plan, code), True)
        except BaseException as error:
            for worker in self._workers:
                worker.abandon()
            if not isinstance(error, Exhausted):
                raise
            self.resume()
            self.refused = "there was too little memory for the change"
            return False
        for worker in self._workers:
            worker.adopt()
        self._set_codes.append(code)
        return True

    def _plan(self, code: SetCode, salts: Salts, left: int) -> Plan | None:
        states: list[tuple[int, int]] = []
        for level in range(1, self.level + 1):
            for address, count in self.pieces(level):
                states.append((address, min(count, left)))
                left -= states[-1][1]
        return self._workers[0].plan(code, salts, [part for part in states if part[1]])

    def use_set(self, code: SetCode) -> None:
        """Switches to other code for compressed states."""
        self._set_codes.append(code)
        for worker in self._workers:
            worker.use_set(code)

    def stop(self, error: BaseException) -> None:
        """Ends the work as soon as possible; may be called from any thread. Callers that wait for
        the work get ``error``.
        """
        self._crew.fail(error)

    def resume(self) -> None:
        """Prepares for looking back at states after an interruption."""
        self._crew.resume()

    def close(self) -> None:
        """Ends the work and frees the memory."""
        self._crew.close()
        self.memory.close()
        if self.spill is not None:
            self.spill.close()

    # ------------------------------------------------------------ what was found

    @property
    def states(self) -> int:
        """The number of states. Once a level has been examined, its states outside the constraints
        do not count.
        """
        return sum(worker.store.count for worker in self._workers)

    @property
    def transitions(self) -> int:
        """The number of completed steps."""
        return sum(worker.transitions for worker in self._workers)

    @property
    def expanded(self) -> int:
        """The number of expanded states."""
        return sum(worker.expanded for worker in self._workers)

    @property
    def outside(self) -> int:
        """The number of visited states dropped by the constraints."""
        return self.visited - self.states

    @property
    def stand_for(self) -> int:
        """The number of states that the last level represents, if symmetry is used."""
        return self._inside_for - self._stood_for

    @property
    def _inside_for(self) -> int:
        return sum(worker.stand_for[0] for worker in self._workers)

    @property
    def outside_for(self) -> int:
        """The number of states that the dropped ones represent, if symmetry is used."""
        return sum(worker.stand_for[1] for worker in self._workers)

    @property
    def stuck(self) -> int:
        """The number of deadlocked states."""
        return sum(worker.stuck for worker in self._workers)

    def size(self, level: int) -> int:
        """The number of states of a level."""
        return sum(worker.store.size(level) for worker in self._workers)

    def has(self, level: int) -> bool:
        """Whether a level exists."""
        return level <= self.level

    def pieces(self, level: int) -> Iterator[tuple[int, int]]:
        """Yields the addresses and counts of the states of a level, which must not be
        compressed.
        """
        assert not self.compressed
        self.check(level)
        for worker in self._workers:
            for piece in worker.store.levels[level - 1]:
                yield piece.address, piece.states

    def seen(self) -> Iterator[tuple[int, int]]:
        """Yields the addresses and counts of all visited states, including those outside the
        constraints. Each is valid until the next one.
        """
        for worker in self._workers:
            yield from worker.seen()

    @property
    def visited(self) -> int:
        """The number of visited states, including those outside the constraints."""
        return sum(worker.visited for worker in self._workers)

    def packed(self, level: int) -> Iterator[Packed]:
        """Yields the states of a level, worker by worker."""
        size = self._sizes.slots.words
        for address, count in self._decoded(level):
            buffer = words(address, count * size)
            for start in range(0, count * size, size):
                yield tuple(buffer[start : start + size])

    def _decoded(self, level: int) -> Iterator[tuple[int, int]]:
        """Yields the addresses and counts of the uncompressed states of a level, worker by worker.
        Each is valid until the next one.
        """
        self.check(level)
        for worker in self._workers:
            for piece in worker.store.levels[level - 1]:
                for part in parts(piece, worker.store.entry_bytes):
                    yield worker.whole(part), part.states
                    self._crew.pause()

    def check(self, level: int) -> None:
        """Verifies the spilled states of a level. Raises `Lost` if they have changed."""
        if self.spill is not None:
            for worker in self._workers:
                self.spill.check(worker.store.regions(level))

    def snapshot(self) -> list[bytes]:
        """Returns the current tallies, for `worker_context.totals`. Tallies are copied often, but
        rarely evaluated.
        """
        return [ctypes.string_at(w.tally.address, w.tally_size) for w in self._workers]

    def found(self) -> list[Finding]:
        """Returns the findings since the last call, at most one per slot, ordered by slot. They
        belong to the last level begun, so callers must read them before the next level begins.
        """
        reported = [report for worker in self._workers for report in worker.reports()]
        return least(reported, self._decode)

    def predecessors(self, level: int, states: Sequence[Packed]) -> list[Packed]:
        """Returns the least predecessor in ``level`` of each state. Raises `NoPredecessor`."""
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
            self._crew.run(lambda worker: worker.search(level), self.size(level) >= MIN_PARALLEL)
        finally:
            for worker in self._workers:
                worker.aim(0, 0)
        least_predecessors: list[Packed] = []
        for number in range(len(states)):
            start = 2 * size * number + size
            best = [tuple(part[start : start + size]) for part in tables if part[start]]
            if not best:
                raise NoPredecessor(level, states[number])
            least_predecessors.append(min(best, key=self._decode))
        return least_predecessors


def least(reported: Iterable[SlotReport], decode: Callable[[Packed], State]) -> list[Finding]:
    """Returns the least finding of each slot among the reports of all workers, ordered by slot."""
    best: dict[int, Finding] = {}
    for slot, site, *states in reported:
        state, before = (None if packed is None else decode(packed) for packed in states)
        finding = Finding(slot, site, state, before)
        current = best.get(slot)
        if current is None or finding.order < current.order:
            best[slot] = finding
    return [best[slot] for slot in sorted(best)]


def portions(
    stores: Sequence[Sequence[Piece]], source: int, entry_bytes: int
) -> Iterator[list[Piece]]:
    """Yields the states that one worker found in a level, in portions, roughly in the order of
    their discovery.

    Each portion takes a proportional share from each store.
    """
    mine = [[piece for piece in pieces if piece.source == source] for pieces in stores]
    totals = [sum(piece.states for piece in pieces) for pieces in mine]
    count = -(-sum(totals) // PORTION)
    for pieces in mine:
        pieces.reverse()
    taken = [0] * len(stores)
    for number in range(1, count + 1):
        portion: list[Piece] = []
        for store, pieces in enumerate(mine):
            wanted = totals[store] * number // count - taken[store]
            taken[store] += wanted
            while wanted:
                piece = pieces.pop()
                now = min(wanted, piece.states)
                portion.append(piece.first(now))
                wanted -= now
                if now < piece.states:
                    pieces.append(piece.behind(now, entry_bytes))
        yield portion
