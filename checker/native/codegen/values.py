"""Values of the language as machine words: codes and numbers, parts of large values.

A scalar is handled as its number (a truth value as a flag), a small aggregate as its code (see
`layout`), a large one as a pointer to words that do not change any more. Whole types and intervals
stay unbuilt until the set itself is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
from fencepost.checker.native.codegen.polling import Polling
from fencepost.spec.core.types import (
    Bag,
    Bool,
    Field,
    Int,
    Machine,
    Map,
    Seq,
    Set,
    Sum,
    Type,
    Value,
    as_collection,
    view,
)


@dataclass(slots=True, eq=False)
class Val:
    """A value. ``word``: a scalar's number (a flag for bool), a code, or a pointer if large.

    ``moving``: a pointer into a variable that the step may change later.
    """

    type: Type
    word: LLVM
    moving: bool = False


@dataclass(slots=True, eq=False)
class Whole:
    """All values of the element type, as a set."""

    type: Set


@dataclass(slots=True, eq=False)
class Between:
    """The integers from ``low`` to ``high``, as a set."""

    type: Set
    low: LLVM
    high: LLVM


V: TypeAlias = Val | Whole | Between
Ordered: TypeAlias = Set | Seq | Bag


class Values:
    """Operations on values, emitted where the emitter stands."""

    def __init__(self, emitter: Emitter) -> None:
        self.e = emitter
        self.polling = Polling()

    # ------------------------------------------------------------ codes

    def code(self, value: Val) -> LLVM:
        """The code of a small value."""
        match value.type:
            case Bool():
                return self.e.as_word(value.word)
            case Int(low=low) | Machine(low=low):
                return self.e.sub(value.word, word(low))
            case _:
                return value.word

    def of_code(self, kind: Type, code: LLVM) -> Val:
        """The small value that has this code."""
        match kind:
            case Bool():
                return Val(kind, self.e.as_flag(code))
            case Int(low=low) | Machine(low=low):
                return Val(kind, self.e.add(code, word(low)))
            case _:
                return Val(kind, code)

    def bits(self, value: LLVM, shift: LLVM | int, width: int) -> LLVM:
        """``width`` bits of a word from ``shift`` upwards."""
        if width == 0:
            return word(0)
        return self.e.both(self.e.shr(value, shift), word((1 << width) - 1))

    def constant(self, value: Value, kind: Type) -> Val:
        """A value that is known."""
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
        """Fresh room for a large value, cleared."""
        size = shape(kind)
        assert isinstance(size, Large)
        made = self.e.words(size.words)
        self.e.clear(made, size.words)
        return made

    def copied(self, value: Val) -> Val:
        """A large value in room of its own; a small one as it is."""
        size = shape(value.type)
        if isinstance(size, Small):
            return value
        made = self.e.words(size.words)
        self.e.copy(made, value.word, size.words)
        return Val(value.type, made)

    def read(self, base: LLVM, place: LLVM | int, shift: LLVM | int, kind: Type) -> Val:
        """The value at a word (and bit) behind ``base``."""
        size = shape(kind)
        if isinstance(size, Large):
            return Val(kind, self.e.index(base, place))
        if size.bits == 0:
            return self.of_code(kind, word(0))
        return self.of_code(kind, self.bits(self.e.get(base, place), shift, size.bits))

    def write(self, base: LLVM, place: LLVM | int, shift: LLVM | int, value: Val) -> None:
        """Puts a value there; what else the word holds stays."""
        size = shape(value.type)
        if isinstance(size, Large):
            self.e.copy(self.e.index(base, place), value.word, size.words)
            return
        if size.bits == 0:
            return
        address = self.e.index(base, place)
        old = self.e.load(address)
        self.e.store(self.merged(old, shift, size.bits, self.code(value)), address)

    def merged(self, old: LLVM, shift: LLVM | int, width: int, code: LLVM) -> LLVM:
        """A word with ``width`` bits from ``shift`` upwards replaced by a code."""
        mask = self.e.invert(self.e.shl(word((1 << width) - 1), shift))
        return self.e.either(self.e.both(old, mask), self.e.shl(code, shift))

    # ------------------------------------------------------------ records, unions, options

    def built(self, kind: Type, case: int, values: Sequence[Val]) -> Val:
        """A record (case 0), or a case of a union or option, of these parts."""
        size, head, parts = shape(kind), head_bits(kind), parts_of(kind, case)
        if isinstance(size, Small):
            shift = size.bits - head
            code = word(case << shift)
            for part, value in zip(parts, values, strict=True):
                shift -= tight(part.type)
                if tight(part.type):
                    code = self.e.either(code, self.e.shl(self.code(value), shift))
            return Val(kind, code)
        made = self.room(kind)
        self.e.put(made, 0, word(case))
        places, _ = place_fields(parts, head)
        for value, place in zip(values, places, strict=True):
            self.write(made, place.word, place.shift, value)
        return Val(kind, made)

    def tag(self, value: Val) -> LLVM:
        """The number of the case of a union or option."""
        size, head = shape(value.type), head_bits(value.type)
        if head == 0:
            return word(0)
        if isinstance(size, Small):
            return self.e.shr(value.word, size.bits - head)
        return self.bits(self.e.get(value.word, 0), 0, head)

    def cases(self, value: Val) -> Iterator[int]:
        """The cases of a union, or that of an option with a content. What is emitted for a case
        runs if the value has it.
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
        """A part of a record (case 0), or of a union or option that has this case."""
        size, parts = shape(value.type), parts_of(value.type, case)
        kind = parts[index].type
        if isinstance(size, Small):
            shift = _shift_of(value.type, size, parts, index)
            return self.of_code(kind, self.bits(value.word, shift, tight(kind)))
        place = place_fields(parts, head_bits(value.type))[0][index]
        found = self.read(value.word, place.word, place.shift, kind)
        found.moving = value.moving
        return found

    def with_part(self, value: Val, index: int, new: Val) -> Val:
        """A record with one field replaced."""
        size, parts = shape(value.type), parts_of(value.type)
        if isinstance(size, Small):
            width = tight(parts[index].type)
            if width == 0:
                return value
            shift = _shift_of(value.type, size, parts, index)
            return Val(value.type, self.merged(value.word, shift, width, self.code(new)))
        made = self.copied(value)
        place = place_fields(parts, 0)[0][index]
        self.write(made.word, place.word, place.shift, new)
        return made

    # ------------------------------------------------------------ elements

    def length(self, value: Val) -> LLVM:
        """How many elements a sequence, bag or capped set has."""
        width = length_bits(value.type)
        if isinstance(shape(value.type), Small):
            return self.bits(value.word, 0, width)
        return self.bits(self.e.get(value.word, 0), 0, width)

    def at(self, value: Val, index: LLVM) -> Val:
        """Element number ``index``; one that lies outside yields some element or zeros."""
        return self._element(value, as_collection(value.type).element, index)

    def at_rank(self, value: Val, place: LLVM) -> Val:
        """The value of a map at the key of this rank."""
        assert isinstance(value.type, Map)
        return self._element(value, value.type.value, place)

    def _element(self, value: Val, element: Type, index: LLVM) -> Val:
        kind = value.type
        width = tight(element)
        if isinstance(shape(kind), Small):
            size = shape(element)
            if isinstance(size, Large):
                # The capacity is 0, so this is never run.
                return Val(element, self.e.unit.table([0] * size.words))
            shift = self.e.add(self.e.mul(index, word(width)), word(length_bits(kind)))
            return self.of_code(element, self.bits(value.word, self._shift(shift), width))
        place, low = self.slot(kind, index)
        found = self.read(value.word, place, low, element)
        found.moving = value.moving
        return found

    def _shift(self, shift: LLVM) -> LLVM | int:
        """A shift that is known as a number; one outside a word is made harmless."""
        number = known(shift)
        return shift if number is None else min(number, 63)

    def slot(self, kind: Type, index: LLVM) -> tuple[LLVM, LLVM | int]:
        """The word and bit of an element of a large value; never one outside of it."""
        e, where = self.e, array(kind)
        index = e.select(e.ult(index, word(where.count)), index, word(0))
        if not where.per_word:
            return e.add(e.mul(index, word(where.words)), word(where.start)), 0
        number = e.add(index, word(where.first))
        per = word(where.per_word)
        shift = e.mul(e.urem(number, per), word(where.bits))
        return e.udiv(number, per), self._shift(shift)

    def put_at(self, value: Val, index: LLVM, new: Val) -> None:
        """Changes an element of a large value in place."""
        place, low = self.slot(value.type, index)
        self.write(value.word, place, low, new)

    def with_element(self, value: Val, index: LLVM, new: Val) -> Val:
        """A sequence or map with one element replaced."""
        kind = value.type
        if isinstance(shape(kind), Large):
            made = self.copied(value)
            self.put_at(made, index, new)
            return made
        start = length_bits(kind)
        width = tight(new.type)
        if width == 0 or isinstance(shape(new.type), Large):
            return value
        shift = self._shift(self.e.add(self.e.mul(index, word(width)), word(start)))
        return Val(kind, self.merged(value.word, shift, width, self.code(new)))

    # ------------------------------------------------------------ loops

    def counted(self, count: LLVM, body: Callable[[LLVM, LLVM], None]) -> None:
        """``body(index, end)`` for 0 to ``count`` - 1; it may go to ``end``, to stop."""
        end = self.e.block()
        with each(self.e, count) as index:
            body(index, end)
        self.e.goto(end)
        self.e.at(end)


def _shift_of(kind: Type, size: Small, parts: Sequence[Field], index: int) -> int:
    """The lowest bit of a part in the code of a small value."""
    return size.bits - head_bits(kind) - sum(tight(part.type) for part in parts[: index + 1])
