"""The machine code that every model shares: `expand`, `route`, `merge`, `examine`, `rehash`.

Successors are copied to the block of their owner; merging looks them up in the owner's visited
set by batches, so that cache misses overlap, and appends the new ones to the owner's store. A
kernel never writes behind the end of what the context names: it asks for more. It does not know
what a state means, nor who calls it.

The visited set of a worker consists of tables with open addressing, which hold whole states. A
place is free when bit 63 of its first word is 0. A higher hash has a higher home, so that a table
is copied into a larger one from front to back, and spread over more places from back to front.
"""

from __future__ import annotations

from fencepost.checker.native.codegen.context_words import TABLE_WORDS, Table, Want, Word
from fencepost.checker.native.codegen.emitter import I64, LLVM, NULL, PTR, Emitter, Unit, word
from fencepost.checker.native.codegen.flow import call, count_up, each, exported, when
from fencepost.checker.native.codegen.packed import (
    address,
    copy,
    hashed,
    home_of,
    prefetch,
    same,
    table_of,
    watched,
)
from fencepost.checker.native.kernels import undo
from fencepost.checker.native.kernels.calls import to_owner

BATCH = 32
"""The states that are looked up together."""
STRIDE = 128
"""The states that are expanded before the next piece has its turn."""


def define(unit: Unit, words: int, deadlock_slot: int) -> None:
    """Adds the kernels for states of ``words`` words to a unit that has the generated code.

    Slot ``deadlock_slot`` is for deadlocks, the next one for stuck states.
    """
    _initial(exported(unit, "initial", [PTR]))
    _expand(exported(unit, "expand", [PTR, PTR, I64, I64]), words, deadlock_slot)
    _route(exported(unit, "route", [PTR, PTR, I64]), words)
    _merge(exported(unit, "merge", [PTR, PTR, I64]), words)
    _rehash(exported(unit, "rehash", [PTR, I64, PTR, I64]), words)
    _spread(exported(unit, "spread", [PTR, PTR, I64, I64, PTR, I64]), words)
    _examine(exported(unit, "examine", [PTR, PTR, I64, PTR]), words)
    undo.define(unit, words)


def _initial(e: Emitter) -> None:
    """initial(ctx): emits the initial states; STEPS is how many vectors of choices make one."""
    (ctx,) = e.arguments
    e.put(ctx, Word.STEPS, word(0))
    e.store(NULL, e.index(ctx, Word.CURRENT))
    call(e, "initial_states", ctx)
    e.ret()


def _expand(e: Emitter, words: int, deadlock_slot: int) -> None:
    """expand(ctx, pieces, count, most): emits all successors of states, and reports deadlocks.

    The states stand in pieces, two words each: address and number. They are taken in turn, some
    from each, and the words are moved on; DONE is how many were taken, at most ``most``.
    """
    ctx, pieces, count, most = e.arguments
    # A full block is merged meanwhile, which has a DONE of its own.
    done, turn, again, behind = e.cell(), e.cell(), e.block("turn"), e.block("behind")
    e.store(word(0), done)
    e.goto(again)
    e.at(again)
    e.store(word(0), turn)
    with each(e, count) as number:
        piece = e.index(pieces, e.shl(number, 1))
        states, left = e.pointer(piece, 0), e.get(piece, 1)
        room = e.sub(most, e.load(done))
        now = e.select(e.ult(left, word(STRIDE)), left, word(STRIDE))
        now = e.select(e.ult(room, now), room, now)
        with each(e, now) as place:
            with when(e, e.as_flag(watched(e, e.index(ctx, Word.STOP))), rare=True):
                e.ret()
            _expand_one(e, e.index(states, e.mul(place, word(words))), deadlock_slot)
        e.store(e.index(states, e.mul(now, word(words))), piece)
        e.put(piece, 1, e.sub(left, now))
        e.store(e.add(e.load(done), now), done)
        e.store(e.either(e.load(turn), now), turn)
    e.branch(e.as_flag(e.load(turn)), again, behind)
    e.at(behind)
    e.put(ctx, Word.DONE, e.load(done))
    e.ret()


def _expand_one(e: Emitter, state: LLVM, deadlock_slot: int) -> None:
    ctx = e.arguments[0]
    e.store(state, e.index(ctx, Word.CURRENT))
    e.put(ctx, Word.STEPS, word(0))
    e.put(ctx, Word.MOVES, word(0))
    call(e, "step_state", ctx, state)
    finished = e.block()
    # If it was stopped on the way, it has not reported all.
    with when(e, e.as_flag(watched(e, e.index(ctx, Word.STOP))), rare=True):
        e.goto(finished)
    with when(e, e.eq(e.pointer(ctx, Word.TARGETS), NULL)):
        steps = e.get(ctx, Word.STEPS)
        transitions = e.index(ctx, Word.TRANSITIONS)
        e.store(e.add(e.load(transitions), steps), transitions)
        with when(e, e.eq(e.get(ctx, Word.MOVES), word(0)), rare=True):
            with when(e, e.as_flag(call(e, "terminal_state", ctx, state))):
                e.goto(finished)
            with when(e, e.as_flag(steps)):
                count_up(e, ctx, Word.STUCK)
                call(e, "report", ctx, word(deadlock_slot + 1), word(0), state, NULL)
                e.goto(finished)
            with when(e, e.as_flag(e.get(ctx, Word.DEADLOCK))):
                call(e, "report", ctx, word(deadlock_slot), word(0), state, NULL)
    e.goto(finished)
    e.at(finished)


def _route(e: Emitter, words: int) -> None:
    """route(ctx, states, count): copies states to the blocks of their owners, and passes by free
    places of a table.
    """
    ctx, states, count = e.arguments
    with each(e, count) as number:
        state = e.index(states, e.mul(number, word(words)))
        with when(e, e.ne(e.load(state), word(0))):
            to_owner(e, words, ctx, hashed(e, words, state), state)
    e.ret()


def _merge(e: Emitter, words: int) -> None:
    """merge(ctx, block, count): adds states to the visited set, and the new ones to the store.

    Ends early for want of room; DONE states of the block are dealt with then.
    """
    ctx, block, count = e.arguments
    size = 8 * words
    tables, table_count = e.pointer(ctx, Word.TABLES), e.get(ctx, Word.TABLE_COUNT)
    homes, places = e.words(BATCH), e.words(BATCH)
    done, place, stored = e.cell(), e.cell(PTR), e.cell(PTR)
    e.store(word(0), done)
    e.store(e.pointer(ctx, Word.STORE), stored)
    end = e.pointer(ctx, Word.STORE_END)
    finish = e.block("finish")

    head, body = e.block("head"), e.block("batch")
    e.goto(head)
    e.at(head)
    e.put(ctx, Word.WANT, word(Want.NOTHING))
    rest = e.sub(count, e.load(done))
    e.branch(e.as_flag(rest), body, finish)
    e.at(body)
    first = e.index(block, e.mul(e.load(done), word(words)))
    batch = e.select(e.ult(rest, word(BATCH)), rest, word(BATCH))
    with each(e, batch) as number:
        state = e.index(first, e.mul(number, word(words)))
        hash_ = hashed(e, words, state)
        table = e.index(tables, e.mul(table_of(e, hash_, table_count), word(TABLE_WORDS)))
        home = e.index(
            e.pointer(table, Table.ADDRESS),
            e.mul(home_of(e, hash_, e.get(table, Table.CAPACITY)), word(words)),
        )
        prefetch(e, home)
        if size > 8:
            prefetch(e, e.index(home, words - 1))
        e.store(table, e.index(homes, number))
        e.store(home, e.index(places, number))
    with each(e, batch) as number:
        state = e.index(first, e.mul(number, word(words)))
        e.store(e.load(e.index(places, number), PTR), place)
        probe, differs, onward, wrap = (e.block(name) for name in ("probe", "other", "on", "wrap"))
        known = e.block("known")
        e.goto(probe)
        e.at(probe)
        here = e.load(place, PTR)
        e.branch(same(e, words, here, state), known, differs)
        e.at(differs)
        new = e.block("new")
        e.branch(e.eq(e.load(here), word(0)), new, onward)
        e.at(onward)
        table = e.load(e.index(homes, number), PTR)
        follower = e.index(here, words)
        e.store(follower, place)
        start = e.pointer(table, Table.ADDRESS)
        last = e.index(start, e.mul(e.get(table, Table.CAPACITY), word(words)))
        e.unlikely(e.eq(follower, last), wrap, probe)
        e.at(wrap)
        e.store(start, place)
        e.goto(probe)

        e.at(new)
        table = e.load(e.index(homes, number), PTR)
        taken = e.get(table, Table.COUNT)
        progress = e.add(e.load(done), number)
        with when(e, e.invert(e.ult(taken, e.get(table, Table.LIMIT))), rare=True):
            offset = e.sub(address(e, table), address(e, tables))
            e.put(ctx, Word.FULL_TABLE, e.udiv(offset, word(8 * TABLE_WORDS)))
            e.put(ctx, Word.WANT, word(Want.TABLE))
            e.store(progress, done)
            e.goto(finish)
        target = e.load(stored, PTR)
        with when(e, e.eq(target, end), rare=True):
            e.put(ctx, Word.WANT, word(Want.ROOM))
            e.store(progress, done)
            e.goto(finish)
        e.put(table, Table.COUNT, e.add(taken, word(1)))
        copy(e, words, here, state)
        copy(e, words, target, state)
        e.store(e.index(target, words), stored)
        e.goto(known)
        e.at(known)
    e.store(e.add(e.load(done), batch), done)
    e.goto(head)

    e.at(finish)
    e.put(ctx, Word.DONE, e.load(done))
    e.store(e.load(stored, PTR), e.index(ctx, Word.STORE))
    e.ret()


def _rehash(e: Emitter, words: int) -> None:
    """rehash(old, old capacity, new, new capacity): copies a table into an empty one."""
    old, old_capacity, new, new_capacity = e.arguments
    last = e.index(new, e.mul(new_capacity, word(words)))
    with each(e, old_capacity) as number:
        state = e.index(old, e.mul(number, word(words)))
        with when(e, e.ne(e.load(state), word(0))):
            home = home_of(e, hashed(e, words, state), new_capacity)
            _enter(e, words, state, e.index(new, e.mul(home, word(words))), new, last)
    e.ret()


def _spread(e: Emitter, words: int) -> None:
    """spread(ctx, table, left, capacity, aside, room): makes a table use ``capacity`` places, of
    which it has used the first ``left`` so far, and the rest are free.

    From the last state to the first, each goes to its new home or the next free place behind it.
    Where that is not behind all states that have yet to go, there would be a gap in front of it
    later; it waits in ``aside``, which has room for ``room`` states, ASIDE of them taken. They are
    entered at the end. Without room there it ends early: DONE is how many of ``left`` are left.
    """
    ctx, table, left, capacity, aside, room = e.arguments
    last = e.index(table, e.mul(capacity, word(words)))
    state, place, rest, waiting = e.words(words), e.cell(PTR), e.cell(), e.cell()
    e.store(left, rest)
    e.store(e.get(ctx, Word.ASIDE), waiting)

    def leave() -> None:
        e.put(ctx, Word.DONE, e.load(rest))
        e.put(ctx, Word.ASIDE, e.load(waiting))
        e.ret()

    head, body, behind = e.block("head"), e.block("one"), e.block("behind")
    e.goto(head)
    e.at(head)
    e.branch(e.as_flag(e.load(rest)), body, behind)
    e.at(body)
    number = e.sub(e.load(rest), word(1))
    old = e.index(table, e.mul(number, word(words)))
    with when(e, e.ne(e.load(old), word(0))):
        probe, onward, free, wait, gone = (e.block() for _ in range(5))
        home = home_of(e, hashed(e, words, old), capacity)
        copy(e, words, state, old)
        e.store(word(0), old)
        e.store(e.index(table, e.mul(home, word(words))), place)
        e.unlikely(e.ult(home, number), wait, probe)
        e.at(probe)
        here = e.load(place, PTR)
        e.branch(e.eq(e.load(here), word(0)), free, onward)
        e.at(onward)
        follower = e.index(here, words)
        e.store(follower, place)
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

    e.at(behind)
    with each(e, e.load(waiting)) as one:
        entered = e.index(aside, e.mul(one, word(words)))
        home = home_of(e, hashed(e, words, entered), capacity)
        _enter(e, words, entered, e.index(table, e.mul(home, word(words))), table, last)
    e.store(word(0), waiting)
    leave()


def _enter(e: Emitter, words: int, state: LLVM, home: LLVM, start: LLVM, last: LLVM) -> None:
    """Copies a state to its home in a table, or the next free place behind it."""
    place = e.cell(PTR)
    e.store(home, place)
    probe, onward, free = e.block(), e.block(), e.block()
    e.goto(probe)
    e.at(probe)
    here = e.load(place, PTR)
    e.branch(e.eq(e.load(here), word(0)), free, onward)
    e.at(onward)
    follower = e.index(here, words)
    e.store(e.select(e.eq(follower, last), start, follower), place)
    e.goto(probe)
    e.at(free)
    copy(e, words, here, state)


def _examine(e: Emitter, words: int) -> None:
    """examine(ctx, states, count, kept): looks at new states, and moves those inside the
    constraints to ``kept``, which is ``states`` or lies before or apart; DONE is how many, of the
    EXAMINED that it has looked at.
    """
    ctx, states, count, kept = e.arguments
    target = e.cell(PTR)
    e.store(kept, target)
    e.put(ctx, Word.DONE, word(0))
    with each(e, count) as number:
        e.put(ctx, Word.EXAMINED, number)
        with when(e, e.as_flag(watched(e, e.index(ctx, Word.STOP))), rare=True):
            e.ret()
        state = e.index(states, e.mul(number, word(words)))
        with when(e, e.as_flag(call(e, "examine_state", ctx, state))):
            there = e.load(target, PTR)
            with when(e, e.ne(there, state)):
                copy(e, words, there, state)
            e.store(e.index(there, words), target)
            count_up(e, ctx, Word.DONE)
    e.put(ctx, Word.EXAMINED, count)
    e.ret()
