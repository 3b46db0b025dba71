"""The types of the language, how many values each has, and how those values are written in Python.

A *value* is canonical, hashable, and ordered by Python's own comparison exactly as
docs/language.md section 3 orders values of its type:

    Bool            bool
    Int, Machine    int
    Enum            int, the position of the member in the declaration
    Record          tuple of the fields' values
    Union           tuple of the variant's position, then its fields' values
    Option          () for none, (value,) otherwise
    Seq             tuple of the elements
    Set             tuple of the elements, ascending, no two equal
    Bag             tuple of the elements, ascending, equal ones repeated
    Map             tuple of the values, in the order of the keys

It does not know names, scopes or machine words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, combinations_with_replacement, product
from math import comb
from typing import TypeAlias, assert_never, cast

from fencepost.spec.records import dataclass

Value: TypeAlias = "bool | int | tuple[Value, ...]"
State: TypeAlias = tuple[Value, ...]
"""The values of all variables of a model, in declaration order."""

INT64_LOW, INT64_HIGH = -(2**63), 2**63 - 1
SMALL_SET = 256
"""A set over a type with at most this many values needs no capacity: it is one bit a value."""


class Scalar:
    """The types without parts. Their values are the numbers from ``low`` to ``high``, or stand for
    them in this order; there are none where ``low > high``.
    """

    __slots__ = ()


class Integer(Scalar):
    """The types whose values are numbers."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Bool(Scalar):
    """``bool``: false before true."""

    @property
    def low(self) -> int:
        return 0

    @property
    def high(self) -> int:
        return 1


@dataclass(frozen=True, slots=True)
class Int(Integer):
    """``low..high``: a mathematical integer, both bounds included. ``low > high`` has no values."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Machine(Integer):
    """``int[bits]``: a signed integer of 2 to 64 bits whose + - * wrap in two's complement."""

    bits: int

    @property
    def low(self) -> int:
        return -(1 << (self.bits - 1))

    @property
    def high(self) -> int:
        return (1 << (self.bits - 1)) - 1


@dataclass(frozen=True, slots=True)
class Enum(Scalar):
    """A declared enum. ``home`` distinguishes equal names of different modules or instances.
    ``symmetric``: its values stand for each other.
    """

    name: str
    members: tuple[str, ...]
    home: str = ""
    symmetric: bool = False

    @property
    def low(self) -> int:
        return 0

    @property
    def high(self) -> int:
        return len(self.members) - 1


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a record or of a variant."""

    name: str
    type: Type
    ghost: bool = False


@dataclass(frozen=True, slots=True)
class Record:
    """A declared record."""

    name: str
    fields: tuple[Field, ...]
    home: str = ""


@dataclass(frozen=True, slots=True)
class Variant:
    """One alternative of a union: a name (its tag) and the fields that it carries."""

    name: str
    fields: tuple[Field, ...] = ()


@dataclass(frozen=True, slots=True)
class Union:
    """A declared union: exactly one of its variants."""

    name: str
    variants: tuple[Variant, ...]
    home: str = ""


@dataclass(frozen=True, slots=True)
class Option:
    """``T?``: none, or a value of T."""

    element: Type


@dataclass(frozen=True, slots=True)
class Set:
    """``set[T]`` (capacity None: any subset, T is small) or ``set[T, capacity]``."""

    element: Type
    capacity: int | None = None


@dataclass(frozen=True, slots=True)
class Seq:
    """``seq[T, capacity]``: at most ``capacity`` elements, in order."""

    element: Type
    capacity: int


@dataclass(frozen=True, slots=True)
class Bag:
    """``bag[T, capacity]``: at most ``capacity`` elements, equal ones counted, order forgotten."""

    element: Type
    capacity: int


@dataclass(frozen=True, slots=True)
class Map:
    """``map[K, V]``: one value of V for every value of K (a finite type)."""

    key: Type
    value: Type


Number: TypeAlias = Int | Machine
"""The types of integers."""
Type: TypeAlias = Bool | Number | Enum | Record | Union | Option | Set | Seq | Bag | Map
Collection: TypeAlias = Set | Seq | Bag


def cardinality(kind: Type) -> int:
    """How many values ``kind`` has. Exact; may be astronomically large (see `fits_in`)."""
    match kind:
        case Scalar():
            return max(0, kind.high - kind.low + 1)
        case Record(fields=fields):
            return _product(fields)
        case Union(variants=variants):
            return sum(_product(variant.fields) for variant in variants)
        case Option(element):
            return 1 + cardinality(element)
        case Set(element, capacity):
            count = cardinality(element)
            if capacity is None or capacity >= count:
                return 1 << count
            return sum(comb(count, size) for size in range(capacity + 1))
        case Seq(element, capacity):
            count = cardinality(element)
            return sum(count**size for size in range(capacity + 1))
        case Bag(element, capacity):
            return comb(cardinality(element) + capacity, capacity)
        case Map(key, value):
            return int(cardinality(value) ** cardinality(key))
        case _:
            assert_never(kind)


def _product(fields: tuple[Field, ...]) -> int:
    count = 1
    for field in fields:
        count *= cardinality(field.type)
    return count


def bits(kind: Type) -> int:
    """Width of a value of ``kind`` in a packed state, in bits.

    Scalars take the bits that their number of values needs; a small set one bit per possible
    element; other collections a length and ``capacity`` slots; a union its tag and the widest
    variant. Never computes `cardinality` of a collection, so that absurd sizes stay cheap.
    """
    match kind:
        case Scalar():
            return (max(cardinality(kind), 1) - 1).bit_length()
        case Record(fields=fields):
            return sum(bits(field.type) for field in fields)
        case Union(variants=variants):
            widest = max((sum(bits(f.type) for f in v.fields) for v in variants), default=0)
            return (max(len(variants), 1) - 1).bit_length() + widest
        case Option(element):
            return 1 + bits(element)
        case Set(element, None):
            return cardinality(element)
        case Set(element, capacity) | Seq(element, capacity) | Bag(element, capacity):
            assert capacity is not None
            return capacity.bit_length() + capacity * bits(element)
        case Map(key, value):
            return cardinality(key) * bits(value)
        case _:
            assert_never(kind)


def values(kind: Type) -> Iterator[Value]:
    """Every value of ``kind``, ascending. The caller bounds the number first."""
    match kind:
        case Bool():
            yield from (False, True)
        case Scalar():
            yield from range(kind.low, kind.high + 1)
        case Record(fields=fields):
            yield from product(*(tuple(values(field.type)) for field in fields))
        case Union(variants=variants):
            for tag, variant in enumerate(variants):
                for payload in product(*(tuple(values(field.type)) for field in variant.fields)):
                    yield (tag, *payload)
        case Option(element):
            yield ()
            yield from ((value,) for value in values(element))
        case Set(element, capacity):
            elements = _elements(element, capacity)
            most = len(elements) if capacity is None else min(capacity, len(elements))
            yield from sorted(c for size in range(most + 1) for c in combinations(elements, size))
        case Seq(element, capacity):
            elements = _elements(element, capacity)
            yield from sorted(c for n in range(capacity + 1) for c in product(elements, repeat=n))
        case Bag(element, capacity):
            elements = _elements(element, capacity)
            yield from sorted(
                chosen
                for size in range(capacity + 1)
                for chosen in combinations_with_replacement(elements, size)
            )
        case Map(key, value):
            yield from product(tuple(values(value)), repeat=cardinality(key))
        case _:
            assert_never(kind)


def _elements(element: Type, capacity: int | None) -> tuple[Value, ...]:
    """What a collection can hold: without room nothing, however many values the type has."""
    return () if capacity == 0 else tuple(values(element))


def is_value(value: Value, kind: Type) -> bool:
    """Whether ``value`` is written as a value of ``kind``, and is one."""
    match kind, value:
        case Bool(), bool():
            return True
        case Scalar(), int() if not isinstance(kind, Bool):
            return not isinstance(value, bool) and kind.low <= value <= kind.high
        case Record(fields=fields), tuple():
            return _are_values(value, [field.type for field in fields])
        case Union(variants=variants), (int(tag), *payload) if 0 <= tag < len(variants):
            return _are_values(tuple(payload), [field.type for field in variants[tag].fields])
        case Option(element), tuple():
            return value == () or (len(value) == 1 and is_value(value[0], element))
        case Map(key, item), tuple():
            return len(value) == cardinality(key) and all(is_value(v, item) for v in value)
        case ((Set() | Seq() | Bag()), tuple()):
            if kind.capacity is not None and len(value) > kind.capacity:
                return False
            if isinstance(kind, Set) and len(set(value)) < len(value):
                return False
            if not all(is_value(item, kind.element) for item in value):
                return False
            return isinstance(kind, Seq) or value == tuple(sorted(cast("tuple[int, ...]", value)))
        case _:
            return False


def _are_values(items: tuple[Value, ...], kinds: Sequence[Type]) -> bool:
    return len(items) == len(kinds) and all(map(is_value, items, kinds))


def as_collection(kind: Type) -> Collection:
    """``kind``, which is known to be the type of a collection."""
    assert isinstance(kind, Collection), kind
    return kind


def fields_of(kind: Type) -> tuple[Field, ...]:
    """The fields of a record, or those of all variants of a union; other types have none."""
    match kind:
        case Record(fields=fields):
            return fields
        case Union(variants=variants):
            return tuple(field for variant in variants for field in variant.fields)
        case _:
            return ()


def components(kind: Type) -> tuple[Type, ...]:
    """The types directly inside ``kind``, in the order declared; scalars have none."""
    match kind:
        case Record() | Union():
            return tuple(field.type for field in fields_of(kind))
        case Option(element) | Set(element) | Seq(element) | Bag(element):
            return (element,)
        case Map(key, value):
            return (key, value)
        case Scalar():
            return ()
        case _:
            assert_never(kind)


def has_ghost(kind: Type) -> bool:
    """Whether a value of ``kind`` has a ghost field somewhere inside."""
    return any(f.ghost for f in fields_of(kind)) or any(map(has_ghost, components(kind)))


def describe(kind: Type) -> str:
    """``kind`` in the words of the language, as a user would declare it."""
    match kind:
        case Bool():
            return "bool"
        case Int(low, high):
            return f"{low}..{high}"
        case Machine(bits):
            return f"int{bits}" if bits in (8, 16, 32, 64) else f"int[{bits}]"
        case Enum(name=name) | Record(name=name) | Union(name=name):
            return name
        case Option(element):
            return f"{describe(element)}?"
        case Set(element, None):
            return f"set[{describe(element)}]"
        case Set(element, capacity):
            return f"set[{describe(element)}, {capacity}]"
        case Seq(element, capacity):
            return f"seq[{describe(element)}, {capacity}]"
        case Bag(element, capacity):
            return f"bag[{describe(element)}, {capacity}]"
        case Map(key, value):
            return f"map[{describe(key)}, {describe(value)}]"
        case _:
            assert_never(kind)
