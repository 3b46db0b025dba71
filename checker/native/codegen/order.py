"""Emits machine code for the order and equality of values, and for in-place changes that shift the
elements of sequences, bags and sets with a capacity.

Codes that increase with the values are compared directly. Any other type has a function that
compares values part by part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fencepost.checker.layout import (
    WORD,
    Large,
    Small,
    array,
    is_scalar,
    length_bits,
    ordered,
    parts_of,
    shape,
    tight,
)
from fencepost.checker.native.codegen.emitter import I1, I64, LLVM, PTR, Emitter, flag, word
from fencepost.checker.native.codegen.flow import when
from fencepost.checker.native.codegen.ranks import Ranks
from fencepost.checker.native.codegen.values import Val
from fencepost.spec.core.types import (
    Bag,
    Bool,
    Elements,
    Flags,
    Numbers,
    Product,
    Seq,
    Sum,
    as_collection,
    has_ghost,
    view,
)


class Order(Ranks):
    """Comparisons of values, emitted at the emitter's position."""

    def equal(self, left: Val, right: Val) -> LLVM:
        """Returns whether two values of the same type are equal."""
        size = shape(left.type)
        if isinstance(size, Small):
            return self.e.eq(left.word, right.word)
        same: LLVM = flag(True)
        if size.words <= 8:
            for index in range(size.words):
                equal_words = self.e.eq(self.e.get(left.word, index), self.e.get(right.word, index))
                same = self.e.both(same, equal_words)
            return same
        compare = self.e.unit.helper(("same", size.words), I1, [PTR, PTR], _same(size.words))
        return self.e.call(compare, [left.word, right.word])

    def alike(self, left: Val, right: Val) -> LLVM:
        """Returns whether two values of the same type are equal up to their ghost fields."""
        kind = left.type
        if not has_ghost(kind):
            return self.equal(left, right)
        machine = PTR if isinstance(shape(kind), Large) else I64

        def body(e: Emitter) -> None:
            inner = Order(e)
            a, b = (Val(kind, argument) for argument in e.arguments)
            with when(e, inner.equal(a, b)):
                e.ret(flag(True))
            inner.liken(a, b)
            e.ret(flag(True))

        compare = self.e.unit.helper(("alike", kind), I1, [machine, machine], body)
        return self.e.call(compare, [left.word, right.word])

    def liken(self, left: Val, right: Val) -> None:
        """Emits the body of `alike`, which returns false if the two values differ."""
        e, kind = self.e, left.type
        match view(kind):
            case Product(_, None):
                self._liken_parts(left, right, 0)
            case Sum():
                self._demand(e.eq(self.tag(left), self.tag(right)))
                for case in self.cases(left):
                    self._liken_parts(left, right, case)
            case Product() as form:
                self._liken_elements(
                    word(form.times), lambda i: (self.at_rank(left, i), self.at_rank(right, i))
                )
            case Elements() if isinstance(kind, Seq):
                self._demand(e.eq(self.length(left), self.length(right)))
                self._liken_elements(
                    self.length(left), lambda i: (self.at(left, i), self.at(right, i))
                )
            case Elements() if isinstance(kind, Bag):
                # Without their ghosts, the elements may be in a different order.
                self._demand(e.eq(self.length(left), self.length(right)))
                self.counted(
                    self.length(left),
                    lambda i, _: self._demand(
                        e.eq(
                            self._occurs(left, self.at(left, i)),
                            self._occurs(right, self.at(left, i)),
                        )
                    ),
                )
            case Numbers() | Flags() | Elements():
                raise AssertionError(kind)

    def _demand(self, true: LLVM) -> None:
        with when(self.e, self.e.invert(true)):
            self.e.ret(flag(False))

    def _liken_parts(self, left: Val, right: Val, case: int) -> None:
        for index, part in enumerate(parts_of(left.type, case)):
            if not part.ghost:
                pair = (self.part(value, case, index) for value in (left, right))
                self._demand(self.alike(*pair))

    def _liken_elements(self, count: LLVM, pair: Callable[[LLVM], tuple[Val, Val]]) -> None:
        self.counted(count, lambda index, _: self._demand(self.alike(*pair(index))))

    def _occurs(self, bag: Val, element: Val) -> LLVM:
        """Returns the number of elements of a bag that are equal to ``element`` up to ghost
        fields.
        """
        e, count = self.e, self.e.cell()
        e.store(word(0), count)
        self.counted(
            self.length(bag),
            lambda i, _: e.store(
                e.add(e.load(count), e.as_word(self.alike(self.at(bag, i), element))), count
            ),
        )
        return e.load(count)

    def less(self, left: Val, right: Val) -> LLVM:
        """Returns whether ``left`` precedes ``right`` in the order of values. Both have the same
        type.
        """
        kind = left.type
        if is_scalar(kind) and not isinstance(kind, Bool):
            return self.e.slt(left.word, right.word)
        if ordered(kind):
            return self.e.ult(self.code(left), self.code(right))
        return self.e.slt(self.compared(left, right), word(0))

    def compared(self, left: Val, right: Val) -> LLVM:
        """Compares two values in the order of values. Returns -1 if ``left`` is less, 0 if they are
        equal, and 1 if ``left`` is greater.
        """
        kind = left.type
        if ordered(kind):
            low, high = self.less(left, right), self.less(right, left)
            return self.e.sub(self.e.as_word(high), self.e.as_word(low))
        machine = PTR if isinstance(shape(kind), Large) else I64

        def body(e: Emitter) -> None:
            inner = Order(e)
            a, b = (Val(kind, argument) for argument in e.arguments)
            inner.compare(a, b)

        compare = self.e.unit.helper(("compare", kind), I64, [machine, machine], body)
        return self.e.call(compare, [left.word, right.word])

    def compare(self, left: Val, right: Val) -> None:
        """Emits the body of `compared` for a type whose codes do not increase with the values."""
        e, kind = self.e, left.type
        match view(kind):
            case Product(_, None):
                self._compare_parts(left, right, 0)
            case Sum():
                self._first_difference(self.tag(left), self.tag(right))
                for case in self.cases(left):
                    self._compare_parts(left, right, case)
                e.ret(word(0))
            case Flags():
                self._compare_bits(left, right)
            case Elements():
                a, b = self.length(left), self.length(right)
                shorter = e.select(e.ult(a, b), a, b)
                self._compare_elements(shorter, lambda i: (self.at(left, i), self.at(right, i)))
                self._first_difference(a, b)
                e.ret(word(0))
            case Product() as form:
                self._compare_elements(
                    word(form.times), lambda i: (self.at_rank(left, i), self.at_rank(right, i))
                )
                e.ret(word(0))
            case Numbers():
                raise AssertionError(kind)

    def _first_difference(self, left: LLVM, right: LLVM) -> None:
        """Emits code that returns -1 or 1 if two unsigned words differ."""
        e = self.e
        with when(e, e.ne(left, right)):
            e.ret(e.select(e.ult(left, right), word(-1), word(1)))

    def _compare_parts(self, left: Val, right: Val, case: int) -> None:
        """Emits code that returns the comparison of two records, or two values of the same case."""
        indices = range(len(parts_of(left.type, case)))
        self._lexicographic(
            [(self.part(left, case, n), self.part(right, case, n)) for n in indices]
        )
        self.e.ret(word(0))

    def _lexicographic(self, pairs: Sequence[tuple[Val, Val]]) -> None:
        e = self.e
        for left, right in pairs:
            result = self.compared(left, right)
            with when(e, e.as_flag(result)):
                e.ret(result)

    def _compare_elements(self, count: LLVM, pair: Callable[[LLVM], tuple[Val, Val]]) -> None:
        def body(index: LLVM, _: LLVM) -> None:
            self._lexicographic([pair(index)])

        self.counted(count, body)

    def _compare_bits(self, left: Val, right: Val) -> None:
        """Compares sets as sorted sequences. The least element that belongs to only one of the sets
        decides.

        The set with this element is less, unless the other set contains no greater element. In that
        case, the other set is a prefix and therefore less.
        """
        e = self.e
        size = shape(left.type)
        count = size.words if isinstance(size, Large) else 1

        def at(value: Val, index: int) -> LLVM:
            return e.get(value.word, index) if isinstance(size, Large) else value.word

        for index in range(count):
            a, b = at(left, index), at(right, index)
            with when(e, e.ne(a, b)):
                apart = e.differ(a, b)
                lowest = e.both(apart, e.sub(word(0), apart))
                above = e.invert(e.either(e.sub(lowest, word(1)), lowest))
                in_left = e.as_flag(e.both(a, lowest))
                rest = e.both(e.select(in_left, b, a), above)
                for later in range(index + 1, count):
                    rest = e.either(rest, e.select(in_left, at(right, later), at(left, later)))
                more = e.as_flag(rest)
                # The set with the element is less if the other set continues.
                less = e.select(in_left, more, e.invert(more))
                e.ret(e.select(less, word(-1), word(1)))
        e.ret(word(0))


def _same(count: int) -> Callable[[Emitter], None]:
    def body(e: Emitter) -> None:
        left, right = e.arguments

        def look(index: LLVM, _: LLVM) -> None:
            with when(e, e.ne(e.get(left, index), e.get(right, index))):
                e.ret(flag(False))

        Ranks(e).counted(word(count), look)
        e.ret(flag(True))

    return body


# ---------------------------------------------------------------- gaps


MAX_WORDS = 12
"""Elements are shifted word by word only in values of at most this many words."""


class Gaps(Order):
    """Operations on values that are being changed. A small value is represented by a cell that
    holds its code, and a large value by its words.
    """

    def placed(self, value: Val) -> Val:
        """Returns a location that initially holds ``value``."""
        if isinstance(shape(value.type), Small):
            cell = self.e.cell()
            self.e.store(self.code(value), cell)
            return Val(value.type, cell)
        return self.copied(value)

    def now(self, target: Val) -> Val:
        """Returns the current value of a location."""
        if isinstance(shape(target.type), Small):
            return self.of_code(target.type, self.e.load(target.word))
        return target

    def replace(self, target: Val, new: Val) -> None:
        """Stores a new value in a location."""
        size = shape(target.type)
        if isinstance(size, Small):
            self.e.store(self.code(new), target.word)
        else:
            self.e.copy(target.word, new.word, size.words)

    def set_at(self, target: Val, index: LLVM, new: Val) -> None:
        if isinstance(shape(target.type), Large):
            self.put_at(target, index, new)
            return
        kind = as_collection(target.type)
        width = tight(kind.element)
        if width == 0 or isinstance(shape(kind.element), Large):
            return  # Large elements take no space only if the capacity is 0.
        start = word(length_bits(kind))
        shift = self._shift(self.e.add(self.e.mul(index, word(width)), start))
        code = self.e.load(target.word)
        self.e.store(self.merged(code, shift, width, self.code(new)), target.word)

    def clear_at(self, target: Val, index: LLVM) -> None:
        kind = as_collection(target.type)
        size = shape(kind.element)
        if isinstance(size, Small):
            self.set_at(target, index, self.of_code(kind.element, word(0)))
        elif isinstance(shape(kind), Large):
            word_of, _ = self.slot(kind, index)
            self.e.clear(self.e.index(target.word, word_of), size.words)

    def set_length(self, target: Val, length: LLVM) -> None:
        kind = as_collection(target.type)
        width = length_bits(kind)
        if width == 0:
            return
        # The length is in the lowest bits of both the code and the first word.
        old = self.e.load(target.word)
        self.e.store(self.merged(old, 0, width, length), target.word)

    def open_gap(self, location: Val, index: LLVM, length: LLVM) -> None:
        """Shifts the elements from ``index`` on up by one position. If the collection is full, its
        last element is lost. The caller must overwrite the element at ``index``.
        """
        e = self.e
        if self._moved(location, index, True):
            return

        def move(step: LLVM, _: LLVM) -> None:
            target = e.sub(length, step)
            self.set_at(location, target, self.at(self.now(location), e.sub(target, word(1))))

        self.counted(e.sub(length, index), move)

    def close_gap(self, location: Val, index: LLVM, length: LLVM) -> None:
        """Shifts the elements after ``index`` down by one position and removes the last element."""
        e = self.e
        last = e.sub(length, word(1))
        if not self._moved(location, index, False):

            def move(step: LLVM, _: LLVM) -> None:
                target = e.add(index, step)
                self.set_at(location, target, self.at(self.now(location), e.add(target, word(1))))

            self.counted(e.sub(last, index), move)
            self.clear_at(location, last)
        self.set_length(location, last)

    def _moved(self, target: Val, index: LLVM, up: bool) -> bool:
        """Shifts all elements from ``index`` on up or down by one position, word by word, and fills
        with zeros after the last element. Returns False, without emitting code, if the elements
        must be moved one by one.
        """
        e, kind = self.e, as_collection(target.type)
        assert kind.capacity is not None
        size = shape(kind)
        if isinstance(size, Small):
            width = tight(kind.element)
            first, per = length_bits(kind), 1
            if width == 0 or isinstance(shape(kind.element), Large):
                return True
            at, shift = word(0), e.add(e.mul(index, word(width)), word(first))
            used = [first + kind.capacity * width]
        else:
            layout_of = array(kind)
            if not layout_of.per_word or size.words > MAX_WORDS:
                return False
            width, per = layout_of.bits, layout_of.per_word
            number = e.add(index, word(layout_of.first))
            at, shift = e.udiv(number, word(per)), e.mul(e.urem(number, word(per)), word(width))
            slots = layout_of.first + layout_of.count
            used = [min(slots - per * n, per) * width for n in range(size.words)]
        old = [e.get(target.word, n) for n in range(len(used))]
        below = e.sub(e.shl(word(1), shift), word(1))
        last = (per - 1) * width
        for n, bits in enumerate(used):
            # If an element fills a whole word, no bits of the word remain after the shift.
            moved = word(0)
            if width < WORD:
                moved = e.shl(old[n], width) if up else e.shr(old[n], width)
            if up and n:
                moved = e.either(moved, e.shr(old[n - 1], last))
            elif not up and n + 1 < len(used):
                moved = e.either(moved, e.shl(self.bits(old[n + 1], 0, width), last))
            if up:
                moved = self.bits(moved, 0, bits)
            boundary = e.select(e.eq(at, word(n)), below, word(0))
            stays = e.select(e.ult(word(n), at), word(-1), boundary)
            kept = e.either(e.both(old[n], stays), e.both(moved, e.invert(stays)))
            e.put(target.word, n, kept)
        return True
