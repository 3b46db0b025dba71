"""The types of the language, the number of values of each, and the Python form of these values.

A *value* is canonical, hashable, and ordered by Python's own comparison exactly as docs/language.md
section 3 orders values of its type:

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
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from itertools import product
from math import comb, prod
from typing import TypeAlias, assert_never, cast

from fencepost.spec.records import dataclass

Value: TypeAlias = "bool | int | tuple[Value, ...]"
State: TypeAlias = tuple[Value, ...]
"""The values of all variables of a model, in declaration order."""

INT64_LOW, INT64_HIGH = -(2**63), 2**63 - 1
UNBOUNDED = 2**256
"""The bounds of an integer without bounds are this number and its negation. No other bound of an
integer exceeds 64 bits.
"""
SMALL_SET = 256
"""A set over a type with at most this many values needs no capacity, because one bit per value
suffices.
"""


class Viewable:
    """A type that caches its shape (see `view`)."""

    __slots__ = ("shape",)

    shape: Shape


class Scalar(Viewable):
    """A type whose values have no parts. They are the numbers from ``low`` to ``high``, or names
    with these numbers. The type has no values if ``low > high``.
    """

    __slots__ = ()


class Integer(Scalar):
    """A type whose values are integers."""

    __slots__ = ()


class Nominal(Scalar):
    """A type whose values have names. ``members`` are the names, in the order of the values."""

    __slots__ = ()

    name: str
    members: tuple[str, ...]

    @property
    def low(self) -> int:
        return 0

    @property
    def high(self) -> int:
        return len(self.members) - 1


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
    """``low..high``: a mathematical integer, both bounds included. It has no values if ``low >
    high``.

    For the type ``int`` of a spec, ``open`` is the number of an `ir.OpenRange`, and the bounds are
    those that the model assumes. If it assumes none, they are those of `UNBOUNDED`.
    """

    low: int
    high: int
    open: int | None = field(default=None, compare=False, repr=False)


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
class Enum(Nominal):
    """A declared enum. ``home`` distinguishes enums of the same name in different modules or
    instances. If ``symmetric`` is set, its values are interchangeable.
    """

    name: str
    members: tuple[str, ...]
    home: str = ""
    symmetric: bool = False


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a record or of a variant."""

    name: str
    type: Type
    ghost: bool = False


@dataclass(frozen=True, slots=True)
class Record(Viewable):
    """A declared record, or a tuple type, which has no name (see `tuple_type`)."""

    name: str
    fields: tuple[Field, ...]
    home: str = ""

    @property
    def is_tuple(self) -> bool:
        """Whether this is a tuple type."""
        return not self.name


def tuple_type(parts: Iterable[Type]) -> Record:
    """Returns the type of tuples with components of these types. Equal components make equal
    types. The fields are called 1, 2, and so on.
    """
    return Record("", tuple(Field(str(number), part) for number, part in enumerate(parts, 1)))


@dataclass(frozen=True, slots=True)
class Variant:
    """One alternative of a union: a name (its tag) and the fields that it carries."""

    name: str
    fields: tuple[Field, ...] = ()


@dataclass(frozen=True, slots=True)
class Union(Viewable):
    """A declared union. A value belongs to exactly one variant."""

    name: str
    variants: tuple[Variant, ...]
    home: str = ""


@dataclass(frozen=True, slots=True)
class Option(Viewable):
    """``T?``: none, or a value of T."""

    element: Type


@dataclass(frozen=True, slots=True)
class Set(Viewable):
    """``set[T]`` or ``set[T, capacity]``. Without a capacity, every subset of T is a value, and T
    must be small.
    """

    element: Type
    capacity: int | None = None


@dataclass(frozen=True, slots=True)
class Seq(Viewable):
    """``seq[T, capacity]``: at most ``capacity`` elements, in order."""

    element: Type
    capacity: int


@dataclass(frozen=True, slots=True)
class Bag(Viewable):
    """``bag[T, capacity]``: at most ``capacity`` elements, with repetitions but without an
    order.
    """

    element: Type
    capacity: int


@dataclass(frozen=True, slots=True)
class Map(Viewable):
    """``map[K, V]``: a total map with a value of V for every value of K, which is a finite type."""

    key: Type
    value: Type


Number: TypeAlias = Int | Machine
"""The types of integers."""
Type: TypeAlias = Bool | Number | Nominal | Record | Union | Option | Set | Seq | Bag | Map
Collection: TypeAlias = Set | Seq | Bag


# ---------------------------------------------------------------- shapes


@dataclass(frozen=True, slots=True)
class Numbers:
    """The shape of a scalar. Its values are the numbers from ``low`` to ``high``, as bools if
    ``truth`` is set.
    """

    low: int
    high: int
    truth: bool

    def value(self, number: int) -> Value:
        """Returns the value that ``number`` encodes."""
        return bool(number) if self.truth else number


@dataclass(frozen=True, slots=True)
class Product:
    """The shape of a record or a map. A record has a value for each part. A map has one part, of
    the map's value type, which is repeated for each value of ``key``.
    """

    parts: tuple[Field, ...]
    key: Type | None = None

    @property
    def times(self) -> int:
        """The number of repetitions of the parts: 1 for a record, the number of keys for a map."""
        return 1 if self.key is None else cardinality(self.key)

    @property
    def types(self) -> tuple[Type, ...]:
        """The types of all parts of a value, in order and with repetitions."""
        return tuple(part.type for part in self.parts) * self.times


@dataclass(frozen=True, slots=True)
class Sum:
    """The shape of a union or an option. ``cases`` contains the parts of each case.

    The values of a union begin with the number of the case. An option (``tagged`` is false) has two
    cases, and the number of parts determines the case.
    """

    cases: tuple[tuple[Field, ...], ...]
    tagged: bool
    head: int
    """The width of the case number, in bits."""

    def opened(self, value: Value) -> tuple[int, tuple[Value, ...]]:
        """Splits ``value`` into the number of its case and the values of its parts."""
        assert isinstance(value, tuple)
        if self.tagged:
            return cast("int", value[0]), value[1:]
        return len(value), value

    def closed(self, case: int, parts: Iterable[Value]) -> Value:
        """Returns the value of a case, given the values of its parts. This is the inverse of
        `opened`.
        """
        return (case, *parts) if self.tagged else tuple(parts)


@dataclass(frozen=True, slots=True)
class Elements:
    """The shape of a collection with a capacity."""

    element: Type
    capacity: int


@dataclass(frozen=True, slots=True)
class Flags:
    """The shape of a set without a capacity: one flag for each value of ``element``."""

    element: Type


Shape: TypeAlias = Numbers | Product | Sum | Elements | Flags


def view(kind: Type) -> Shape:
    """Returns the shape of a type. Functions on values are defined over shapes where possible."""
    try:
        return kind.shape
    except AttributeError:
        shape = _shape(kind)
        object.__setattr__(kind, "shape", shape)
        return shape


def _shape(kind: Type) -> Shape:
    match kind:
        case Scalar():
            return Numbers(kind.low, kind.high, isinstance(kind, Bool))
        case Record(fields=fields):
            return Product(fields)
        case Map(key, value):
            return Product((Field("", value),), key)
        case Union(variants=variants):
            head = (max(len(variants), 1) - 1).bit_length()
            return Sum(tuple(variant.fields for variant in variants), True, head)
        case Option(element):
            return Sum(((), (Field("", element),)), False, 1)
        case Set(element, None):
            return Flags(element)
        case Set(element, capacity) | Seq(element, capacity) | Bag(element, capacity):
            assert capacity is not None
            return Elements(element, capacity)
        case _:
            assert_never(kind)


def cardinality(kind: Type) -> int:
    """Returns the exact number of values of ``kind``, which may be astronomically large (see
    `count_values`).
    """
    match view(kind):
        case Numbers() as shape:
            return max(0, shape.high - shape.low + 1)
        case Product(parts) as shape:
            return int(_combinations(parts) ** shape.times)
        case Sum(cases):
            return sum(map(_combinations, cases))
        case Flags(element):
            return 1 << cardinality(element)
        case Elements(element, capacity):
            count = cardinality(element)
            if isinstance(kind, Seq):
                return sum(count**size for size in range(capacity + 1))
            if isinstance(kind, Bag):
                return comb(count + capacity, capacity)
            if capacity >= count:
                return 1 << count
            return sum(comb(count, size) for size in range(capacity + 1))


def _combinations(parts: tuple[Field, ...]) -> int:
    return prod(cardinality(part.type) for part in parts)


def bits(kind: Type) -> int:
    """Returns the width of a value of ``kind`` in a packed state, in bits.

    A scalar takes the bits needed for its number of values, but at most 64, a small set one bit per
    possible element, any other collection a length and ``capacity`` slots, and a union its tag and
    the widest variant. The `cardinality` of a collection is never computed, so that absurd sizes
    stay cheap.
    """
    match view(kind):
        case Numbers():
            return min((max(cardinality(kind), 1) - 1).bit_length(), 64)
        case Product(parts) as shape:
            return shape.times * _width(parts)
        case Sum(cases) as shape:
            return shape.head + max(map(_width, cases), default=0)
        case Flags(element):
            return cardinality(element)
        case Elements(element, capacity):
            return capacity.bit_length() + capacity * bits(element)


def _width(parts: tuple[Field, ...]) -> int:
    return sum(bits(part.type) for part in parts)


def count_values(kind: Type, most: int) -> int:
    """Returns the number of values of ``kind``, or ``most + 1`` if it has more than ``most``.

    Unlike `cardinality`, this takes few steps for any type, provided that ``most`` fits in 64 bits.
    """
    return min(_count_values(kind, most), most + 1)


def _count_values(kind: Type, most: int) -> int:
    """Like `count_values`, but returns any number above ``most`` if there are more values."""
    match view(kind):
        case Numbers() as shape:
            return max(0, shape.high - shape.low + 1)
        case Product(parts) as shape:
            return _power(_row_count(parts, most), shape.times, most)
        case Sum(cases):
            return sum(_row_count(parts, most) for parts in cases)
        case Flags(element):
            return _power(2, count_values(element, most), most)
        case Elements(element, capacity):
            # No collection has an element if the element type has no values.
            inner = count_values(element, most)
            capacity = capacity if inner else 0
            if isinstance(kind, Seq):
                if inner <= 1:
                    return capacity + 1
                total, power = 0, 1
                while capacity >= 0 and total <= most:
                    total, power, capacity = total + power, power * inner, capacity - 1
                return total
            if isinstance(kind, Bag):
                return _binomial(inner + capacity, capacity, most)
            total = 0
            for size in range(min(capacity, inner) + 1):
                total += _binomial(inner, size, most)
                if total > most:
                    break
            return total


def _row_count(parts: tuple[Field, ...], most: int) -> int:
    return prod(count_values(part.type, most) for part in parts)


def _power(base: int, exponent: int, most: int) -> int:
    """Returns a power, or a number above ``most`` if it exceeds ``most``."""
    return int(base ** min(exponent, most.bit_length() + 1))


def _binomial(n: int, k: int, most: int) -> int:
    """Returns a binomial coefficient, or a number above ``most`` if it exceeds ``most``."""
    k, result = min(k, n - k), 1
    for index in range(1, k + 1):
        result = result * (n - k + index) // index
        if result > most:
            break
    return result


# ---------------------------------------------------------------- enumeration


MAX_LISTED = 1 << 12
"""The values of a type with at most this many values may be listed in memory. The values of larger
types are always computed one at a time.
"""


def values(kind: Type) -> Iterator[Value]:
    """Yields every value of ``kind`` in ascending order. The values are computed one at a time."""
    parts = components(kind)
    if isinstance(view(kind), Numbers) or any(
        count_values(part, MAX_LISTED) > MAX_LISTED for part in parts
    ):
        return _one_by_one(kind)
    return _from_lists(kind)


def _one_by_one(kind: Type) -> Iterator[Value]:
    shape = view(kind)
    if isinstance(shape, Numbers):
        yield from map(shape.value, range(shape.low, shape.high + 1))
        return
    value = first(kind)
    while value is not None:
        yield value
        value = following(kind, value)


def _from_lists(kind: Type) -> Iterator[Value]:
    """Like `values`, for a type whose components have few values. This is faster."""
    match view(kind):
        case Product(parts) as shape:
            yield from product(*(tuple(values(part.type)) for part in parts), repeat=shape.times)
        case Sum(cases) as shape:
            for case, parts in enumerate(cases):
                for payload in product(*(tuple(values(part.type)) for part in parts)):
                    yield shape.closed(case, payload)
        case Flags(element):
            items = tuple(values(element))
            yield from collections(items, len(items), 1)
        case Elements(element, capacity):
            items = tuple(values(element))
            gap = None if isinstance(kind, Seq) else 0 if isinstance(kind, Bag) else 1
            yield from collections(items, capacity, gap)
        case Numbers():
            raise AssertionError(kind)


def collections(
    items: Sequence[Value], capacity: int, gap: int | None
) -> Iterator[tuple[Value, ...]]:
    """Yields, in ascending order, the tuples of at most ``capacity`` of the ascending ``items``.

    Each position of ``items`` in a tuple is at least ``gap`` more than the position before it: a
    gap of 0 gives bags, and 1 gives sets. With a gap of None, the tuples are sequences.
    """
    positions: list[int] = []
    chosen: tuple[Value, ...] = ()
    while True:
        yield chosen
        after = 0 if gap is None or not positions else positions[-1] + gap
        if len(positions) < capacity and after < len(items):
            positions.append(after)
            chosen = (*chosen, items[after])
            continue
        while positions and positions[-1] + 1 == len(items):
            positions.pop()
        if not positions:
            return
        positions[-1] += 1
        chosen = (*chosen[: len(positions) - 1], items[positions[-1]])


def first(kind: Type) -> Value | None:
    """Returns the least value of ``kind``, or None if the type has no values."""
    match view(kind):
        case Numbers(low, high) as shape:
            return shape.value(low) if low <= high else None
        case Product() as shape:
            return _first_row(shape.types)
        case Sum(cases) as shape:
            return _first_case(shape, range(len(cases)))
        case Elements() | Flags():
            return ()


def _first_row(kinds: Iterable[Type]) -> tuple[Value, ...] | None:
    row: list[Value] = []
    for kind in kinds:
        value = first(kind)
        if value is None:
            return None
        row.append(value)
    return tuple(row)


def _first_case(shape: Sum, cases: Iterable[int]) -> Value | None:
    for case in cases:
        row = _first_row(part.type for part in shape.cases[case])
        if row is not None:
            return shape.closed(case, row)
    return None


def following(kind: Type, value: Value) -> Value | None:
    """Returns the least value of ``kind`` that is greater than ``value``, or None if ``value`` is
    the greatest.
    """
    match view(kind), value:
        case Numbers() as shape, int():
            return shape.value(value + 1) if value < shape.high else None
        case Product() as shape, tuple():
            return _following_row(shape.types, value)
        case Sum(cases) as shape, tuple():
            case, row = shape.opened(value)
            after = _following_row([part.type for part in cases[case]], row)
            if after is not None:
                return shape.closed(case, after)
            return _first_case(shape, range(case + 1, len(cases)))
        case (Elements(element) | Flags(element)) as shape, tuple():
            if isinstance(shape, Flags) or len(value) < shape.capacity:
                added = _added(kind, element, value)
                if added is not None:
                    return (*value, added)
            while value:
                changed = following(element, value[-1])
                if changed is not None:
                    return (*value[:-1], changed)
                value = value[:-1]
            return None
        case _:
            raise AssertionError((kind, value))


def _following_row(kinds: Sequence[Type], row: tuple[Value, ...]) -> tuple[Value, ...] | None:
    for index in reversed(range(len(kinds))):
        changed = following(kinds[index], row[index])
        if changed is not None:
            rest = _first_row(kinds[index + 1 :])
            assert rest is not None
            return (*row[:index], changed, *rest)
    return None


def _added(kind: Type, element: Type, value: tuple[Value, ...]) -> Value | None:
    """Returns the least element that can be appended to a collection, or None if there is none."""
    if not value or isinstance(kind, Seq):
        return first(element)
    return value[-1] if isinstance(kind, Bag) else following(element, value[-1])


class Values:
    """The values of a type as a collection that does not store them."""

    def __init__(self, kind: Type) -> None:
        self._kind = kind

    def __iter__(self) -> Iterator[Value]:
        return values(self._kind)

    def __len__(self) -> int:
        return count_values(self._kind, INT64_HIGH - 1)

    def __contains__(self, value: Value) -> bool:
        return is_value(value, self._kind)


class Subsets:
    """The subsets of a set as a collection that does not store them."""

    def __init__(self, elements: Sequence[Value]) -> None:
        self._elements = elements

    def __iter__(self) -> Iterator[tuple[Value, ...]]:
        return collections(self._elements, len(self._elements), 1)

    def __len__(self) -> int:
        return 1 << len(self._elements)

    def __contains__(self, value: Value) -> bool:
        return isinstance(value, tuple) and set(value) <= set(self._elements)


def canonical(kind: Type, items: Iterable[Value]) -> tuple[Value, ...]:
    """Returns the value of collection type ``kind`` with these elements. For any other type,
    returns the tuple of ``items``.
    """
    if isinstance(kind, Set | Bag):
        unordered = set(items) if isinstance(kind, Set) else items
        return tuple(sorted(cast("Iterable[int]", unordered)))
    return tuple(items)


def opened(kind: Type, value: Value) -> tuple[int, list[tuple[Field, Value]]]:
    """Returns the case of ``value``, and its parts paired with their values. The case is 0 if the
    type has no cases.
    """
    shape, case = view(kind), 0
    if isinstance(shape, Numbers):
        return case, []
    if isinstance(shape, Sum):
        case, value = shape.opened(value)
    assert isinstance(value, tuple)
    if isinstance(shape, Elements | Flags):
        parts = (Field("", shape.element),) * len(value)
    else:
        parts = shape.cases[case] if isinstance(shape, Sum) else shape.parts * shape.times
    return case, list(zip(parts, value, strict=True))


def closed(kind: Type, case: int, items: Iterable[Value]) -> Value:
    """Returns the value with this case and these parts, or for a collection type, with these
    elements.
    """
    shape = view(kind)
    return shape.closed(case, items) if isinstance(shape, Sum) else canonical(kind, items)


def is_value(value: Value, kind: Type) -> bool:
    """Returns whether ``value`` is a value of ``kind`` in canonical form."""
    match view(kind), value:
        case Numbers() as shape, int():
            return isinstance(value, bool) == shape.truth and shape.low <= value <= shape.high
        case Product(parts) as shape, tuple() if len(value) == len(parts) * shape.times:
            return all(map(is_value, value, shape.types))
        case Sum(cases, tagged=True), (int(tag), *payload) if 0 <= tag < len(cases):
            return _are_values(payload, cases[tag])
        case Sum(cases, tagged=False), tuple() if len(value) < len(cases):
            return _are_values(value, cases[len(value)])
        case (Elements(element) | Flags(element)) as shape, tuple():
            if isinstance(shape, Elements) and len(value) > shape.capacity:
                return False
            return all(is_value(v, element) for v in value) and value == canonical(kind, value)
        case _:
            return False


def _are_values(items: Sequence[Value], parts: Sequence[Field]) -> bool:
    types = (part.type for part in parts)
    return len(items) == len(parts) and all(map(is_value, items, types))


def as_collection(kind: Type) -> Collection:
    """Narrows ``kind`` to a collection type. It must be one."""
    assert isinstance(kind, Collection), kind
    return kind


def fields_of(kind: Type) -> tuple[Field, ...]:
    """Returns the fields of a record, or the fields of all variants of a union. Other types have
    none.
    """
    match kind:
        case Record(fields=fields):
            return fields
        case Union(variants=variants):
            return tuple(field for variant in variants for field in variant.fields)
        case _:
            return ()


def components(kind: Type) -> tuple[Type, ...]:
    """Returns the types directly inside ``kind``, in declaration order. Scalars have none."""
    match view(kind):
        case Numbers():
            return ()
        case Product(parts, key):
            return (*([] if key is None else [key]), *(part.type for part in parts))
        case Sum(cases):
            return tuple(part.type for parts in cases for part in parts)
        case Elements(element) | Flags(element):
            return (element,)


def has_ghost(kind: Type) -> bool:
    """Returns whether values of ``kind`` have a ghost field at any depth."""
    return any(f.ghost for f in fields_of(kind)) or any(map(has_ghost, components(kind)))


def describe(kind: Type) -> str:
    """Returns the notation of ``kind`` in the language, as a user would declare it."""
    match kind:
        case Bool():
            return "bool"
        case Int(low, high):
            bounded = kind.open is None and max(-low, high) < UNBOUNDED
            return f"{low}..{high}" if bounded else "int"
        case Machine(bits):
            return f"int{bits}" if bits in (8, 16, 32, 64) else f"int[{bits}]"
        case Record(name="", fields=fields):
            return f"({', '.join(describe(field.type) for field in fields)})"
        case Nominal(name=name) | Record(name=name) | Union(name=name):
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
