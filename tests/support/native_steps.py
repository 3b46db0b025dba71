# pyright: basic
"""Calls generated code directly, state by state, with kernels that only record how they are
called.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, TypeAlias

import llvmlite.binding as llvm
from tests.support.memory_guard import Arena, Fault, Guard, inspectable

from fencepost.checker.layout import Layout
from fencepost.checker.native.codegen.compile import GeneratedCode, generate
from fencepost.checker.native.codegen.context_words import Slots, Word
from fencepost.checker.native.codegen.emitter import (
    I1,
    I64,
    LLVM,
    NULL,
    PTR,
    VOID,
    Emitter,
    Unit,
    word,
)
from fencepost.spec.core.ir import Model
from fencepost.spec.core.types import State

Place: TypeAlias = tuple[int, int]
"""The slot and the site of a problem."""

ROOM = 1 << 19
"""The number of words for the notes of one call."""
MAX_NOTES = 20_000
"""The maximal number of notes, since a random state may have millions of successors."""
HEAD = 3
"""The number of words in a note before its states: the kind of call and two numbers."""
EMITTED, REPORTED = 1, 2


@dataclass(frozen=True, slots=True)
class Note:
    """A call of ``emit`` (numbers: action, progressing) or ``report`` (slot, site)."""

    kind: int
    first: int
    second: int
    state: State | None
    before: State | None


class NativeSteps:
    """The functions of a model as machine code; ``level`` is LLVM's optimization level.

    With ``guarded``, the code checks its memory accesses (see `guarded`), and `fault` returns the
    first violation. Every call must leave the memory around its arrays unchanged.
    """

    def __init__(
        self, model: Model, properties: frozenset[int], level: int = 2, guarded: bool = False
    ) -> None:
        self.model = model
        self.layout = Layout(model)
        self.words = self.layout.words
        self.slots = Slots(len(model.actions), len(model.properties), self.words)
        with inspectable() if guarded else nullcontext():
            unit, generated = written(model, self.layout, properties)
        self.has_steps = generated.has_steps
        self._arena = arena = Arena()
        self._guard = Guard(unit, arena) if guarded else None
        self._functions(unit)
        self._engine = compiled(str(unit.module), level)
        self._context = arena.take(len(Word))
        self._taken = arena.take(ROOM)
        self._states = [arena.take(self.words) for _ in range(2)]
        self._marks = arena.take(-(-len(model.marks) // 64))
        self._refused = arena.take(len(model.guards))
        self._reached = arena.take(-(-len(model.properties) // 8))
        self._active = arena.take(-(-len(model.properties) // 8))
        ctypes.memset(self._active, 1, len(model.properties))
        self._choices = arena.take(generated.scratch)
        for word_, array in (
            (Word.MARKS, self._marks),
            (Word.REFUSED, self._refused),
            (Word.REACHED, self._reached),
            (Word.ACTIVE, self._active),
            (Word.CHOICES, self._choices),
        ):
            self._context[word_] = ctypes.addressof(array)

    def _functions(self, unit: Unit) -> None:
        """Creates the generated functions under names that Python can look up."""
        for name, result, parameters in (
            ("step_state", VOID, [PTR, PTR]),
            ("initial_states", VOID, [PTR]),
            ("examine_state", I64, [PTR, PTR]),
            ("check_step", VOID, [PTR, PTR, PTR]),
            ("terminal_state", I64, [PTR, PTR]),
            ("state_less", I1, [PTR, PTR]),
        ):
            wrapper = unit.declare(f"test_{name}", I64, parameters)
            e = Emitter(unit, wrapper)
            result_value = e.call(unit.module.globals[name], e.arguments)
            e.ret(
                word(0)
                if result is VOID
                else result_value
                if result is I64
                else e.as_word(result_value)
            )

    # ------------------------------------------------------------ calls

    def _call(self, name: str, *states: State, context: bool = True) -> int:
        arguments: list[int] = []
        for state, room in zip(states, self._states, strict=False):
            room[:] = self.layout.encode(state)
            arguments.append(ctypes.addressof(room))
        if context:
            self._context[Word.CURRENT] = arguments[0] if arguments else 0
            arguments.insert(0, ctypes.addressof(self._context))
        start = ctypes.addressof(self._taken)
        self._context[Word.STORE] = start
        self._context[Word.STORE_END] = start + ctypes.sizeof(self._taken)
        self._context[Word.STOP] = 0
        result = called(self._engine, f"test_{name}", *arguments)
        assert not self._context[Word.STOP], "there is no room for so many notes"
        assert self._arena.intact, f"{name} wrote where it may not"
        for state, room in zip(states, self._states, strict=False):
            assert tuple(room) == self.layout.encode(state), f"{name} wrote into its argument"
        return result

    @property
    def most_notes(self) -> int:
        """The maximal number of notes in one call, limited by memory and by time."""
        return min(ROOM // (HEAD + 2 * self.words), MAX_NOTES)

    @property
    def fault(self) -> Fault | None:
        """The first forbidden access of the code."""
        assert self._guard is not None
        return self._guard.fault()

    def _noted(self) -> list[Note]:
        record = HEAD + 2 * self.words
        end = (self._context[Word.STORE] - ctypes.addressof(self._taken)) // 8
        notes: list[Note] = []
        for at in range(0, end, record):
            kind, first, second = (
                ctypes.c_int64(value).value for value in self._taken[at : at + HEAD]
            )
            middle = at + HEAD + self.words
            state = self._decoded(self._taken[at + HEAD : middle])
            before = self._decoded(self._taken[middle : at + record])
            notes.append(Note(kind, first, second, state, before))
        return notes

    def _decoded(self, words: Sequence[int]) -> State | None:
        if not any(words):
            return None
        state = self.layout.decode(words)
        # The encoding must be canonical: each state has exactly one.
        assert tuple(words) == self.layout.encode(state), (words, state)
        return state

    def _steps(self, current: State | None) -> tuple[list[tuple[int, State]], list[Place]]:
        steps: list[tuple[int, State]] = []
        failures: list[Place] = []
        for note in self._noted():
            if note.kind == EMITTED:
                assert note.state is not None
                action = note.first
                kind = "lose" if action < 0 else self.model.actions[action].kind
                assert note.second == (kind in ("ordinary", "environment"))
                steps.append((action, note.state))
            else:
                assert note.state == current
                assert note.before is None
                failures.append((note.first, note.second))
        return steps, failures

    def _problems(self, state: State, before: State | None) -> list[Place]:
        problems: list[Place] = []
        for note in self._noted():
            assert note.kind == REPORTED
            assert (note.state, note.before) == (state, before)
            problems.append((note.first, note.second))
        return problems

    def initial(self) -> tuple[list[State], list[Place]]:
        """Returns the initial states and the failures (slot, site), each in order."""
        self._call("initial_states")
        steps, failures = self._steps(None)
        assert all(action == -1 for action, _ in steps)
        return [state for _, state in steps], failures

    def expand(self, state: State) -> tuple[list[tuple[int, State]], list[Place]]:
        """Returns the steps (action, successor) and the failures (slot, site), each in order."""
        self._call("step_state", state)
        return self._steps(state)

    def examine(self, state: State) -> tuple[bool, list[Place], frozenset[int]]:
        """Returns whether a state satisfies the constraints, the problems (slot, site), and the
        reachables that hold.
        """
        ctypes.memset(self._reached, 0, ctypes.sizeof(self._reached))
        inside = self._call("examine_state", state)
        assert inside in (0, 1)
        flags = ctypes.string_at(self._reached, len(self.model.properties))
        reached = frozenset(number for number, met in enumerate(flags) if met)
        return bool(inside), self._problems(state, None), reached

    def check_step(self, before: State, after: State) -> list[Place]:
        """Returns the problems (slot, site) of a step."""
        self._call("check_step", before, after)
        return self._problems(after, before)

    def terminal(self, state: State) -> tuple[bool, list[Place]]:
        """Returns whether a terminal condition holds (or has no value), and the problems (slot,
        site).
        """
        holds = self._call("terminal_state", state)
        assert holds in (0, 1)
        return bool(holds), self._problems(state, None)

    def less(self, left: State, right: State) -> bool:
        """Checks whether one state comes before another."""
        return bool(self._call("state_less", left, right, context=False))

    @property
    def marked(self) -> frozenset[int]:
        """Returns the coverage marks set so far."""
        count = len(self.model.marks)
        assert not any(self._marks[n // 64] >> n % 64 & 1 for n in range(count, len(self._marks)))
        return frozenset(n for n in range(count) if self._marks[n // 64] >> n % 64 & 1)

    @property
    def refused(self) -> dict[int, int]:
        """Returns how many times each guard has refused so far; guards that never refused are left
        out.
        """
        return {guard: count for guard, count in enumerate(self._refused) if count}


def written(model: Model, layout: Layout, properties: frozenset[int]) -> tuple[Unit, GeneratedCode]:
    """Generates the functions of a model together with recording kernels, without compiling
    them.
    """
    unit = Unit("steps")
    generated = generate(model, layout, unit, properties)
    _notes(unit, layout.words)
    return unit, generated


def _notes(unit: Unit, size: int) -> None:
    """Builds kernels that write their arguments at ``STORE`` and advance it."""

    def note(e: Emitter, kind: int, numbers: Sequence[LLVM], states: Sequence[LLVM]) -> None:
        context = e.arguments[0]
        record = e.pointer(context, Word.STORE)
        room, full = e.block(), e.block()
        left = e.sub(e.get(context, Word.STORE_END), e.builder.ptrtoint(record, I64))
        e.branch(e.slt(left, word(8 * (HEAD + 2 * size))), full, room)
        e.at(full)
        e.put(context, Word.STOP, word(1))
        e.ret()
        e.at(room)
        for index, value in enumerate([word(kind), *numbers]):
            e.put(record, index, value)
        at = HEAD
        for state in states:
            null, some, on = e.block(), e.block(), e.block()
            e.branch(e.builder.icmp_unsigned("==", state, NULL), null, some)
            e.at(null)
            e.clear(e.index(record, at), size)
            e.goto(on)
            e.at(some)
            e.copy(e.index(record, at), state, size)
            e.goto(on)
            e.at(on)
            at += size
        e.store(e.index(record, at), e.index(context, Word.STORE))
        e.ret()

    emit = Emitter(unit, unit.declare("emit", VOID, [PTR, I64, I64, PTR]))
    _, action, progressing, successor = emit.arguments
    note(emit, EMITTED, [action, progressing], [successor, NULL])
    report = Emitter(unit, unit.declare("report", VOID, [PTR, I64, I64, PTR, PTR]))
    _, slot, site, state, before = report.arguments
    note(report, REPORTED, [slot, site], [state, before])
    fail = Emitter(unit, unit.declare("fail", VOID, [PTR, I64, I64]))
    context, slot, site = fail.arguments
    note(fail, REPORTED, [slot, site], [fail.pointer(context, Word.CURRENT), NULL])


def compiled(text: str, level: int) -> Any:
    """Compiles a module for this processor and returns an engine with it."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(text)
    module.verify()
    target = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=level,
        reloc="pic",
        codemodel="default",
    )
    if level:
        options = llvm.create_pipeline_tuning_options(speed_level=level)
        builder = llvm.create_pass_builder(target, options)
        builder.getModulePassManager().run(module, builder)
    engine = llvm.create_mcjit_compiler(module, target)
    engine.finalize_object()
    return engine


def called(engine: Any, name: str, *addresses: int) -> int:
    """Calls a function that takes addresses, and returns its result."""
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * len(addresses))
    return int(kind(engine.get_function_address(name))(*addresses))
