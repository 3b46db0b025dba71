"""Steps that are reported separately, each with the coverage marks of its own vector of choices,
and with guards that failed for lack of room.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fencepost.checker.native.codegen.emitter import LLVM, Emitter, word
from fencepost.checker.native.codegen.frames import Changing, Generation, StepFrame
from fencepost.spec.core import ir
from fencepost.spec.core.traverse import walk

ROOM = ("capacity", "budget")
"""Kinds of guards that fail for lack of room, and might not in the real system."""
REFUSED_SLOT = 0
"""The failure slot that represents a failed guard: the slot of an initial choice."""


def step_marks(body: ir.Statement) -> tuple[int, ...]:
    """The coverage marks that a step may set, ascending."""
    marks = {node.mark for node in walk(body) if isinstance(node, ir.Mark | ir.Witness)}
    return tuple(sorted(marks))


class SingleStepFrame(StepFrame):
    """An action. ``fail`` also reports each guard that failed for lack of room."""

    def __init__(
        self,
        generation: Generation,
        e: Emitter,
        state: LLVM | None,
        changing: frozenset[int],
        number: int,
        context: LLVM,
        marks: Sequence[int],
    ) -> None:
        super().__init__(generation, e, state, changing, number, context, marks)
        # Code before the first assignment sets marks, too.
        for cell in self._marks.values():
            e.store(word(0), cell)

    def begin(self) -> None:
        Changing.begin(self)

    def _kept_cells(self) -> list[LLVM]:
        return list(self._cells.values())

    def save(self) -> Callable[[], None]:
        e = self.e
        marks = [(cell, e.load(cell)) for cell in self._marks.values()]
        restore = super().save()

        def again() -> None:
            restore()
            for cell, value in marks:
                e.store(value, cell)

        return again

    def witness(self, mark: int) -> None:
        cell = self._marks[mark // 64]
        self.e.store(self.e.either(self.e.load(cell), word(1 << mark % 64)), cell)

    def mark(self, mark: int) -> None:
        self.witness(mark)

    def refuse(self, guard: int) -> None:
        e, generation = self.e, self.generation
        if generation.model.guards[guard].kind in ROOM:
            e.call(generation.fail, [self.context, word(REFUSED_SLOT), word(guard)])
        e.goto(self._next)
