"""The kernels of a search: `expand`, `route`, `merge` and `examine`.

Successors are copied to the blocks of their owners. Merging looks up the successors in the owner's
visited set, in batches so that cache misses overlap, and appends the new states to the owner's
store. A kernel never writes beyond the buffers in the context; it requests more memory instead.
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
"""The number of states that are looked up together."""
STRIDE = 128
"""The number of states expanded before continuing with the next piece."""
TABLES: VisitedSet = Tables()
"""The default kind of visited set."""


def define(
    unit: Unit,
    words: int,
    deadlock_slot: int,
    visited: VisitedSet = TABLES,
    symmetric: bool = False,
) -> None:
    """Adds the kernels for states of ``words`` words to a unit that contains the generated code.

    With ``symmetric``, each state represents its orbit. Deadlocks are reported in slot
    ``deadlock_slot``, and stuck states in the next slot.
    """
    define_first(unit, words, symmetric)
    _expand(exported(unit, "expand", [PTR, PTR, I64, I64]), words, deadlock_slot, symmetric)
    _route(exported(unit, "route", [PTR, PTR, I64]), words, symmetric)
    _merge(exported(unit, "merge", [PTR, PTR, I64]), words, visited)
    visited.define(unit, words)


def define_first(unit: Unit, words: int, symmetric: bool = False) -> None:
    """Adds the kernels for initial states: `initial` and `examine`."""
    _initial(exported(unit, "initial", [PTR]))
    _examine(exported(unit, "examine", [PTR, PTR, I64, PTR, I64, PTR]), words, symmetric)


def _initial(e: Emitter) -> None:
    """initial(ctx): emits the initial states. STEPS is the number of vectors of choices that yield
    an initial state.
    """
    (ctx,) = e.arguments
    e.put(ctx, Word.STEPS, word(0))
    e.put(ctx, Word.WEIGHT, word(1))
    e.store(NULL, e.index(ctx, Word.CURRENT))
    call(e, "initial_states", ctx)
    e.ret()


def _expand(e: Emitter, words: int, deadlock_slot: int, symmetric: bool) -> None:
    """expand(ctx, pieces, count, most): emits all successors of at most ``most`` states and reports
    deadlocks.

    A piece has three words: the address of its states, the number of states, and the address of the
    states' orbit sizes (null if unknown). The kernel takes states from the pieces in turn and
    advances the pieces accordingly. DONE is the number of states expanded.
    """
    ctx, pieces, count, most = e.arguments
    # If a block becomes full, merging it changes DONE.
    done, turn, again, end = e.cell(), e.cell(), e.block("turn"), e.block("behind")
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
        with each(e, now) as index:
            with when(e, e.as_flag(watched(e, e.index(ctx, Word.STOP))), rare=True):
                e.ret()
            state = e.index(states, e.mul(index, word(words)))
            if symmetric:
                # Finding the successors requires the size of the state's orbit.
                with_weights, without_weights, joined = (
                    e.block("known"),
                    e.block("unknown"),
                    e.block(),
                )
                e.branch(e.ne(weights, NULL), with_weights, without_weights)
                e.at(with_weights)
                e.put(ctx, Word.WEIGHT, e.get(weights, index))
                e.goto(joined)
                e.at(without_weights)
                e.put(ctx, Word.WEIGHT, call(e, "orbit", ctx, state, least))
                e.goto(joined)
                e.at(joined)
            expand_one(e, ctx, state, deadlock_slot, deadlock_slot + 1, symmetric)
        e.store(e.index(states, e.mul(now, word(words))), piece)
        e.put(piece, 1, e.sub(left, now))
        if symmetric:
            with when(e, e.ne(weights, NULL)):
                e.store(e.index(weights, now), e.index(piece, 2))
        e.store(e.add(e.load(done), now), done)
        e.store(e.either(e.load(turn), now), turn)
    e.branch(e.as_flag(e.load(turn)), again, end)
    e.at(end)
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
    """Emits the successors of a state and reports the state if it is a deadlock. A stuck state is
    also reported if ``stuck_slot`` is given. With ``symmetric``, the state represents WEIGHT
    states.
    """
    weight = e.get(ctx, Word.WEIGHT) if symmetric else word(1)

    e.store(state, e.index(ctx, Word.CURRENT))
    e.put(ctx, Word.STEPS, word(0))
    e.put(ctx, Word.MOVES, word(0))
    call(e, "step_state", ctx, state)
    finished = e.block()
    # An expansion that was stopped is incomplete.
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
    least = e.words(words) if symmetric else NULL
    with each(e, count) as number:
        state = e.index(states, e.mul(number, word(words)))
        if symmetric:
            call(e, "orbit", ctx, state, least)
            state = least
        to_owner(e, words, ctx, hashed(e, words, state), state)
    e.ret()


def _merge(e: Emitter, words: int, visited: VisitedSet) -> None:
    """merge(ctx, block, count): adds states to the visited set and appends the new states to the
    store.

    Returns early if memory is needed. DONE is the number of states processed.
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
        next_ = e.block("known")
        lookup.find(number, state, next_)
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
        e.goto(next_)
        e.at(next_)
    e.store(e.add(e.load(done), batch), done)
    e.goto(head)

    e.at(finish)
    e.put(ctx, Word.DONE, e.load(done))
    e.store(e.load(stored, PTR), e.index(ctx, Word.STORE))
    e.ret()


def _examine(e: Emitter, words: int, symmetric: bool) -> None:
    """examine(ctx, states, count, entries, size, kept): examines new states.

    Each state has an entry of ``size`` words. The entries of states within the constraints are
    moved to ``kept``, which may equal ``entries`` but must not begin inside the entries. States
    outside the constraints are copied to DROPPED unless DROPPED is null.

    DONE is the number of states kept, and EXAMINED the number of states examined. With
    ``symmetric``, the orbit sizes are added to STAND_FOR and OUTSIDE_FOR.
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
            weights = e.pointer(ctx, Word.WEIGHTS)
            recorded = e.both(e.as_word(e.ne(weights, NULL)), inside)
            with when(e, e.as_flag(recorded)):
                e.put(weights, 0, weight)
                e.store(e.index(weights, 1), e.index(ctx, Word.WEIGHTS))
        here = e.load(entry, PTR)
        with when(e, e.as_flag(inside)):
            kept_entry = e.load(target, PTR)
            with when(e, e.ne(kept_entry, here)):
                e.move(kept_entry, here, size)
            e.store(e.index(kept_entry, size), target)
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
    """Adds a kernel that runs a single action in each of the given states."""
    e = exported(unit, "apart", [PTR, I64, PTR, I64])
    ctx, number, states, count = e.arguments
    for action in range(actions):
        with when(e, e.eq(number, word(action))), each(e, count) as index:
            state = e.index(states, e.mul(index, word(words)))
            e.store(state, e.index(ctx, Word.CURRENT))
            call(e, f"action{action}", ctx, state)
    e.ret()


class Lookup(Protocol):
    """Looks up a batch of states, which are identified by their numbers in the batch. The caller
    first calls `seek` for all states, and then `find` and the other methods for each state in turn.
    """

    def seek(self, number: LLVM, state: LLVM) -> None:
        """Prefetches the memory needed to look up a state."""

    def find(self, number: LLVM, state: LLVM, seen: LLVM) -> None:
        """Jumps to block ``seen`` if the state was visited."""

    def full(self, number: LLVM) -> LLVM:
        """Returns whether more memory is needed before a state can be added."""
        ...

    def want_room(self, number: LLVM) -> None:
        """Records in the context which table needs more memory."""

    def add(self, number: LLVM, state: LLVM) -> None:
        """Adds a new state. There must be room for it."""


class VisitedSet(Protocol):
    """A kind of visited set, for states of any number of words."""

    def define(self, unit: Unit, words: int) -> None:
        """Adds the kernels that Python calls."""

    def lookup(self, e: Emitter, words: int, most: int) -> Lookup:
        """Returns a lookup for at most ``most`` states, to be used in a kernel whose first argument
        is the context.
        """
        ...
