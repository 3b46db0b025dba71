"""What kernels need of a visited set. They call it, and do not look into it.

Its methods emit code where they are called, so that they cost no call. What a set looks like in
memory is known to what emits it and to what keeps it in `visited`.
"""

from __future__ import annotations

from typing import Protocol

from fencepost.checker.native.codegen.emitter import LLVM, Emitter, Unit


class Lookup(Protocol):
    """Looks up some states together, by their numbers: `seek` for all of them, then for each `find`
    and what may follow. Registers of one number do not hold for another.
    """

    def seek(self, number: LLVM, state: LLVM) -> None:
        """Asks for the memory that it will need, so that cache misses overlap."""

    def find(self, number: LLVM, state: LLVM, known: LLVM) -> None:
        """Goes to the block ``known`` if the state has been seen, and else on."""

    def full(self, number: LLVM) -> LLVM:
        """Whether there has to be more room before a new state is added."""
        ...

    def want_room(self, number: LLVM) -> None:
        """Notes in the context for which state room is wanted; Python makes it."""

    def add(self, number: LLVM, state: LLVM) -> None:
        """Adds a new state, for which there is room."""


class VisitedSet(Protocol):
    """A kind of visited set, for states of any number of words."""

    def define(self, unit: Unit, words: int) -> None:
        """Adds the kernels that Python keeps the set with."""

    def lookup(self, e: Emitter, words: int, most: int) -> Lookup:
        """Looks up at most ``most`` states, in a kernel whose first argument is the context."""
        ...
