"""In-place changes of sequences, bags and sets with a capacity, which shift elements."""

from __future__ import annotations

from fencepost.checker.layout import WORD, Large, Small, array, length_bits, shape, tight
from fencepost.checker.native.codegen.emitter import LLVM, word
from fencepost.checker.native.codegen.order import Order
from fencepost.checker.native.codegen.values import Val
from fencepost.spec.core.types import as_collection

MAX_WORDS = 12
"""Maximum size in words of values whose elements are shifted word by word."""


class Gaps(Order):
    """Operations on values being changed: a small one is a cell that holds its code, a large one
    its words.
    """

    def now(self, target: Val) -> Val:
        """The current value of a location."""
        if isinstance(shape(target.type), Small):
            return Val(target.type, self.e.load(target.word))
        return target

    def set_at(self, target: Val, index: LLVM, new: Val) -> None:
        if isinstance(shape(target.type), Large):
            self.put_at(target, index, new)
            return
        kind = as_collection(target.type)
        width = tight(kind.element)
        if width == 0 or isinstance(shape(kind.element), Large):
            return  # Large elements have no room only if the capacity is 0.
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
        # The length is in the lowest bits, both in the code and in the first word.
        old = self.e.load(target.word)
        self.e.store(self.merged(old, 0, width, length), target.word)

    def open_gap(self, location: Val, index: LLVM, length: LLVM) -> None:
        """Shifts the elements from ``index`` on up by one; the last one of a full value is lost.
        The caller must overwrite the element at ``index``.
        """
        e = self.e
        if self._moved(location, index, True):
            return

        def move(step: LLVM, _: LLVM) -> None:
            target = e.sub(length, step)
            self.set_at(location, target, self.at(self.now(location), e.sub(target, word(1))))

        self.counted(e.sub(length, index), move)

    def close_gap(self, location: Val, index: LLVM, length: LLVM) -> None:
        """Shifts the elements after ``index`` down by one and removes the last."""
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
        """Shifts all elements from ``index`` on up or down by one, word by word, with zeros after
        the last. Returns False if they must be moved one by one.
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
            # An element that fills a word leaves nothing of it.
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
