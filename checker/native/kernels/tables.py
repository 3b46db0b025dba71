"""The uncompressed visited set in machine code: hash tables with open addressing that store whole
states.

A slot is free if bit 63 of its first word is 0. Home slots increase with the hash, so a table can
be copied into a larger one from front to back, and spread in place from back to front.
"""

from __future__ import annotations

from fencepost.checker.native.codegen.context_words import TABLE_WORDS, Table, Word
from fencepost.checker.native.codegen.emitter import I64, LLVM, PTR, Emitter, Unit, word
from fencepost.checker.native.codegen.flow import count_up, each, exported, when
from fencepost.checker.native.codegen.packed import (
    address,
    copy,
    hashed,
    home_of,
    prefetch,
    same,
    table_of,
)


class Tables:
    """Implements `VisitedSet`."""

    def define(self, unit: Unit, words: int) -> None:
        """Adds the kernels that `visited.tables` calls, for states of ``words`` words."""
        _rehash(exported(unit, "rehash", [PTR, I64, PTR, I64]), words)
        _spread(exported(unit, "spread", [PTR, PTR, I64, I64, PTR, I64]), words)
        _gather(exported(unit, "gather", [PTR, PTR, I64, PTR]), words)

    def lookup(self, e: Emitter, words: int, most: int) -> _Lookup:
        """See `VisitedSet`."""
        return _Lookup(e, words, most)


class _Lookup:
    """Implements `search_kernels.Lookup`."""

    def __init__(self, e: Emitter, words: int, most: int) -> None:
        self._e = e
        self._words = words
        self._ctx = e.arguments[0]
        self._tables = e.pointer(self._ctx, Word.TABLES)
        self._count = e.get(self._ctx, Word.TABLE_COUNT)
        # The table and the home slot of each state.
        self._own, self._homes = e.words(most), e.words(most)
        self._place = e.cell(PTR)

    @property
    def place(self) -> LLVM:
        """The slot of the state if it was found, or else the slot where it can be added."""
        return self._e.load(self._place, PTR)

    def table(self, number: LLVM) -> LLVM:
        """Returns the table of state ``number``."""
        return self._e.load(self._e.index(self._own, number), PTR)

    def seek(self, number: LLVM, state: LLVM) -> None:
        e, words = self._e, self._words
        hash_ = hashed(e, words, state)
        table = e.index(self._tables, e.mul(table_of(e, hash_, self._count), word(TABLE_WORDS)))
        home = e.index(
            e.pointer(table, Table.ADDRESS),
            e.mul(home_of(e, hash_, e.get(table, Table.CAPACITY)), word(words)),
        )
        prefetch(e, home)
        if words > 1:
            prefetch(e, e.index(home, words - 1))
        e.store(table, e.index(self._own, number))
        e.store(home, e.index(self._homes, number))

    def find(self, number: LLVM, state: LLVM, seen: LLVM) -> None:
        e, words = self._e, self._words
        e.store(e.load(e.index(self._homes, number), PTR), self._place)
        probe, differs, onward, wrap = (e.block(name) for name in ("probe", "other", "on", "wrap"))
        e.goto(probe)
        e.at(probe)
        here = self.place
        e.branch(same(e, words, here, state), seen, differs)
        e.at(differs)
        new = e.block("new")
        e.branch(e.eq(e.load(here), word(0)), new, onward)
        e.at(onward)
        table = self.table(number)
        follower = e.index(here, words)
        e.store(follower, self._place)
        start = e.pointer(table, Table.ADDRESS)
        last = e.index(start, e.mul(e.get(table, Table.CAPACITY), word(words)))
        e.unlikely(e.eq(follower, last), wrap, probe)
        e.at(wrap)
        e.store(start, self._place)
        e.goto(probe)
        e.at(new)

    def full(self, number: LLVM) -> LLVM:
        e = self._e
        table = self.table(number)
        return e.invert(e.ult(e.get(table, Table.COUNT), e.get(table, Table.LIMIT)))

    def want_room(self, number: LLVM) -> None:
        e = self._e
        table = self.table(number)
        offset = e.sub(address(e, table), address(e, self._tables))
        e.put(self._ctx, Word.FULL_TABLE, e.udiv(offset, word(8 * TABLE_WORDS)))

    def add(self, number: LLVM, state: LLVM) -> None:
        e = self._e
        table = self.table(number)
        e.put(table, Table.COUNT, e.add(e.get(table, Table.COUNT), word(1)))
        copy(e, self._words, self.place, state)


def _rehash(e: Emitter, words: int) -> None:
    """rehash(old, old capacity, new, new capacity): copies the states of a table into an empty
    table.
    """
    old, old_capacity, new, new_capacity = e.arguments
    last = e.index(new, e.mul(new_capacity, word(words)))
    with each(e, old_capacity) as number:
        state = e.index(old, e.mul(number, word(words)))
        with when(e, e.ne(e.load(state), word(0))):
            home = home_of(e, hashed(e, words, state), new_capacity)
            _enter(e, words, state, e.index(new, e.mul(home, word(words))), new, last)
    e.ret()


def _spread(e: Emitter, words: int) -> None:
    """spread(ctx, table, left, capacity, aside, room): spreads the states in the first ``left``
    slots of a table over ``capacity`` slots. All other slots must be free.

    States move to their new homes, or to the next free slot, in order from the last state to the
    first. If that slot is not after all states that have yet to move, moving those states could
    leave a gap before it. Such a state waits in ``aside``, which has room for ``room`` states;
    ASIDE is the number of waiting states. The waiting states are added at the end. If ``aside`` is
    full, the kernel returns early, and DONE is the number of slots left to process.
    """
    ctx, table, left, capacity, aside, room = e.arguments
    last = e.index(table, e.mul(capacity, word(words)))
    state, slot, rest, waiting = e.words(words), e.cell(PTR), e.cell(), e.cell()
    e.store(left, rest)
    e.store(e.get(ctx, Word.ASIDE), waiting)

    def leave() -> None:
        e.put(ctx, Word.DONE, e.load(rest))
        e.put(ctx, Word.ASIDE, e.load(waiting))
        e.ret()

    head, body, end = e.block("head"), e.block("one"), e.block("behind")
    e.goto(head)
    e.at(head)
    e.branch(e.as_flag(e.load(rest)), body, end)
    e.at(body)
    number = e.sub(e.load(rest), word(1))
    old = e.index(table, e.mul(number, word(words)))
    with when(e, e.ne(e.load(old), word(0))):
        probe, onward, free, wait, gone = (e.block() for _ in range(5))
        home = home_of(e, hashed(e, words, old), capacity)
        copy(e, words, state, old)
        e.store(word(0), old)
        e.store(e.index(table, e.mul(home, word(words))), slot)
        e.unlikely(e.ult(home, number), wait, probe)
        e.at(probe)
        here = e.load(slot, PTR)
        e.branch(e.eq(e.load(here), word(0)), free, onward)
        e.at(onward)
        follower = e.index(here, words)
        e.store(follower, slot)
        e.unlikely(e.eq(follower, last), wait, probe)
        e.at(free)
        copy(e, words, here, state)
        e.goto(gone)
        e.at(wait)
        taken = e.load(waiting)
        with when(e, e.invert(e.ult(taken, room)), rare=True):
            copy(e, words, old, state)
            leave()
        copy(e, words, e.index(aside, e.mul(taken, word(words))), state)
        e.store(e.add(taken, word(1)), waiting)
        e.goto(gone)
        e.at(gone)
    e.store(number, rest)
    e.goto(head)

    e.at(end)
    with each(e, e.load(waiting)) as position:
        entered = e.index(aside, e.mul(position, word(words)))
        home = home_of(e, hashed(e, words, entered), capacity)
        _enter(e, words, entered, e.index(table, e.mul(home, word(words))), table, last)
    e.store(word(0), waiting)
    leave()


def _enter(e: Emitter, words: int, state: LLVM, home: LLVM, start: LLVM, last: LLVM) -> None:
    """Copies a state to its home slot, or to the next free slot after it."""
    slot = e.cell(PTR)
    e.store(home, slot)
    probe, onward, free = e.block(), e.block(), e.block()
    e.goto(probe)
    e.at(probe)
    here = e.load(slot, PTR)
    e.branch(e.eq(e.load(here), word(0)), free, onward)
    e.at(onward)
    follower = e.index(here, words)
    e.store(e.select(e.eq(follower, last), start, follower), slot)
    e.goto(probe)
    e.at(free)
    copy(e, words, here, state)


def _gather(e: Emitter, words: int) -> None:
    """gather(ctx, slots, count, out): copies the states in ``count`` slots to ``out``. DONE is the
    number of states copied.
    """
    ctx, slots, count, out = e.arguments
    target = e.cell(PTR)
    e.store(out, target)
    e.put(ctx, Word.DONE, word(0))
    with each(e, count) as number:
        state = e.index(slots, e.mul(number, word(words)))
        with when(e, e.ne(e.load(state), word(0))):
            there = e.load(target, PTR)
            copy(e, words, there, state)
            e.store(e.index(there, words), target)
            count_up(e, ctx, Word.DONE)
    e.ret()
