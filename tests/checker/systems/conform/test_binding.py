"""Bindings that are settled directly equal those found by exhaustive enumeration."""

from __future__ import annotations

import random
from itertools import product

from fencepost.checker.systems.conform.binding import (
    Bound,
    KnownValue,
    ListRead,
    NameRead,
    Names,
    Read,
    SomeRead,
)
from fencepost.spec.core.recording import Binding
from fencepost.spec.core.types import Int, Value

NUMBERS = Binding("number", Int(0, 2), (("zero", 0), ("none", 0)))
CALLED = [NameRead(0, name) for name in ("a", "b", "zero", "none")]


def some_read(chance: random.Random, depth: int = 2) -> Read:
    match chance.randrange(2 + 2 * (depth > 0)):
        case 0:
            return KnownValue(chance.randrange(3))
        case 1:
            return chance.choice(CALLED)
        case 2:
            return SomeRead(some_read(chance, depth - 1))
        case _:
            elements = dict.fromkeys(some_read(chance, 0) for _ in range(chance.randrange(1, 4)))
            return ListRead(tuple(elements), chance.random() < 0.5)


def values_of(read: Read) -> list[Value]:
    """Yields the values that a field with this reading may have."""
    match read:
        case SomeRead(content):
            return [(), *((value,) for value in values_of(content))]
        case ListRead(elements, unordered):
            numbers = range(3)
            several = [
                items
                for size in range(len(elements) + 2)
                for items in product(numbers, repeat=size)
            ]
            return [items for items in several if not unordered or sorted({*items}) == [*items]]
        case _:
            return [0, 1, 2]


def test_settled_bindings_equal_the_enumerated_ones() -> None:
    chance = random.Random(5)
    outcomes = {True: 0, False: 0}
    for _ in range(400):
        names = Names([NUMBERS], iter(CALLED))
        reads = [some_read(chance) for _ in range(chance.randrange(1, 3))]
        free: list[Value | None] = [None, 0, 1, 2]
        row = chance.choice([(a, b) for a in free for b in free if a is None or a != b])
        bound: Bound = (row,)
        settled = names.settled(reads, bound)
        outcomes[settled is not None] += 1
        assert not names.lacking
        choices = list(names.values(reads, bound))
        if settled is None:
            # A set smaller than its list matches no value.
            assert any(after != bound for _, after in choices) or len(choices) == 1
            continue
        assert choices == [(settled, bound)]
        for values in product(*map(values_of, reads)):
            after = [bound]
            for read, value in zip(reads, values, strict=True):
                after = [last for row in after for last in names.fits(read, value, row)]
            assert after == ([bound] if values == settled else [])
        assert not names.lacking
    assert min(outcomes.values()) > 50, outcomes
