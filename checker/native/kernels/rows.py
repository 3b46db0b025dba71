"""Kernels that follow the steps of the state graph: `advance`, `trim` and `inside`.

Each state has a row that contains its steps, in the format written by `behaviours`.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from fencepost.checker.native.codegen.context_words import ROW_SHIFT, Word
from fencepost.checker.native.codegen.emitter import (
    I8,
    I16,
    I32,
    I64,
    LLVM,
    PTR,
    Emitter,
    Unit,
    word,
)
from fencepost.checker.native.codegen.flow import each, exported, when

LABEL_BITS = 16
"""The number of bits of a label, unless labels are wide."""


def define(unit: Unit, wide: bool = False) -> None:
    """Adds the kernels to ``unit``. If labels are ``wide``, they have twice the bits."""
    _advance(exported(unit, "advance", [PTR, PTR, I64, PTR, PTR, PTR, PTR, I64]))
    _trim(exported(unit, "trim", [PTR, PTR, I64, PTR, I64]))
    _inside(exported(unit, "inside", [PTR, PTR, I64, PTR, PTR, PTR, PTR]), I32 if wide else I16)


@contextmanager
def _row(e: Emitter, state: LLVM) -> Generator[LLVM]:
    """Emits a loop over the steps from ``state`` and yields the word of each step."""
    ctx = e.arguments[0]
    at = e.get(e.pointer(ctx, Word.ROWS), state)
    start = e.index(
        e.pointer(e.pointer(ctx, Word.ROW_BASES), e.shr(at, ROW_SHIFT)),
        e.both(at, word((1 << ROW_SHIFT) - 1)),
        I8,
    )
    size, mask = e.get(ctx, Word.EDGE_BYTES), e.get(ctx, Word.EDGE_MASK)
    with each(e, e.get(e.pointer(ctx, Word.ROW_COUNTS), state)) as number:
        yield e.both(e.load_unaligned(e.index(start, e.mul(number, size), I8)), mask)


def _target(e: Emitter, step: LLVM) -> LLVM:
    return e.both(step, e.get(e.arguments[0], Word.TARGET_MASK))


def _advance(e: Emitter) -> None:
    """advance(ctx, states, count, bits, opened, fresh, reached, width): propagates bits along the
    steps from the given states.

    There are ``width`` words of bits for each state. A bit reaches the target of a step if the bit
    is set for the target in ``opened``; it is then moved from ``opened`` to ``fresh``. The targets
    reached are written to ``reached``, possibly with repetitions, and DONE is their number.
    """
    ctx, states, count, bits, opened, fresh, reached, width = e.arguments
    total, some = e.cell(), e.cell()
    e.store(word(0), total)
    with each(e, count) as index:
        mine = e.index(bits, e.mul(index, width))
        with _row(e, e.get(states, index)) as step:
            target = _target(e, step)
            start = e.mul(target, width)
            e.store(word(0), some)
            with each(e, width) as part:
                there = e.add(start, part)
                left = e.get(opened, there)
                new = e.both(e.get(mine, part), left)
                with when(e, e.as_flag(new)):
                    e.put(opened, there, e.differ(left, new))
                    e.put(fresh, there, e.either(e.get(fresh, there), new))
                    e.store(new, some)
            with when(e, e.as_flag(e.load(some))):
                e.put(reached, e.load(total), target)
                e.store(e.add(e.load(total), word(1)), total)
    e.put(ctx, Word.DONE, e.load(total))
    e.ret()


def _trim(e: Emitter) -> None:
    """trim(ctx, states, count, alive, width): clears the bits of each state that are not set for
    any successor, in ``width`` words per state. DONE is the number of words changed.
    """
    ctx, states, count, alive, width = e.arguments
    total, seen = e.cell(), e.cell()
    e.store(word(0), total)
    with each(e, count) as index:
        state = e.get(states, index)
        with each(e, width) as part:
            own = e.index(alive, e.add(e.mul(state, width), part))
            enough = e.block("enough")
            e.store(word(0), seen)
            with when(e, e.eq(e.load(own), word(0))):
                e.goto(enough)
            with _row(e, state) as step:
                there = e.get(alive, e.add(e.mul(_target(e, step), width), part))
                e.store(e.either(e.load(seen), there), seen)
                missing = e.both(e.load(own), e.invert(e.load(seen)))
                with when(e, e.eq(missing, word(0))):
                    e.goto(enough)
            kept = e.both(e.load(own), e.load(seen))
            e.store(kept, own)
            e.store(e.add(e.load(total), word(1)), total)
            e.goto(enough)
            e.at(enough)
    e.put(ctx, Word.DONE, e.load(total))
    e.ret()


def _inside(e: Emitter, label: LLVM) -> None:
    """inside(ctx, states, count, places, sources, targets, labels): collects the steps from the
    given states to states with a nonnegative place.

    For each step, writes the position of the source in ``states``, the place of the target, and the
    label. DONE is the number of steps collected.
    """
    ctx, states, count, places, sources, targets, labels = e.arguments
    total = e.cell()
    e.store(word(0), total)
    shift = e.get(ctx, Word.UNIT_SHIFT)
    with each(e, count) as position, _row(e, e.get(states, position)) as step:
        there = e.load(e.index(places, _target(e, step), I32), I32)
        with when(e, e.is_natural(there)):
            now = e.load(total)
            e.store(e.narrowed(position, I32), e.index(sources, now, I32))
            e.store(there, e.index(targets, now, I32))
            e.store(e.narrowed(e.shr(step, shift), label), e.index(labels, now, label))
            e.store(e.add(now, word(1)), total)
    e.put(ctx, Word.DONE, e.load(total))
    e.ret()
