# pyright: basic
"""Kernels that store the parts of states as a tree of hash-consed pairs.

The tree has one node for each part of a state, numbered like the parts, which are words or halves
of words. Each further node is a pair of two earlier nodes. A pair is identified by a 32-bit number:
its position in an array. The array only grows, so numbers remain valid. An index with open
addressing maps hashes of pairs to numbers.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from enum import IntEnum

from fencepost.checker.native.codegen.context_words import Word
from fencepost.checker.native.codegen.emitter import (
    I32,
    I64,
    LLVM,
    NULL,
    PTR,
    VOID,
    Emitter,
    Unit,
    word,
)
from fencepost.checker.native.codegen.flow import call, count_up, each, when
from fencepost.checker.native.codegen.packed import hashed_words, prefetch

BATCH = 32
"""The number of states processed together."""
LOW = 0xFFFFFFFF
"""A mask of the low half of a word."""
CACHED_PAIRS = 1 << 14
"""The number of pairs that fit into the processor's caches."""


class Kind(IntEnum):
    """The kinds of pair nodes: a single part, a pair of two 32-bit numbers (pairs or halves of
    words), or a pair that contains a word. An entry takes two words for the last kind, and one word
    for the others.
    """

    WORD = 0
    NARROW = 1
    WIDE = 2


class Node(IntEnum):
    """The words of a node's descriptor."""

    LEFT = 0
    RIGHT = 1
    KIND = 2
    PAIRS = 3
    INDEX = 4
    COUNT = 5
    CAPACITY = 6
    LIMIT = 7
    SALT = 8


NODE_WORDS = len(Node)


def define(unit: Unit) -> None:
    """Adds `intern` and `part` for each kind of node."""
    for kind in Kind:
        parameters = [PTR, PTR, I64, PTR, I64, PTR, I64]
        function = unit.function(f"intern{kind}", VOID, parameters, aliasing=True)
        _intern(Emitter(unit, function), kind)
        function = unit.function(f"part{kind}", VOID, parameters, aliasing=True)
        _part(Emitter(unit, function), kind)


def climb(
    e: Emitter, nodes: LLVM, count: LLVM, leaves: LLVM, states: LLVM, rows: LLVM, batch: LLVM
) -> None:
    """Emits code that numbers the pairs of a batch of states and writes the numbers to one row per
    node. A state has ``leaves`` parts, each in a word. The nodes must have room for the new pairs.
    """
    with each(e, count) as number:
        node = e.index(nodes, e.mul(number, word(NODE_WORDS)))
        _each_kind(e, "intern", node, number, leaves, states, rows, batch)


def descend(
    e: Emitter, nodes: LLVM, count: LLVM, leaves: LLVM, states: LLVM, rows: LLVM, batch: LLVM
) -> None:
    """Emits code that decodes the parts of a batch of states from the numbers in the rows of the
    root's two nodes.
    """
    with each(e, count) as number:
        last = e.sub(e.sub(count, word(1)), number)
        node = e.index(nodes, e.mul(last, word(NODE_WORDS)))
        _each_kind(e, "part", node, last, leaves, states, rows, batch)


def halve(e: Emitter, states: LLVM, count: LLVM, parts: LLVM) -> None:
    """Emits code that writes the low and the high half of each of ``count`` words as two words."""
    with each(e, count) as number:
        whole, low = e.get(states, number), e.shl(number, 1)
        e.put(parts, low, e.both(whole, word(LOW)))
        e.put(parts, e.add(low, word(1)), e.shr(whole, 32))


def unite(e: Emitter, parts: LLVM, count: LLVM, states: LLVM) -> None:
    """Emits the reverse of `halve`."""
    with each(e, count) as number:
        low = e.shl(number, 1)
        high = e.shl(e.get(parts, e.add(low, word(1))), 32)
        e.put(states, number, e.either(high, e.get(parts, low)))


def row(e: Emitter, rows: LLVM, number: LLVM) -> LLVM:
    """Returns the row of a pair node."""
    return e.index(rows, e.mul(number, word(BATCH)))


def _each_kind(
    e: Emitter,
    name: str,
    node: LLVM,
    number: LLVM,
    leaves: LLVM,
    states: LLVM,
    rows: LLVM,
    batch: LLVM,
) -> None:
    kind, end = e.get(node, Node.KIND), e.block("behind")
    sides: list[LLVM] = []
    for side in (Node.LEFT, Node.RIGHT):
        child = e.get(node, side)
        is_leaf = e.ult(child, leaves)
        pair = row(e, rows, e.sub(child, leaves))
        sides.append(e.select(is_leaf, e.index(states, child), pair))
        sides.append(e.select(is_leaf, leaves, word(1)))
    for candidate in Kind:
        with when(e, e.eq(kind, word(candidate))):
            call(e, f"{name}{candidate}", node, *sides, row(e, rows, number), batch)
            e.goto(end)
    e.goto(end)
    e.at(end)


def _intern(e: Emitter, kind: Kind) -> None:
    """intern(node, left, step, right, step, row, count): looks up the number of each pair and adds
    the pairs that are new.
    """
    node, left, left_step, right, right_step, out, count = e.arguments
    wide = kind is Kind.WIDE
    firsts, seconds, homes = e.words(BATCH), e.words(BATCH if wide else 0), e.words(BATCH)
    pairs, index = e.pointer(node, Node.PAIRS), e.pointer(node, Node.INDEX)
    capacity = e.get(node, Node.CAPACITY)
    salt = e.get(node, Node.SALT)
    with each(e, count) as number:
        first = e.load(e.index(left, e.mul(number, left_step)))
        second = word(0)
        if kind is not Kind.WORD:
            second = e.load(e.index(right, e.mul(number, right_step)))
        if kind is Kind.NARROW:
            first, second = e.either(e.shl(first, 32), second), word(0)
        e.put(firsts, number, first)
        if wide:
            e.put(seconds, number, second)
        home = _home(e, salt, first, second, capacity)
        e.put(homes, number, home)
        prefetch(e, e.index(index, home, I32))
    with when(e, e.ult(word(CACHED_PAIRS), e.get(node, Node.COUNT))), each(e, count) as number:
        number_plus_one = _number(e, index, e.get(homes, number))
        with when(e, e.as_flag(number_plus_one)):
            prefetch(e, _pair(e, pairs, e.sub(number_plus_one, word(1)), wide))
    with each(e, count) as number:
        first = e.get(firsts, number)
        second = e.get(seconds, number) if wide else word(0)
        slot, result = e.cell(), e.cell()
        e.store(e.get(homes, number), slot)
        new, there = e.block("new"), e.block("there")
        with _probing(e, index, slot, capacity, new) as number_plus_one:
            e.store(number_plus_one, result)
            pair = _pair(e, pairs, e.sub(number_plus_one, word(1)), wide)
            differs = e.differ(e.load(pair), first)
            if wide:
                differs = e.either(differs, e.differ(e.get(pair, 1), second))
            other = e.block("other")
            e.branch(e.as_flag(differs), other, there)
            e.at(other)
        e.at(new)
        size = e.get(node, Node.COUNT)
        pair = _pair(e, pairs, size, wide)
        e.store(first, pair)
        if wide:
            e.put(pair, 1, second)
        following = e.add(size, word(1))
        e.put(node, Node.COUNT, following)
        _set_number(e, index, e.load(slot), following)
        e.store(following, result)
        e.goto(there)
        e.at(there)
        e.put(out, number, e.sub(e.load(result), word(1)))
    e.ret()


def _part(e: Emitter, kind: Kind) -> None:
    """part(node, left, step, right, step, row, count): writes the two halves of the pairs with the
    given numbers.
    """
    node, left, left_step, right, right_step, row_, count = e.arguments
    pairs = e.pointer(node, Node.PAIRS)
    with each(e, count) as number:
        pair = _pair(e, pairs, e.get(row_, number), kind is Kind.WIDE)
        first, second = e.load(pair), word(0)
        if kind is Kind.NARROW:
            first, second = e.shr(first, 32), e.both(first, word(LOW))
        elif kind is Kind.WIDE:
            second = e.get(pair, 1)
        e.store(first, e.index(left, e.mul(number, left_step)))
        if kind is not Kind.WORD:
            e.store(second, e.index(right, e.mul(number, right_step)))
    e.ret()


def reindex(e: Emitter) -> None:
    """reindex(node): adds all pairs of a node to its index, which must be empty."""
    (node,) = e.arguments
    pairs, index = e.pointer(node, Node.PAIRS), e.pointer(node, Node.INDEX)
    capacity, salt = e.get(node, Node.CAPACITY), e.get(node, Node.SALT)
    wide = e.eq(e.get(node, Node.KIND), word(Kind.WIDE))
    slot, second = e.cell(), e.cell()
    with each(e, e.get(node, Node.COUNT)) as number:
        pair = e.index(pairs, e.shl(number, e.as_word(wide)))
        e.store(word(0), second)
        with when(e, wide):
            e.store(e.get(pair, 1), second)
        e.store(_home(e, salt, e.load(pair), e.load(second), capacity), slot)
        new = e.block("new")
        with _probing(e, index, slot, capacity, new):
            pass
        e.at(new)
        _set_number(e, index, e.load(slot), e.add(number, word(1)))
    e.ret()


def distinct(e: Emitter) -> None:
    """distinct(ctx, left, step, shift, mask, right, count, seen, capacity, turn, most, salt, out):
    numbers the distinct pairs in order of discovery.

    Of each word at ``left``, only the bits of ``mask`` after the shift count. DONE is the number of
    distinct pairs found in this turn; the kernel returns early if it exceeds ``most``. ``right``
    may be null. ``seen`` has ``capacity`` slots of two words, where ``capacity`` is a power of two.
    It can be reused for another call with a higher ``turn``.
    """
    ctx, left, step, shift, mask, right, count, seen, capacity, turn, most, salt, out = e.arguments
    slot, key = e.cell(), e.cell()
    last = e.sub(capacity, word(1))
    with each(e, count) as number:
        first = e.both(e.shr(e.load(e.index(left, e.mul(number, step))), shift), mask)
        e.store(first, key)
        with when(e, e.ne(right, NULL)):
            e.store(e.either(e.shl(first, 32), e.get(right, number)), key)
        wanted = e.load(key)
        e.store(e.both(e.shr(hashed_words(e, [e.differ(wanted, salt)]), 32), last), slot)
        probe, taken, other, new, there = (
            e.block(name) for name in ("probe", "taken", "other", "new", "there")
        )
        e.goto(probe)
        e.at(probe)
        here = e.index(seen, e.shl(e.load(slot), 1))
        e.branch(e.eq(e.shr(e.get(here, 1), 32), turn), taken, new)
        e.at(taken)
        e.branch(e.eq(e.load(here), wanted), there, other)
        e.at(other)
        e.store(e.both(e.add(e.load(slot), word(1)), last), slot)
        e.goto(probe)
        e.at(new)
        e.store(wanted, here)
        count_up(e, ctx, Word.DONE)
        size = e.get(ctx, Word.DONE)
        e.put(here, 1, e.either(e.shl(turn, 32), size))
        with when(e, e.ult(most, size), rare=True):
            e.ret()
        e.goto(there)
        e.at(there)
        e.put(out, number, e.both(e.get(e.index(seen, e.shl(e.load(slot), 1)), 1), word(LOW)))
    e.ret()


@contextmanager
def _probing(e: Emitter, index: LLVM, slot: LLVM, capacity: LLVM, free: LLVM) -> Generator[LLVM]:
    """Emits a loop over the entries of an index, starting at ``slot``, and yields each entry. The
    loop jumps to ``free`` when it reaches a free slot.
    """
    probe, taken = e.block("probe"), e.block("taken")
    e.goto(probe)
    e.at(probe)
    now = e.load(slot)
    entry = _number(e, index, now)
    e.branch(e.as_flag(entry), taken, free)
    e.at(taken)
    yield entry
    following = e.add(e.load(slot), word(1))
    e.store(e.select(e.eq(following, capacity), word(0), following), slot)
    e.goto(probe)


def _home(e: Emitter, salt: LLVM, first: LLVM, second: LLVM, capacity: LLVM) -> LLVM:
    hash_ = hashed_words(e, [e.differ(first, salt), second])
    return e.shr(e.mul(e.shr(hash_, 32), capacity), 32)


def _number(e: Emitter, index: LLVM, slot: LLVM) -> LLVM:
    """Returns an entry of an index: the number of a pair plus one, or 0 if the slot is free."""
    return e.builder.zext(e.load(e.index(index, slot, I32), I32), I64)


def _set_number(e: Emitter, index: LLVM, slot: LLVM, number: LLVM) -> None:
    e.store(e.builder.trunc(number, I32), e.index(index, slot, I32))


def _pair(e: Emitter, pairs: LLVM, number: LLVM, wide: bool) -> LLVM:
    return e.index(pairs, e.shl(number, 1) if wide else number)
