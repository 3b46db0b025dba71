"""What a function under construction works on, as the domain sees it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fencepost.checker.native.codegen.collections import Collections
from fencepost.checker.native.codegen.emitter import LLVM, Emitter, word
from fencepost.checker.native.codegen.values import V, Val
from fencepost.spec.core import ir
from fencepost.spec.semantics.domain import Place


class Frame:
    """What the function under construction works on. What a kind of function has no use for (a
    property makes no choice) its frame leaves out.
    """

    ops: Collections

    def read(self, variable: int, next: bool) -> Val:
        """The value of a variable."""
        raise NotImplementedError

    def keep(self, variable: int, path: Sequence[Place[V]], value: Val) -> bool:
        """Changes a variable in place; False where the whole value must be given instead."""
        raise NotImplementedError

    def fail(self, site: int, assertion: bool) -> None:
        """Ends the block: evaluation failed here."""
        raise NotImplementedError

    def witness(self, mark: int) -> None:
        """Sets a coverage mark at once."""
        raise NotImplementedError

    def mark(self, mark: int) -> None:
        """Sets a coverage mark if the step is completed."""
        raise NotImplementedError

    def observe(self, number: int, values: Sequence[LLVM]) -> None:
        """Passes to the observer what a search has seen: at most four words."""
        raise NotImplementedError

    def refuse(self, guard: int) -> None:
        """Ends the block: a guard was false, so this vector of choices leads nowhere."""
        raise NotImplementedError

    def finish(self) -> None:
        """Ends the block: the step is complete."""
        raise NotImplementedError

    def begin(self) -> None:
        """Says that variables may be assigned from here on: the code behind this place is reached
        by more ways than one.
        """
        raise NotImplementedError

    def save(self) -> Callable[[], None]:
        """Remembers the variables as they are; the result makes them so again."""
        raise NotImplementedError

    def next_vector(self) -> LLVM:
        """The block in which the next vector of choices is tried."""
        raise NotImplementedError

    def set_next_vector(self, block: LLVM) -> None:
        raise NotImplementedError

    def odometer(self) -> Odometer:
        """The vector of indices of choices that are not loops."""
        raise NotImplementedError

    def enabled(self, action: int, choices: Sequence[Val]) -> LLVM:
        """Whether an action can be taken, as a flag."""
        raise NotImplementedError

    def permitted(self, pick: ir.Pick, element: Val) -> LLVM:
        """Whether a choice may take this element at all (see `ir.Enabled`)."""
        raise NotImplementedError

    def chosen(self, pick: ir.Pick, element: Val) -> None:
        """Takes note of the element that a choice has taken."""


class Odometer:
    """Cells and scratch memory of the choices that are not loops: index and "there is more"."""

    def __init__(self, e: Emitter, scratch: LLVM) -> None:
        self.position = e.cell()
        self.depth = e.cell()
        self.scratch = scratch
        e.store(word(0), self.position)
        e.store(word(0), self.depth)
