"""A model whose steps are computed one by one in machine code, in terms of packed states, rows and
calls.
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Sequence
from struct import pack, unpack

from fencepost.checker.layout import OCCUPIED, Large, Layout, read, shape, write
from fencepost.checker.native.codegen.compile import generate
from fencepost.checker.native.codegen.context_words import (
    FOLLOW_WORDS,
    Follow,
    Slots,
    Word,
)
from fencepost.checker.native.codegen.emitter import Unit
from fencepost.checker.native.kernels import calls, follow
from fencepost.checker.native.kernels.follow import Rows
from fencepost.checker.native.machine import build
from fencepost.checker.native.machine.memory import Memory, words
from fencepost.checker.native.machine.worker_context import Context, Sizes
from fencepost.spec.core.ir import Model
from fencepost.spec.core.types import State, Value

INITIAL_BYTES = 1 << 20
"""The initial size of the memory for rows in bytes."""
NEXT, END, LACKING = map(int, (Follow.NEXT, Follow.END, Follow.LACKING))


class FollowerCode:
    """The machine code of a model. Each process loads it separately.

    The first ``own`` actions are the model's own; the actions in ``called`` are run only by calls,
    which give the action's number. The variables in ``passing`` have a value only within one step,
    and belong to no state. ``count`` is the number of variables of a state. Raises `Unsupported`.
    """

    def __init__(
        self, model: Model, own: int, called: Sequence[int], passing: Collection[int], count: int
    ) -> None:
        self.layout = layout = Layout(model)
        self.count = count
        masks = [0] * layout.words
        for number in passing:
            part, size = layout.places[number], shape(layout.types[number])
            if isinstance(size, Large):
                masks[part.word : part.word + size.words] = [-1] * size.words
            else:
                masks[part.word] |= ((1 << size.bits) - 1) << part.shift
        used = max(number for number, mask in enumerate(masks) if mask != -1) + 1
        slots = Slots(len(model.actions), len(model.properties), layout.words)
        self.rows = Rows(-(-len(model.marks) // 64), used, tuple(masks))
        unit = Unit("model")
        calls.declare(unit)
        generated = generate(model, layout, unit, frozenset(), single=True)
        follow.define(unit, layout.words, self.rows, own, called)
        self.sizes = Sizes(slots, len(model.marks), len(model.guards), generated.scratch, 0)
        self.compilation = build.Compilation(unit.text())

    def packed(self, state: State) -> bytes:
        """Returns the words of a state as bytes."""
        words = [OCCUPIED, *[0] * (self.layout.words - 1)]
        places = zip(self.layout.types, self.layout.places, strict=True)
        for (kind, part), value in zip(places, state, strict=False):
            write(kind, value, words, part)
        return pack(f"={self.rows.words}Q", *words[: self.rows.words])

    def state(self, data: bytes) -> State:
        """Returns the state that these words encode."""
        held = self.words(data)
        return tuple(self.value(number, held) for number in range(self.count))

    def words(self, data: bytes) -> tuple[int, ...]:
        """Returns the words of a state as numbers."""
        return unpack(f"={self.rows.words}Q", data)

    def aside(self, data: bytes) -> list[int]:
        """Returns the passing values of a row, laid out as in a state."""
        words, places = [0] * self.layout.words, self.rows.aside
        for index, held in zip(places, unpack(f"={len(places)}Q", data), strict=True):
            words[index] = held
        return words

    def bytes_of(self, variable: int) -> tuple[int, int]:
        """Returns the byte range of the words that contain a variable. These words may also contain
        other variables.
        """
        first, size = self.layout.places[variable].word, shape(self.layout.types[variable])
        return 8 * first, 8 * (first + (size.words if isinstance(size, Large) else 1))

    def value(self, variable: int, held: Sequence[int]) -> Value:
        """Returns the value of a variable in a state, given the words of the state. Words after
        those of the variable may be missing.
        """
        return read(self.layout.types[variable], held, self.layout.places[variable])

    def changes(self, variable: int, value: Value) -> bytes:
        """Returns the changes that a call needs to set a variable to ``value``. The variable must
        have its least value before.
        """
        words = [0] * self.layout.words
        write(self.layout.types[variable], value, words, self.layout.places[variable])
        return b"".join(pack("=QQ", index, bits) for index, bits in enumerate(words) if bits)


class Follower:
    """The machine code of a model, loaded by this process."""

    def __init__(self, followed: FollowerCode, room: int = INITIAL_BYTES) -> None:
        self._memory = Memory()
        # The blocks for states are not used.
        self._context = Context(self._memory, followed.sizes, 1, lambda _: None)
        self._address = self._context.address
        held = words(self._memory.take(8 * FOLLOW_WORDS).address, FOLLOW_WORDS)
        self._context.words[Word.FOLLOW] = ctypes.addressof(held)
        self._held = memoryview(held).cast("B").cast("Q")
        self._flag = words(self._memory.take(8).address, 1)
        self._size = 8 * followed.rows.size
        self._make_room(room)
        # Optimizing would take longer than it saves: most of the time is spent on processing the
        # rows.
        self._code = followed.compilation.quick()
        self._follow, self._precedes = self._code.follow, self._code.precedes

    def rows(self, state: bytes, calls: bytes, count: int) -> bytes:
        """Returns the rows of the steps from a state, and the rows of ``count`` calls."""
        held = self._held
        while True:
            start = self._room.address
            held[NEXT] = start
            self._follow(self._address, state, calls, count)
            if not held[LACKING]:
                return self._written[: held[NEXT] - start].tobytes()
            size = held[END] - start + self._size * held[LACKING]
            held[LACKING] = 0
            self._memory.give(self._room)
            self._make_room(2 * size)

    def precedes(self, left: bytes, right: bytes) -> bool:
        """Returns whether the state ``left`` is ordered before the state ``right``."""
        self._precedes(left, right, ctypes.addressof(self._flag))
        return bool(self._flag[0])

    def _make_room(self, size: int) -> None:
        self._room = self._memory.take(size)
        self._held[END] = self._room.address + self._room.size
        there = (ctypes.c_char * self._room.size).from_address(self._room.address)
        self._written = memoryview(there).cast("B")
