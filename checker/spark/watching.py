"""What tasks see of what `ir.Observe` says, on its way to the observer, at the driver.

A task has a copy of the observer as it was when the level was ordered. Where that has seen enough,
the task stops, before the step that it saw has been made; the driver's own observer, to which
everything is told that tasks have seen, comes to the same. It does not know what is observed.
"""

from __future__ import annotations

from typing import NamedTuple

from fencepost.checker.native.codegen.context_words import Word
from fencepost.checker.native.machine.memory import Memory
from fencepost.checker.native.machine.worker_context import Context
from fencepost.spec.semantics.concrete import Observer


class Sight(NamedTuple):
    """What a task has seen: numbers of observations with their values, ascending. ``enough``: it
    stopped, and what it was to do is not done.
    """

    seen: tuple[tuple[int, tuple[int, ...]], ...] = ()
    enough: bool = False


class Watch:
    """Follows what machine code sees in a context; ``observer`` is None where there is none."""

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
                # Machine code cannot pass it on. Whatever it is, it is raised again by the driver's
                # observer, or found missing there (`explorer`): nothing is passed over.
                self.enough = True
                context.words[Word.STOP] = 1

        context.watch(memory, see)

    @property
    def sight(self) -> Sight:
        """What has been seen so far."""
        return Sight(tuple(sorted(self._seen)), self.enough)
