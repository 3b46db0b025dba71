"""Where each part of a state lies in its machine words; the only module that knows bit positions.

A *small* value has at most 64 bits and is handled as one unsigned integer, its *code*; a *large*
one takes whole words. Codes of scalars, and of records, unions and options made of them, ascend as
the values do. Packing is canonical: equal values have equal bits, and unused bits are zero.

    scalar        value minus the least value
    record        fields, the first one highest (small); or field by field in words (large)
    union         tag highest, then its fields from the top down (small)
    option        a flag highest, then the content
    seq, bag,     the length lowest, then the elements upwards, each `bits` wide (small);
    capped set      large: `Array`, with the length in place of the first elements
    set           one bit for each possible element, in ascending order
    map           the values upwards, in the order of the keys
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Generic, TypeAlias, TypeVar

from fencepost.spec.core.ir import Model
from fencepost.spec.core.types import (
    Bag,
    Bool,
    Field,
    Map,
    Option,
    Record,
    Scalar,
    Seq,
    Set,
    State,
    Type,
    Union,
    Value,
    bits,
    cardinality,
    components,
    values,
)
from fencepost.spec.records import dataclass

WORD = 64
MASK = (1 << WORD) - 1
OCCUPIED = 1 << 63
"""Set in word 0 of every packed state, so that no state looks like a free slot."""


K = TypeVar("K")
R = TypeVar("R")
MOST_HELD = 10_000


class ByType(Generic[K, R]):
    """A function of types, each answered once.

    A type is found by its identity first: to hash one is to hash all that it is made of, and while
    a model is translated the same ones are asked for ten thousand times.
    """

    def __init__(self, answer: Callable[[K], R]) -> None:
        self._by_value = cache(answer)
        self._held: dict[int, tuple[K, R]] = {}

    def __call__(self, kind: K) -> R:
        known = self._held.get(id(kind))
        if known is not None:
            # What is held keeps its identity, so this is it.
            return known[1]
        found = self._by_value(kind)
        if len(self._held) >= MOST_HELD:
            self._held.clear()
        self._held[id(kind)] = (kind, found)
        return found

    def cache_clear(self) -> None:
        """Forgets every answer."""
        self._held.clear()
        self._by_value.cache_clear()


@dataclass(frozen=True, slots=True)
class Small:
    """A value of ``bits`` bits, 0 to 64."""

    bits: int


@dataclass(frozen=True, slots=True)
class Large:
    """A value of ``words`` whole words."""

    words: int


Shape: TypeAlias = Small | Large


@dataclass(frozen=True, slots=True)
class Part:
    """Where a component of a large value lies: a word, and the lowest bit (0 if it is large)."""

    word: int
    shift: int


@dataclass(frozen=True, slots=True)
class Array:
    """Elements of a large collection or map: element i stands at slot ``first + i``.

    Small elements: ``per_word`` slots a word, ``bits`` wide, none across two words. Large ones:
    ``per_word`` is 0, and slot s begins at word ``s * words + start``.
    """

    bits: int
    per_word: int
    words: int
    start: int
    first: int
    count: int


def length_bits(capacity: int) -> int:
    """The width of the length of a collection with this capacity."""
    return capacity.bit_length()


@ByType
def shape(kind: Type) -> Shape:
    """How large a value of ``kind`` is."""
    width = tight(kind)
    if width <= WORD:
        return Small(width)
    match kind:
        case Record(fields=fields):
            return Large(place_fields(fields, 0)[1])
        case Union(variants=variants):
            start = tag_bits(kind)
            return Large(max(place_fields(v.fields, start)[1] for v in variants))
        case Option(element):
            return Large(place_fields((Field("", element),), 1)[1])
        case Set(element, None):
            return Large(-(-cardinality(element) // WORD))
        case Set() | Seq() | Bag() | Map():
            return Large(_array_words(array(kind)))
        case _:
            raise AssertionError(f"{kind} takes {width} bits")


@ByType
def tight(kind: Type) -> int:
    """The width of ``kind`` packed without a gap: the code's width where it is small."""
    return bits(kind)


def tag_bits(kind: Union) -> int:
    """The width of a union's tag."""
    return (len(kind.variants) - 1).bit_length()


def place_fields(fields: Sequence[Field], start: int) -> tuple[tuple[Part, ...], int]:
    """Places of fields in a large value whose first ``start`` bits are taken, and its words."""
    parts: list[Part] = []
    word, used = 0, start
    for field in fields:
        match shape(field.type):
            case Small(0):
                parts.append(Part(0, 0))
            case Small(width):
                if used + width > WORD:
                    word, used = word + 1, 0
                parts.append(Part(word, used))
                used += width
            case Large(words):
                if used:
                    word, used = word + 1, 0
                parts.append(Part(word, 0))
                word += words
    return tuple(parts), max(word + (1 if used else 0), 1)


@ByType
def array(kind: Set | Seq | Bag | Map) -> Array:
    """Where the elements of a large collection with a capacity, or of a large map, lie."""
    if isinstance(kind, Map):
        element, count, length = kind.value, cardinality(kind.key), 0
    else:
        assert kind.capacity is not None
        element, count, length = kind.element, kind.capacity, length_bits(kind.capacity)
    match shape(element):
        case Small(own):
            width = max(own, 1)
            return Array(width, WORD // width, 0, 0, -(-length // width), count)
        case Large(words):
            return Array(0, 0, words, 1 if length else 0, 0, count)


def _array_words(where: Array) -> int:
    if where.per_word:
        return max(-(-(where.first + where.count) // where.per_word), 1)
    return where.start + where.count * where.words


def slot_place(where: Array, index: int) -> Part:
    """Where element ``index`` lies."""
    slot = where.first + index
    if where.per_word:
        return Part(slot // where.per_word, slot % where.per_word * where.bits)
    return Part(where.start + slot * where.words, 0)


@ByType
def ordered(kind: Type) -> bool:
    """Whether ``kind`` is small and its codes ascend as its values do."""
    if not isinstance(shape(kind), Small) or isinstance(kind, Set | Seq | Bag | Map):
        return False
    return all(map(ordered, components(kind)))


# ---------------------------------------------------------------- ranks


@ByType
def ranks(kind: Type) -> dict[Value, int]:
    """The position of each value of a small finite type in ascending order."""
    return {value: rank for rank, value in enumerate(values(kind))}


def rank(kind: Type, value: Value) -> int:
    """The position of ``value`` among the values of ``kind``, ascending."""
    if isinstance(kind, Scalar) and isinstance(value, int):
        return value - kind.low
    return ranks(kind)[value]


def is_scalar(kind: Type) -> bool:
    """Whether a value of ``kind`` is one number or name."""
    return isinstance(kind, Scalar)


# ---------------------------------------------------------------- codes


def encode(kind: Type, value: Value) -> int:
    """The code of a small value."""
    match kind, value:
        case Scalar(), int():
            return value - kind.low
        case Record(fields=fields), tuple():
            return _from_top(fields, value, tight(kind))
        case Union(variants=variants), (int(tag), *payload):
            below = tight(kind) - tag_bits(kind)
            return tag << below | _from_top(variants[tag].fields, tuple(payload), below)
        case Option(), ():
            return 0
        case Option(element), (inner,):
            return 1 << tight(element) | encode(element, inner)
        case Set(element, None), tuple():
            return sum(1 << rank(element, item) for item in value)
        case (
            (Set(element, int(capacity)) | Seq(element, capacity) | Bag(element, capacity)),
            tuple(),
        ):
            code, shift = len(value), length_bits(capacity)
            for item in value:
                code |= encode(element, item) << shift
                shift += tight(element)
            return code
        case Map(_, element), tuple():
            width = tight(element)
            return sum(encode(element, item) << place * width for place, item in enumerate(value))
        case _:
            raise AssertionError((kind, value))


def _from_top(fields: Sequence[Field], payload: Sequence[Value], width: int) -> int:
    code = 0
    for field, item in zip(fields, payload, strict=True):
        width -= tight(field.type)
        code |= encode(field.type, item) << width
    return code


def decode(kind: Type, code: int) -> Value:
    """The small value that has this code."""
    match kind:
        case Bool():
            return bool(code)
        case Scalar():
            return code + kind.low
        case Record(fields=fields):
            return tuple(_parts_from_top(fields, code, tight(kind)))
        case Union(variants=variants):
            below = tight(kind) - tag_bits(kind)
            tag = code >> below
            return (tag, *_parts_from_top(variants[tag].fields, code & ((1 << below) - 1), below))
        case Option(element):
            width = tight(element)
            return (decode(element, code & ((1 << width) - 1)),) if code >> width else ()
        case Set(element, None):
            return tuple(v for place, v in enumerate(values(element)) if code >> place & 1)
        case Set(element, int(capacity)) | Seq(element, capacity) | Bag(element, capacity):
            width, low = tight(element), length_bits(capacity)
            length = code & ((1 << low) - 1)
            mask = (1 << width) - 1
            return tuple(
                decode(element, code >> low + place * width & mask) for place in range(length)
            )
        case Map(key, element):
            width = tight(element)
            mask = (1 << width) - 1
            count = cardinality(key)
            return tuple(decode(element, code >> place * width & mask) for place in range(count))
        case _:
            raise AssertionError(kind)


def _parts_from_top(fields: Sequence[Field], code: int, width: int) -> Iterator[Value]:
    for field in fields:
        own = tight(field.type)
        width -= own
        yield decode(field.type, code >> width & ((1 << own) - 1))


# ---------------------------------------------------------------- words


def write(kind: Type, value: Value, words: list[int], part: Part) -> None:
    """Puts ``value`` into words (where it stands in zeros)."""
    if isinstance(shape(kind), Small):
        words[part.word] |= encode(kind, value) << part.shift
        return
    base = part.word
    match kind, value:
        case Record(fields=fields), tuple():
            _write_fields(fields, value, words, base, 0)
        case Union(variants=variants), (int(tag), *payload):
            words[base] |= tag
            _write_fields(variants[tag].fields, tuple(payload), words, base, tag_bits(kind))
        case Option(), ():
            pass
        case Option(element), tuple():
            words[base] |= 1
            _write_fields((Field("", element),), value, words, base, 1)
        case Set(element, None), tuple():
            for item in value:
                place = rank(element, item)
                words[base + place // WORD] |= 1 << place % WORD
        case ((Set(element) | Seq(element) | Bag(element) | Map(value=element)), tuple()):
            assert isinstance(kind, Set | Seq | Bag | Map)
            if not isinstance(kind, Map):
                words[base] |= len(value)
            where = array(kind)
            for index, item in enumerate(value):
                slot = slot_place(where, index)
                write(element, item, words, Part(base + slot.word, slot.shift))
        case _:
            raise AssertionError((kind, value))


def _write_fields(
    fields: Sequence[Field], payload: Sequence[Value], words: list[int], base: int, start: int
) -> None:
    parts, _ = place_fields(fields, start)
    for field, item, part in zip(fields, payload, parts, strict=True):
        write(field.type, item, words, Part(base + part.word, part.shift))


def read(kind: Type, words: Sequence[int], part: Part) -> Value:
    """The value at a place in words."""
    size = shape(kind)
    if isinstance(size, Small):
        return decode(kind, words[part.word] >> part.shift & ((1 << size.bits) - 1))
    base = part.word
    match kind:
        case Record(fields=fields):
            return tuple(_read_fields(fields, words, base, 0))
        case Union(variants=variants):
            tag = words[base] & ((1 << tag_bits(kind)) - 1)
            return (tag, *_read_fields(variants[tag].fields, words, base, tag_bits(kind)))
        case Option(element):
            if not words[base] & 1:
                return ()
            return tuple(_read_fields((Field("", element),), words, base, 1))
        case Set(element, None):
            return tuple(
                v
                for place, v in enumerate(values(element))
                if words[base + place // WORD] >> place % WORD & 1
            )
        case Set(element) | Seq(element) | Bag(element) | Map(value=element):
            where = array(kind)
            length = where.count
            if not isinstance(kind, Map):
                assert kind.capacity is not None
                length = words[base] & ((1 << length_bits(kind.capacity)) - 1)
            return tuple(
                read(element, words, Part(base + slot.word, slot.shift))
                for slot in (slot_place(where, index) for index in range(length))
            )
        case _:
            raise AssertionError(kind)


def least(kind: Type) -> Value:
    """The value whose bits are all zero."""
    size = shape(kind)
    return read(kind, [0] * (size.words if isinstance(size, Large) else 1), Part(0, 0))


def _read_fields(
    fields: Sequence[Field], words: Sequence[int], base: int, start: int
) -> Iterator[Value]:
    parts, _ = place_fields(fields, start)
    for field, part in zip(fields, parts, strict=True):
        yield read(field.type, words, Part(base + part.word, part.shift))


# ---------------------------------------------------------------- states


class Layout:
    """The packed states of a model: ``words`` words each.

    Small variables share words, the widest placed first, none across two words; large ones take
    words of their own. ``places`` are those of the variables, in declaration order.
    """

    def __init__(self, model: Model) -> None:
        self.types = tuple(variable.type for variable in model.variables)
        self.places, self.words = _place(self.types)
        self.bits = 1 + sum(
            size.bits if isinstance(size, Small) else size.words * WORD
            for size in map(shape, self.types)
        )

    def encode(self, state: State) -> tuple[int, ...]:
        """The words of a state, each an unsigned 64-bit integer."""
        words = [0] * self.words
        words[0] = OCCUPIED
        for kind, place, value in zip(self.types, self.places, state, strict=True):
            write(kind, value, words, place)
        return tuple(words)

    def decode(self, words: Sequence[int]) -> State:
        """The state that has these words."""
        return tuple(
            read(kind, words, place) for kind, place in zip(self.types, self.places, strict=True)
        )


def _place(kinds: Sequence[Type]) -> tuple[tuple[Part, ...], int]:
    places: list[Part | None] = [None] * len(kinds)
    # The occupied bit is the highest of word 0.
    free = [WORD - 1]
    taken = [0]
    sizes = [shape(kind) for kind in kinds]
    small = [i for i, size in enumerate(sizes) if isinstance(size, Small)]
    for index in sorted(small, key=lambda i: -tight(kinds[i])):
        width = tight(kinds[index])
        bin_ = next((b for b, room in enumerate(free) if room >= width), None)
        if bin_ is None:
            bin_ = len(free)
            free.append(WORD)
            taken.append(0)
        places[index] = Part(bin_, taken[bin_])
        free[bin_] -= width
        taken[bin_] += width
    word = len(free)
    for index, size in enumerate(sizes):
        if isinstance(size, Large):
            places[index] = Part(word, 0)
            word += size.words
    done = tuple(place for place in places if place is not None)
    assert len(done) == len(kinds)
    return done, word
