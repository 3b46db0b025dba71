"""Layouts pack states of every size without loss, and into distinct words."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from tests.support import random_values
from tests.support.core_builders import PLACE, do, lit, model, put

from fencepost.checker.layout import (
    MASK,
    OCCUPIED,
    Large,
    Layout,
    Small,
    decode,
    encode,
    ordered,
    place_fields,
    rank,
    shape,
    tight,
)
from fencepost.spec.core import ir
from fencepost.spec.core.types import (
    Bag,
    Bool,
    Enum,
    Field,
    Int,
    Machine,
    Map,
    Option,
    Record,
    Seq,
    Set,
    Type,
    Union,
    Variant,
    bits,
    cardinality,
    values,
)

BIT = Bool()
WORD = Machine(64)
NOTHING = Int(3, 3)
PAIR = Record("Pair", (Field("left", WORD), Field("right", NOTHING)))
ODD = Union("Odd", (Variant("Empty"), Variant("Full", (Field("a", WORD), Field("b", BIT)))))


def layout_of(*kinds: Type) -> Layout:
    """Returns the layout of states with variables of these types."""
    base = model(put(0, lit(0)), [do()])
    variables = tuple(
        ir.StateVariable(f"v{n}", kind, "variable", "", False, PLACE)
        for n, kind in enumerate(kinds)
    )
    return Layout(replace(base, variables=variables))


@pytest.mark.parametrize("seed", range(150))
def test_packs_random_states_without_loss(seed: int) -> None:
    random = Random(seed)
    types = random_values.Types(random)
    kinds = [types.any() for _ in range(random.randint(1, 6))]
    layout = layout_of(*kinds)
    packed: dict[tuple[int, ...], object] = {}
    for _ in range(25):
        state = tuple(random_values.value(random, kind) for kind in kinds)
        words = layout.encode(state)
        assert len(words) == layout.words
        assert all(0 <= word <= MASK for word in words)
        assert words[0] & OCCUPIED
        assert layout.decode(words) == state
        # Distinct states have distinct words.
        assert packed.setdefault(words, state) == state


@pytest.mark.parametrize("seed", range(60))
def test_variables_do_not_overlap(seed: int) -> None:
    random = Random(seed)
    types = random_values.Types(random)
    kinds = [types.any() for _ in range(random.randint(2, 8))]
    layout = layout_of(*kinds)
    taken: set[int] = {63}
    for kind, slot in zip(kinds, layout.places, strict=True):
        size = shape(kind)
        if isinstance(size, Small):
            own = set(range(slot.word * 64 + slot.shift, slot.word * 64 + slot.shift + size.bits))
            assert not own or slot.shift + size.bits <= 64
        else:
            own = set(range(slot.word * 64, (slot.word + size.words) * 64))
        assert not own & taken
        taken |= own
    assert max(taken) < 64 * layout.words


@pytest.mark.parametrize(
    ("kinds", "total", "words"),
    [
        ([Machine(63)], 64, 1),
        ([BIT] * 63, 64, 1),
        ([WORD], 65, 2),
        ([BIT] * 64, 65, 2),
        ([WORD] * 15 + [Machine(63)], 1024, 16),
        ([Map(Int(0, 14), WORD), Machine(63)], 1024, 16),
        ([NOTHING], 1, 1),
    ],
)
def test_the_number_of_bits(kinds: list[Type], total: int, words: int) -> None:
    layout = layout_of(*kinds)
    assert (layout.bits, layout.words) == (total, words)
    least = tuple(
        next(iter(values(kind))) if bits(kind) < 2 else _end(kind, False) for kind in kinds
    )
    greatest = tuple(_end(kind, True) for kind in kinds)
    assert layout.encode(least) == (OCCUPIED, *[0] * (words - 1))
    ones = layout.encode(greatest)
    assert sum(word.bit_count() for word in ones) == total
    assert layout.decode(ones) == greatest


def _end(kind: Type, greatest: bool) -> bool | int | tuple[int, ...]:
    match kind:
        case Bool():
            return greatest
        case Int() | Machine():
            return kind.high if greatest else kind.low
        case Map(key, Machine() as value):
            return (value.high if greatest else value.low,) * cardinality(key)
        case _:
            raise AssertionError(kind)


@pytest.mark.parametrize(
    "kind",
    [
        BIT,
        Int(-3, 4),
        NOTHING,
        Enum("One", ("A",)),
        Enum("Three", ("A", "B", "C")),
        Option(Int(0, 2)),
        Option(NOTHING),
        Set(Int(0, 3)),
        Set(Int(0, 9), 2),
        Seq(BIT, 3),
        Seq(WORD, 0),
        Bag(Int(0, 2), 3),
        Map(Int(0, 2), Int(0, 2)),
        Map(BIT, NOTHING),
        Record("R", (Field("a", BIT), Field("n", NOTHING), Field("b", Int(0, 4)))),
        Union("U", (Variant("A"), Variant("B", (Field("x", Int(0, 4)),)), Variant("C"))),
        Set(Set(BIT)),
    ],
    ids=str,
)
def test_codes_of_small_types(kind: Type) -> None:
    every = list(values(kind))
    codes = [encode(kind, value) for value in every]
    assert all(0 <= code < 1 << tight(kind) for code in codes)
    assert len(set(codes)) == len(every)
    assert [decode(kind, code) for code in codes] == every
    assert [rank(kind, value) for value in every] == list(range(len(every)))
    if ordered(kind):
        assert codes == sorted(codes)


def test_ordered_types_have_ascending_codes() -> None:
    assert ordered(Record("R", (Field("a", Option(BIT)), Field("b", Enum("E", ("A", "B"))))))
    assert not ordered(Record("R", (Field("a", Set(BIT)),)))
    assert not ordered(Option(Seq(BIT, 1)))
    assert not ordered(Record("Wide", (Field("a", WORD), Field("b", BIT))))


def test_fields_without_width_are_placed_inside() -> None:
    wide = Map(BIT, WORD)
    parts, words = place_fields((Field("a", wide), Field("n", NOTHING)), 0)
    assert words == 2
    assert parts[1].word < words
    assert shape(Record("R", (Field("a", wide), Field("n", NOTHING)))) == Large(2)


@pytest.mark.parametrize(
    "kind", [ODD, Option(WORD), Option(ODD), Seq(ODD, 2), Bag(PAIR, 3)], ids=str
)
def test_absent_parts_are_zero(kind: Type) -> None:
    layout = layout_of(kind)
    random = Random(1)
    for _ in range(40):
        value = random_values.value(random, kind)
        for other in (value, random_values.value(random, kind)):
            same = layout.encode((value,)) == layout.encode((other,))
            assert same == (value == other)
    empty = (0,) if kind == ODD else ()
    assert layout.encode((empty,)) == (OCCUPIED, *[0] * (layout.words - 1))


@pytest.mark.parametrize(
    ("kind", "size"),
    [(Seq(BIT, 70), 2), (Seq(Int(0, 3), 40), 2), (Bag(BIT, 64), 2), (Set(Int(0, 999), 15), 3)],
    ids=str,
)
def test_elements_follow_the_length_without_a_gap(kind: Seq | Bag | Set, size: int) -> None:
    layout = layout_of(kind)
    assert shape(kind) == Large(size)
    assert kind.capacity is not None
    every = list(values(kind.element))
    for length in range(kind.capacity + 1):
        whole = tuple(every[-length:] if isinstance(kind, Set) else every[-1:] * length)
        whole = whole if length else ()
        words = layout.encode((whole,))
        assert layout.decode(words) == (whole,)
        # The variable has words of its own after the first: the length, and elements whose bits are
        # all 1, except in a Set.
        low = kind.capacity.bit_length()
        assert words[1] & ((1 << low) - 1) == length
        if not isinstance(kind, Set):
            ones = sum(word.bit_count() for word in words[1:])
            assert ones == length.bit_count() + length * tight(kind.element)


def test_fields_of_a_large_value_are_close_together() -> None:
    widths = (40, 24, 2, 63, 64, 2)
    fields = [Field(f"f{number}", Machine(width)) for number, width in enumerate(widths)]
    large = Field("g", Map(Int(0, 9), Machine(32)))
    places, words = place_fields([*fields[:3], large, *fields[3:]], 0)
    positions = [(part.word, part.shift) for part in places]
    assert positions == [(0, 0), (0, 40), (1, 0), (2, 0), (7, 0), (8, 0), (9, 0)]
    assert words == 10
    # As, for example, after the bit of an option.
    places, words = place_fields(fields[:2], 1)
    assert ([(part.word, part.shift) for part in places], words) == ([(0, 1), (1, 0)], 2)
