"""The machine code that every model shares: `expand`, `route`, `merge`, `examine`.

Successors are copied to the block of their owner; merging looks them up in the owner's visited
set by batches, so that cache misses overlap, and appends the new ones to the owner's store. A
kernel never writes behind the end of what the context names: it asks for more. It does not know
what a state means, who calls it, nor what the visited set looks like.
"""

from __future__ import annotations

from typing import Protocol

from fencepost.checker.native.codegen.context_words import Want, Word
from fencepost.checker.native.codegen.emitter import I64, LLVM, NULL, PTR, Emitter, Unit, word
from fencepost.checker.native.codegen.flow import call, count_up, each, exported, when
from fencepost.checker.native.codegen.packed import copy, hashed, watched
from fencepost.checker.native.kernels.calls import to_owner
from fencepost.checker.native.kernels.tables import Tables

BATCH = 32
"""The states that are looked up together."""
STRIDE = 128
"""The states that are expanded before the next piece has its turn."""
TABLES: VisitedSet = Tables()
"""What visited sets are, unless another kind is wanted."""


def define(
    unit: Unit,
    words: int,
    deadlock_slot: int,
    visited: VisitedSet = TABLES,
    symmetric: bool = False,
) -> None:
    """Adds the kernels for states of ``words`` words to a unit that has the generated code.
    ``symmetric``: one state stands for all of its orbit.

    Slot ``deadlock_slot`` is for deadlocks, the next one for stuck states.
    """
    define_first(unit, words, symmetric)
    _expand(exported(unit, "expand", [PTR, PTR, I64, I64]), words, deadlock_slot, symmetric)
    _route(exported(unit, "route", [PTR, PTR, I64]), words, symmetric)
    _merge(exported(unit, "merge", [PTR, PTR, I64]), words, visited)
    visited.define(unit, words)


def define_first(unit: Unit, words: int, symmetric: bool = False) -> None:
    """Adds the kernels that make initial states and look at them: `initial` and `examine`."""
    _initial(exported(unit, "initial", [PTR]))
    _examine(exported(unit, "examine", [PTR, PTR, I64, PTR, I64, PTR]), words, symmetric)


def _initial(e: Emitter) -> None:
    """initial(ctx): emits the initial states; STEPS is how many vectors of choices make one."""
    (ctx,) = e.arguments
    e.put(ctx, Word.STEPS, word(0))
    e.put(ctx, Word.WEIGHT, word(1))
    e.store(NULL, e.index(ctx, Word.CURRENT))
    call(e, "initial_states", ctx)
    e.ret()


def _expand(e: Emitter, words: int, deadlock_slot: int, symmetric: bool) -> None:
    """expand(ctx, pieces, count, most): emits all successors of states, and reports deadlocks.

    The states stand in pieces, three words each: address, number, and where for each state is for
    how many it stands (null: that is not known). They are taken in turn, some from each, and the
    words are moved on; DONE is how many were taken, at most ``most``.
    """
    ctx, pieces, count, most = e.arguments
    # A full block is merged meanwhile, which has a DONE of its own.
    done, turn, again, behind = e.cell(), e.cell(), e.block("turn"), e.block("behind")
    least = e.words(words) if symmetric else NULL
    e.store(word(0), done)
    e.goto(again)
    e.at(again)
    e.store(word(0), turn)
    with each(e, count) as number:
        piece = e.index(pieces, e.mul(number, word(3)))
        states, left, weights = e.pointer(piece, 0), e.get(piece, 1), e.pointer(piece, 2)
        room = e.sub(most, e.load(done))
        now = e.select(e.ult(left, word(STRIDE)), left, word(STRIDE))
        now = e.select(e.ult(room, now), room, now)
        with each(e, now) as place:
            with when(e, e.as_flag(watched(e, e.index(ctx, Word.STOP))), rare=True):
                e.ret()
            state = e.index(states, e.mul(place, word(words)))
            if symmetric:
                # The state stands for its orbit: what is wanted is how many there are.
                known, unknown, behind_both = e.block("known"), e.block("unknown"), e.block()
                e.branch(e.ne(weights, NULL), known, unknown)
                e.at(known)
                e.put(ctx, Word.WEIGHT, e.get(weights, place))
                e.goto(behind_both)
                e.at(unknown)
                e.put(ctx, Word.WEIGHT, call(e, "orbit", ctx, state, least))
                e.goto(behind_both)
                e.at(behind_both)
            expand_one(e, ctx, state, deadlock_slot, deadlock_slot + 1, symmetric)
        e.store(e.index(states, e.mul(now, word(words))), piece)
        e.put(piece, 1, e.sub(left, now))
        if symmetric:
            with when(e, e.ne(weights, NULL)):
                e.store(e.index(weights, now), e.index(piece, 2))
        e.store(e.add(e.load(done), now), done)
        e.store(e.either(e.load(turn), now), turn)
    e.branch(e.as_flag(e.load(turn)), again, behind)
    e.at(behind)
    e.put(ctx, Word.DONE, e.load(done))
    e.ret()


def expand_one(
    e: Emitter,
    ctx: LLVM,
    state: LLVM,
    deadlock_slot: int,
    stuck_slot: int | None,
    symmetric: bool = False,
) -> None:
    """Emits the successors of a state, and reports it where it is a deadlock; where it is stuck,
    too, if there is a slot for that. ``symmetric``: it stands for WEIGHT states.
    """
    weight = e.get(ctx, Word.WEIGHT) if symmetric else word(1)

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
        e.store(e.add(e.load(transitions), e.mul(steps, weight)), transitions)
        with when(e, e.eq(e.get(ctx, Word.MOVES), word(0)), rare=True):
            with when(e, e.as_flag(call(e, "terminal_state", ctx, state))):
                e.goto(finished)
            with when(e, e.as_flag(steps)):
                e.put(ctx, Word.STUCK, e.add(e.get(ctx, Word.STUCK), weight))
                if stuck_slot is not None:
                    call(e, "report", ctx, word(stuck_slot), word(0), state, NULL)
                e.goto(finished)
            with when(e, e.as_flag(e.get(ctx, Word.DEADLOCK))):
                call(e, "report", ctx, word(deadlock_slot), word(0), state, NULL)
    e.goto(finished)
    e.at(finished)


def _route(e: Emitter, words: int, symmetric: bool) -> None:
    """route(ctx, states, count): copies states to the blocks of their owners."""
    ctx, states, count = e.arguments
    found = e.words(words) if symmetric else NULL
    with each(e, count) as number:
        state = e.index(states, e.mul(number, word(words)))
        if symmetric:
            call(e, "orbit", ctx, state, found)
            state = found
        to_owner(e, words, ctx, hashed(e, words, state), state)
    e.ret()


def _merge(e: Emitter, words: int, visited: VisitedSet) -> None:
    """merge(ctx, block, count): adds states to the visited set, and the new ones to the store.

    Ends early for want of room; DONE states of the block are dealt with then.
    """
    ctx, block, count = e.arguments
    lookup = visited.lookup(e, words, BATCH)
    done, stored = e.cell(), e.cell(PTR)
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
        lookup.seek(number, e.index(first, e.mul(number, word(words))))
    with each(e, batch) as number:
        state = e.index(first, e.mul(number, word(words)))
        known = e.block("known")
        lookup.find(number, state, known)
        progress = e.add(e.load(done), number)
        with when(e, lookup.full(number), rare=True):
            lookup.want_room(number)
            e.put(ctx, Word.WANT, word(Want.PLACES))
            e.store(progress, done)
            e.goto(finish)
        target = e.load(stored, PTR)
        with when(e, e.eq(target, end), rare=True):
            e.put(ctx, Word.WANT, word(Want.ROOM))
            e.store(progress, done)
            e.goto(finish)
        lookup.add(number, state)
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


def _examine(e: Emitter, words: int, symmetric: bool) -> None:
    """examine(ctx, states, count, entries, size, kept): looks at new states, and moves what the
    store has of those inside the constraints, an entry of ``size`` words each, to ``kept``, which
    is ``entries`` or lies before or apart; DONE is how many, of the EXAMINED that it has looked at.
    The others are copied to DROPPED, where there is room for all, unless that is null.
    ``symmetric``: STAND_FOR and OUTSIDE_FOR grow by how many states they stand for.
    """
    ctx, states, count, entries, size, kept = e.arguments
    entry, target = e.cell(PTR), e.cell(PTR)
    least = e.words(words) if symmetric else NULL
    e.store(entries, entry)
    e.store(kept, target)
    e.put(ctx, Word.DONE, word(0))
    with each(e, count) as number:
        e.put(ctx, Word.EXAMINED, number)
        with when(e, e.as_flag(watched(e, e.index(ctx, Word.STOP))), rare=True):
            e.ret()
        state = e.index(states, e.mul(number, word(words)))
        inside = call(e, "examine_state", ctx, state)
        if symmetric:
            weight = call(e, "orbit", ctx, state, least)
            total = e.select(e.as_flag(inside), word(Word.STAND_FOR), word(Word.OUTSIDE_FOR))
            e.put(ctx, total, e.add(e.get(ctx, total), weight))
            found = e.pointer(ctx, Word.WEIGHTS)
            wanted = e.both(e.as_word(e.ne(found, NULL)), inside)
            with when(e, e.as_flag(wanted)):
                e.put(found, 0, weight)
                e.store(e.index(found, 1), e.index(ctx, Word.WEIGHTS))
        here = e.load(entry, PTR)
        with when(e, e.as_flag(inside)):
            there = e.load(target, PTR)
            with when(e, e.ne(there, here)):
                e.move(there, here, size)
            e.store(e.index(there, size), target)
            count_up(e, ctx, Word.DONE)
        with when(e, e.eq(inside, word(0)), rare=True):
            dropped = e.pointer(ctx, Word.DROPPED)
            with when(e, e.ne(dropped, NULL)):
                copy(e, words, dropped, state)
                e.store(e.index(dropped, words), e.index(ctx, Word.DROPPED))
        e.store(e.index(here, size), entry)
    e.put(ctx, Word.EXAMINED, count)
    e.ret()


def define_apart(unit: Unit, words: int, actions: int) -> None:
    """Adds the kernel that takes the steps of one action alone."""
    e = exported(unit, "apart", [PTR, I64, PTR, I64])
    ctx, number, states, count = e.arguments
    for action in range(actions):
        with when(e, e.eq(number, word(action))), each(e, count) as place:
            state = e.index(states, e.mul(place, word(words)))
            e.store(state, e.index(ctx, Word.CURRENT))
            call(e, f"action{action}", ctx, state)
    e.ret()


class Lookup(Protocol):
    """Looks up some states together, by their numbers: `seek` for all of them, then for each `find`
    and what may follow. Registers of one number do not hold for another.
    """

    def seek(self, number: LLVM, state: LLVM) -> None:
        """Asks for the memory that it will need, so that cache misses overlap."""

    def find(self, number: LLVM, state: LLVM, known: LLVM) -> None:
        """Goes to the block ``known`` if the state has been seen, and else on."""

    def full(self, number: LLVM) -> LLVM:
        """Whether there has to be more room before a new state is added."""
        ...

    def want_room(self, number: LLVM) -> None:
        """Notes in the context for which state room is wanted; Python makes it."""

    def add(self, number: LLVM, state: LLVM) -> None:
        """Adds a new state, for which there is room."""


class VisitedSet(Protocol):
    """A kind of visited set, for states of any number of words."""

    def define(self, unit: Unit, words: int) -> None:
        """Adds the kernels that Python keeps the set with."""

    def lookup(self, e: Emitter, words: int, most: int) -> Lookup:
        """Looks up at most ``most`` states, in a kernel whose first argument is the context."""
        ...
