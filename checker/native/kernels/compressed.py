"""The kernels of compressed visited sets: `add`, `decode`, and the kernels that enlarge a set.

These kernels do not depend on the model. A state of several words is stored as a tree of pairs; the
root of the tree consists of two 32-bit numbers, which are stored in a quotient table. For a state
of one word, the two halves of the word are stored in the table instead. New roots are appended to
the store in order of discovery.
"""

from __future__ import annotations

from enum import IntEnum, auto
from functools import cache

from fencepost.checker.native.codegen.context_words import Want, Word
from fencepost.checker.native.codegen.emitter import I64, LLVM, PTR, Emitter, Unit, word
from fencepost.checker.native.codegen.flow import each, exported, when
from fencepost.checker.native.codegen.packed import prefetch, salted
from fencepost.checker.native.kernels import quotient, tree
from fencepost.checker.native.kernels.quotient import (
    QUOTIENT_WORDS,
    TABLE_COUNT,
    Factor,
    Keys,
    Quotient,
)
from fencepost.checker.native.kernels.tree import BATCH, LOW, NODE_WORDS, Node


class Set(IntEnum):
    """The words of a set's header, which precedes the descriptors of its tables and nodes."""

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: list[int]) -> int:
        return count

    WORDS = auto()  # the number of words in a state
    LEAVES = auto()  # the number of parts of a state: its words, or twice as many halves
    NODES = auto()  # the number of pair nodes; 0 if a state is a single word
    LEFT = auto()  # the node of each half of the root
    RIGHT = auto()
    ROWS = auto()  # a buffer of `BATCH` numbers for each node (at least two), then for each part
    MASK = auto()  # the bits of a root that vary, and the bits that are constant
    ALWAYS = auto()
    LEFT_SEEN = auto()  # the union of the halves of all roots that did not fit
    RIGHT_SEEN = auto()
    MIX = auto()  # the first of the mixing factors (see `quotient.Factor`)


TABLES = Set.MIX + len(Factor)
NODES = TABLES + QUOTIENT_WORDS * TABLE_COUNT
"""The offsets of the first table descriptor and of the first node descriptor."""


@cache
def text() -> str:
    """Returns the LLVM text of these kernels."""
    unit = Unit("compressed")
    tree.define(unit)
    _add(exported(unit, "add", [PTR, PTR, PTR, I64]))
    _decode(exported(unit, "decode", [PTR, PTR, I64, PTR, PTR]))
    quotient.move(exported(unit, "move", [PTR, PTR, PTR, PTR]))
    tree.reindex(exported(unit, "reindex", [PTR]))
    parameters = [PTR, PTR, I64, I64, I64, PTR, I64, PTR, I64, I64, I64, I64, PTR]
    tree.distinct(exported(unit, "distinct", parameters))
    return salted(unit.text())


def _halves(e: Emitter, root: LLVM) -> tuple[LLVM, LLVM]:
    return e.shr(root, 32), e.both(root, word(LOW))


def _add(e: Emitter) -> None:
    """add(ctx, set, block, count): does the same as `search_kernels.merge` for a compressed set.

    FULL_TABLE is the number of the table that is full. If a node is full instead, FULL_TABLE is the
    number of the node plus the number of tables.
    """
    ctx, set_, block, count = e.arguments
    words, rows = e.get(set_, Set.WORDS), e.pointer(set_, Set.ROWS)
    node_count, nodes = e.get(set_, Set.NODES), e.index(set_, NODES)
    lefts, rights = (tree.row(e, rows, e.get(set_, side)) for side in (Set.LEFT, Set.RIGHT))
    mask, always = e.get(set_, Set.MASK), e.get(set_, Set.ALWAYS)
    keys = Keys(e, e.index(set_, TABLES), e.index(set_, Set.MIX))
    tables, permuted, homes = e.words(BATCH), e.words(BATCH), e.words(BATCH)
    done, stored = e.cell(), e.cell(PTR)
    e.store(word(0), done)
    e.store(e.pointer(ctx, Word.STORE), stored)
    end, finish = e.pointer(ctx, Word.STORE_END), e.block("finish")

    head, body = e.block("head"), e.block("batch")
    e.goto(head)
    e.at(head)
    e.put(ctx, Word.WANT, word(Want.NOTHING))
    rest = e.sub(count, e.load(done))
    e.branch(e.as_flag(rest), body, finish)
    e.at(body)
    first = e.index(block, e.mul(e.load(done), words))
    batch = e.select(e.ult(rest, word(BATCH)), rest, word(BATCH))
    with each(e, node_count) as number:
        node = e.index(nodes, e.mul(number, word(NODE_WORDS)))
        needed = e.add(e.get(node, Node.COUNT), word(BATCH))
        with when(e, e.ult(e.get(node, Node.LIMIT), needed), rare=True):
            e.put(ctx, Word.FULL_TABLE, e.add(number, word(TABLE_COUNT)))
            e.put(ctx, Word.WANT, word(Want.PLACES))
            e.goto(finish)
    leaves, parts = e.get(set_, Set.LEAVES), tree.row(e, rows, node_count)
    halved = e.ult(words, leaves)
    with when(e, halved):
        tree.halve(e, first, e.mul(batch, words), parts)
    states = e.select(halved, parts, first)
    tree.climb(e, nodes, node_count, leaves, states, rows, batch)
    with when(e, e.eq(node_count, word(0))), each(e, batch) as number:
        left, right = _halves(e, e.both(e.get(first, number), mask))
        e.put(lefts, number, left)
        e.put(rights, number, right)

    with each(e, batch) as number:
        left, right = e.get(lefts, number), e.get(rights, number)
        table = keys.table_of(left, right)
        e.put(tables, number, table)
        descriptor = keys.table(table)
        key = keys.permuted(descriptor, left, right)
        e.put(permuted, number, key)
        home = keys.home(descriptor, key)
        prefetch(e, home)
        e.store(home, e.index(homes, number))
    with each(e, batch) as number:
        next_, crowded, room = e.block("known"), e.block("crowded"), e.block("room")
        left, right = e.get(lefts, number), e.get(rights, number)
        table = e.get(tables, number)
        descriptor = keys.table(table)
        narrow = e.either(
            e.shr(left, e.get(descriptor, Quotient.LEFT_BITS)),
            e.shr(e.shr(right, quotient.TABLE_BITS), e.get(descriptor, Quotient.RIGHT_BITS)),
        )
        with when(e, e.as_flag(narrow), rare=True):
            e.goto(crowded)
        keys.find(
            descriptor,
            e.get(permuted, number),
            e.load(e.index(homes, number), PTR),
            next_,
            crowded,
        )
        taken, most = e.get(descriptor, Quotient.COUNT), e.get(descriptor, Quotient.LIMIT)
        e.branch(e.ult(taken, most), room, crowded)
        e.at(crowded)
        for seen, half in ((Set.LEFT_SEEN, left), (Set.RIGHT_SEEN, right)):
            e.put(set_, seen, e.either(e.get(set_, seen), half))
        e.put(ctx, Word.FULL_TABLE, table)
        e.put(ctx, Word.WANT, word(Want.PLACES))
        e.store(e.add(e.load(done), number), done)
        e.goto(finish)
        e.at(room)
        target = e.load(stored, PTR)
        with when(e, e.eq(target, end), rare=True):
            e.put(ctx, Word.WANT, word(Want.ROOM))
            e.store(e.add(e.load(done), number), done)
            e.goto(finish)
        keys.add(descriptor)
        e.store(e.either(e.either(e.shl(left, 32), right), always), target)
        e.store(e.index(target, 1), stored)
        e.goto(next_)
        e.at(next_)
    e.store(e.add(e.load(done), batch), done)
    e.goto(head)

    e.at(finish)
    e.put(ctx, Word.DONE, e.load(done))
    e.store(e.load(stored, PTR), e.index(ctx, Word.STORE))
    e.ret()


def _decode(e: Emitter) -> None:
    """decode(set, roots, count, out, rows): decodes states of several words.

    Decoding writes only to ``out`` and ``rows``, so other workers may use the set at the same time.
    """
    set_, roots, count, out, rows = e.arguments
    words, leaves = e.get(set_, Set.WORDS), e.get(set_, Set.LEAVES)
    node_count, nodes = e.get(set_, Set.NODES), e.index(set_, NODES)
    lefts, rights = (tree.row(e, rows, e.get(set_, side)) for side in (Set.LEFT, Set.RIGHT))
    halved, parts = e.ult(words, leaves), tree.row(e, rows, node_count)
    batches = e.shr(e.add(count, word(BATCH - 1)), BATCH.bit_length() - 1)
    with each(e, batches) as turn:
        start = e.mul(turn, word(BATCH))
        rest = e.sub(count, start)
        batch = e.select(e.ult(rest, word(BATCH)), rest, word(BATCH))
        with each(e, batch) as number:
            left, right = _halves(e, e.get(roots, e.add(start, number)))
            e.put(lefts, number, left)
            e.put(rights, number, right)
        states = e.index(out, e.mul(start, words))
        target = e.select(halved, parts, states)
        tree.descend(e, nodes, node_count, leaves, target, rows, batch)
        with when(e, halved):
            tree.unite(e, parts, e.mul(batch, words), states)
    e.ret()
