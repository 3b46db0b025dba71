"""The machine code that puts states in the order of the language: `heap` and `least` give states
one after the other, the least first.
"""

from __future__ import annotations

from fencepost.checker.native.codegen.emitter import I64, PTR, VOID, Emitter, Unit, word
from fencepost.checker.native.codegen.flow import call, each, exported, when
from fencepost.checker.native.codegen.packed import copy


def define(unit: Unit, words: int) -> None:
    """Adds the kernels for states of ``words`` words to a unit that has the generated code."""
    _sift(Emitter(unit, unit.function("sift", VOID, [PTR, I64, I64])))
    _heap(exported(unit, "heap", [PTR, I64, I64, I64]))
    _least(exported(unit, "least", [PTR, I64, I64, PTR]), words)


def _sift(e: Emitter) -> None:
    """sift(heap, place, count): moves the state at a place of a heap of addresses down to where
    neither of the two below it is less.
    """
    heap, place, count = e.arguments
    here = e.cell()
    e.store(place, here)
    head, some, end = e.block("head"), e.block("some"), e.block("end")
    e.goto(head)
    e.at(head)
    now = e.load(here)
    left = e.add(e.shl(now, 1), word(1))
    e.branch(e.ult(left, count), some, end)
    e.at(some)
    lesser, right = e.cell(), e.add(left, word(1))
    e.store(left, lesser)
    two, one = e.block("two"), e.block("one")
    e.branch(e.ult(right, count), two, one)
    e.at(two)
    with when(e, call(e, "state_less", e.pointer(heap, right), e.pointer(heap, left))):
        e.store(right, lesser)
    e.goto(one)
    e.at(one)
    below = e.load(lesser)
    above_it, beneath = e.pointer(heap, now), e.pointer(heap, below)
    swap = e.block("swap")
    e.branch(call(e, "state_less", beneath, above_it), swap, end)
    e.at(swap)
    e.store(beneath, e.index(heap, now))
    e.store(above_it, e.index(heap, below))
    e.store(below, here)
    e.goto(head)
    e.at(end)
    e.ret()


def _heap(e: Emitter) -> None:
    """heap(heap, first, last, count): makes a heap of what stands from ``first`` on, where it is
    one from ``last`` on.
    """
    heap, first, last, count = e.arguments
    with each(e, e.sub(last, first)) as number:
        call(e, "sift", heap, e.sub(e.sub(last, word(1)), number), count)
    e.ret()


def _least(e: Emitter, words: int) -> None:
    """least(heap, count, wanted, out): moves the least of ``count`` states to ``out``, ascending:
    ``wanted`` of them, which are there.
    """
    heap, count, wanted, out = e.arguments
    with each(e, wanted) as number:
        copy(e, words, e.index(out, e.mul(number, word(words))), e.pointer(heap, 0))
        rest = e.sub(e.sub(count, number), word(1))
        e.store(e.pointer(heap, rest), heap)
        call(e, "sift", heap, word(0), rest)
    e.ret()
