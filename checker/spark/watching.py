"""Observations of `ir.Observe` on executors, which are forwarded to the driver's observer.

A task has a copy of the observer from the start of the level. When the copy raises, the task stops
before the observed step is completed; the driver's observer will raise as well when it receives the
task's observations.
"""

from __future__ import annotations

from typing import NamedTuple

from fencepost.checker.native.codegen.context_words import Word
from fencepost.checker.native.machine.memory import Memory
from fencepost.checker.native.machine.worker_context import Context
from fencepost.spec.semantics.concrete import Observer


class Sight(NamedTuple):
    """The observations of a task, ascending. ``enough``: the task stopped early."""

    seen: tuple[tuple[int, tuple[int, ...]], ...] = ()
    enough: bool = False


class Watch:
    """Forwards observations of machine code in a context; ``observer`` may be None."""

    def __init__(self, context: Context, memory: Memory, observer: Observer | None) -> None:
        self._seen: set[tuple[int, tuple[int, ...]]] = set()
        self.enough = False
        if observer is None:
            return

        def see(number: int, values: tuple[int, ...]) -> None:
            try:
                self._seen.add((number, values))
                observer(number, values)
            except BaseException:
                # Machine code cannot propagate exceptions. The driver's observer raises the
                # exception again.
                self.enough = True
                context.words[Word.STOP] = 1

        context.watch(memory, see)

    @property
    def sight(self) -> Sight:
        """The observations so far."""
        return Sight(tuple(sorted(self._seen)), self.enough)
