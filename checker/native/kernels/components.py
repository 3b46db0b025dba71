"""The kernel that computes strongly connected components: `components`.

The algorithm is the variant of Tarjan's by Pearce (A Space-Efficient Algorithm for Finding Strongly
Connected Components, 2016), with explicit stacks. It takes eight bytes per vertex and
the mark.
"""

from __future__ import annotations

from enum import IntEnum

from fencepost.checker.native.codegen.context_words import Edges, Word
from fencepost.checker.native.codegen.emitter import I64, LLVM, PTR, Emitter, Unit, word
from fencepost.checker.native.codegen.flow import each, exported, when
from fencepost.checker.native.codegen.packed import prefetch
from fencepost.checker.native.kernels.rows import edges_of, number_at, row, set_number, target_of

OUTSIDE = 0xFFFFFFFF
"""The mark of a vertex that does not belong to the graph."""
SINGLE = 1 << 31
"""This bit is set in the mark of a vertex that is a component by itself."""
NO_ROOT = 1 << 31
"""This bit is set in the position of a vertex that is not the first one of its component."""
BUDGET = 1 << 22
"""The number of edges that one call follows."""


class Memo(IntEnum):
    """The words that one call leaves to the next."""

    START = 0
    """The position of the next vertex to begin with."""
    INDEX = 1
    """The index of the next vertex that is entered."""
    NUMBER = 2
    """The number of the next component. Numbers descend, and exceed all indexes in use."""
    DEPTH = 3
    """The number of vertices on the path from the vertex that the search began with."""
    WAITING = 4
    """The position of the first vertex that waits for the rest of its component."""
    LEFT = 5
    """The number of edges that may still be followed in this call."""


MEMO_WORDS = len(Memo)


def define(unit: Unit) -> None:
    """Adds the kernel to ``unit``."""
    _components(exported(unit, "components", [PTR, PTR, I64, PTR, PTR, PTR]))


def _components(e: Emitter) -> None:
    """components(ctx, vertices, count, stack, positions, memo): computes the components of the
    graph of the given vertices, whose edges are in the rows of the context.

    The mark of each vertex is initially 0, or `OUTSIDE` if it is not one of ``vertices``. The
    search replaces it by an index, and finally by the number of the component. The path to the
    current vertex grows from the beginning of ``stack``, and the vertices waiting for their
    component from its end; both are disjoint, so ``count`` entries suffice. DONE is 0 when the
    search has ended. Until then, the kernel must be called again.
    """
    ctx, vertices, count, stack, positions, memo = e.arguments
    enter, follow, leave, over, interrupted = (
        e.block(name) for name in ("enter", "follow", "leave", "over", "interrupted")
    )
    begin, onward, follow_one = e.block("begin"), e.block("onward"), e.block("follow_one")
    entering = e.cell()
    e.put(memo, Memo.LEFT, word(BUDGET))
    e.branch(e.as_flag(e.get(memo, Memo.DEPTH)), onward, begin)

    # The next vertex that was not entered from another one.
    e.at(begin)
    start = e.get(memo, Memo.START)
    some = e.block("some")
    e.branch(e.eq(start, count), over, some)
    e.at(some)
    e.put(memo, Memo.START, e.add(start, word(1)))
    vertex = e.get(vertices, start)
    e.store(vertex, entering)
    e.branch(e.eq(_mark(e, edges_of(e, vertex)), word(0)), enter, begin)

    e.at(enter)
    vertex = e.load(entering)
    edges, index, depth = edges_of(e, vertex), e.get(memo, Memo.INDEX), e.get(memo, Memo.DEPTH)
    _set_mark(e, edges, index)
    e.put(memo, Memo.INDEX, e.add(index, word(1)))
    set_number(e, stack, depth, vertex)
    set_number(e, positions, depth, word(0))
    e.put(memo, Memo.DEPTH, e.add(depth, word(1)))
    start, length = row(e, edges)
    with each(e, length) as number:
        # The loads that follow would otherwise wait for each other.
        prefetch(e, edges_of(e, target_of(e, start, number)))
    e.goto(onward)

    # Goes on with the vertex at the end of the path.
    e.at(onward)
    last = e.sub(e.get(memo, Memo.DEPTH), word(1))
    vertex = number_at(e, stack, last)
    edges = edges_of(e, vertex)
    start, length = row(e, edges)
    state = number_at(e, positions, last)
    position, lowest, flagged = e.cell(), e.cell(), e.cell()
    e.store(e.both(state, word(NO_ROOT - 1)), position)
    e.store(e.both(state, word(NO_ROOT)), flagged)
    e.store(_mark(e, edges), lowest)
    e.goto(follow)

    e.at(follow)
    now = e.load(position)
    e.branch(e.ult(now, length), follow_one, leave)
    e.at(follow_one)
    target = target_of(e, start, now)
    reached = _mark(e, edges_of(e, target))
    with when(e, e.eq(reached, word(0))):
        # The edge is looked at again after the target has been left.
        _set_mark(e, edges, e.load(lowest))
        set_number(e, positions, last, e.either(now, e.load(flagged)))
        e.store(target, entering)
        e.goto(enter)
    with when(e, e.ult(reached, e.load(lowest))):
        e.store(reached, lowest)
        e.store(word(NO_ROOT), flagged)
    e.store(e.add(now, word(1)), position)
    e.goto(follow)

    e.at(leave)
    e.put(memo, Memo.DEPTH, last)
    first, later, left = e.block("first"), e.block("later"), e.block("left")
    e.branch(e.as_flag(e.load(flagged)), later, first)
    e.at(later)
    waiting = e.sub(e.get(memo, Memo.WAITING), word(1))
    e.put(memo, Memo.WAITING, waiting)
    _set_mark(e, edges, e.load(lowest))
    set_number(e, stack, waiting, vertex)
    e.goto(left)
    e.at(first)
    _close(e, stack, count, memo, edges, e.load(lowest))
    e.goto(left)
    e.at(left)
    following = e.block("following")
    budget = e.get(memo, Memo.LEFT)
    spent = e.add(length, word(1))
    e.put(memo, Memo.LEFT, e.sub(budget, spent))
    e.branch(e.ult(budget, spent), interrupted, following)
    e.at(following)
    e.branch(e.as_flag(last), onward, begin)
    for block, done in ((interrupted, 1), (over, 0)):
        e.at(block)
        e.put(ctx, Word.DONE, word(done))
        e.ret()


def _mark(e: Emitter, edges: LLVM) -> LLVM:
    return number_at(e, edges, word(Edges.MARK))


def _set_mark(e: Emitter, edges: LLVM, value: LLVM) -> None:
    set_number(e, edges, word(Edges.MARK), value)


def _close(e: Emitter, stack: LLVM, count: LLVM, memo: LLVM, edges: LLVM, index: LLVM) -> None:
    """Numbers the component of the vertex with these edges. Its other vertices wait, with this
    index or a higher one.
    """
    number = e.get(memo, Memo.NUMBER)
    e.put(memo, Memo.NUMBER, e.sub(number, word(1)))
    first = e.get(memo, Memo.WAITING)
    waiting, head, some, more, end = (e.cell(), *map(e.block, ("head", "some", "more", "end")))
    e.store(first, waiting)
    e.goto(head)
    e.at(head)
    now = e.load(waiting)
    e.branch(e.ult(now, count), some, end)
    e.at(some)
    other = edges_of(e, number_at(e, stack, now))
    e.branch(e.ult(_mark(e, other), index), end, more)
    e.at(more)
    _set_mark(e, other, number)
    e.store(e.add(now, word(1)), waiting)
    e.goto(head)
    e.at(end)
    closed = e.load(waiting)
    single = e.select(e.eq(closed, first), word(SINGLE), word(0))
    _set_mark(e, edges, e.either(number, single))
    size = e.add(e.sub(closed, first), word(1))
    e.put(memo, Memo.WAITING, closed)
    e.put(memo, Memo.INDEX, e.sub(e.get(memo, Memo.INDEX), size))
