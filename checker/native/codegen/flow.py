# pyright: basic
"""Control flow in machine code: calls, conditional code and loops."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from fencepost.checker.native.codegen.context_words import Word
from fencepost.checker.native.codegen.emitter import LLVM, VOID, Emitter, Unit, word


def call(e: Emitter, name: str, *arguments: LLVM) -> LLVM:
    """Calls a function of the unit by its name."""
    return e.call(named(e.unit, name), arguments)


def named(unit: Unit, name: str) -> LLVM:
    """Returns a function that has already been declared."""
    return unit.module.globals[name]


def exported(unit: Unit, name: str, parameters: list[LLVM]) -> Emitter:
    """Declares a function that is called from outside the unit and returns an emitter for its
    body.
    """
    function = unit.declare(name, VOID, parameters)
    function.attributes.add("nounwind")
    return Emitter(unit, function)


@contextmanager
def when(e: Emitter, condition: LLVM, rare: bool = False) -> Generator[None]:
    """A context for code that runs only if ``condition`` holds."""
    then, after = e.block("then"), e.block("behind")
    if rare:
        e.unlikely(condition, then, after)
    else:
        e.branch(condition, then, after)
    e.at(then)
    yield
    e.goto(after)
    e.at(after)


@contextmanager
def each(e: Emitter, count: LLVM) -> Generator[LLVM]:
    """A context for code that runs once for each number below ``count``. Yields the number."""
    number = e.cell()
    e.store(word(0), number)
    head, body, after = e.block("each"), e.block("one"), e.block("behind")
    e.goto(head)
    e.at(head)
    now = e.load(number)
    e.branch(e.ult(now, count), body, after)
    e.at(body)
    yield now
    if e.ended:
        e.at(e.block("more"))
    e.store(e.add(now, word(1)), number)
    e.goto(head)
    e.at(after)


def count_up(e: Emitter, ctx: LLVM, index: Word) -> None:
    """Increments a word of the context."""
    e.put(ctx, index, e.add(e.get(ctx, index), word(1)))
