"""Recursions as functions of machine code.

A function receives the context, the memory for its result, its arguments, and the values of the
variables that it reads. It returns 0, `STOPPED`, or `FIRST_SITE` + the number of the site at which
evaluation failed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from fencepost.checker.layout import Large, shape
from fencepost.checker.native.codegen.collections import Collections
from fencepost.checker.native.codegen.context_words import Word
from fencepost.checker.native.codegen.emitter import I1, I64, LLVM, PTR, Emitter, word
from fencepost.checker.native.codegen.flow import when
from fencepost.checker.native.codegen.frame import Frame, set_marks
from fencepost.checker.native.codegen.packed import watched
from fencepost.checker.native.codegen.values import Val
from fencepost.checker.request import Unsupported
from fencepost.spec.core import ir
from fencepost.spec.core.traverse import walk
from fencepost.spec.core.types import Bool, Type

STOPPED = 1
FIRST_SITE = 2
ACTIVATION = 512
"""The stack bytes that one call takes besides its local memory, as an estimate."""

Read: TypeAlias = tuple[int, bool]
"""A variable, and whether its value after the step is read."""


@dataclass(slots=True, eq=False)
class Recursive:
    """The function of a recursion. ``reads`` are the variables that callers pass, in order."""

    function: LLVM
    type: Type
    reads: tuple[Read, ...]
    sites: tuple[int, ...]


class RecursionFrame(Frame):
    """The frame of the function of a recursion."""

    def __init__(self, e: Emitter, reads: Mapping[Read, Val]) -> None:
        self.e = e
        self.ops = Collections(e)
        self.context = e.arguments[0]
        self.reads = reads
        self.ops.polling.leave = self._leave_if_stopped

    def _leave_if_stopped(self) -> None:
        e = self.e
        with when(e, e.as_flag(watched(e, e.index(self.context, Word.STOP))), rare=True):
            e.ret(word(STOPPED))

    def read(self, variable: int, next: bool) -> Val:
        return self.reads[variable, next]

    def fail(self, site: int, assertion: bool) -> None:
        self.e.ret(word(FIRST_SITE + site))

    def witness(self, mark: int) -> None:
        set_marks(self.e, self.context, mark // 64, word(1 << mark % 64))

    def observe(self, number: int, values: Sequence[LLVM]) -> None:
        raise Unsupported("it does not observe the values of a recursive definition")

    def enabled(self, action: int, choices: Sequence[Val]) -> LLVM:
        raise Unsupported("it does not test inside a recursive definition what is enabled")


def kind_of(kind: Type) -> LLVM:
    """Returns the type of a value of the language in machine code."""
    if isinstance(shape(kind), Large):
        return PTR
    return I1 if isinstance(kind, Bool) else I64


def reads_of(expr: ir.Recursion) -> dict[Read, Type]:
    """Returns the variables that the body of a recursion reads, with their types."""
    return {
        (node.index, node.next): node.type
        for node in walk(expr.body)
        if isinstance(node, ir.Variable)
    }


def sites_of(expr: ir.Recursion) -> tuple[int, ...]:
    """Returns the sites at which the body of a recursion may fail."""
    return tuple(sorted({node.site for node in walk(expr.body) if isinstance(node, ir.Demand)}))


def memory(e: Emitter, kind: Type) -> LLVM:
    """Allocates memory for a value that is kept in memory."""
    size = shape(kind)
    return e.words(size.words) if isinstance(size, Large) else e.cell(kind_of(kind))


def keep(e: Emitter, value: Val, target: LLVM) -> None:
    """Copies a value to memory."""
    size = shape(value.type)
    if isinstance(size, Large):
        e.copy(target, value.word, size.words)
    else:
        e.store(value.word, target)


def kept(e: Emitter, kind: Type, source: LLVM) -> Val:
    """Returns the value in memory."""
    return Val(kind, source if isinstance(shape(kind), Large) else e.load(source, kind_of(kind)))
