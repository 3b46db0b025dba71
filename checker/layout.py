"""Defines how states are packed into machine words. No other module knows bit positions.

A *small* value has at most 64 bits and is handled as one unsigned integer, its *code*. A *large*
value occupies whole words. Scalars, and records, unions and options made of them, have codes in the
same order as their values. Packing is canonical: equal values have equal bits, and unused bits are
zero.

scalar        the value minus the least value
record        the fields, the first one highest (small); or field by field in words (large)
union         the tag highest, then the fields from the top down (small)
option        a flag highest, then the content
seq, bag,     the length lowest, then the elements upwards, each `bits` wide (small);
capped set    or an `Array`, with the length in place of the first elements (large)
set           one bit for each possible element, in ascending order
map           the values upwards, in the order of the keys
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Generic, TypeAlias, TypeVar

from fencepost.spec.core.ir import Model
from fencepost.spec.core.types import (
    Collection,
    Elements,
    Field,
    Flags,
    Map,
    Numbers,
    Product,
    Scalar,
    State,
    Sum,
    Type,
    Value,
    bits,
    cardinality,
    components,
    values,
    view,
)
from fencepost.spec.records import dataclass

WORD = 64
MASK = (1 << WORD) - 1
OCCUPIED = 1 << 63
"""The bit that is set in word 0 of every packed state, to distinguish it from a free slot."""


K = TypeVar("K")
R = TypeVar("R")
MAX_HELD = 10_000


class ByType(Generic[K, R]):
    """A memoized function of types.

    Types are first looked up by identity, because hashing a type hashes all its components, and
    translating a model looks up the same types ten thousand times.
    """

    def __init__(self, answer: Callable[[K], R]) -> None:
        self._by_value = cache(answer)
        self._held: dict[int, tuple[K, R]] = {}

    def __call__(self, kind: K) -> R:
        held = self._held.get(id(kind))
        if held is not None:
            # The table keeps the type alive, so equal identities mean the same type.
            return held[1]
        result = self._by_value(kind)
        if len(self._held) >= MAX_HELD:
            self._held.clear()
        self._held[id(kind)] = (kind, result)
        return result

    def cache_clear(self) -> None:
        """Forgets all results."""
        self._held.clear()
        self._by_value.cache_clear()


@dataclass(frozen=True, slots=True)
class Small:
    """The size of a small value: ``bits`` bits, from 0 to 64."""

    bits: int


@dataclass(frozen=True, slots=True)
class Large:
    """The size of a large value: ``words`` whole words."""

    words: int


Shape: TypeAlias = Small | Large


@dataclass(frozen=True, slots=True)
class Part:
    """The position of a component within a large value: its word, and its lowest bit, which is 0
    for a large component.
    """

    word: int
    shift: int


@dataclass(frozen=True, slots=True)
class Array:
    """The layout of the elements of a large collection or map. Element i is in slot ``first + i``.

    If the elements are small, each word has ``per_word`` slots of ``bits`` bits, and no slot spans
    two words. If they are large, ``per_word`` is 0, and slot s begins at word ``s * words +
    start``.
    """

    bits: int
    per_word: int
    words: int
    start: int
    first: int
    count: int


def length_bits(kind: Type) -> int:
    """Returns the number of bits for the length of a collection with a capacity. Other values have
    no length, so the result for them is 0.
    """
    form = view(kind)
    return form.capacity.bit_length() if isinstance(form, Elements) else 0


def head_bits(kind: Type) -> int:
    """Returns the number of bits for the case number before the parts: a union's tag or an option's
    flag. The result is 0 for other types.
    """
    form = view(kind)
    return form.head if isinstance(form, Sum) else 0


def parts_of(kind: Type, case: int = 0) -> tuple[Field, ...]:
    """Returns the parts of a record or map, or of one case of a union or option."""
    form = view(kind)
    assert isinstance(form, Product | Sum), kind
    return form.parts if isinstance(form, Product) else form.cases[case]


@ByType
def shape(kind: Type) -> Shape:
    """Returns the size of a value of ``kind``."""
    width = tight(kind)
    if width <= WORD:
        return Small(width)
    match view(kind):
        case Product(parts, None):
            return Large(place_fields(parts, 0)[1])
        case Sum(cases) as form:
            return Large(max(place_fields(parts, form.head)[1] for parts in cases))
        case Flags(element):
            return Large(-(-cardinality(element) // WORD))
        case Elements() | Product():
            return Large(_array_words(array(kind)))
        case Numbers():
            raise AssertionError(f"{kind} takes {width} bits")


@ByType
def tight(kind: Type) -> int:
    """Returns the number of bits of a value of ``kind`` packed without gaps. For a small type, this
    is the width of the code.
    """
    return bits(kind)


def place_fields(fields: Sequence[Field], start: int) -> tuple[tuple[Part, ...], int]:
    """Returns the positions of fields in a large value whose first ``start`` bits are in use, and
    the size of the value in words.
    """
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
def array(kind: Type) -> Array:
    """Returns the layout of the elements of a large map, or of a large collection with a
    capacity.
    """
    element, count = _elements(kind)
    length = length_bits(kind)
    match shape(element):
        case Small(own):
            width = max(own, 1)
            return Array(width, WORD // width, 0, 0, -(-length // width), count)
        case Large(words):
            return Array(0, 0, words, 1 if length else 0, 0, count)


def _elements(kind: Type) -> tuple[Type, int]:
    """Returns the element type of a collection or map, and the maximum number of elements."""
    match view(kind):
        case Product((part,)) as form:
            return part.type, form.times
        case Elements(element, capacity):
            return element, capacity
        case _:
            raise AssertionError(kind)


def _array_words(where: Array) -> int:
    if where.per_word:
        return max(-(-(where.first + where.count) // where.per_word), 1)
    return where.start + where.count * where.words


def slot_place(where: Array, index: int) -> Part:
    """Returns the position of element ``index``."""
    slot = where.first + index
    if where.per_word:
        return Part(slot // where.per_word, slot % where.per_word * where.bits)
    return Part(where.start + slot * where.words, 0)


@ByType
def ordered(kind: Type) -> bool:
    """Returns whether ``kind`` is small and its codes have the same order as its values."""
    if not isinstance(shape(kind), Small) or isinstance(kind, Collection | Map):
        return False
    return all(map(ordered, components(kind)))


# ---------------------------------------------------------------- ranks


@ByType
def ranks(kind: Type) -> dict[Value, int]:
    """Returns the position of each value of a small finite type in ascending order."""
    return {value: rank for rank, value in enumerate(values(kind))}


def rank(kind: Type, value: Value) -> int:
    """Returns the position of ``value`` among the values of ``kind`` in ascending order."""
    if isinstance(kind, Scalar) and isinstance(value, int):
        return value - kind.low
    return ranks(kind)[value]


def is_scalar(kind: Type) -> bool:
    """Returns whether a value of ``kind`` is a single number or name."""
    return isinstance(kind, Scalar)


# ---------------------------------------------------------------- codes


def encode(kind: Type, value: Value) -> int:
    """Returns the code of a small value."""
    match view(kind), value:
        case Numbers() as form, int():
            return value - form.low
        case Product(parts, None), tuple():
            return _from_top(parts, value, tight(kind))
        case Sum() as form, tuple():
            case, payload = form.opened(value)
            below = tight(kind) - form.head
            return case << below | _from_top(form.cases[case], payload, below)
        case Flags(element), tuple():
            return sum(1 << rank(element, item) for item in value)
        case ((Elements() | Product()), tuple()):
            element, shift = _elements(kind)[0], length_bits(kind)
            code = len(value) if shift else 0
            for item in value:
                code |= encode(element, item) << shift
                shift += tight(element)
            return code
        case _:
            raise AssertionError((kind, value))


def _from_top(fields: Sequence[Field], payload: Sequence[Value], width: int) -> int:
    code = 0
    for field, item in zip(fields, payload, strict=True):
        width -= tight(field.type)
        code |= encode(field.type, item) << width
    return code


def decode(kind: Type, code: int) -> Value:
    """Returns the small value that ``code`` encodes."""
    match view(kind):
        case Numbers() as form:
            return form.value(code + form.low)
        case Product(parts, None):
            return tuple(_parts_from_top(parts, code, tight(kind)))
        case Sum() as form:
            below = tight(kind) - form.head
            case = code >> below
            return form.closed(case, _parts_from_top(form.cases[case], code, below))
        case Flags(element):
            return tuple(v for index, v in enumerate(values(element)) if code >> index & 1)
        case Elements() | Product():
            element, count = _elements(kind)
            width, low = tight(element), length_bits(kind)
            if low:
                count = code & ((1 << low) - 1)
            mask = (1 << width) - 1
            return tuple(
                decode(element, code >> low + index * width & mask) for index in range(count)
            )


def _parts_from_top(fields: Sequence[Field], code: int, width: int) -> Iterator[Value]:
    for field in fields:
        own = tight(field.type)
        width -= own
        yield decode(field.type, code >> width & ((1 << own) - 1))


# ---------------------------------------------------------------- words


def write(kind: Type, value: Value, words: list[int], part: Part) -> None:
    """Writes ``value`` at the position ``part`` of ``words``, where all bits must be zero."""
    if isinstance(shape(kind), Small):
        words[part.word] |= encode(kind, value) << part.shift
        return
    base = part.word
    match view(kind), value:
        case Product(parts, None), tuple():
            _write_fields(parts, value, words, base, 0)
        case Sum(cases) as form, tuple():
            case, payload = form.opened(value)
            words[base] |= case
            _write_fields(cases[case], payload, words, base, form.head)
        case Flags(element), tuple():
            for item in value:
                position = rank(element, item)
                words[base + position // WORD] |= 1 << position % WORD
        case ((Elements() | Product()), tuple()):
            if length_bits(kind):
                words[base] |= len(value)
            element, where = _elements(kind)[0], array(kind)
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
    """Reads the value at the position ``part`` of ``words``."""
    size = shape(kind)
    if isinstance(size, Small):
        return decode(kind, words[part.word] >> part.shift & ((1 << size.bits) - 1))
    base = part.word
    match view(kind):
        case Product(parts, None):
            return tuple(_read_fields(parts, words, base, 0))
        case Sum(cases) as form:
            case = words[base] & ((1 << form.head) - 1)
            return form.closed(case, _read_fields(cases[case], words, base, form.head))
        case Flags(element):
            return tuple(
                v
                for index, v in enumerate(values(element))
                if words[base + index // WORD] >> index % WORD & 1
            )
        case Elements() | Product():
            element, count = _elements(kind)
            where, length = array(kind), length_bits(kind)
            if length:
                count = words[base] & ((1 << length) - 1)
            return tuple(
                read(element, words, Part(base + slot.word, slot.shift))
                for slot in (slot_place(where, index) for index in range(count))
            )
        case Numbers():
            raise AssertionError(kind)


def least(kind: Type) -> Value:
    """Returns the value whose bits are all zero."""
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
    """The layout of a model's states. Each state takes ``words`` words.

    Small variables share words: the widest are placed first, and none spans two words. Large
    variables take whole words. ``places`` are the positions of the variables in order of
    declaration.
    """

    def __init__(self, model: Model) -> None:
        assert not any(item.unbounded for item in model.open_ranges), "an int has no range"
        self.types = tuple(variable.type for variable in model.variables)
        self.places, self.words = _place(self.types)
        self.bits = 1 + sum(
            size.bits if isinstance(size, Small) else size.words * WORD
            for size in map(shape, self.types)
        )

    def encode(self, state: State) -> tuple[int, ...]:
        """Returns the words of a state, as unsigned 64-bit integers."""
        words = [0] * self.words
        words[0] = OCCUPIED
        for kind, part, value in zip(self.types, self.places, state, strict=True):
            write(kind, value, words, part)
        return tuple(words)

    def decode(self, words: Sequence[int]) -> State:
        """Returns the state that ``words`` encodes."""
        return tuple(
            read(kind, words, part) for kind, part in zip(self.types, self.places, strict=True)
        )


def _place(kinds: Sequence[Type]) -> tuple[tuple[Part, ...], int]:
    parts: list[Part | None] = [None] * len(kinds)
    # The highest bit of word 0 is `OCCUPIED`.
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
        parts[index] = Part(bin_, taken[bin_])
        free[bin_] -= width
        taken[bin_] += width
    word = len(free)
    for index, size in enumerate(sizes):
        if isinstance(size, Large):
            parts[index] = Part(word, 0)
            word += size.words
    done = tuple(part for part in parts if part is not None)
    assert len(done) == len(kinds)
    return done, word
