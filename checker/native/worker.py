"""One worker of a search: the states that it owns, and its part in the phases of a level.

A worker expands the states that it found itself, regardless of their owners. The same successors
then appear again nearby, and are dropped at once. Blocks take each successor to its owner. The crew
decides which worker works when.
"""

from __future__ import annotations

import ctypes
import time
from collections import deque
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Protocol

from fencepost.checker.native.codegen.context_words import Want, Word
from fencepost.checker.native.machine.build import Code, SetCode
from fencepost.checker.native.machine.memory import Memory, Region
from fencepost.checker.native.machine.worker_context import Context, Mark, Sizes, SlotReport
from fencepost.checker.native.visited.compressed import Compressed, rows_bytes
from fencepost.checker.native.visited.plan import Plan, Salts, chosen
from fencepost.checker.native.visited.store import (
    PIECE_STATES,
    DroppedStates,
    Piece,
    SeenStates,
    Store,
    Weights,
    parts,
)
from fencepost.checker.native.visited.tables import Visited
from fencepost.spec.semantics.concrete import Observer

SLICE = PIECE_STATES
"""The maximum number of states that one call of machine code expands or examines."""
LONG_SECONDS = 0.05
"""After a call that took longer, the next call gets fewer states."""
OWN_BLOCK = SENT_BLOCK = 1 << 16
"""The size in bytes of a block for the worker's own states, and of a block for the states of
another worker.

Blocks are small, so that merged states stay roughly in the order of their discovery, and the same
successors appear near each other in the next level, too. (With 1 << 17 and 1 << 18, two workers had
to merge a seventh more states, and took a tenth more time.)
"""
WAIT_SECONDS = 0.05
"""The time between two checks while a worker waits for another one, in seconds."""
SPARE_BLOCKS = 8
"""The number of blocks that a worker may have in transit, in addition to one for each other
worker.
"""
TABLES, MIN_TABLES = 64, 8
"""The number of tables of the visited set over all workers, and the minimum per worker."""


@dataclass(slots=True)
class Block:
    """Memory for ``count`` successors in transit. An empty block returns to ``home``."""

    home: Worker
    region: Region
    count: int = 0


class Crew(Protocol):
    """The operations of the crew that a worker needs."""

    workers: list[Worker]
    threaded: bool

    def tick(self, worker: Worker) -> None:
        """Called often. Raises an exception if every worker has to return."""
        ...

    def fail(self, error: BaseException) -> None:
        """Stops all workers. The call that started the phase raises the error."""
        ...


class Worker:
    """Worker ``number`` of the crew."""

    def __init__(
        self, number: int, owners: int, code: Code, memory: Memory, sizes: Sizes, crew: Crew
    ) -> None:
        self.number = number
        self.inbox: SimpleQueue[Block | None] = SimpleQueue()
        self._owners = owners
        self._code = code
        self._memory = memory
        self._crew = crew
        self._words = sizes.slots.words
        self.state_bytes = 8 * self._words
        self._blocks: list[Block | None] = [None] * owners
        self._free: list[Block] = []
        self._blocks_made = 0
        self._finished = 0
        self._slice = SLICE
        self.expanded = 0
        # The portions of a level to expand. This worker takes from the front; other workers take
        # from the back.
        self.portions: deque[list[Piece]] = deque()

        self._share = Context(memory, sizes, owners, self._deliver_full)
        self.context = self._share.address
        self._ctx = self._share.words
        self.tally, self.tally_size = self._share.tally, self._share.tally_size
        self.dropped = DroppedStates(self._share, self.state_bytes)
        self.weights = Weights(self._share, memory)

        tables = max(MIN_TABLES, TABLES // owners)
        self._visited: Visited | Compressed = Visited(
            code, memory, self._words, tables, self._share
        )
        self._next: Compressed | None = None
        self._next_store: Store | None = None
        self.store = Store(memory, self._words, number)
        # Memory for decoded states, and memory that decoding needs.
        self._room: Region | None = None
        self._rows: Region | None = None

    # ------------------------------------------------------------ phases

    def initial(self) -> int:
        """Computes the initial states for all owners. Returns the number of combinations of choices
        that gave an initial state.
        """
        self._code.initial(self.context)
        self._flush()
        return self._ctx[Word.STEPS]

    def expand(self) -> None:
        """Expands the worker's own portions, then those that other workers have left. Returns when
        the states sent to this worker have arrived as well.
        """
        workers = self._crew.workers
        while self.portions or (self._crew.threaded and any(w.portions for w in workers)):
            try:
                # Workers take their own portions from the front and those of others from the back,
                # so that neighbours stay together.
                if self.portions:
                    portion = self.portions.popleft()
                else:
                    portion = max(workers, key=lambda worker: len(worker.portions)).portions.pop()
            except IndexError:
                continue  # Another worker was faster.
            self.expanded += self._run(portion, True)
        self.finish()

    def finish(self) -> None:
        """Hands over the last states for other workers, and receives the last states from them."""
        self._flush()
        if self._crew.threaded:
            for other in self._crew.workers:
                if other is not self:
                    other.inbox.put(None)
            while self._finished < self._owners - 1:
                self._receive()
            self._finished = 0

    def examine(self) -> None:
        """Examines the worker's states of the last level, and keeps those inside the constraints.
        This can be stopped; another call continues.
        """
        store = self.store
        if store.begin_again():
            self.weights.begin(store.before)
        while (piece := store.again()) is not None:
            now = min(piece.states, store.room(), SLICE)
            kept = self._examine(piece.first(now), store.cursor)
            self.dropped.take(len(store.levels))
            store.append(piece.source, store.cursor + kept * store.entry_bytes)
            store.pass_by(self._ctx[Word.EXAMINED])
            self.pause()
        self.settle()

    def settle(self) -> None:
        """Keeps the states of the last level that have not been examined."""
        self.store.end_again()

    def _examine(self, piece: Piece, kept: int) -> int:
        """Examines at most `SLICE` of the worker's states, and writes entries for those that are
        kept to the address ``kept``. Returns the number of entries written.
        """
        states, entry_words = self.whole(piece), self._visited.entry_words
        self.dropped.begin()
        self._code.examine(self.context, states, piece.states, piece.address, entry_words, kept)
        return self._ctx[Word.DONE]

    def search(self, level: int) -> None:
        """Records, for each target, the least predecessor among the worker's states of a level."""
        for piece in self.store.levels[level - 1]:
            for part in parts(piece, self.store.entry_bytes):
                self._run([part])

    def whole(self, piece: Piece, place: int = 0) -> int:
        """Returns the address of the uncompressed states of a piece, which has at most `SLICE`
        states. Decoded states are valid until the next states are decoded at the same ``place``, an
        offset in states.
        """
        if piece.owner is None:
            return piece.address
        room = rows = 0
        if self._rows is not None and self._room is not None:
            room, rows = self._room.address + place * self.state_bytes, self._rows.address
        visited = self._crew.workers[piece.owner]._visited
        return visited.whole(piece.address, piece.states, room, rows)

    @property
    def visited(self) -> int:
        """The number of states that this worker owns, including dropped ones."""
        return self._visited.states

    def seen(self) -> Iterator[tuple[int, int]]:
        """Yields the addresses and counts of all states that this worker owns. Each is valid until
        the next one. The states must not be compressed.
        """
        assert isinstance(self._visited, Visited)
        return self._visited.gather(self._code, self._share)

    @property
    def capacities(self) -> list[int]:
        """The capacity of each of the worker's tables. The states must not be compressed."""
        assert isinstance(self._visited, Visited)
        return [self._visited.capacity(n) for n in range(self._ctx[Word.TABLE_COUNT])]

    def aim(self, targets: int, count: int) -> None:
        """Makes the worker search for predecessors of the states at an address. The address 0 ends
        this mode.
        """
        self._share.aim(targets, count)

    def watch(self, observer: Observer) -> None:
        """Reports the observations of machine code to an observer. An exception of the observer
        stops the crew.
        """

        def see(number: int, values: tuple[int, ...]) -> None:
            try:
                observer(number, values)
            except BaseException as error:
                self._crew.fail(error)

        self._share.watch(self._memory, see)

    # ------------------------------------------------------------ the graph, after a search

    def call(self, kernel: str, *arguments: int) -> int:
        """Calls the kernel with this name, then pauses. Returns the word DONE."""
        getattr(self._code, kernel)(self.context, *arguments)
        self.pause()
        return self._ctx[Word.DONE]

    def put(self, word: Word, value: int) -> None:
        """Sets a word of the context."""
        self._ctx[word] = value

    def get(self, word: Word) -> int:
        """Reads a word of the context."""
        return self._ctx[word]

    # ------------------------------------------------------------ between phases

    def open_level(self) -> None:
        """Begins a level. New states will belong to it. Called while no worker is running."""
        self.weights.expect(self.store.size(len(self.store.levels)))
        self.store.open_level()
        if isinstance(self._visited, Compressed):
            self._visited.settle()

    def count_from(self, mark: Mark) -> None:
        """Continues the counts of a saved search."""
        self._share.restore(mark.tally, mark.transitions, mark.stuck)
        self._share.stand_for = mark.stand_for
        self.expanded = mark.expanded

    @property
    def made(self) -> int:
        """The number of combinations of choices that gave an initial state."""
        return self._ctx[Word.STEPS]

    @property
    def transitions(self) -> int:
        """The number of completed steps."""
        return self._share.transitions

    @property
    def stuck(self) -> int:
        """The number of deadlocked states."""
        return self._share.stuck

    @property
    def stand_for(self) -> tuple[int, int]:
        """See `Context.stand_for`."""
        return self._share.stand_for

    def reports(self) -> list[SlotReport]:
        """Returns the findings in the slots, and empties the slots."""
        return self._share.take_reports()

    def look_for(self, deadlock: bool, properties: Container[int]) -> None:
        """Sets which findings count, in addition to those that always do."""
        self._share.look_for(deadlock, properties)

    def use(self, code: Code) -> None:
        """Switches to other code for the same model. The next call uses it."""
        self._code = code
        if isinstance(self._visited, Visited):
            self._visited.code = code

    # ------------------------------------------------------------ compressed

    def plan(self, code: SetCode, salts: Salts, states: Sequence[tuple[int, int]]) -> Plan | None:
        """Returns the compression plan for some states, or None; see `plan.chosen`."""
        crew, memory, words = self._crew, self._memory, self._words
        return chosen(code, self._share, memory, states, words, salts, lambda: crew.tick(self))

    def compress(self, plan: Plan, code: SetCode) -> None:
        """Compresses all states of this worker. `adopt` then switches to the compressed states, and
        `abandon` discards them. Raises `Exhausted`.
        """
        old, before = self._visited, self.store
        assert isinstance(old, Visited)
        compressed = self._next = Compressed(code, self._memory, plan, self._share, old.states)
        store = self._next_store = Store(self._memory, compressed.entry_words, self.number)
        self._rows = self._memory.take(rows_bytes(self._words))
        # A portion may be larger than `SLICE`, since its share from each store is rounded
        # separately.
        self._room = self._memory.take((SLICE + self._owners) * self.state_bytes)
        for number, level in enumerate(before.levels):
            if number:
                store.open_level()
            for piece in level:
                self._add(compressed, store, piece.source, piece.address, piece.states)
        if old.states > before.count:
            # States outside the constraints are in the tables, but in no level.
            store.open_level()
            for address, count in old.gather(self._code, self._share):
                self._add(compressed, store, self.number, address, count)
            store.drop_level()
        assert (compressed.states, store.count) == (old.states, before.count)

    def adopt(self) -> None:
        """Switches to the compressed states."""
        assert self._next is not None
        assert self._next_store is not None
        self._visited.close()
        self.store.close()
        self._visited, self.store = self._next, self._next_store
        self._next = self._next_store = None

    def abandon(self) -> None:
        """Discards the compressed states, so that the uncompressed ones stay in use."""
        for part in (self._next, self._next_store):
            if part is not None:
                part.close()
        for region in (self._room, self._rows):
            if region is not None:
                self._memory.give(region)
        self._next = self._next_store = self._room = self._rows = None

    def use_set(self, code: SetCode) -> None:
        """Switches to other code for compressed states. The next call uses it."""
        if isinstance(self._visited, Compressed):
            self._visited.code = code

    def stop(self, whether: bool = True) -> None:
        """Makes machine code return as soon as possible. With ``whether`` False, machine code can
        run again.
        """
        self._ctx[Word.STOP] = whether

    def forget_messages(self) -> None:
        """After a stop, gives back received blocks and empties the worker's own blocks without
        merging their states.
        """
        while not self.inbox.empty():
            block = self.inbox.get()
            if block is not None:
                block.home._free.append(block)
        for owner, mine in enumerate(self._blocks):
            if mine is not None:
                self._ctx[Word.BLOCKS + 2 * owner] = mine.region.address
        self.portions.clear()
        self._finished = 0

    # ------------------------------------------------------------ the work

    def _run(self, pieces: Sequence[Piece], last: bool = False) -> int:
        """Expands the states of some pieces, which form at most one portion, and returns the number
        of these states. ``last`` tells whether they belong to the last level examined.
        """
        numbers: list[int] = []
        offset, workers = 0, self._crew.workers
        for piece in pieces:
            weights = 0
            if last and piece.owner is not None:
                weights = workers[piece.owner].weights.address(piece.place)
            numbers += self.whole(piece, offset), piece.states, weights
            offset += piece.states
        table = (ctypes.c_uint64 * len(numbers))(*numbers)
        left = total = sum(numbers[1::3])
        while left:
            started = time.monotonic()
            self._code.expand(self.context, ctypes.addressof(table), len(pieces), self._slice)
            left -= self._ctx[Word.DONE]
            self._adapt(time.monotonic() - started)
            self.pause()
        return total

    def _adapt(self, seconds: float) -> None:
        """Keeps calls of machine code short, because signals are handled only between calls."""
        if seconds > LONG_SECONDS:
            self._slice = max(1, self._slice // 2)
        elif self._slice < SLICE:
            self._slice *= 2

    def merge(self, source: int, address: int, count: int) -> None:
        """Adds states that worker ``source`` has found to the visited set, and the new ones to the
        store.
        """
        self._add(self._visited, self.store, source, address, count)

    def _add(
        self, visited: SeenStates, store: Store, source: int, address: int, count: int
    ) -> None:
        ctx = self._ctx
        while count:
            ctx[Word.STORE], ctx[Word.STORE_END] = store.cursor, store.end
            visited.merge(address, count)
            store.append(source, ctx[Word.STORE])
            done = ctx[Word.DONE]
            count -= done
            address += done * self.state_bytes
            match ctx[Word.WANT]:
                case Want.PLACES:
                    visited.grow()
                case Want.ROOM:
                    store.extend()
                case _:
                    pass

    # ------------------------------------------------------------ blocks

    def _deliver_full(self, owner: int) -> None:
        """Called by machine code when a block is full. Delivers the block, and provides an empty
        one.
        """
        try:
            self._deliver(owner)
            self._crew.tick(self)
        except BaseException as error:
            # An exception cannot pass through machine code, which drops a state if its block stays
            # full.
            self._crew.fail(error)

    def _deliver(self, owner: int) -> None:
        """Delivers the block for an owner, and provides an empty one."""
        block, workers = self._blocks[owner], self._crew.workers
        position = Word.BLOCKS + 2 * owner
        if block is not None:
            block.count = (self._ctx[position] - block.region.address) // self.state_bytes
            if owner == self.number or not self._crew.threaded:
                workers[owner].merge(self.number, block.region.address, block.count)
            else:
                self._blocks[owner] = None
                self._ctx[position] = self._ctx[position + 1] = 0
                workers[owner].inbox.put(block)
                block = None
        if block is None:
            block = self._blocks[owner] = self._empty_block(owner)
        start = block.region.address
        self._ctx[position] = start
        self._ctx[position + 1] = start + block.region.size // self.state_bytes * self.state_bytes

    def _flush(self) -> None:
        """Delivers all blocks that are not empty."""
        for owner, block in enumerate(self._blocks):
            if block is not None and self._ctx[Word.BLOCKS + 2 * owner] != block.region.address:
                self._deliver(owner)

    def _empty_block(self, owner: int) -> Block:
        if self._free:
            return self._free.pop()
        if owner == self.number or not self._crew.threaded:
            size = OWN_BLOCK if owner == self.number else SENT_BLOCK
            return Block(self, self._memory.take(max(size, self.state_bytes)))
        if self._blocks_made < self._owners - 1 + SPARE_BLOCKS:
            self._blocks_made += 1
            return Block(self, self._memory.take(max(SENT_BLOCK, self.state_bytes)))
        while not self._free:
            self._receive()
        return self._free.pop()

    def pause(self) -> None:
        """Receives the blocks that have arrived. Called between calls of machine code."""
        while not self.inbox.empty():
            self._receive()
        self._crew.tick(self)

    def _receive(self) -> None:
        """Waits for a message, and handles it."""
        while True:
            try:
                message = self.inbox.get(timeout=WAIT_SECONDS)
                break
            except Empty:
                self._crew.tick(self)
        if message is None:
            self._finished += 1
        elif message.home is self:
            self._free.append(message)
        else:
            self.merge(message.home.number, message.region.address, message.count)
            message.home.inbox.put(message)
