"""The machine code that takes states back, and that puts states in the order of the language.

`forget` takes states out of the visited set as if they had never been seen; `heap` and `least` give
the states of a level one after the other, the least first. They do not know what for.
"""

from __future__ import annotations

from fencepost.checker.native.codegen.context_words import TABLE_WORDS, Table, Word
from fencepost.checker.native.codegen.emitter import I64, LLVM, PTR, VOID, Emitter, Unit, word
from fencepost.checker.native.codegen.flow import call, each, exported, when
from fencepost.checker.native.codegen.packed import copy, hashed, home_of, same, table_of


def define(unit: Unit, words: int) -> None:
    """Adds the kernels for states of ``words`` words to a unit that has the generated code."""
    _forget(exported(unit, "forget", [PTR, PTR, I64]), words)
    _sift(Emitter(unit, unit.function("sift", VOID, [PTR, I64, I64])))
    _heap(exported(unit, "heap", [PTR, I64, I64, I64]))
    _least(exported(unit, "least", [PTR, I64, I64, PTR]), words)


def _forget(e: Emitter, words: int) -> None:
    """forget(ctx, states, count): takes states out of the tables of their owner, who has them.

    Behind a place that becomes free, a state that is not at home may move up, so that none is
    looked for in vain.
    """
    ctx, states, count = e.arguments
    tables, table_count = e.pointer(ctx, Word.TABLES), e.get(ctx, Word.TABLE_COUNT)
    gap, place = e.cell(), e.cell()
    with each(e, count) as number:
        state = e.index(states, e.mul(number, word(words)))
        hash_ = hashed(e, words, state)
        table = e.index(tables, e.mul(table_of(e, hash_, table_count), word(TABLE_WORDS)))
        start, capacity = e.pointer(table, Table.ADDRESS), e.get(table, Table.CAPACITY)

        def at(index: LLVM, start: LLVM = start) -> LLVM:
            return e.index(start, e.mul(index, word(words)))

        def behind(index: LLVM, capacity: LLVM = capacity) -> LLVM:
            following = e.add(index, word(1))
            return e.select(e.eq(following, capacity), word(0), following)

        e.store(home_of(e, hash_, capacity), gap)
        probe, onward, there = e.block("probe"), e.block("on"), e.block("there")
        e.goto(probe)
        e.at(probe)
        e.branch(same(e, words, at(e.load(gap)), state), there, onward)
        e.at(onward)
        e.store(behind(e.load(gap)), gap)
        e.goto(probe)

        e.at(there)
        e.put(table, Table.COUNT, e.sub(e.get(table, Table.COUNT), word(1)))
        e.store(e.load(gap), place)
        look, move, stay, closed = (e.block(name) for name in ("look", "move", "stay", "closed"))
        e.goto(look)
        e.at(look)
        now = behind(e.load(place))
        e.store(now, place)
        other, taken = at(now), e.block("taken")
        e.branch(e.eq(e.load(other), word(0)), closed, taken)
        e.at(taken)
        # It may move where its home does not lie behind the gap, up to where it is, in a circle.
        home = home_of(e, hashed(e, words, other), capacity)
        hole = e.load(gap)
        distance = e.select(e.ult(now, home), e.add(now, capacity), now)
        away = e.select(e.ult(now, hole), e.add(now, capacity), now)
        e.branch(e.ult(e.sub(distance, home), e.sub(away, hole)), stay, move)
        e.at(move)
        copy(e, words, at(e.load(gap)), other)
        e.store(now, gap)
        e.goto(stay)
        e.at(stay)
        e.goto(look)
        e.at(closed)
        e.clear(at(e.load(gap)), words)
    e.ret()


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
