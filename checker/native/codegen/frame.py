"""The interface between the native domain and the function that it emits code for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fencepost.checker.native.codegen.collections import Collections
from fencepost.checker.native.codegen.context_words import Word
from fencepost.checker.native.codegen.emitter import LLVM, Emitter, word
from fencepost.checker.native.codegen.values import V, Val
from fencepost.spec.core import ir
from fencepost.spec.semantics.domain import Place


class Frame:
    """The context of the function under construction.

    A frame does not implement operations that functions of its kind do not use. For example, a
    property makes no choices.
    """

    ops: Collections
    context: LLVM

    def read(self, variable: int, next: bool) -> Val:
        """Returns the value of a variable, in the next state if ``next``."""
        raise NotImplementedError

    def keep(self, variable: int, path: Sequence[Place[V]], value: Val) -> bool:
        """Changes a variable in place. Returns False if the caller must pass the whole value
        instead.
        """
        raise NotImplementedError

    def fail(self, site: int, assertion: bool) -> None:
        """Ends the block because evaluation failed at ``site``."""
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
        """Ends the block because a guard was false. This vector of choices yields no step."""
        raise NotImplementedError

    def finish(self) -> None:
        """Ends the block because the step is complete."""
        raise NotImplementedError

    def begin(self) -> None:
        """Declares that variables may be assigned in the following code. This must be called before
        a construct where several paths lead to the code that follows.
        """
        raise NotImplementedError

    def save(self) -> Callable[[], None]:
        """Saves the variables and returns a function that restores them."""
        raise NotImplementedError

    def next_vector(self) -> LLVM:
        """Returns the block that tries the next vector of choices."""
        raise NotImplementedError

    def set_next_vector(self, block: LLVM) -> None:
        raise NotImplementedError

    def odometer(self) -> Odometer:
        """Returns the vector of indices of the choices that are not loops."""
        raise NotImplementedError

    def enabled(self, action: int, choices: Sequence[Val]) -> LLVM:
        """Returns a flag that tells whether an action is enabled."""
        raise NotImplementedError

    def permitted(self, pick: ir.Pick, element: Val) -> LLVM:
        """Returns whether a choice may take ``element`` at all (see `ir.Enabled`)."""
        raise NotImplementedError

    def chosen(self, pick: ir.Pick, element: Val) -> None:
        """Records the element that a choice has taken."""


class Odometer:
    """The indices of the choices that are not loops. ``scratch`` has two words for each choice: its
    index, and whether it has another alternative.
    """

    def __init__(self, e: Emitter, scratch: LLVM) -> None:
        self.position = e.cell()
        self.depth = e.cell()
        self.scratch = scratch
        e.store(word(0), self.position)
        e.store(word(0), self.depth)


def set_marks(e: Emitter, context: LLVM, index: int, bits: LLVM) -> None:
    """Sets the coverage marks ``bits`` in one word."""
    address = e.index(e.pointer(context, Word.MARKS), index)
    e.store(e.either(e.load(address), bits), address)
