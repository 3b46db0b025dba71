"""Random types and values of every size, drawn from a plain random number generator.

Extremes are likely: the least and greatest numbers, empty and full collections, equal elements.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from itertools import count
from random import Random
from typing import assert_never

from fencepost.spec.core.size_limits import countable
from fencepost.spec.core.types import (
    INT64_HIGH,
    INT64_LOW,
    SMALL_SET,
    Bag,
    Bool,
    Enum,
    Field,
    Int,
    Machine,
    Map,
    Nominal,
    Option,
    Record,
    Seq,
    Set,
    Type,
    Union,
    Value,
    Variant,
    bits,
    cardinality,
    tuple_type,
    values,
)

MAX_BITS = 4_000
"""A type with more bits than this is drawn again."""


def value(random: Random, kind: Type) -> Value:
    """Draws a value of a nonempty type."""
    match kind:
        case Bool():
            return random.random() < 0.5
        case Int() | Machine():
            near = min(kind.high, kind.low + 1)
            some = random.randint(kind.low, kind.high)
            return random.choice([kind.low, kind.high, near, some, some, some])
        case Nominal(members=members):
            return random.randrange(len(members))
        case Record(fields=fields):
            return tuple(value(random, field.type) for field in fields)
        case Union(variants=variants):
            tag = random.randrange(len(variants))
            return (tag, *(value(random, field.type) for field in variants[tag].fields))
        case Option(element):
            return (value(random, element),) if random.random() < 0.6 else ()
        case Set(element, None):
            share = random.choice([0.0, 0.1, 0.5, 0.9, 1.0])
            return tuple(item for item in values(element) if random.random() < share)
        case Set(element, capacity):
            assert capacity is not None
            chosen: list[Value] = []
            for _ in range(_length(random, capacity)):
                item = value(random, element)
                if item not in chosen:
                    insort(chosen, item)
            return tuple(chosen)
        case Seq(element, capacity):
            return tuple(value(random, element) for _ in range(_length(random, capacity)))
        case Bag(element, capacity):
            items: list[Value] = []
            for _ in range(_length(random, capacity)):
                again = items and random.random() < 0.3
                insort(items, random.choice(items) if again else value(random, element))
            return tuple(items)
        case Map(key, element):
            return tuple(value(random, element) for _ in range(cardinality(key)))
        case _:
            assert_never(kind)


def _length(random: Random, capacity: int) -> int:
    some = random.randint(0, min(capacity, 70))
    return random.choice([0, min(1, capacity), capacity, capacity, some, some, some])


def narrowed(random: Random, kind: Type) -> Type:
    """Draws a type of the same shape whose ranges and capacities differ a little."""

    def near(number: int) -> int:
        return number + random.randint(-2, 2)

    match kind:
        case Int(low, high):
            lower, upper = max(INT64_LOW, near(low)), min(INT64_HIGH, near(high))
            return Int(lower, upper) if lower <= upper else kind
        case Option(element):
            return Option(narrowed(random, element))
        case Set(element, None):
            other = narrowed(random, element)
            return Set(other, random.choice([None, 2])) if countable(other, 256) else kind
        case Set(element, int(capacity)) | Seq(element, capacity) | Bag(element, capacity):
            return type(kind)(narrowed(random, element), max(0, near(capacity)))
        case Map(key, value):
            return Map(key, narrowed(random, value))
        case _:
            return kind


class Types:
    """Draws types. ``name`` creates a new name from a stem; by default it appends a number."""

    def __init__(self, random: Random, name: Callable[[str], str] | None = None) -> None:
        self.random = random
        numbers = count(1)
        self.name: Callable[[str], str] = name or (lambda stem: f"{stem}{next(numbers)}")

    def any(self) -> Type:
        """Draws a type of at most `MAX_BITS` bits."""
        while True:
            kind = self._type(self.random.randint(0, 3))
            if bits(kind) <= MAX_BITS:
                return kind

    def scalar(self) -> Type:
        """Draws a type without parts, which has between 0 and 64 bits."""
        random = self.random
        match random.randrange(8):
            case 0:
                return Bool()
            case 1:
                return Machine(random.choice([2, 3, 7, 8, 16, 31, 32, 33, 63, 64]))
            case 2:
                return Int(-(2**63), 2**63 - 1)
            case 3:
                low = random.choice([-(2**63), -(2**62), -5, 0, 2**62])
                high = low + (1 << random.randint(1, 62)) - random.randint(0, 1)
                return Int(low, min(high, INT64_HIGH))
            case 4:
                return Int(3, 3)
            case 5:
                members = random.choice([1, 2, 3, 5, 17])
                stem = self.name("E")
                return Enum(stem, tuple(f"{stem}_{letter}" for letter in range(members)))
            case _:
                low = random.choice([-3, -1, 0, 0, 1, 7])
                return Int(low, low + random.choice([1, 2, 3, 4, 9, 31]))

    def _type(self, depth: int) -> Type:
        random = self.random
        if depth == 0:
            return self.scalar()
        match random.randrange(9):
            case 0:
                fields = self._fields(depth, 1, 5)
                if len(fields) > 1 and random.random() < 0.4:
                    return tuple_type([item.type for item in fields])
                return Record(self.name("R"), fields)
            case 1 | 2:
                variants = tuple(
                    Variant(self.name("V"), self._fields(depth, 0, 3))
                    for _ in range(random.choice([1, 2, 3, 5]))
                )
                return Union(self.name("U"), variants)
            case 3:
                return Option(self._type(depth - 1))
            case 4:
                return self._set(depth)
            case 5:
                return Seq(self._type(depth - 1), self.capacity())
            case 6:
                return Bag(self._type(depth - 1), self.capacity())
            case _:
                return Map(self._few(8), self._type(depth - 1))

    def _set(self, depth: int) -> Set:
        if self.random.random() < 0.5:
            return Set(self._few(SMALL_SET))
        element = self._type(depth - 1)
        return Set(element, self.capacity())

    def _few(self, most: int) -> Type:
        """Draws a type with at most ``most`` values."""
        for _ in range(20):
            kind = self._type(self.random.randint(0, 2))
            if bits(kind) <= 16 and 1 <= cardinality(kind) <= most:
                return kind
        return Int(0, self.random.choice([0, 1, 3, 4, most - 2, most - 1]))

    def capacity(self) -> int:
        """Draws the capacity of a collection."""
        return self.random.choice([0, 1, 1, 2, 2, 3, 3, 4, 7, 8, 13, 40])

    def _fields(self, depth: int, least: int, most: int) -> tuple[Field, ...]:
        number = self.random.randint(least, most)
        return tuple(Field(self.name("f"), self._type(depth - 1)) for _ in range(number))
