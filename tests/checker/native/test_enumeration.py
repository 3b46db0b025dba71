# pyright: basic
"""Machine code that enumerates the values of a type one at a time, or the subsets of a set, yields
the same values in the same order as `values` and `Subsets`.
"""

from __future__ import annotations

import ctypes
import random

import pytest
from tests.checker.native.test_gaps import packed
from tests.spec.core.test_shapes import SmallTypes
from tests.support.native_steps import called, compiled

from fencepost.checker.layout import Large, shape
from fencepost.checker.native.codegen.collections import Collections
from fencepost.checker.native.codegen.emitter import I64, LLVM, PTR, Emitter, Unit, word
from fencepost.checker.native.codegen.values import Val
from fencepost.spec.core.types import (
    Bag,
    Bool,
    Field,
    Int,
    Machine,
    Map,
    Option,
    Record,
    Seq,
    Set,
    Subsets,
    Type,
    Union,
    Value,
    Variant,
    values,
)

MAX_VALUES = 3_000
NOTHING = Int(1, 0)
WIDE = Machine(64)


def enumerated(kind: Type, base: tuple[Value, ...] | None = None) -> list[list[int]]:
    """Returns the words of the values of a type, or of the subsets of ``base``, in order."""
    size = shape(kind)
    width = size.words if isinstance(size, Large) else 1
    unit = Unit("enumeration")
    e = Emitter(unit, unit.declare("enumerate", I64, [PTR]))
    ops = Collections(e)
    (out,) = e.arguments
    number = e.cell()
    e.store(word(0), number)

    def note(value: Val, ordinal: LLVM, end: LLVM) -> None:
        place = e.index(out, e.mul(ordinal, word(width)))
        if isinstance(size, Large):
            e.copy(place, value.word, width)
        else:
            e.store(ops.code(value), place)
        e.store(e.add(ordinal, word(1)), number)

    ops.one_by_one(kind, None if base is None else ops.constant(base, kind), note)
    e.ret(e.load(number))
    room = (ctypes.c_uint64 * (width * (2 * MAX_VALUES)))()
    count = called(compiled(str(unit.module), 0), "enumerate", ctypes.addressof(room))
    return [list(room[at : at + width]) for at in range(0, count * width, width)]


EDGE = Record("Edge", (Field("a", Int(1, 3)), Field("b", Bool())))
ANY = Union("Any", (Variant("A", (Field("x", NOTHING),)), Variant("B"), Variant("C", EDGE.fields)))
KINDS: list[Type] = [
    Bool(), Int(-3, 4), NOTHING, Option(Bool()), Option(NOTHING), EDGE, ANY, Option(ANY),
    Record("None", (Field("a", Bool()), Field("b", NOTHING))), Map(NOTHING, Bool()),
    Map(Bool(), NOTHING), Map(Int(1, 4), Option(Int(1, 4))), Map(Int(1, 2), Set(Int(0, 3), 2)),
    Map(Int(1, 2), Map(Bool(), Seq(Bool(), 2))), Set(Int(0, 9)), Set(NOTHING), Set(EDGE, 3),
    Set(EDGE), Set(Int(5, 9), 0), Seq(Int(0, 2), 6), Seq(NOTHING, 3), Seq(Int(7, 7), 70),
    Seq(WIDE, 0), Seq(Seq(Bool(), 2), 2), Bag(Int(0, 1), 40), Bag(Int(1, 3), 20), Bag(ANY, 3),
    Bag(NOTHING, 2), Set(Bag(Bool(), 2), 2), Set(Map(Bool(), Bool()), 3), Set(Int(0, 70), 2),
    Record("Large", (Field("s", Seq(Int(0, 0), 3)), Field("b", Bag(Bool(), 40)))),
    Option(Bag(Int(0, 1), 60)), Seq(Option(Bag(Int(0, 1), 60)), 1), Bag(Bag(Bool(), 40), 1),
    Union("U", (Variant("A", (Field("b", Bag(Bool(), 64)),)), Variant("B"), Variant("C"))),
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_all_values_come_in_order(kind: Type) -> None:
    assert enumerated(kind) == [packed(kind, value) for value in values(kind)]


@pytest.mark.parametrize("seed", range(12))
def test_values_of_random_types_come_in_order(seed: int) -> None:
    types = SmallTypes(random.Random(seed))
    for kind in (types.small() for _ in range(4)):
        assert enumerated(kind) == [packed(kind, value) for value in values(kind)]


@pytest.mark.parametrize(
    ("kind", "base"),
    [
        (Set(Int(0, 9)), (1, 4, 5, 9)),
        (Set(Int(0, 9)), ()),
        (Set(Int(0, 9)), (3,)),
        (Set(Int(0, 200)), (0, 63, 64, 65, 127, 128, 200)),
        (Set(Int(0, 300), 8), (1, 2, 5, 90, 200, 299, 300)),
        (Set(Int(0, 300), 8), ()),
        (Set(Int(0, 300), 0), ()),
        (Set(EDGE, 10), ((1, False), (1, True), (2, True), (3, False))),
        (Set(Seq(Int(0, 9), 20), 4), ((), (1,), (1, 2), (9, 9, 9))),
    ],
    ids=str,
)
def test_subsets_come_in_order(kind: Set, base: tuple[Value, ...]) -> None:
    assert enumerated(kind, base) == [packed(kind, value) for value in Subsets(base)]
