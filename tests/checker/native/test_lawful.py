"""Machine code accepts the same words as states as the definition, `lawful.state`."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from random import Random

import pytest
from tests.checker.test_layout import layout_of
from tests.support import random_values
from tests.support.amounts import numbers
from tests.support.paths import ROOT

from fencepost.checker.layout import MASK, OCCUPIED, WORD, Layout, encode
from fencepost.checker.native.machine.build import Code, Compilation
from fencepost.checker.native.saving.lawful import Unlawful, look_at, state, text
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
    Scalar,
    Seq,
    Set,
    Type,
    Union,
    Value,
    Variant,
    bits,
    describe,
    values,
)
from fencepost.spec.elaborate.claims import program

Words = tuple[int, ...]

FIVE, THREE = Int(-1, 3), Enum("E", ("A", "B", "C"), symmetric=True)
PAIR = Record("Pair", (Field("left", THREE), Field("right", Option(FIVE))))
SHAPE = Union(
    "Shape",
    (
        Variant("None"),
        Variant("One", (Field("a", FIVE),)),
        Variant("Two", (Field("a", THREE), Field("b", Bool()))),
    ),
)
SMALL: list[Type] = [
    Bool(),
    FIVE,
    Int(2, 2),
    Int(3, 2),
    Machine(3),
    THREE,
    PAIR,
    SHAPE,
    Union("Single", (Variant("Only", (Field("a", THREE),)),)),
    Option(PAIR),
    Option(Option(THREE)),
    Set(FIVE),
    Set(THREE, 2),
    Set(FIVE, 3),
    Set(SHAPE, 2),
    Set(Set(THREE), 2),
    Set(Int(2, 2), 3),
    Seq(FIVE, 3),
    Seq(Seq(Bool(), 2), 2),
    Seq(PAIR, 0),
    Seq(Int(3, 2), 2),
    Seq(Map(Int(0, 40), Machine(8)), 0),
    Bag(FIVE, 3),
    Bag(Bool(), 5),
    Bag(SHAPE, 2),
    Bag(Set(THREE, 2), 2),
    Bag(Seq(Bool(), 2), 2),
    Map(THREE, FIVE),
    Map(Bool(), Bag(THREE, 2)),
    Map(THREE, Int(3, 2)),
]

WORD_WIDE, BIG = Int(-(2**63), 2**62), Record("Big", (Field("a", Machine(64)), Field("b", FIVE)))
MIXED = Record(
    "Mixed",
    (Field("a", Machine(40)), Field("b", Int(0, 2**30)), Field("c", BIG), Field("d", FIVE)),
)
OTHER = Union(
    "Other",
    (
        Variant("None"),
        Variant("One", (Field("a", WORD_WIDE),)),
        Variant("Two", (Field("a", THREE), Field("b", MIXED), Field("c", FIVE))),
    ),
)
WIDE: list[Type] = [
    WORD_WIDE,
    MIXED,
    OTHER,
    Record("Full", (Field("a", Machine(60)), Field("b", Int(0, 12)))),
    Seq(Machine(63), 1),
    Bag(Machine(31), 2),
    Set(Int(0, 2**20), 3),
    Option(Int(0, 2**62)),
    Option(WORD_WIDE),
    Option(MIXED),
    Set(Int(0, 66)),
    Set(Int(0, 127)),
    Set(Int(0, 40), 13),
    Set(OTHER, 3),
    Seq(Machine(33), 5),
    Seq(Machine(32), 5),
    Seq(Bool(), 70),
    Seq(FIVE, 30),
    Seq(MIXED, 2),
    Bag(WORD_WIDE, 3),
    Bag(SHAPE, 20),
    Bag(Set(Int(0, 66)), 3),
    Bag(Seq(THREE, 40), 3),
    Map(THREE, WORD_WIDE),
    Map(FIVE, Machine(20)),
    Map(FIVE, OTHER),
    Map(Bool(), Map(Bool(), Bag(MIXED, 2))),
]


def code_of(layout: Layout) -> Code:
    return Compilation(text(layout)).quick()


def defined(layout: Layout, words: Sequence[int]) -> bool:
    """Checks whether the words are a state according to `state`."""
    try:
        state(layout, words)
    except Unlawful:
        return False
    return True


def accepted(code: Code, layout: Layout, words: Sequence[int]) -> bool:
    """Checks whether the words are a state according to machine code."""
    try:
        look_at(code, layout, struct.pack(f"={len(words)}Q", *words))
    except Unlawful:
        return False
    return True


@pytest.mark.parametrize("kind", SMALL, ids=describe)
def test_every_code_of_a_small_type(kind: Type) -> None:
    """Of all bit patterns, exactly the codes of values are accepted."""
    layout = layout_of(kind)
    code = code_of(layout)
    assert bits(kind) <= 14
    codes = {
        bits_ for bits_ in range(1 << bits(kind)) if accepted(code, layout, [OCCUPIED | bits_])
    }
    assert codes == {encode(kind, value) for value in values(kind)}


@pytest.mark.parametrize("kind", WIDE, ids=describe)
def test_a_wide_type(kind: Type) -> None:
    """A wide type next to a small type shares the word with its first bits."""
    lawful, unlawful = agree(Random(1), layout_of(FIVE, kind), 12, 30)
    assert lawful > 5
    assert unlawful


@pytest.mark.parametrize("seed", numbers(30))
def test_random_types(seed: int) -> None:
    random = Random(seed)
    types = random_values.Types(random)
    layout = layout_of(*(types.any() for _ in range(random.randint(1, 4))))
    lawful, unlawful = agree(random, layout, 5, 30)
    assert lawful > 5
    assert unlawful


def test_a_model_of_kafka() -> None:
    read = program.load(ROOT / "models/kafka/txn_failover.fence")
    (check,) = (check for check in read.checks if check.name == "fixed_most")
    layout = Layout(program.build(read, check))
    assert layout.words > 20
    lawful, unlawful = agree(Random(1), layout, 8, 40)
    assert min(lawful, unlawful) > 50


def agree(random: Random, layout: Layout, states: int, limit: int) -> tuple[int, int]:
    """Corrupts random states, each in at most ``limit`` ways.

    Returns how many corrupted ones are still states, and how many are not.
    """
    code = code_of(layout)
    right = [
        layout.encode(tuple(random_values.value(random, kind) for kind in layout.types))
        for _ in range(states)
    ]
    look_at(code, layout, b"".join(struct.pack(f"={len(encoded)}Q", *encoded) for encoded in right))
    counts = [0, 0]
    for words in right:
        for corrupted in corruptions(random, layout, words, limit):
            lawful = defined(layout, corrupted)
            assert accepted(code, layout, corrupted) is lawful, (layout.types, words, corrupted)
            counts[lawful] += 1
            if not lawful:
                index = random.randrange(states)
                mixed = [*right[:index], corrupted, *right[index:]]
                with pytest.raises(Unlawful):
                    look_at(code, layout, b"".join(struct.pack(f"={len(w)}Q", *w) for w in mixed))
    return counts[True], counts[False]


def corruptions(random: Random, layout: Layout, words: Words, limit: int) -> Iterator[Words]:
    """Yields words that differ a little from those of a state."""
    size = layout.words * WORD
    yield changed(words, 0, words[0] ^ OCCUPIED)
    for bit in random.sample(range(size), min(size, limit)):
        yield changed(words, bit // WORD, words[bit // WORD] ^ 1 << bit % WORD)
    for _ in range(limit // 4):
        number = random.randrange(layout.words)
        for word in (0, MASK, OCCUPIED, random.getrandbits(WORD), words[number] + 1 & MASK):
            yield changed(words, number, word)
    value = layout.decode(words)
    for _ in range(limit):
        number = random.randrange(len(value))
        bad = unlawful(random, layout.types[number], value[number])
        if bad is not None:
            yield tuple(
                word & MASK for word in layout.encode((*value[:number], bad, *value[number + 1 :]))
            )


def changed(words: Words, number: int, word: int) -> Words:
    return (*words[:number], word, *words[number + 1 :])


def unlawful(random: Random, kind: Type, value: Value) -> Value | None:
    """Returns a value with one part outside its type or out of order, or None if no such value fits
    into the bits of the type.
    """
    match kind, value:
        case Scalar(), _:
            fits = kind.high - kind.low + 1 < 1 << bits(kind)
            return kind.high + 1 if fits and not isinstance(kind, Bool) else None
        case ((Set() | Bag()), tuple()) if len(value) > 1 and kind.capacity is not None:
            if random.random() < 0.5:
                first = random.randrange(len(value) - 1)
                pair = value[first : first + 2]
                again = pair[:1] * 2 if isinstance(kind, Set) and random.random() < 0.5 else None
                return (*value[:first], *(again or pair[::-1]), *value[first + 2 :])
            return _within(random, [kind.element] * len(value), value)
        case Set(_, None), _:
            return None
        case ((Set(element) | Seq(element) | Bag(element) | Map(_, element)), tuple()):
            return _within(random, [element] * len(value), value)
        case Option(element), tuple():
            return _within(random, [element] * len(value), value)
        case Record(fields=fields), tuple():
            return _within(random, [field.type for field in fields], value)
        case Union(variants=variants), (int(tag), *payload):
            inner = _within(random, [f.type for f in variants[tag].fields], tuple(payload))
            return None if inner is None else (tag, *inner)
        case _:
            raise AssertionError((kind, value))


def _within(
    random: Random, kinds: Sequence[Type], value: tuple[Value, ...]
) -> tuple[Value, ...] | None:
    """Returns the value with one part made unlawful."""
    if not value:
        return None
    number = random.randrange(len(value))
    inner = unlawful(random, kinds[number], value[number])
    return None if inner is None else (*value[:number], inner, *value[number + 1 :])


def test_a_part_of_a_state() -> None:
    layout = layout_of(Machine(64), FIVE)
    words = layout.encode((7, 0))
    assert state(layout, words) == (7, 0)
    for part in (words[:1], (*words, *words[:1])):
        assert not defined(layout, part)
        assert not accepted(code_of(layout), layout, part)
