"""Sequences, bags and sets with a capacity as they are changed in memory, where elements move up or
down.
"""

from __future__ import annotations

from fencepost.checker.layout import WORD, Large, Small, array, length_bits, shape, tight
from fencepost.checker.native.codegen.emitter import LLVM, word
from fencepost.checker.native.codegen.order import Order
from fencepost.checker.native.codegen.values import Val
from fencepost.spec.core.types import as_collection

MOST_WORDS = 12
"""In a value of more words than this elements move one by one."""


class Gaps(Order):
    """Operations on values being changed: a small one is a cell that holds its code, a large one
    its words.
    """

    def now(self, place: Val) -> Val:
        """The value that a place holds at this moment."""
        if isinstance(shape(place.type), Small):
            return Val(place.type, self.e.load(place.word))
        return place

    def set_at(self, place: Val, index: LLVM, new: Val) -> None:
        if isinstance(shape(place.type), Large):
            self.put_at(place, index, new)
            return
        kind = as_collection(place.type)
        width = tight(kind.element)
        if width == 0 or isinstance(shape(kind.element), Large):
            return  # Large elements have no room only where the capacity is 0.
        start = word(length_bits(kind))
        shift = self._shift(self.e.add(self.e.mul(index, word(width)), start))
        code = self.e.load(place.word)
        self.e.store(self.merged(code, shift, width, self.code(new)), place.word)

    def clear_at(self, place: Val, index: LLVM) -> None:
        kind = as_collection(place.type)
        size = shape(kind.element)
        if isinstance(size, Small):
            self.set_at(place, index, self.of_code(kind.element, word(0)))
        elif isinstance(shape(kind), Large):
            word_of, _ = self.slot(kind, index)
            self.e.clear(self.e.index(place.word, word_of), size.words)

    def set_length(self, place: Val, length: LLVM) -> None:
        kind = as_collection(place.type)
        width = length_bits(kind)
        if width == 0:
            return
        # The length stands lowest, in the code as in the first word.
        old = self.e.load(place.word)
        self.e.store(self.merged(old, 0, width, length), place.word)

    def open_gap(self, place: Val, index: LLVM, length: LLVM) -> None:
        """Moves the elements from ``index`` on one up; the last one of a full value is lost. What
        is at ``index`` now has to be replaced.
        """
        e = self.e
        if self._moved(place, index, True):
            return

        def move(step: LLVM, _: LLVM) -> None:
            target = e.sub(length, step)
            self.set_at(place, target, self.at(self.now(place), e.sub(target, word(1))))

        self.counted(e.sub(length, index), move)

    def close_gap(self, place: Val, index: LLVM, length: LLVM) -> None:
        """Moves the elements behind ``index`` one down and forgets the last."""
        e = self.e
        last = e.sub(length, word(1))
        if not self._moved(place, index, False):

            def move(step: LLVM, _: LLVM) -> None:
                target = e.add(index, step)
                self.set_at(place, target, self.at(self.now(place), e.add(target, word(1))))

            self.counted(e.sub(last, index), move)
            self.clear_at(place, last)
        self.set_length(place, last)

    def _moved(self, place: Val, index: LLVM, up: bool) -> bool:
        """Moves all from ``index`` on to the next element, or to the one before, word by word, and
        behind the last come zeros; False where they have to move one by one.
        """
        e, kind = self.e, as_collection(place.type)
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
            where = array(kind)
            if not where.per_word or size.words > MOST_WORDS:
                return False
            width, per = where.bits, where.per_word
            number = e.add(index, word(where.first))
            at, shift = e.udiv(number, word(per)), e.mul(e.urem(number, word(per)), word(width))
            slots = where.first + where.count
            used = [min(slots - per * n, per) * width for n in range(size.words)]
        old = [e.get(place.word, n) for n in range(len(used))]
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
            here = e.select(e.eq(at, word(n)), below, word(0))
            stays = e.select(e.ult(word(n), at), word(-1), here)
            kept = e.either(e.both(old[n], stays), e.both(moved, e.invert(stays)))
            e.put(place.word, n, kept)
        return True
