"""Kernels that follow the steps of the state graph: `advance` and `inside`.

Each state has a row that contains its steps, in the format written by `behaviours`.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from fencepost.checker.native.codegen.context_words import EDGES_BYTES, ROW_SHIFT, Edges, Word
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
    _inside(exported(unit, "inside", [PTR, PTR, I64, PTR, PTR, PTR, PTR]), I32 if wide else I16)


def edges_of(e: Emitter, state: LLVM) -> LLVM:
    """Returns the address of the description of the edges of ``state``, see `Edges`."""
    rows = e.pointer(e.arguments[0], Word.ROWS)
    return e.index(rows, e.mul(state, word(EDGES_BYTES)), I8)


def row(e: Emitter, edges: LLVM) -> tuple[LLVM, LLVM]:
    """Returns the address and the number of the steps that ``edges`` describes."""
    at = e.get(edges, Edges.START)
    start = e.index(
        e.pointer(e.pointer(e.arguments[0], Word.ROW_BASES), e.shr(at, ROW_SHIFT)),
        e.both(at, word((1 << ROW_SHIFT) - 1)),
        I8,
    )
    return start, number_at(e, edges, word(Edges.COUNT))


def _step(e: Emitter, start: LLVM, number: LLVM) -> LLVM:
    """Returns a step of a row as a word."""
    ctx = e.arguments[0]
    at = e.index(start, e.mul(number, e.get(ctx, Word.EDGE_BYTES)), I8)
    return e.both(e.load_unaligned(at), e.get(ctx, Word.EDGE_MASK))


def _target(e: Emitter, step: LLVM) -> LLVM:
    return e.both(step, e.get(e.arguments[0], Word.TARGET_MASK))


def target_of(e: Emitter, start: LLVM, number: LLVM) -> LLVM:
    """Returns the number of the target of a step of a row."""
    return _target(e, _step(e, start, number))


@contextmanager
def _row(e: Emitter, state: LLVM) -> Generator[LLVM]:
    """Emits a loop over the steps from ``state`` and yields the word of each step."""
    start, length = row(e, edges_of(e, state))
    with each(e, length) as number:
        yield _step(e, start, number)


def number_at(e: Emitter, numbers: LLVM, position: LLVM) -> LLVM:
    """Returns an entry of an array of 32-bit numbers as a word."""
    return e.widened(e.load(e.index(numbers, position, I32), I32))


def set_number(e: Emitter, numbers: LLVM, position: LLVM, value: LLVM) -> None:
    """Sets an entry of an array of 32-bit numbers."""
    e.store(e.narrowed(value, I32), e.index(numbers, position, I32))


def _advance(e: Emitter) -> None:
    """advance(ctx, states, count, bits, opened, fresh, reached, width): propagates bits along the
    steps from the given states. Several workers may do so at the same time.

    There are ``width`` bytes of bits for each state. A bit reaches the target of a step if the bit
    is set for the target in ``opened``; it is then moved from ``opened`` to ``fresh``. A target is
    written to ``reached`` when a byte in ``fresh`` gets its first bit, so a target of several bytes
    may occur several times. DONE is the number of targets written, at most one per step.
    """
    ctx, states, count, bits, opened, fresh, reached, width = e.arguments
    total, first = e.cell(), e.cell()
    e.store(word(0), total)
    with each(e, count) as index:
        mine = e.index(bits, e.mul(index, width), I8)
        with _row(e, e.get(states, index)) as step:
            target = _target(e, step)
            start = e.mul(target, width)
            e.store(word(0), first)
            with each(e, width) as part:
                there = e.add(start, part)
                own = e.widened(e.load(e.index(mine, part, I8), I8))
                left = e.widened(e.shared_byte(e.index(opened, there, I8)))
                new = e.both(own, left)
                with when(e, e.as_flag(new)):
                    before = e.exchanged_byte("and", e.index(opened, there, I8), e.invert(new))
                    moved = e.both(e.widened(before), new)
                    with when(e, e.as_flag(moved)):
                        others = e.exchanged_byte("or", e.index(fresh, there, I8), moved)
                        with when(e, e.eq(e.widened(others), word(0))):
                            e.store(word(1), first)
            with when(e, e.as_flag(e.load(first))):
                e.put(reached, e.load(total), target)
                e.store(e.add(e.load(total), word(1)), total)
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
