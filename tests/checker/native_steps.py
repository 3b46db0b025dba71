"""Generated code by itself, called state by state, with kernels that only take notes."""

from __future__ import annotations

import ctypes
from typing import Any

import llvmlite.binding as llvm

from fencepost.checker.layout import Layout
from fencepost.checker.native.build import machine
from fencepost.checker.native.compile import generate
from fencepost.checker.native.context import Slots, Word
from fencepost.checker.native.emitter import I1, I64, NULL, PTR, VOID, Emitter, Unit, word
from fencepost.spec.ir import Model
from fencepost.spec.types import State

Report = tuple[int, int, State | None, State | None]

ROOM = 1 << 22
CONTEXT_WORDS = len(Word) + 64


class NativeSteps:
    """The functions of a model as machine code.

    ``emit`` notes (action, successor), ``report`` and ``fail`` note (slot, site, state, before).
    """

    def __init__(self, model: Model, properties: frozenset[int], level: int = 2) -> None:
        self.model = model
        self.layout = Layout(model)
        self.words = self.layout.words
        self.slots = Slots(len(model.actions), len(model.properties), self.words)
        unit = Unit("steps")
        generated = generate(model, self.layout, unit, properties)
        self._notes(unit)
        text = str(unit.module)
        module = llvm.parse_assembly(text)
        module.verify()
        target = machine()
        options = llvm.create_pipeline_tuning_options(speed_level=level)
        builder = llvm.create_pass_builder(target, options)
        builder.getModulePassManager().run(module, builder)
        self._engine: Any = llvm.create_mcjit_compiler(module, target)
        self._engine.finalize_object()
        self._context = (ctypes.c_int64 * CONTEXT_WORDS)()
        self.taken = (ctypes.c_uint64 * ROOM)()
        marks = -(-len(model.marks) // 64) + 1
        self.marks = (ctypes.c_uint64 * marks)()
        self.refused = (ctypes.c_uint64 * (len(model.guards) + 1))()
        self.reached = (ctypes.c_uint8 * (len(model.properties) + 1))()
        self._active = (ctypes.c_uint8 * (len(model.properties) + 1))(*[1] * len(model.properties))
        self._choices = (ctypes.c_uint64 * (generated.scratch + 2))()
        for place, array in (
            (Word.MARKS, self.marks),
            (Word.REFUSED, self.refused),
            (Word.REACHED, self.reached),
            (Word.ACTIVE, self._active),
            (Word.CHOICES, self._choices),
        ):
            self._context[place] = ctypes.addressof(array)

    def _notes(self, unit: Unit) -> None:
        """Kernels that write what they are given at ``STORE`` and move it on."""
        size = self.words

        def note(e: Emitter, head: list[Any], states: list[Any]) -> None:
            context = e.arguments[0]
            place = e.pointer(context, Word.STORE)
            for index, value in enumerate(head):
                e.put(place, index, value)
            at = len(head)
            for state in states:
                if state is NULL:
                    e.clear(e.index(place, at), size)
                else:
                    null, some, on = e.block(), e.block(), e.block()
                    e.branch(e.builder.icmp_unsigned("==", state, NULL), null, some)
                    e.at(null)
                    e.clear(e.index(place, at), size)
                    e.goto(on)
                    e.at(some)
                    e.copy(e.index(place, at), state, size)
                    e.goto(on)
                    e.at(on)
                at += size
            moved = e.index(place, at)
            e.store(moved, e.index(context, Word.STORE))
            e.ret()

        emit = Emitter(unit, unit.declare("emit", VOID, [PTR, I64, I64, PTR]))
        note(emit, [word(0), emit.arguments[1], emit.arguments[2]], [emit.arguments[3], NULL])
        report = Emitter(unit, unit.declare("report", VOID, [PTR, I64, I64, PTR, PTR]))
        slot, site, state, before = report.arguments[1:]
        note(report, [word(1), slot, site], [state, before])
        fail = Emitter(unit, unit.declare("fail", VOID, [PTR, I64, I64]))
        current = fail.pointer(fail.arguments[0], Word.CURRENT)
        note(fail, [word(1), fail.arguments[1], fail.arguments[2]], [current, NULL])
        for name, result, parameters in (
            ("step_state", VOID, [PTR, PTR]),
            ("initial_states", VOID, [PTR]),
            ("examine_state", I64, [PTR, PTR]),
            ("check_step", VOID, [PTR, PTR, PTR]),
            ("terminal_state", I64, [PTR, PTR]),
            ("state_less", I1, [PTR, PTR]),
        ):
            made = unit.declare(f"test_{name}", I64, parameters)
            e = Emitter(unit, made)
            found = e.call(unit.module.globals[name], e.arguments)
            e.ret(word(0) if result is VOID else found if result is I64 else e.as_word(found))

    # ------------------------------------------------------------ calls

    def _call(self, name: str, *states: State, context: bool = True) -> int:
        packed = [(ctypes.c_uint64 * self.words)(*self.layout.encode(state)) for state in states]
        arguments = [ctypes.addressof(item) for item in packed]
        if context:
            arguments.insert(0, ctypes.addressof(self._context))
            self._context[Word.CURRENT] = arguments[1] if packed else 0
        self._context[Word.STORE] = ctypes.addressof(self.taken)
        kind = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * len(arguments))
        return int(kind(self._engine.get_function_address(f"test_{name}"))(*arguments))

    def _noted(
        self,
    ) -> tuple[list[tuple[int, State]], list[tuple[int, int, State | None, State | None]]]:
        record = 3 + 2 * self.words
        end = (self._context[Word.STORE] - ctypes.addressof(self.taken)) // 8
        steps: list[tuple[int, State]] = []
        reports: list[Report] = []
        for at in range(0, end, record):
            kind, first, second = (ctypes.c_int64(value).value for value in self.taken[at : at + 3])
            words = [
                self.taken[at + 3 : at + 3 + self.words],
                self.taken[at + 3 + self.words : at + record],
            ]
            states = [self.layout.decode(item) if any(item) else None for item in words]
            for item, state in zip(words, states, strict=True):
                # What is left behind must be canonical: the only packing of what it means.
                assert state is None or tuple(item) == self.layout.encode(state), (item, state)
            if kind == 0:
                assert states[0] is not None
                steps.append((first, states[0]))
            else:
                reports.append((first, second, states[0], states[1]))
        return steps, reports

    def initial(self) -> tuple[list[State], list[tuple[int, int]]]:
        """Initial states in order, and failures (slot, site)."""
        self._call("initial_states")
        steps, reports = self._noted()
        return [state for _, state in steps], [(slot, site) for slot, site, _, _ in reports]

    def expand(self, state: State) -> tuple[list[tuple[int, State]], list[tuple[int, int]]]:
        """Steps (action, successor) in order, and failures (slot, site)."""
        self._call("step_state", state)
        steps, reports = self._noted()
        return steps, [(slot, site) for slot, site, _, _ in reports]

    def examine(self, state: State) -> tuple[bool, list[tuple[int, int]], frozenset[int]]:
        """Whether a state is inside, problems (slot, site), and the reachables that it meets."""
        for number in range(len(self.reached)):
            self.reached[number] = 0
        inside = self._call("examine_state", state)
        _, reports = self._noted()
        reached = frozenset(number for number, met in enumerate(self.reached) if met)
        return bool(inside), [(slot, site) for slot, site, _, _ in reports], reached

    def check_step(self, before: State, after: State) -> list[tuple[int, int]]:
        """Problems (slot, site) of a step."""
        self._call("check_step", before, after)
        return [(slot, site) for slot, site, _, _ in self._noted()[1]]

    def terminal(self, state: State) -> bool:
        """Whether a terminal condition holds."""
        return bool(self._call("terminal_state", state))

    def less(self, left: State, right: State) -> bool:
        """Whether a state comes before another."""
        return bool(self._call("state_less", left, right, context=False))

    def marked(self) -> frozenset[int]:
        """The coverage marks set so far."""
        return frozenset(
            number
            for number in range(len(self.model.marks))
            if self.marks[number // 64] >> number % 64 & 1
        )
