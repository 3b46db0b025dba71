# pyright: basic
"""Control flow in machine code: what runs only if, what runs again."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from fencepost.checker.native.codegen.context_words import Word
from fencepost.checker.native.codegen.emitter import LLVM, VOID, Emitter, Unit, word


def call(e: Emitter, name: str, *arguments: LLVM) -> LLVM:
    """Calls a function of the unit."""
    return e.call(named(e.unit, name), arguments)


def named(unit: Unit, name: str) -> LLVM:
    """A function that has been declared."""
    return unit.module.globals[name]


def exported(unit: Unit, name: str, parameters: list[LLVM]) -> Emitter:
    """A function that others than the unit call, to be filled."""
    made = unit.declare(name, VOID, parameters)
    made.attributes.add("nounwind")
    return Emitter(unit, made)


@contextmanager
def when(e: Emitter, condition: LLVM, rare: bool = False) -> Generator[None]:
    """What is emitted inside runs only where ``condition`` holds."""
    then, behind = e.block("then"), e.block("behind")
    if rare:
        e.unlikely(condition, then, behind)
    else:
        e.branch(condition, then, behind)
    e.at(then)
    yield
    e.goto(behind)
    e.at(behind)


@contextmanager
def each(e: Emitter, count: LLVM) -> Generator[LLVM]:
    """What is emitted inside runs for each number below ``count``."""
    number = e.cell()
    e.store(word(0), number)
    head, body, behind = e.block("each"), e.block("one"), e.block("behind")
    e.goto(head)
    e.at(head)
    now = e.load(number)
    e.branch(e.ult(now, count), body, behind)
    e.at(body)
    yield now
    if e.ended:
        e.at(e.block("more"))
    e.store(e.add(now, word(1)), number)
    e.goto(head)
    e.at(behind)


def count_up(e: Emitter, ctx: LLVM, place: Word) -> None:
    """Adds one to a word of the context."""
    e.put(ctx, place, e.add(e.get(ctx, place), word(1)))
