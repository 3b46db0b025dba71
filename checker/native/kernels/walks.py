"""Kernels for random walks: `walk`, and an `emit` that chooses a successor at random.

Every successor of a state on the path is examined, as in a search; one of the successors continues
the path. Successors are not stored. Instead, each new successor replaces the chosen one with the
probability that makes the overall choice follow the weights (reservoir sampling).
"""

from __future__ import annotations

from fencepost.checker.native.codegen.context_words import (
    RECENT_BYTES,
    SKETCH_BITS,
    Walk,
    Word,
    recent_states,
)
from fencepost.checker.native.codegen.emitter import I8, I64, LLVM, NULL, PTR, Emitter, Unit, word
from fencepost.checker.native.codegen.flow import call, count_up, each, exported, named, when
from fencepost.checker.native.codegen.packed import copy, hashed, same, watched
from fencepost.checker.native.kernels.calls import RECENT_SHIFT, define_reports, to_owner
from fencepost.checker.native.kernels.search_kernels import define_first, expand_one

GOLDEN = 0x9E3779B97F4A7C15
MIXERS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
"""The constants of SplitMix64, a random number generator whose state is a counter."""


def define(
    unit: Unit,
    words: int,
    deadlock_slot: int,
    steps: bool,
    refined: bool = False,
    recent_bytes: int = RECENT_BYTES,
) -> None:
    """Adds the kernels for walks over states of ``words`` words.

    ``steps`` means that there are step invariants, and ``refined`` that some of them also apply to
    initial states. ``recent_bytes`` is the size of the cache of examined states.
    """
    define_reports(unit, words)
    define_first(unit, words)
    recent = recent_states(words, recent_bytes)
    _emit(Emitter(unit, named(unit, "emit")), words, steps, recent, refined)
    _walk(exported(unit, "walk", [PTR, I64, I64, I64]), words, deadlock_slot)


def _mixed(e: Emitter, value: LLVM) -> LLVM:
    """Returns a hash of ``value``; each of its bits depends on all bits of ``value``."""
    for shift, factor in MIXERS:
        value = e.mul(e.differ(value, e.shr(value, shift)), word(factor))
    return e.differ(value, e.shr(value, 31))


def _drawn(e: Emitter, walk: LLVM, below: LLVM) -> LLVM:
    """Returns a random number less than ``below``, which has at most 32 bits."""
    state = e.add(e.get(walk, Walk.RANDOM), word(GOLDEN))
    e.put(walk, Walk.RANDOM, state)
    return e.shr(e.mul(e.shr(_mixed(e, state), 32), below), 32)


def _emit(e: Emitter, words: int, steps: bool, recent_count: int, refined: bool) -> None:
    """emit(ctx, action, progressing, successor): examines a successor and possibly chooses it."""
    ctx, action, progressing, successor = e.arguments
    with when(e, e.slt(action, word(0)), rare=True):
        count_up(e, ctx, Word.STEPS)
        if refined:
            call(e, "check_step", ctx, NULL, successor)
        to_owner(e, words, ctx, word(0), successor)
        e.ret()
    count_up(e, ctx, Word.STEPS)
    taken = e.index(e.pointer(ctx, Word.TAKEN), action)
    e.store(e.add(e.load(taken), word(1)), taken)
    current, walk = e.pointer(ctx, Word.CURRENT), e.pointer(ctx, Word.WALK)
    if steps:
        call(e, "check_step", ctx, current, successor)
    with when(e, same(e, words, successor, current)):
        e.ret()
    e.put(ctx, Word.MOVES, e.either(e.get(ctx, Word.MOVES), progressing))
    hash_ = hashed(e, words, successor)
    recent = e.index(
        e.pointer(ctx, Word.RECENT),
        e.mul(e.both(e.shr(hash_, RECENT_SHIFT), word(recent_count - 1)), word(words)),
    )
    with when(e, e.invert(same(e, words, recent, successor))):
        _sketch(e, walk, hash_)
        # Like searches, walks do not leave the constraints.
        with when(e, e.eq(call(e, "examine_state", ctx, successor), word(0)), rare=True):
            e.ret()
        copy(e, words, recent, successor)
    _choose(e, walk, action)
    with when(e, e.as_flag(e.get(walk, Walk.WINS))):
        count = e.add(e.get(walk, Walk.COUNT), word(1))
        e.put(walk, Walk.COUNT, count)
        with when(e, e.eq(_drawn(e, walk, count), word(0))):
            copy(e, words, e.index(current, words), successor)
    e.ret()


def _choose(e: Emitter, walk: LLVM, action: LLVM) -> None:
    """Decides whether a step of ``action`` replaces the current choice. With PER_ACTION, the
    decision is made once for all steps of the action.
    """
    other = e.ne(e.get(walk, Walk.ACTION), action)
    every = e.eq(e.get(walk, Walk.PER_ACTION), word(0))
    with when(e, e.either(other, every)):
        weight = e.get(e.pointer(walk, Walk.WEIGHTS), action)
        total = e.add(e.get(walk, Walk.TOTAL), weight)
        e.put(walk, Walk.TOTAL, total)
        e.put(walk, Walk.ACTION, action)
        e.put(walk, Walk.COUNT, word(0))
        # The comparison is never true for a weight of 0.
        e.put(walk, Walk.WINS, e.as_word(e.ult(_drawn(e, walk, total), weight)))


def _sketch(e: Emitter, walk: LLVM, hash_: LLVM) -> None:
    """Adds a state to the sketch that estimates the number of distinct states."""
    mixed = _mixed(e, hash_)
    cell = e.index(e.pointer(walk, Walk.SKETCH), e.both(mixed, word((1 << SKETCH_BITS) - 1)), I8)
    # The additional bit limits the number of zeros that are counted.
    rest = e.either(e.shr(mixed, SKETCH_BITS), word(1 << (64 - SKETCH_BITS)))
    zeros = e.add(e.lowest_one(rest), word(1))
    with when(e, e.ult(e.widened(e.load(cell, I8)), zeros), rare=True):
        e.store(e.low_byte(zeros), cell)


def _walk(e: Emitter, words: int, deadlock_slot: int) -> None:
    """walk(ctx, first, count, depth): performs ``count`` runs of at most ``depth`` steps, numbered
    from ``first``. Returns early at the first problem. DONE is the number of completed runs.
    """
    ctx, first, count, depth = e.arguments
    walk = e.pointer(ctx, Word.WALK)
    path = e.pointer(walk, Walk.PATH)
    e.put(ctx, Word.DONE, word(0))
    with each(e, count) as number:
        run = e.add(first, number)
        e.put(walk, Walk.RUN, run)
        # All runs use the same random sequence but start at distant positions.
        e.put(walk, Walk.RANDOM, _mixed(e, e.differ(e.get(walk, Walk.SEED), _mixed(e, run))))
        start = e.mul(_drawn(e, walk, e.get(walk, Walk.INITIAL_COUNT)), word(words))
        copy(e, words, path, e.index(e.pointer(walk, Walk.INITIAL), start))
        _sketch(e, walk, hashed(e, words, path))
        over = e.block("over")
        with each(e, depth) as step:
            state = e.index(path, e.mul(step, word(words)))
            e.put(walk, Walk.LENGTH, e.add(step, word(1)))
            e.put(walk, Walk.TOTAL, word(0))
            e.put(walk, Walk.ACTION, word(-1))
            expand_one(e, ctx, state, deadlock_slot, None)
            with when(e, e.as_flag(watched(e, e.index(ctx, Word.STOP))), rare=True):
                e.ret()
            with when(e, e.as_flag(e.get(ctx, Word.REPORTED)), rare=True):
                e.ret()
            with when(e, e.eq(e.get(walk, Walk.TOTAL), word(0)), rare=True):
                e.put(walk, Walk.LEFT, e.add(e.get(walk, Walk.LEFT), word(1)))
                e.goto(over)
            e.put(walk, Walk.STEPS, e.add(e.get(walk, Walk.STEPS), word(1)))
        e.goto(over)
        e.at(over)
        count_up(e, ctx, Word.DONE)
    e.ret()
