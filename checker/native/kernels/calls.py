"""The functions that generated code calls for each successor and problem: `emit`, `report`, `fail`
and `see`.

These functions count steps, keep the least problem of each kind, and copy successors to the blocks
of their owners.
"""

from __future__ import annotations

from fencepost.checker.native.codegen.context_words import (
    MAX_SEEN,
    RECENT_BYTES,
    SEEN_PLACES,
    SEEN_WORDS,
    Report,
    Word,
    recent_states,
)
from fencepost.checker.native.codegen.emitter import (
    I1,
    I64,
    LLVM,
    NULL,
    PTR,
    VOID,
    Emitter,
    Unit,
    flag,
    word,
)
from fencepost.checker.native.codegen.flow import call, count_up, each, named, when
from fencepost.checker.native.codegen.packed import (
    call_pointer,
    copy,
    hashed,
    hashed_words,
    owner_of,
    same,
    watched,
)

RECENT_SHIFT = 16
"""The index into the cache of recent states is taken from the hash bits starting at this one."""


def declare(unit: Unit) -> None:
    """Declares the functions that generated code calls."""
    unit.function("emit", VOID, [PTR, I64, I64, PTR], aliasing=True)
    unit.function("report", VOID, [PTR, I64, I64, PTR, PTR], aliasing=True)
    unit.function("fail", VOID, [PTR, I64, I64], aliasing=True)
    unit.function("see", I1, [PTR, I64, *[I64] * MAX_SEEN], aliasing=True)


def define(
    unit: Unit,
    words: int,
    steps: bool,
    recent_bytes: int = RECENT_BYTES,
    behaviours: bool = False,
    refined: bool = False,
    symmetric: bool = False,
) -> None:
    """Defines the functions for states of ``words`` words.

    ``steps`` means that there are step invariants, and ``refined`` that some of them also apply to
    initial states. ``recent_bytes`` is the size of the cache of recent states. With ``behaviours``,
    steps can be collected for the state graph. With ``symmetric``, each state represents its orbit.
    """
    targets = unit.function("emit_target", VOID, [PTR, I64, PTR], aliasing=True)
    if not symmetric:
        late = unit.function("emit_late", VOID, [PTR, I64, PTR], aliasing=True)
        late.attributes.add("noinline")
        _emit_late(Emitter(unit, late), words)
    define_reports(unit, words, symmetric)
    _emit_target(Emitter(unit, targets), words, behaviours, symmetric)
    recent = recent_states(words, recent_bytes)
    _emit(Emitter(unit, named(unit, "emit")), words, steps, recent, refined, symmetric)


def define_reports(unit: Unit, words: int, symmetric: bool = False) -> None:
    """Defines `report`, `fail` and `see`."""
    _report(Emitter(unit, named(unit, "report")), words, symmetric)
    _fail(Emitter(unit, named(unit, "fail")))
    _see(Emitter(unit, named(unit, "see")))


def to_owner(e: Emitter, words: int, ctx: LLVM, hash_: LLVM, state: LLVM) -> None:
    """Copies a state to its owner's block. If the block is full and cannot be emptied because the
    search is being stopped, the emitted code returns from the function.
    """
    block = _block(e, ctx, hash_)
    with when(e, e.eq(e.get(block, 0), e.get(block, 1)), rare=True):
        owner = owner_of(e, hash_, e.get(ctx, Word.OWNERS))
        call_pointer(e, e.pointer(ctx, Word.FULL), owner)
        with when(e, e.eq(e.get(block, 0), e.get(block, 1))):
            e.ret()
    _append(e, words, block, state)


def _block(e: Emitter, ctx: LLVM, hash_: LLVM) -> LLVM:
    """Returns the address of the two words that describe the block of a state's owner."""
    owner = owner_of(e, hash_, e.get(ctx, Word.OWNERS))
    return e.index(ctx, e.add(e.shl(owner, 1), word(Word.BLOCKS)))


def _append(e: Emitter, words: int, block: LLVM, state: LLVM) -> None:
    """Copies a state to a block that has room for it."""
    end = e.pointer(block, 0)
    copy(e, words, end, state)
    e.store(e.index(end, words), block)


def _emit(
    e: Emitter, words: int, steps: bool, recent_count: int, refined: bool, symmetric: bool
) -> None:
    """emit(ctx, action, progressing, successor): counts a step, checks the step invariants, and
    copies the successor to its owner's block unless the successor was seen recently.
    """
    ctx, action, progressing, successor = e.arguments
    with when(e, e.ne(e.pointer(ctx, Word.TARGETS), NULL), rare=True):
        call(e, "emit_target", ctx, action, successor)
        e.ret()
    count_up(e, ctx, Word.STEPS)
    new = e.block("new")
    with when(e, e.slt(action, word(0)), rare=True):
        if refined:
            call(e, "check_step", ctx, NULL, successor)
        e.goto(new)
    taken = e.index(e.pointer(ctx, Word.TAKEN), action)
    times = e.get(ctx, Word.WEIGHT) if symmetric else word(1)
    e.store(e.add(e.load(taken), times), taken)
    current = e.pointer(ctx, Word.CURRENT)
    if steps:
        call(e, "check_step", ctx, current, successor)
    with when(e, same(e, words, successor, current)):
        e.ret()
    e.put(ctx, Word.MOVES, e.either(e.get(ctx, Word.MOVES), progressing))
    e.goto(new)

    # Most successors are duplicates, and many of those were generated recently.
    e.at(new)
    hash_ = hashed(e, words, successor)
    recent = e.index(
        e.pointer(ctx, Word.RECENT),
        e.mul(e.both(e.shr(hash_, RECENT_SHIFT), word(recent_count - 1)), word(words)),
    )
    with when(e, same(e, words, recent, successor)):
        e.ret()
    if symmetric:
        least = e.words(words)
        call(e, "orbit", ctx, successor, least)
        to_owner(e, words, ctx, hashed(e, words, least), least)
    else:
        block = _block(e, ctx, hash_)
        # A tail call does not need to save registers.
        with when(e, e.eq(e.get(block, 0), e.get(block, 1)), rare=True):
            call(e, "emit_late", ctx, hash_, successor)
            e.ret()
        _append(e, words, block, successor)
    copy(e, words, recent, successor)
    e.ret()


def _emit_late(e: Emitter, words: int) -> None:
    """emit_late(ctx, hash, successor): completes `emit` if the owner's block is full."""
    ctx, hash_, successor = e.arguments
    to_owner(e, words, ctx, hash_, successor)
    e.ret()


def _emit_target(e: Emitter, words: int, behaviours: bool, symmetric: bool) -> None:
    """emit_target(ctx, action, successor): updates the least predecessor of each target, or records
    the step if steps are being collected (only with ``behaviours``).
    """
    ctx, action, successor = e.arguments
    if behaviours:
        with when(e, e.as_flag(e.get(ctx, Word.COLLECTS))):
            call(e, "emit_edge", ctx, action, successor)
            e.ret()
    current, targets = e.pointer(ctx, Word.CURRENT), e.pointer(ctx, Word.TARGETS)
    with each(e, e.get(ctx, Word.TARGET_COUNT)) as number:
        target = e.index(targets, e.mul(number, word(2 * words)))
        if symmetric:
            call(e, "least_lead", ctx, current, successor, target, e.index(target, words))
        else:
            _lead(e, words, current, successor, target)
    e.ret()


def _lead(e: Emitter, words: int, current: LLVM, successor: LLVM, target: LLVM) -> None:
    """Updates the least predecessor of a target, which is stored after the target itself."""
    with when(e, same(e, words, target, successor)):
        best, better = e.index(target, words), e.block()
        with when(e, e.eq(e.load(best), word(0))):
            e.goto(better)
        with when(e, call(e, "state_less", current, best)):
            e.goto(better)
        end = e.block()
        e.goto(end)
        e.at(better)
        copy(e, words, best, current)
        e.goto(end)
        e.at(end)


def _report(e: Emitter, words: int, symmetric: bool) -> None:
    """report(ctx, slot, site, state, before): keeps the problem with the least state in ``slot``.
    If two problems have the same state, keeps the one with the least predecessor.
    """
    ctx, slot, site, state, before = e.arguments
    with when(e, e.ne(e.pointer(ctx, Word.TARGETS), NULL)):
        e.ret()
    if symmetric:
        # The report must equal that of a search without symmetry reduction.
        shown, first, ready = e.cell(PTR), e.cell(PTR), e.block("found")
        least, least_before = e.words(words), e.words(words)
        e.store(state, shown)
        e.store(before, first)
        with when(e, e.eq(state, NULL)):
            e.goto(ready)
        e.store(least, shown)
        with when(e, e.eq(before, NULL)):
            call(e, "least_of_orbit", ctx, state, least)
            e.goto(ready)
        call(e, "least_step", ctx, before, state, least_before, least)
        e.store(least_before, first)
        e.goto(ready)
        e.at(ready)
        state, before = e.load(shown, PTR), e.load(first, PTR)
    size = Report.STATES + 2 * words
    record = e.index(e.pointer(ctx, Word.REPORTS), e.mul(slot, word(size)))
    kept_state = e.index(record, Report.STATES)
    kept_before = e.index(kept_state, words)
    write, stay = e.block(), e.block()
    with when(e, e.eq(e.get(record, Report.TAKEN), word(0))):
        e.goto(write)
    with when(e, e.eq(state, NULL)):
        e.goto(stay)
    with when(e, call(e, "state_less", state, kept_state)):
        e.goto(write)
    with when(e, e.either(e.eq(before, NULL), call(e, "state_less", kept_state, state))):
        e.goto(stay)
    e.branch(call(e, "state_less", before, kept_before), write, stay)
    e.at(stay)
    e.ret()
    e.at(write)
    e.put(record, Report.TAKEN, word(1))
    e.put(record, Report.SITE, site)
    for source, target in ((state, kept_state), (before, kept_before)):
        with when(e, e.ne(source, NULL)):
            copy(e, words, target, source)
    count_up(e, ctx, Word.REPORTED)
    e.ret()


def _fail(e: Emitter) -> None:
    """fail(ctx, slot, site): reports that a step from CURRENT fails."""
    ctx, slot, site = e.arguments
    call(e, "report", ctx, slot, site, e.pointer(ctx, Word.CURRENT), NULL)
    e.put(ctx, Word.MOVES, word(1))
    e.ret()


def _see(e: Emitter) -> None:
    """see(ctx, kind, values): forwards an observation unless the same one was forwarded recently.
    Returns whether the search is being stopped.
    """
    ctx, *seen = e.arguments
    with when(e, e.eq(e.pointer(ctx, Word.SEEN), NULL)):
        e.ret(flag(False))
    hash_ = hashed_words(e, seen)
    index = e.both(e.shr(hash_, RECENT_SHIFT), word(SEEN_PLACES - 1))
    cached = e.index(e.pointer(ctx, Word.SEEN), e.mul(index, word(SEEN_WORDS)))
    differences = [e.differ(e.get(cached, number), value) for number, value in enumerate(seen)]
    total = differences[0]
    for difference in differences[1:]:
        total = e.either(total, difference)
    with when(e, e.eq(total, word(0))):
        e.ret(flag(False))
    for number, value in enumerate(seen):
        e.put(cached, number, value)
    call_pointer(e, e.pointer(ctx, Word.SEE), index)
    e.ret(e.as_flag(watched(e, e.index(ctx, Word.STOP))))
