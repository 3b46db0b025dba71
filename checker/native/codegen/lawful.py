"""Emits machine code that checks whether words are a packed state. This is needed for states read
from a file; all other machine code assumes that its states are valid.

`layout` defines packed states as the words that it writes for some value of each variable. The
check decides this from the words alone: bits that do not belong to any part of a value are zero,
every part is in its range, and the elements of sets and bags are in order.
"""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.checker.layout import (
    MASK,
    OCCUPIED,
    WORD,
    Large,
    Layout,
    Part,
    Small,
    array,
    head_bits,
    length_bits,
    parts_of,
    place_fields,
    shape,
    tight,
)
from fencepost.checker.native.codegen.emitter import I1, I64, LLVM, PTR, Emitter, Unit, flag, word
from fencepost.checker.native.codegen.flow import each, exported, when
from fencepost.checker.native.codegen.order import Order
from fencepost.checker.native.codegen.values import Val
from fencepost.spec.core.types import (
    Elements,
    Flags,
    Numbers,
    Product,
    Scalar,
    Seq,
    Set,
    Sum,
    Type,
    cardinality,
    view,
)


def define(unit: Unit, layout: Layout) -> None:
    """Adds `lawful`, a kernel that finds the first invalid state."""
    checker = Emitter(unit, unit.function("is_state", I1, [PTR]))
    _is_state(checker, layout)
    e = exported(unit, "lawful", [PTR, I64, PTR])
    states, count, first_bad = e.arguments
    with each(e, count) as number:
        state = e.index(states, e.mul(number, word(layout.words)))
        with when(e, e.invert(e.call(checker.function, [state])), rare=True):
            e.put(first_bad, 0, number)
            e.ret()
    e.put(first_bad, 0, count)
    e.ret()


def _is_state(e: Emitter, layout: Layout) -> None:
    """is_state(words): returns whether the words are a packed state."""
    (state,) = e.arguments
    used = [0] * layout.words
    for kind, slot in zip(layout.types, layout.places, strict=True):
        _take(used, kind, slot)
    look = Lawful(e)
    for number, mask in enumerate(used):
        rest = OCCUPIED if number == 0 else 0
        if mask != MASK:
            free = e.both(e.get(state, number), word(MASK & ~mask))
            look.demand(e.eq(free, word(rest)))
    for kind, slot in zip(layout.types, layout.places, strict=True):
        look.value(look.read(state, slot.word, slot.shift, kind))
    e.ret(flag(True))


class Lawful(Order):
    """Emits code that returns false from a checking function if the words are invalid."""

    def demand(self, truth: LLVM) -> None:
        """Emits code that continues only if ``truth`` holds."""
        with when(self.e, self.e.invert(truth), rare=True):
            self.e.ret(flag(False))

    def value(self, value: Val) -> None:
        """Emits code that continues only if the words are a packed value of their type."""
        e, kind, size = self.e, value.type, shape(value.type)
        if isinstance(kind, Scalar):
            if cardinality(kind) < 1 << tight(kind):
                self.demand(e.ult(self.code(value), word(cardinality(kind))))
            return

        def body(e: Emitter) -> None:
            Lawful(e).look(Val(kind, e.arguments[0]))
            if not e.ended:
                e.ret(flag(True))

        machine = PTR if isinstance(size, Large) else I64
        function = e.unit.helper(("lawful", kind), I1, [machine], body)
        self.demand(e.call(function, [value.word]))

    def look(self, value: Val) -> None:
        """Emits the body of the checking function for a type that has parts."""
        e, kind = self.e, value.type
        match view(kind):
            case Product(_, None):
                self._parts(value, 0)
            case Sum(tagged=tagged):
                for case in self.cases(value):
                    self._parts(value, case)
                    e.ret(flag(True))
                if tagged:
                    # No variant has this number.
                    e.ret(flag(False))
                else:
                    self._parts(value, 0)
            case Flags(element):
                left = cardinality(element) % WORD
                size = shape(kind)
                if isinstance(size, Large) and left:
                    used = [MASK] * (size.words - 1) + [(1 << left) - 1]
                    self._zero(value, used)
            case Elements() as form:
                self._elements(value, form)
            case Product(parts) as form:
                self._values(value, parts[0].type, form.times)
            case Numbers():
                raise AssertionError(kind)

    def _zero(self, value: Val, used: Sequence[int]) -> None:
        """Demands that all bits are zero except the used bits. ``used`` contains a mask for each
        word.
        """
        e, size = self.e, shape(value.type)
        for number, mask in enumerate(used):
            if isinstance(size, Large):
                if mask != MASK:
                    free = e.both(e.get(value.word, number), word(MASK & ~mask))
                    self.demand(e.eq(free, word(0)))
            elif mask != (1 << size.bits) - 1:
                free = e.both(value.word, word(((1 << size.bits) - 1) & ~mask))
                self.demand(e.eq(free, word(0)))

    def _parts(self, value: Val, case: int) -> None:
        """Checks the parts of a record, a variant or an option. All bits outside the parts and the
        tag must be zero.
        """
        size, head, parts = shape(value.type), head_bits(value.type), parts_of(value.type, case)
        if isinstance(size, Small):
            used = head + sum(tight(part.type) for part in parts)
            masks = [((1 << used) - 1) << size.bits - used]
        else:
            masks = [0] * size.words
            masks[0] = (1 << head) - 1
            for part, slot in zip(parts, place_fields(parts, head)[0], strict=True):
                _take(masks, part.type, slot)
        self._zero(value, masks)
        for number in range(len(parts)):
            self.value(self.part(value, case, number))

    def _elements(self, value: Val, form: Elements) -> None:
        e, kind = self.e, value.type
        if form.capacity == 0:
            return
        length = self.length(value)
        self.demand(e.ult(length, word(form.capacity + 1)))
        with each(e, length) as number:
            element = self.at(value, number)
            self.value(element)
            if not isinstance(kind, Seq):
                with when(e, e.as_flag(number)):
                    before = self.at(value, e.sub(number, word(1)))
                    if isinstance(kind, Set):
                        self.demand(self.less(before, element))
                    else:
                        self.demand(e.invert(self.less(element, before)))
        if isinstance(shape(kind), Small):
            used = e.add(e.mul(length, word(tight(form.element))), word(length_bits(kind)))
            rest = e.select(e.ult(used, word(WORD)), e.shr(value.word, used), word(0))
            self.demand(e.eq(rest, word(0)))
        else:
            self._zero_behind(value, length)

    def _zero_behind(self, value: Val, length: LLVM) -> None:
        """Demands that all bits after and between the elements of a large collection are zero."""
        e, size, layout_of = self.e, shape(value.type), array(value.type)
        assert isinstance(size, Large)
        self._zero(value, _slots(value.type, size.words))
        if layout_of.per_word:
            slot, per = e.add(length, word(layout_of.first)), word(layout_of.per_word)
            index, shift = e.udiv(slot, per), e.mul(e.urem(slot, per), word(layout_of.bits))
        else:
            index, shift = (
                e.add(e.mul(length, word(layout_of.words)), word(layout_of.start)),
                word(0),
            )
        with each(e, e.sub(word(size.words), index)) as number:
            content = e.get(value.word, e.add(index, number))
            rest = e.shr(content, e.select(e.as_flag(number), word(0), shift))
            self.demand(e.eq(rest, word(0)))

    def _values(self, value: Val, element: Type, count: int) -> None:
        size = shape(value.type)
        if isinstance(size, Large):
            self._zero(value, _slots(value.type, size.words))
        if tight(element) == 0:
            # All values are equal, so one check suffices.
            count = min(count, 1)
        if count:
            with each(self.e, word(count)) as number:
                self.value(self.at_rank(value, number))


def _take(used: list[int], kind: Type, part: Part) -> None:
    """Marks the bits of ``part``, which holds a value of type ``kind``, as used."""
    size = shape(kind)
    if isinstance(size, Small):
        used[part.word] |= ((1 << size.bits) - 1) << part.shift
    else:
        used[part.word : part.word + size.words] = [MASK] * size.words


def _slots(kind: Type, words: int) -> list[int]:
    """Returns masks of the bits that the length and the elements of a large collection or map may
    use, one mask for each word.
    """
    layout_of = array(kind)
    used = [0] * words
    used[0] = (1 << length_bits(kind)) - 1
    if not layout_of.per_word:
        used[layout_of.start :] = [MASK] * (words - layout_of.start)
        return used
    own = (1 << layout_of.bits) - 1
    for slot in range(layout_of.first, layout_of.first + layout_of.count):
        used[slot // layout_of.per_word] |= own << slot % layout_of.per_word * layout_of.bits
    return used
