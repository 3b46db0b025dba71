"""The function under construction, as the domain sees it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fencepost.checker.native.codegen.collections import Collections
from fencepost.checker.native.codegen.emitter import LLVM, Emitter, word
from fencepost.checker.native.codegen.values import V, Val
from fencepost.spec.core import ir
from fencepost.spec.semantics.domain import Place


class Frame:
    """The context of the function under construction. Frames omit operations that their kind of
    function does not use (a property makes no choice).
    """

    ops: Collections

    def read(self, variable: int, next: bool) -> Val:
        """The value of a variable."""
        raise NotImplementedError

    def keep(self, variable: int, path: Sequence[Place[V]], value: Val) -> bool:
        """Changes a variable in place. Returns False if the whole value is needed instead."""
        raise NotImplementedError

    def fail(self, site: int, assertion: bool) -> None:
        """Ends the block: evaluation failed here."""
        raise NotImplementedError

    def witness(self, mark: int) -> None:
        """Sets a coverage mark immediately."""
        raise NotImplementedError

    def mark(self, mark: int) -> None:
        """Sets a coverage mark if the step completes."""
        raise NotImplementedError

    def observe(self, number: int, values: Sequence[LLVM]) -> None:
        """Passes at most four words to the observer."""
        raise NotImplementedError

    def refuse(self, guard: int) -> None:
        """Ends the block: a guard was false, so this vector of choices leads nowhere."""
        raise NotImplementedError

    def finish(self) -> None:
        """Ends the block: the step is complete."""
        raise NotImplementedError

    def begin(self) -> None:
        """Declares that variables may be assigned from here on, since the code that follows has
        several predecessors.
        """
        raise NotImplementedError

    def save(self) -> Callable[[], None]:
        """Saves the variables; the result restores them."""
        raise NotImplementedError

    def next_vector(self) -> LLVM:
        """The block that tries the next vector of choices."""
        raise NotImplementedError

    def set_next_vector(self, block: LLVM) -> None:
        raise NotImplementedError

    def odometer(self) -> Odometer:
        """The vector of indices of choices that are not loops."""
        raise NotImplementedError

    def enabled(self, action: int, choices: Sequence[Val]) -> LLVM:
        """Whether an action is enabled, as a flag."""
        raise NotImplementedError

    def permitted(self, pick: ir.Pick, element: Val) -> LLVM:
        """Whether a choice may take this element at all (see `ir.Enabled`)."""
        raise NotImplementedError

    def chosen(self, pick: ir.Pick, element: Val) -> None:
        """Records the element that a choice has taken."""


class Odometer:
    """Cells and scratch memory of the choices that are not loops: the index, and whether there is
    more.
    """

    def __init__(self, e: Emitter, scratch: LLVM) -> None:
        self.position = e.cell()
        self.depth = e.cell()
        self.scratch = scratch
        e.store(word(0), self.position)
        e.store(word(0), self.depth)
