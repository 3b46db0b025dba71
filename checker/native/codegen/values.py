"""Values of the language as machine words: their codes, numbers, and the parts of large values.

A scalar is represented by its number (a Boolean by a flag), a small aggregate by its code (see
`layout`), and a large aggregate by a pointer to words that no longer change. Intervals and sets of
all values of a type are built as sets only if this is needed.

The search polls for a stop request between states. Since nested loops or choices can take minutes
for a single state, any loop that may take long also polls (see `Polling`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from fencepost.checker.layout import (
    Large,
    Part,
    Small,
    array,
    encode,
    head_bits,
    is_scalar,
    length_bits,
    parts_of,
    place_fields,
    shape,
    tight,
    write,
)
from fencepost.checker.native.codegen.emitter import LLVM, Emitter, flag, known, word
from fencepost.checker.native.codegen.flow import each, when
from fencepost.spec.core.types import (
    Bag,
    Bool,
    Field,
    Integer,
    Map,
    Seq,
    Set,
    Sum,
    Type,
    Value,
    as_collection,
    view,
)

BUSY = 256
"""A loop polls in every iteration if one iteration includes this many iterations of inner loops."""
POLL_INTERVAL = 1 << 22
"""A loop also polls if it takes this many iterations in total, including those of inner loops."""


class Polling:
    """Tracks the loops of a function under construction.

    ``leave`` emits code that returns from the function if the search is being stopped. ``asks``
    tells whether such code was emitted.
    """

    def __init__(self) -> None:
        self.leave: Callable[[], None] | None = None
        self.asks = False
        self._rounds = 1

    def ask(self) -> None:
        """Emits code that returns from the function at this point if the search is being
        stopped.
        """
        if self.leave is not None:
            self.leave()
            self.asks = True

    @contextmanager
    def loop(self, most: int) -> Generator[None]:
        """A context for the code of one iteration of a loop that has at most ``most``
        iterations.
        """
        outer, self._rounds = self._rounds, 1
        yield
        inner = self._rounds
        if inner >= BUSY or most * inner >= POLL_INTERVAL:
            self.ask()
        self._rounds = outer + most * inner


@dataclass(slots=True, eq=False)
class Val:
    """A value. ``word`` is the number of a scalar (a flag for a Boolean), a code, or a pointer to a
    large value.

    ``moving`` means that the pointer refers to a variable that the step may change later.
    """

    type: Type
    word: LLVM
    moving: bool = False


@dataclass(slots=True, eq=False)
class Universe:
    """The set of all values of the element type."""

    type: Set


@dataclass(slots=True, eq=False)
class Subsets:
    """The set of all subsets of ``base``."""

    type: Set
    base: Val


@dataclass(slots=True, eq=False)
class Interval:
    """The set of the integers from ``low`` to ``high``."""

    type: Set
    low: LLVM
    high: LLVM


V: TypeAlias = Val | Universe | Subsets | Interval
Ordered: TypeAlias = Set | Seq | Bag


class Values:
    """Operations on values, emitted at the emitter's position."""

    def __init__(self, emitter: Emitter) -> None:
        self.e = emitter
        self.polling = Polling()

    # ------------------------------------------------------------ codes

    def code(self, value: Val) -> LLVM:
        """Returns the code of a small value."""
        match value.type:
            case Bool():
                return self.e.as_word(value.word)
            case Integer() as kind:
                return self.e.sub(value.word, word(kind.low))
            case _:
                return value.word

    def of_code(self, kind: Type, code: LLVM) -> Val:
        """Returns the small value that ``code`` encodes."""
        match kind:
            case Bool():
                return Val(kind, self.e.as_flag(code))
            case Integer():
                return Val(kind, self.e.add(code, word(kind.low)))
            case _:
                return Val(kind, code)

    def bits(self, value: LLVM, shift: LLVM | int, width: int) -> LLVM:
        """Returns ``width`` bits of a word, starting at bit ``shift``."""
        if width == 0:
            return word(0)
        return self.e.both(self.e.shr(value, shift), word((1 << width) - 1))

    def constant(self, value: Value, kind: Type) -> Val:
        """Returns a constant of type ``kind``."""
        size = shape(kind)
        if isinstance(kind, Bool):
            return Val(kind, flag(bool(value)))
        if is_scalar(kind):
            assert isinstance(value, int)
            return Val(kind, word(value))
        if isinstance(size, Small):
            return Val(kind, word(encode(kind, value)))
        words = [0] * size.words
        write(kind, value, words, Part(0, 0))
        return Val(kind, self.e.unit.table(words))

    # ------------------------------------------------------------ large values and their parts

    def room(self, kind: Type) -> LLVM:
        """Allocates cleared memory for a large value."""
        size = shape(kind)
        assert isinstance(size, Large)
        fresh = self.e.words(size.words)
        self.e.clear(fresh, size.words)
        return fresh

    def copied(self, value: Val) -> Val:
        """Copies a large value to its own memory. A small value is returned unchanged."""
        size = shape(value.type)
        if isinstance(size, Small):
            return value
        copy = self.e.words(size.words)
        self.e.copy(copy, value.word, size.words)
        return Val(value.type, copy)

    def read(self, base: LLVM, offset: LLVM | int, shift: LLVM | int, kind: Type) -> Val:
        """Reads the value at a word and bit offset from ``base``."""
        size = shape(kind)
        if isinstance(size, Large):
            return Val(kind, self.e.index(base, offset))
        if size.bits == 0:
            return self.of_code(kind, word(0))
        return self.of_code(kind, self.bits(self.e.get(base, offset), shift, size.bits))

    def write(self, base: LLVM, offset: LLVM | int, shift: LLVM | int, value: Val) -> None:
        """Writes a value at a word and bit offset from ``base``, without changing other bits of the
        word.
        """
        size = shape(value.type)
        if isinstance(size, Large):
            self.e.copy(self.e.index(base, offset), value.word, size.words)
            return
        if size.bits == 0:
            return
        address = self.e.index(base, offset)
        old = self.e.load(address)
        self.e.store(self.merged(old, shift, size.bits, self.code(value)), address)

    def merged(self, old: LLVM, shift: LLVM | int, width: int, code: LLVM) -> LLVM:
        """Returns ``old`` with ``width`` bits, starting at bit ``shift``, replaced by a code."""
        mask = self.e.invert(self.e.shl(word((1 << width) - 1), shift))
        return self.e.either(self.e.both(old, mask), self.e.shl(code, shift))

    # ------------------------------------------------------------ records, unions, options

    def built(self, kind: Type, case: int, values: Sequence[Val]) -> Val:
        """Builds a record (case 0), or a case of a union or option, from its parts."""
        size, head, parts = shape(kind), head_bits(kind), parts_of(kind, case)
        if isinstance(size, Small):
            shift = size.bits - head
            code = word(case << shift)
            for part, value in zip(parts, values, strict=True):
                shift -= tight(part.type)
                if tight(part.type):
                    code = self.e.either(code, self.e.shl(self.code(value), shift))
            return Val(kind, code)
        fresh = self.room(kind)
        self.e.put(fresh, 0, word(case))
        places, _ = place_fields(parts, head)
        for value, part_at in zip(values, places, strict=True):
            self.write(fresh, part_at.word, part_at.shift, value)
        return Val(kind, fresh)

    def tag(self, value: Val) -> LLVM:
        """Returns the number of the case of a union or option."""
        size, head = shape(value.type), head_bits(value.type)
        if head == 0:
            return word(0)
        if isinstance(size, Small):
            return self.e.shr(value.word, size.bits - head)
        return self.bits(self.e.get(value.word, 0), 0, head)

    def cases(self, value: Val) -> Iterator[int]:
        """Yields the cases of a union, or only the case with content for an option. Code emitted
        while a case is yielded runs if the value has this case.
        """
        form = view(value.type)
        assert isinstance(form, Sum)
        for case, parts in enumerate(form.cases):
            if form.tagged or parts:
                tag = self.tag(value)
                here = self.e.eq(tag, word(case)) if form.tagged else self.e.as_flag(tag)
                with when(self.e, here):
                    yield case

    def part(self, value: Val, case: int, index: int) -> Val:
        """Returns a part of a record (case 0), or of a union or option that has this case."""
        size, parts = shape(value.type), parts_of(value.type, case)
        kind = parts[index].type
        if isinstance(size, Small):
            shift = _shift_of(value.type, size, parts, index)
            return self.of_code(kind, self.bits(value.word, shift, tight(kind)))
        part_at = place_fields(parts, head_bits(value.type))[0][index]
        result = self.read(value.word, part_at.word, part_at.shift, kind)
        result.moving = value.moving
        return result

    def with_part(self, value: Val, index: int, new: Val) -> Val:
        """Returns a record with one field replaced."""
        size, parts = shape(value.type), parts_of(value.type)
        if isinstance(size, Small):
            width = tight(parts[index].type)
            if width == 0:
                return value
            shift = _shift_of(value.type, size, parts, index)
            return Val(value.type, self.merged(value.word, shift, width, self.code(new)))
        copy = self.copied(value)
        part_at = place_fields(parts, 0)[0][index]
        self.write(copy.word, part_at.word, part_at.shift, new)
        return copy

    # ------------------------------------------------------------ elements

    def length(self, value: Val) -> LLVM:
        """Returns the number of elements of a sequence, a bag, or a set with a capacity."""
        width = length_bits(value.type)
        if isinstance(shape(value.type), Small):
            return self.bits(value.word, 0, width)
        return self.bits(self.e.get(value.word, 0), 0, width)

    def at(self, value: Val, index: LLVM) -> Val:
        """Returns the element at ``index``. If the index is out of range, the result is some
        element or zeros.
        """
        return self._element(value, as_collection(value.type).element, index)

    def at_rank(self, value: Val, rank: LLVM) -> Val:
        """Returns the value of a map at the key with rank ``rank``."""
        assert isinstance(value.type, Map)
        return self._element(value, value.type.value, rank)

    def _element(self, value: Val, element: Type, index: LLVM) -> Val:
        kind = value.type
        width = tight(element)
        if isinstance(shape(kind), Small):
            size = shape(element)
            if isinstance(size, Large):
                # The capacity is 0, so this code never runs.
                return Val(element, self.e.unit.table([0] * size.words))
            shift = self.e.add(self.e.mul(index, word(width)), word(length_bits(kind)))
            return self.of_code(element, self.bits(value.word, self._shift(shift), width))
        offset, low = self.slot(kind, index)
        result = self.read(value.word, offset, low, element)
        result.moving = value.moving
        return result

    def _shift(self, shift: LLVM) -> LLVM | int:
        """Returns a valid shift. A constant shift outside the word is reduced to 63."""
        number = known(shift)
        return shift if number is None else min(number, 63)

    def slot(self, kind: Type, index: LLVM) -> tuple[LLVM, LLVM | int]:
        """Returns the word and bit offset of an element of a large value. They are within the value
        even if ``index`` is not.
        """
        e, where = self.e, array(kind)
        index = e.select(e.ult(index, word(where.count)), index, word(0))
        if not where.per_word:
            return e.add(e.mul(index, word(where.words)), word(where.start)), 0
        number = e.add(index, word(where.first))
        per = word(where.per_word)
        shift = e.mul(e.urem(number, per), word(where.bits))
        return e.udiv(number, per), self._shift(shift)

    def put_at(self, value: Val, index: LLVM, new: Val) -> None:
        """Replaces an element of a large value in place."""
        offset, low = self.slot(value.type, index)
        self.write(value.word, offset, low, new)

    def with_element(self, value: Val, index: LLVM, new: Val) -> Val:
        """Returns a sequence or map with one element replaced."""
        kind = value.type
        if isinstance(shape(kind), Large):
            copy = self.copied(value)
            self.put_at(copy, index, new)
            return copy
        start = length_bits(kind)
        width = tight(new.type)
        if width == 0 or isinstance(shape(new.type), Large):
            return value
        shift = self._shift(self.e.add(self.e.mul(index, word(width)), word(start)))
        return Val(kind, self.merged(value.word, shift, width, self.code(new)))

    # ------------------------------------------------------------ loops

    def counted(self, count: LLVM, body: Callable[[LLVM, LLVM], None]) -> None:
        """Emits ``body(index, end)`` for the indices 0 to ``count`` - 1. The body may jump to
        ``end`` to leave the loop.
        """
        end = self.e.block()
        with each(self.e, count) as index:
            body(index, end)
        self.e.goto(end)
        self.e.at(end)


def _shift_of(kind: Type, size: Small, parts: Sequence[Field], index: int) -> int:
    """Returns the lowest bit of a part in the code of a small value."""
    return size.bits - head_bits(kind) - sum(tight(part.type) for part in parts[: index + 1])
