"""Frames that keep the variables while a step runs, and complete the step.

A step keeps its assignments separate from the state that it starts from. When the step completes,
the resulting state is packed and passed to ``emit``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol

from fencepost.checker.layout import OCCUPIED, Large, Layout, Small, place_fields, shape
from fencepost.checker.native.codegen.analysis import MAX_SCRATCH
from fencepost.checker.native.codegen.collections import Collections
from fencepost.checker.native.codegen.context_words import MAX_SEEN, Slots, Word, seen_as
from fencepost.checker.native.codegen.domain import NativeDomain
from fencepost.checker.native.codegen.emitter import LLVM, Emitter, flag, word
from fencepost.checker.native.codegen.flow import when
from fencepost.checker.native.codegen.frame import Frame, Odometer, set_marks
from fencepost.checker.native.codegen.packed import watched
from fencepost.checker.native.codegen.values import V, Val
from fencepost.checker.request import Unsupported
from fencepost.spec.core import ir
from fencepost.spec.core.types import Map, Record, Seq, Type, cardinality
from fencepost.spec.semantics.domain import AtIndex, AtKey, Place
from fencepost.spec.semantics.fold import execute, updated


class Generation(Protocol):
    """The data about the model that frames need, and the kernels that frames call."""

    model: ir.Model
    layout: Layout
    slots: Slots
    emit: LLVM
    report: LLVM
    fail: LLVM
    see: LLVM

    every_guard: bool
    """Whether the failures of all guards are counted."""
    symmetric: bool
    """Whether each state represents its orbit."""
    units: Mapping[int, tuple[int, ...]]
    """For each action with fairness, the slots of the choices that distinguish its units. Empty if
    the search does not consider behaviours.
    """
    stoppable: set[tuple[int, int]]
    """The probes that may return without an answer if the search is stopped."""

    def probe(self, action: int, count: int) -> LLVM:
        """Returns a function of the context, the state and the first choices of an action, which
        tests whether the action is enabled. ``count`` is the number of choices; each choice is
        passed as converted by `probed`. The result is 0, 1, or 2 plus the number of a site at which
        a step leaves an assumed range.
        """
        ...


def leave_if_stopped(e: Emitter, context: LLVM, result: LLVM) -> None:
    """Returns ``result`` from the function if the search is being stopped. The search then ignores
    the results for this state.
    """
    with when(e, e.as_flag(watched(e, e.index(context, Word.STOP))), rare=True):
        e.ret(result)


def call_see(
    generation: Generation,
    e: Emitter,
    context: LLVM,
    number: int,
    values: Sequence[LLVM],
    result: LLVM | None,
) -> None:
    """Passes an observation to the observer.

    If the observer stops the search, the function returns ``result`` at once, before the
    observation has any effect.
    """
    rest = [word(0)] * (MAX_SEEN - len(values))
    kind = word(seen_as(number, len(values)))
    with when(e, e.call(generation.see, [context, kind, *values, *rest]), rare=True):
        e.ret(result)


def probed(ops: Collections, choice: Val) -> LLVM:
    """Converts a choice to an argument of a probe: the code of a small value, or a pointer to a
    large value.
    """
    return choice.word if isinstance(shape(choice.type), Large) else ops.code(choice)


class Changing(Frame):
    """Keeps the variables while a step runs. Variables that the step assigns are kept separately;
    the others are read from the state.

    A small variable is kept in a copy of its word, and a large variable in its own memory. The
    copies are made by `begin`. Before its first assignment, a step reads all variables from the
    state, and most steps end before they assign anything. Subclasses differ in what happens at the
    end of a step.
    """

    fresh = True
    """Whether no assignment can have run before the next code. Constructs with several paths to the
    code that follows must call `begin` before they branch.
    """
    unfinished: LLVM | None = None
    """The value that the function returns if the search is being stopped."""

    def __init__(
        self,
        generation: Generation,
        e: Emitter,
        context: LLVM,
        state: LLVM | None,
        changing: frozenset[int],
    ) -> None:
        self.generation = generation
        self.ops = Collections(e)
        self.e = e
        self.context = context
        self.state = state
        self.domain = NativeDomain(self)
        self.scratch_words = 0
        self._odometer: Odometer | None = None
        self._next: LLVM = None
        self._cells: dict[int, LLVM] = {}
        self._rooms: dict[int, tuple[LLVM, int]] = {}
        layout = generation.layout
        if state is None:
            # The words that contain no variable must also be correct.
            self._cells[0] = e.cell()
        for variable in sorted(changing):
            part = layout.places[variable]
            size = shape(layout.types[variable])
            if isinstance(size, Small):
                if part.word not in self._cells:
                    self._cells[part.word] = e.cell()
            else:
                self._rooms[variable] = e.words(size.words), size.words
        if state is None:
            self.begin()

    def begin(self) -> None:
        """Copies the variables that the step assigns from the state, unless this was done before.
        The following code uses the copies.
        """
        if not self.fresh:
            return
        self.fresh = False
        e, state, layout = self.e, self.state, self.generation.layout
        for place_word, cell in self._cells.items():
            first = OCCUPIED if place_word == 0 else 0
            e.store(word(first) if state is None else e.get(state, place_word), cell)
        for variable, (room, count) in self._rooms.items():
            if state is None:
                e.clear(room, count)
            else:
                e.copy(room, e.index(state, layout.places[variable].word), count)

    def emit_all(self, body: ir.Statement, end: Callable[[], None]) -> None:
        """Emits the whole step for all of its vectors of choices. ``end`` emits the final
        return.
        """
        e = self.e
        final = e.block("final")
        self._next = final
        self.domain.region(body, lambda: execute(self.domain, {}, body))
        e.goto(final)
        e.at(final)
        end()

    # ------------------------------------------------------------ variables

    def _kind(self, variable: int) -> Type:
        return self.generation.layout.types[variable]

    def read(self, variable: int, next: bool) -> Val:
        kind = self._kind(variable)
        part = self.generation.layout.places[variable]
        size = shape(kind)
        if self.fresh:
            assert self.state is not None
            return self.ops.read(self.state, part.word, part.shift, kind)
        if variable in self._rooms:
            return Val(kind, self._rooms[variable][0], moving=True)
        if isinstance(size, Small) and part.word in self._cells:
            code = self.ops.bits(self.e.load(self._cells[part.word]), part.shift, size.bits)
            return self.ops.of_code(kind, code)
        assert self.state is not None
        return self.ops.read(self.state, part.word, part.shift, kind)

    def keep(self, variable: int, path: Sequence[Place[V]], value: Val) -> bool:
        self.begin()
        kind = self._kind(variable)
        size = shape(kind)
        if isinstance(size, Small):
            if path:
                return False
            part = self.generation.layout.places[variable]
            cell = self._cells[part.word]
            if size.bits:
                code = self.ops.code(value)
                old = self.e.load(cell)
                self.e.store(self.ops.merged(old, part.shift, size.bits, code), cell)
            return True
        room, count = self._rooms[variable]
        if not path:
            self.e.copy(room, value.word, count)
            return True
        self._edit(room, kind, path, value)
        return True

    def _edit(self, base: LLVM, kind: Type, path: Sequence[Place[V]], value: Val) -> None:
        """Changes the part at ``path`` of a large value at ``base``."""
        offset, shift, inner = self._into(kind, path[0])
        if isinstance(shape(inner), Large) and len(path) > 1:
            self._edit(self.e.index(base, offset), inner, path[1:], value)
            return
        if len(path) > 1:
            old = self.ops.read(base, offset, shift, inner)
            whole = updated(self.domain, old, inner, path[1:], value)
            assert isinstance(whole, Val)
            value = whole
        self.ops.write(base, offset, shift, value)

    def _into(self, kind: Type, step: Place[V]) -> tuple[LLVM | int, LLVM | int, Type]:
        match step, kind:
            case ir.FieldStep(index), Record(fields=fields):
                part = place_fields(fields, 0)[0][index]
                return part.word, part.shift, fields[index].type
            case AtKey(key), Map(value=inner):
                rank = self.ops.rank(self.ops.materialized(key))
                return *self.ops.slot(kind, rank), inner
            case AtIndex(index), Seq(element=inner):
                assert isinstance(index, Val)
                return *self.ops.slot(kind, index.word), inner
            case _:
                raise AssertionError((kind, step))

    # ------------------------------------------------------------ choices

    def save(self) -> Callable[[], None]:
        if self.fresh:

            def renew() -> None:
                self.fresh = True

            return renew
        e = self.e
        words = [(cell, e.load(cell)) for cell in self._kept_cells()]
        rooms: list[tuple[LLVM, LLVM, int]] = []
        for room, count in self._rooms.values():
            copy = e.words(count)
            e.copy(copy, room, count)
            rooms.append((room, copy, count))

        def restore() -> None:
            for cell, value in words:
                e.store(value, cell)
            for room, copy, count in rooms:
                e.copy(room, copy, count)

        return restore

    def _kept_cells(self) -> list[LLVM]:
        return list(self._cells.values())

    def next_vector(self) -> LLVM:
        return self._next

    def set_next_vector(self, block: LLVM) -> None:
        self._next = block

    def odometer(self) -> Odometer:
        if self._odometer is None:
            self._odometer = self.new_odometer()
        return self._odometer

    def new_odometer(self) -> Odometer:
        """Allocates the odometer of this function."""
        if self.scratch_words > MAX_SCRATCH:
            raise Unsupported("it does not support this number of choices in one step")
        return Odometer(self.e, self.e.words(self.scratch_words))

    def packed(self) -> LLVM:
        """Packs the current state into newly allocated memory and returns the address."""
        self.begin()
        e, layout = self.e, self.generation.layout
        out = e.words(layout.words)
        cells = dict(self._cells)
        rooms = {layout.places[v].word: room for v, room in self._rooms.items()}
        index = 0
        while index < layout.words:
            if index in rooms:
                room, count = rooms[index]
                e.copy(e.index(out, index), room, count)
                index += count
                continue
            if index in cells:
                e.put(out, index, e.load(cells[index]))
            elif self.state is None:
                e.put(out, index, word(0))
            else:
                e.put(out, index, e.get(self.state, index))
            index += 1
        return out

    # ------------------------------------------------------------ effects of a step

    def enabled(self, action: int, choices: Sequence[Val]) -> LLVM:
        raise AssertionError("a step does not ask what is enabled")

    def permitted(self, pick: ir.Pick, element: Val) -> LLVM:
        return flag(True)

    def chosen(self, pick: ir.Pick, element: Val) -> None:
        """Does nothing: only fairness depends on the element."""

    def witness(self, mark: int) -> None:
        """Does nothing: marks count only in a search."""

    def mark(self, mark: int) -> None:
        """Does nothing: marks count only in a search."""

    def observe(self, number: int, values: Sequence[LLVM]) -> None:
        call_see(self.generation, self.e, self.context, number, values, self.unfinished)

    def refuse(self, guard: int) -> None:
        self.e.goto(self._next)


class StepFrame(Changing):
    """An action in a search. If ``state`` is None and ``number`` is -1, the choice of the initial
    states.
    """

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
        self._marks = {index: e.cell() for index in sorted({mark // 64 for mark in marks})}
        super().__init__(generation, e, context, state, changing)
        self.number = number
        self.ops.polling.leave = partial(leave_if_stopped, e, context, None)
        kind = generation.model.actions[number].kind if number >= 0 else "lose"
        self.progressing = kind in ("ordinary", "environment")
        self._finishers: dict[int, LLVM] = {}
        self._ranks: list[LLVM] = []

    def begin(self) -> None:
        if self.fresh:
            for cell in self._marks.values():
                self.e.store(word(0), cell)
        super().begin()

    def _kept_cells(self) -> list[LLVM]:
        return [*self._cells.values(), *self._marks.values()]

    def new_odometer(self) -> Odometer:
        return Odometer(self.e, self.e.pointer(self.context, Word.CHOICES))

    def witness(self, mark: int) -> None:
        set_marks(self.e, self.context, mark // 64, word(1 << mark % 64))

    def mark(self, mark: int) -> None:
        self.begin()
        cell = self._marks[mark // 64]
        self.e.store(self.e.either(self.e.load(cell), word(1 << mark % 64)), cell)

    def chosen(self, pick: ir.Pick, element: Val) -> None:
        slots = self.generation.units.get(self.number, ())
        if pick.slot not in slots:
            return
        e, position = self.e, slots.index(pick.slot)
        rank = self.ops.rank(element)
        if position:
            rank = e.add(e.mul(self._ranks[position - 1], word(cardinality(element.type))), rank)
        self._ranks[position:] = [rank]
        e.put(self.context, Word.OF_ACTION, rank)

    def refuse(self, guard: int) -> None:
        e = self.e
        generation = self.generation
        if generation.every_guard or generation.model.guards[guard].kind == "capacity":
            address = e.index(e.pointer(self.context, Word.REFUSED), guard)
            times = e.get(self.context, Word.WEIGHT) if generation.symmetric else word(1)
            e.store(e.add(e.load(address), times), address)
        e.goto(self._next)

    def fail(self, site: int, assertion: bool) -> None:
        slots = self.generation.slots
        slot = slots.assertion(self.number) if assertion else slots.error(self.number)
        self.e.call(self.generation.fail, [self.context, word(slot), word(site)])
        self.e.goto(self._next)

    def finish(self) -> None:
        self.begin()
        # Each block that tries the next vector needs its own copy of this code.
        target = self._next
        if id(target) not in self._finishers:
            e, here = self.e, self.e.here
            block = e.block("finish")
            self._finishers[id(target)] = block
            e.at(block)
            for index, cell in self._marks.items():
                set_marks(e, self.context, index, e.load(cell))
            action = word(self.number)
            moving = word(int(self.progressing))
            e.call(self.generation.emit, [self.context, action, moving, self.packed()])
            e.goto(target)
            e.at(here)
        self.e.goto(self._finishers[id(target)])


class ProbeFrame(Changing):
    """Decides whether an action is enabled, which is so if some step completes or fails.

    ``given`` maps the slots of the first choices to their values, as converted by `probed`.
    """

    unfinished = word(1)

    def __init__(
        self,
        generation: Generation,
        e: Emitter,
        context: LLVM,
        state: LLVM,
        changing: frozenset[int],
        given: Mapping[int, LLVM],
    ) -> None:
        super().__init__(generation, e, context, state, changing)
        self.given = given
        self.ops.polling.leave = partial(leave_if_stopped, e, context, word(0))

    def permitted(self, pick: ir.Pick, element: Val) -> LLVM:
        given_code = self.given.get(pick.slot)
        if given_code is None:
            return flag(True)
        if isinstance(shape(element.type), Large):
            return self.ops.equal(element, Val(element.type, given_code))
        return self.e.eq(self.ops.code(element), given_code)

    def fail(self, site: int, assertion: bool) -> None:
        leaves = self.generation.model.sites[site].leaves is not None
        self.e.ret(word(2 + site if leaves else 1))

    def finish(self) -> None:
        self.e.ret(word(1))
