"""Kernels that follow a model step by step: `follow`, and an `emit` that writes each step as a
row.
"""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.checker.native.codegen.context_words import Follow, Row, Word
from fencepost.checker.native.codegen.emitter import I64, LLVM, PTR, Emitter, Unit, flag, word
from fencepost.checker.native.codegen.flow import call, each, exported, named, when
from fencepost.checker.native.codegen.packed import address
from fencepost.spec.records import dataclass


@dataclass(frozen=True, slots=True)
class Rows:
    """The layout of a row.

    A row contains ``marks`` words of coverage marks, then the bits selected by ``masks`` in
    separate words (see `aside`), and then the first ``words`` words of the state without those
    bits.
    """

    marks: int
    words: int
    masks: tuple[int, ...]

    @property
    def aside(self) -> tuple[int, ...]:
        """The indices of the words whose masked bits are stored separately."""
        return tuple(number for number, mask in enumerate(self.masks) if mask)

    @property
    def size(self) -> int:
        """The number of words in a row."""
        return Row.REST + self.marks + self.words + len(self.aside)


def define(unit: Unit, words: int, rows: Rows, own: int, called: Sequence[int]) -> None:
    """Adds the kernels for a model with states of ``words`` words. The first ``own`` actions are
    the model's own; the actions in ``called`` are run only by calls, which give the action's
    number.
    """
    _nothing(Emitter(unit, named(unit, "report")))
    Emitter(unit, named(unit, "see")).ret(flag(False))
    _emit(Emitter(unit, named(unit, "emit")), rows)
    _fail(Emitter(unit, named(unit, "fail")), rows)
    _follow(exported(unit, "follow", [PTR, PTR, PTR, I64]), words, rows, own, called)
    _precedes(exported(unit, "precedes", [PTR, PTR, PTR]), words, rows)


def _nothing(e: Emitter) -> None:
    e.ret()


def _row(e: Emitter, ctx: LLVM, rows: Rows) -> LLVM:
    """Allocates the next row. If the buffer is full, the emitted code counts the missing row and
    returns from the function.
    """
    follow = e.pointer(ctx, Word.FOLLOW)
    row = e.pointer(follow, Follow.NEXT)
    end = e.index(row, rows.size)
    with when(e, e.ult(e.get(follow, Follow.END), address(e, end)), rare=True):
        e.put(follow, Follow.LACKING, e.add(e.get(follow, Follow.LACKING), word(1)))
        e.ret()
    e.store(end, e.index(follow, Follow.NEXT))
    e.put(row, Row.CALL, e.get(follow, Follow.CALL))
    return row


def _emit(e: Emitter, rows: Rows) -> None:
    """emit(ctx, action, progressing, successor): writes a step as a row."""
    ctx, action, _, successor = e.arguments
    row = _row(e, ctx, rows)
    e.put(row, Row.ACTION, action)
    marks = e.pointer(ctx, Word.MARKS)
    for number in range(rows.marks):
        e.put(row, Row.REST + number, e.get(marks, number))
        e.put(marks, number, word(0))
    start = Row.REST + rows.marks
    state = start + len(rows.aside)
    e.copy(e.index(row, state), successor, rows.words)
    for index, number in enumerate(rows.aside):
        mask, whole = rows.masks[number], e.get(successor, number)
        e.put(row, start + index, e.both(whole, word(mask)))
        if number < rows.words:
            e.put(row, state + number, e.both(whole, word(~mask)))
    e.ret()


def _fail(e: Emitter, rows: Rows) -> None:
    """fail(ctx, slot, site): writes a row for a failing step or a false guard."""
    ctx, slot, site = e.arguments
    row = _row(e, ctx, rows)
    e.put(row, Row.ACTION, e.sub(word(-1), slot))
    e.put(row, Row.REST, site)
    e.ret()


def _follow(e: Emitter, words: int, rows: Rows, own: int, called: Sequence[int]) -> None:
    """follow(ctx, state, calls, count): records the steps from ``state``, then the steps of each
    call.

    A call consists of an action number, the number of changes, and the changes themselves. Each
    change is the index of a word and the bits to set in this word.
    """
    ctx, state, calls, count = e.arguments
    whole, arguments = e.words(words), e.words(words)
    e.clear(whole, words)
    e.copy(whole, state, rows.words)
    # An earlier step that wrote no row may have left its marks.
    e.clear(e.pointer(ctx, Word.MARKS), rows.marks)
    follow = e.pointer(ctx, Word.FOLLOW)
    e.put(follow, Follow.CALL, word(-1))
    for number in range(own):
        call(e, f"action{number}", ctx, whole)
    at = e.cell(PTR)
    e.store(calls, at)
    with each(e, count) as index:
        e.put(follow, Follow.CALL, index)
        now = e.load(at, PTR)
        action, changes = e.get(now, 0), e.get(now, 1)
        e.store(e.index(now, e.add(e.shl(changes, 1), word(2))), at)
        e.copy(arguments, whole, words)
        with each(e, changes) as change:
            pair = e.index(now, e.add(e.shl(change, 1), word(2)))
            changed = e.index(arguments, e.get(pair, 0))
            e.store(e.either(e.load(changed), e.get(pair, 1)), changed)
        for number in called:
            with when(e, e.eq(action, word(number))):
                call(e, f"action{number}", ctx, arguments)
    e.ret()


def _precedes(e: Emitter, words: int, rows: Rows) -> None:
    """precedes(left, right, out): writes 1 to ``out`` if state ``left`` is less than state
    ``right``, and 0 otherwise.
    """
    *states, out = e.arguments
    whole = [e.words(words) for _ in states]
    for state, room in zip(states, whole, strict=True):
        e.clear(room, words)
        e.copy(room, state, rows.words)
    e.put(out, 0, e.as_word(call(e, "state_less", *whole)))
    e.ret()
