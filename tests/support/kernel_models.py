# pyright: basic
"""Hand-written models in machine code, in the form of generated code, for tests of the kernels.

A state is one word, so that it is easy to read. Any further words are copies of it without the top
bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from fencepost.checker.native.codegen.context_words import Slots
from fencepost.checker.native.codegen.emitter import (
    I1,
    I64,
    LLVM,
    NULL,
    PTR,
    VOID,
    Emitter,
    Unit,
    word,
)
from fencepost.checker.native.codegen.flow import call, each, when
from fencepost.checker.native.kernels import calls, search_kernels

TOP = 1 << 63
Truth: TypeAlias = Callable[[Emitter, LLVM], LLVM]


@dataclass(frozen=True)
class Toy:
    """A model whose states are numbers; ``step`` emits the successors of one.

    The numbers below ``initial`` are the initial states. ``invalid`` violates property 0;
    ``step_invalid``, which takes two numbers, violates property 1.
    """

    step: Callable[[Toy, Emitter, LLVM], None]
    actions: int
    words: int = 1
    initial: int = 1
    inside: Truth | None = None
    invalid: Truth | None = None
    terminal: Truth | None = None
    step_invalid: Callable[[Emitter, LLVM, LLVM], LLVM] | None = None

    @property
    def slots(self) -> Slots:
        return Slots(self.actions, 2, self.words)

    def emit(self, e: Emitter, action: int, value: LLVM, progressing: bool = True) -> None:
        """Emits the state of a value; the first argument of ``e``'s function is the context."""
        room = e.words(self.words)
        e.put(room, 0, e.either(value, word(TOP)))
        for index in range(1, self.words):
            e.put(room, index, value)
        call(e, "emit", e.arguments[0], word(action), word(int(progressing)), room)


def text(toy: Toy) -> str:
    """Returns the text of the module for a toy, including the kernels."""
    unit = Unit("toy")
    calls.declare(unit)

    def opened(name: str, result: LLVM, parameters: list[LLVM]) -> Emitter:
        return Emitter(unit, unit.function(name, result, parameters, aliasing=True))

    def value(e: Emitter, pointer: LLVM) -> LLVM:
        return e.both(e.load(pointer), word(TOP - 1))

    e = opened("state_less", I1, [PTR, PTR])
    e.ret(e.ult(value(e, e.arguments[0]), value(e, e.arguments[1])))
    e = opened("step_state", VOID, [PTR, PTR])
    toy.step(toy, e, value(e, e.arguments[1]))
    e.ret()
    e = opened("initial_states", VOID, [PTR])
    with each(e, word(toy.initial)) as number:
        toy.emit(e, -1, number, False)
    e.ret()
    for name, condition, otherwise in (
        ("terminal_state", toy.terminal, 0),
        ("examine_state", toy.inside, 1),
    ):
        e = opened(name, I64, [PTR, PTR])
        ctx, state = e.arguments
        if name == "examine_state" and toy.invalid is not None:
            with when(e, toy.invalid(e, value(e, state))):
                call(e, "report", ctx, word(toy.slots.violation(0)), word(0), state, NULL)
        truth = word(otherwise)
        if condition is not None:
            truth = e.as_word(condition(e, value(e, state)))
        e.ret(truth)
    if toy.step_invalid is not None:
        e = opened("check_step", VOID, [PTR, PTR, PTR])
        ctx, before, after = e.arguments
        with when(e, toy.step_invalid(e, value(e, before), value(e, after))):
            call(e, "report", ctx, word(toy.slots.violation(1)), word(0), after, before)
        e.ret()
    calls.define(unit, toy.words, toy.step_invalid is not None)
    search_kernels.define(unit, toy.words, toy.slots.deadlock)
    return str(unit.module)


def two_phase_commit(n: int, words: int = 1) -> Toy:
    """Builds Gray and Lamport's two-phase commit with ``n`` resource managers."""
    tm, tp = 2 * n, 2 * n + 2
    mp = tp + n
    mc = mp + n
    ma, everyone = mc + 1, (1 << n) - 1

    def step(toy: Toy, e: Emitter, s: LLVM) -> None:
        def bits(shift: int, mask: int) -> LLVM:
            return e.both(e.shr(s, shift), word(mask))

        def put(shift: int, number: int, mask: int = 0) -> LLVM:
            return e.either(e.both(s, word(~(mask << shift))), word(number << shift))

        waiting = e.eq(bits(tm, 3), word(0))
        with when(e, waiting):
            with when(e, e.eq(bits(tp, everyone), word(everyone))):
                toy.emit(e, 0, put(tm, 1 | 1 << (mc - tm)))
            toy.emit(e, 1, put(tm, 2 | 1 << (ma - tm)))
        commit, abort = e.as_flag(bits(mc, 1)), e.as_flag(bits(ma, 1))
        for r in range(n):
            with when(e, e.both(waiting, e.as_flag(bits(mp + r, 1)))):
                toy.emit(e, 2, put(tp + r, 1))
            with when(e, e.eq(bits(2 * r, 3), word(0))):
                toy.emit(e, 3, put(2 * r, 1 | 1 << (mp - r)))
                toy.emit(e, 4, put(2 * r, 3))
            with when(e, commit):
                toy.emit(e, 5, put(2 * r, 2, 3))
            with when(e, abort):
                toy.emit(e, 6, put(2 * r, 3, 3))

    return Toy(step, 7, words)


def fan(
    count: int,
    words: int = 1,
    then: Callable[[Toy, Emitter, LLVM], None] | None = None,
    inside: Truth | None = None,
    invalid: Truth | None = None,
    terminal: Truth | None = None,
    step_invalid: Callable[[Emitter, LLVM, LLVM], LLVM] | None = None,
) -> Toy:
    """Builds a model in which 0 leads to 1, 2 ... ``count``, whose successors are determined by
    ``then``.
    """

    def step(toy: Toy, e: Emitter, value: LLVM) -> None:
        with when(e, e.eq(value, word(0))), each(e, word(count)) as number:
            toy.emit(e, 0, e.add(number, word(1)))
        if then is not None:
            with when(e, e.both(e.ult(word(0), value), e.ult(value, word(count + 1)))):
                then(toy, e, value)

    return Toy(step, 1, words, 1, inside, invalid, terminal, step_invalid)


def chain(count: int) -> Toy:
    """Builds a model in which 0 leads to 1, 1 to 2, and so on, with ``count`` states."""

    def step(toy: Toy, e: Emitter, value: LLVM) -> None:
        with when(e, e.ult(value, word(count - 1))):
            toy.emit(e, 0, e.add(value, word(1)))

    return Toy(step, 1)


def added(e: Emitter, value: LLVM, number: int) -> LLVM:
    return e.add(value, word(number))
