# pyright: basic
"""Machine code for hostile specs stays inside its memory.

Each spec runs guarded (see `guarded`) and is compared with the interpreter, in reachable and in
random states.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.agreement import loaded, model_of
from tests.support.memory_guard import Arena, Guard, inspectable
from tests.support.native_steps import called, compiled
from tests.support.steps_agreement import Extent, agree, probing
from tests.support.text_tables import Block, blocks

from fencepost.checker.native.codegen.emitter import I64, LLVM, PTR, Emitter, Unit, word
from fencepost.checker.request import Unsupported
from fencepost.spec.elaborate.claims import program
from fencepost.spec.semantics.stepper import Runner

SOME = Extent(20, 40, 10_000)


SPECS = blocks(Path(__file__).with_name("hostile_specs.txt"))
"""An `Extent` after a name bounds the number of tested states."""


@pytest.mark.parametrize("hostile", SPECS, ids=lambda hostile: hostile.name)
def test_machine_code_stays_inside_its_memory(hostile: Block) -> None:
    extent = Extent(*map(int, hostile.rest.split(", "))) if hostile.rest else SOME
    assert agree(probing(model_of(hostile.text)), extent, guarded=True) > 2


def test_huge_frames_are_refused() -> None:
    """The stack of a thread is not guarded, so code that needs a large frame is refused."""
    copies = "\n".join("    b = [a[k] for k in 0..1800]" for _ in range(700))
    text = f"""
var a: map[0..1800, 0..65535] = [0 for k in 0..1800]
var b: map[0..1800, 0..65535] = [0 for k in 0..1800]
action go:
{copies}
"""
    model = program.build(loaded(text), None)
    with pytest.raises(Unsupported, match="large values"):
        agree(model, Extent())


def test_deep_nesting() -> None:
    inside = "x"
    for depth in range(30):
        inside = f"(if x > {depth} then {inside} else {depth} - x)"
    text = f"var x: -40..40 = 0\naction go: x = ({inside} + 3) % 41\n"
    assert agree(program.build(loaded(text), None), Extent(), guarded=True) > 10


def test_more_branches_than_bits_of_a_word() -> None:
    rows = "\n".join(f"    if x == {value}: x = {value + 1}" for value in range(64))
    last = "action last:\n    if x == 64: x = 0\n"
    model = model_of(f"var x: 0..64 = 0\naction many:\n{rows}\n{last}")
    assert agree(model, Extent(), guarded=True) > 10


def test_long_sequences_of_statements() -> None:
    rows = "\n".join("    x = (x + 1) % 7" for _ in range(9_000))
    model = program.build(loaded(f"var x: 0..6 = 0\naction go:\n{rows}\n"), None)
    assert Runner(model).expand((0,)) == ([(0, (9_000 % 7,))], [])


# ---------------------------------------------------------------- the guard itself


def _beyond(e: Emitter, room: LLVM) -> None:
    e.put(room, 0, word(1))
    e.put(room, 3, e.get(room, 0))


def _before(e: Emitter, room: LLVM) -> None:
    e.put(room, 0, e.get(room, word(-1)))


def _unwritten(e: Emitter, room: LLVM) -> None:
    e.put(room, 0, e.get(room, 2))


def _wild(e: Emitter, room: LLVM) -> None:
    e.put(room, 0, e.get(e.builder.inttoptr(word(64), PTR), 0))


def _copied(e: Emitter, room: LLVM) -> None:
    e.clear(room, 3)
    e.copy(e.words(12), room, 12)


def _zero(e: Emitter, room: LLVM) -> None:
    e.clear(room, 3)
    e.put(room, 0, e.udiv(word(1), e.get(room, 1)))


def _least(e: Emitter, room: LLVM) -> None:
    e.put(room, 0, word(-1))
    e.put(room, 0, e.builder.sdiv(word(1 << 63), e.get(room, 0)))


def _shifted(e: Emitter, room: LLVM) -> None:
    e.put(room, 0, word(64))
    e.put(room, 0, e.builder.shl(word(1), e.get(room, 0)))


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (_beyond, "writes memory that is not its own"),
        (_before, "reads memory that is not its own"),
        (_unwritten, "reads memory that was never written"),
        (_wild, "reads memory that is not its own"),
        (_copied, "reads memory that is not its own"),
        (_zero, "divides by zero"),
        (_least, "divides the least number by -1"),
        (_shifted, "shifts by 64 or more"),
    ],
)
def test_the_guard_notices(body: Callable[[Emitter, LLVM], None], kind: str) -> None:
    unit = Unit("wrong")
    function = unit.declare("wrong", I64, [])
    with inspectable():
        e = Emitter(unit, function)
        body(e, e.words(3))
        e.ret(word(0))
    arena = Arena(1 << 16)
    guard = Guard(unit, arena)
    assert guard.fault() is None
    called(compiled(str(unit.module), 0), "wrong")
    fault = guard.fault()
    assert fault is not None
    assert (fault.kind, fault.function) == (kind, "wrong")


def test_red_zones_detect_writes() -> None:
    arena = Arena(1 << 16)
    array = arena.take(2)
    assert arena.intact
    array[1] = 1
    assert arena.intact
    ctypes.memset(ctypes.addressof(array) + 16, 0, 1)
    assert not arena.intact
