"""Colours of the values of a symmetric type in a packed state. A colour is a word that describes
how a value occurs in the state, independently of the value's name.

If an exchange maps one state to another, the colour of each value in the first state equals the
colour of its image in the second. So values of different colours can be distinguished without
trying exchanges. Values of the same colour may still differ, since colours omit details.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fencepost.checker.layout import WORD, Large, Layout, Small, parts_of, shape
from fencepost.checker.native.codegen.collections import Collections
from fencepost.checker.native.codegen.emitter import LLVM, Emitter, word
from fencepost.checker.native.codegen.flow import when
from fencepost.checker.native.codegen.packed import hashed_words
from fencepost.checker.native.codegen.values import Val
from fencepost.spec.core.exchange import is_symmetric, symmetric_types
from fencepost.spec.core.types import (
    Elements,
    Enum,
    Flags,
    Numbers,
    Product,
    Seq,
    Sum,
    Type,
    cardinality,
    view,
)
from fencepost.spec.records import dataclass

MAX_ENTRIES = 8
"""Map entries are distinguished by their keys only in maps with at most this many entries."""
MIXER = 0x1E3779B97F4A7C15
"""An arbitrary odd number without a regular bit pattern."""


@dataclass(frozen=True, slots=True)
class Contribution:
    """A word whose bits are all zero except for the lowest ``bits`` bits."""

    word: LLVM
    bits: int


class Colour:
    """Computes the colour of one value of ``enum``. ``member`` is a word that holds the value's
    position in the enum.
    """

    def __init__(self, e: Emitter, enum: Enum, member: LLVM) -> None:
        self.e = e
        self.ops = Collections(e)
        self.enum = enum
        self.member = member

    def of_state(self, layout: Layout, state: LLVM, plain: bool) -> LLVM | None:
        """Returns the contribution of the variables to the colour, or None if no variable
        contributes.

        With ``plain``, considers only the variables whose contribution needs no loop; otherwise,
        only the other variables.
        """
        parts: list[Contribution] = []
        for kind, slot in zip(layout.types, layout.places, strict=True):
            if self.enum in symmetric_types([kind]) and plain is self._is_plain(kind):
                value = self.ops.read(state, slot.word, slot.shift, kind)
                parts.append(self._of(value, True))
        return self._joined(parts).word if parts else None

    def _is_plain(self, kind: Type) -> bool:
        """Returns whether the contribution of a value of ``kind`` can be computed without a
        loop.
        """
        match view(kind):
            case Numbers():
                return True
            case Product(parts, None):
                return all(self._is_plain(part.type) for part in parts)
            case Sum(cases, tagged=False):
                return self._is_plain(cases[1][0].type)
            case Flags(element):
                return element == self.enum and isinstance(shape(kind), Small)
            case Product(parts, key):
                return key == self.enum and not is_symmetric(parts[0].type)
            case Sum() | Elements():
                return not is_symmetric(kind)

    # ------------------------------------------------------------ combining contributions

    def _mixed(self, total: LLVM, more: LLVM) -> LLVM:
        e = self.e
        mixed = e.mul(e.differ(total, more), word(MIXER))
        return e.differ(mixed, e.shr(mixed, 29))

    def _joined(self, parts: Sequence[Contribution]) -> Contribution:
        """Combines several contributions. They are placed next to each other while they fit into a
        word.
        """
        full, total, bits = word(0), word(0), 0
        mixed = False
        for part in parts:
            if bits + part.bits > WORD:
                full, mixed = self._mixed(full, total), True
                total, bits = word(0), 0
            total, bits = self.e.either(total, self.e.shl(part.word, bits)), bits + part.bits
        return Contribution(self._mixed(full, total), WORD) if mixed else Contribution(total, bits)

    def _summed(self, go: Callable[[Callable[[Contribution], None]], None]) -> Contribution:
        """Combines the contributions that ``go`` adds, regardless of their order."""
        total = self.e.cell()
        self.e.store(word(0), total)

        def add(part: Contribution) -> None:
            mixed = self._mixed(word(1), part.word)
            self.e.store(self.e.add(self.e.load(total), mixed), total)

        go(add)
        return Contribution(self.e.load(total), WORD)

    # ------------------------------------------------------------ contributions of parts

    def _of(self, value: Val, deep: bool) -> Contribution:
        """Returns the contribution of a part of the state. With ``deep``, includes the map entries
        of other values of the symmetric type.
        """
        e, ops, kind = self.e, self.ops, value.type
        size = shape(kind)
        if not is_symmetric(kind):
            if isinstance(size, Large):
                words = [e.get(value.word, index) for index in range(size.words)]
                return Contribution(hashed_words(e, words), WORD)
            return Contribution(ops.code(value), size.bits)
        match view(kind):
            case Numbers():
                if kind == self.enum:
                    return Contribution(e.as_word(e.eq(value.word, self.member)), 1)
                return Contribution(word(0), 0)
            case Product(_, None):
                return self._of_parts(value, 0, deep)
            case Sum() as form:
                return self._of_cases(value, form, deep)
            case Flags(element) if element == self.enum and isinstance(size, Small):
                member = e.both(e.shr(value.word, self.member), word(1))
                number = Contribution(e.count_ones(value.word), size.bits.bit_length())
                return self._joined([Contribution(member, 1), number])
            case Elements() if isinstance(kind, Seq):
                total = e.cell()
                e.store(ops.length(value), total)

                def look(x: Val, _: LLVM, __: LLVM) -> None:
                    e.store(self._mixed(e.load(total), self._of(x, deep).word), total)

                ops.over(value, look)
                return Contribution(e.load(total), WORD)
            case Elements() | Flags():
                return self._summed(
                    lambda add: ops.over(value, lambda x, _, __: add(self._of(x, deep)))
                )
            case Product(parts, key):
                assert key is not None
                return self._of_map(value, key, parts[0].type, deep)

    def _of_parts(self, value: Val, case: int, deep: bool) -> Contribution:
        indices = range(len(parts_of(value.type, case)))
        return self._joined([self._of(self.ops.part(value, case, n), deep) for n in indices])

    def _of_cases(self, value: Val, form: Sum, deep: bool) -> Contribution:
        e, tag = self.e, self.ops.tag(value)
        inside = e.cell()
        e.store(word(0), inside)
        bits = 0
        for case, parts in enumerate(form.cases):
            if parts:
                with when(e, e.eq(tag, word(case))):
                    contribution = self._of_parts(value, case, deep)
                    e.store(contribution.word, inside)
                    bits = max(bits, contribution.bits)
        return self._joined([Contribution(tag, form.head), Contribution(e.load(inside), bits)])

    def _of_map(self, value: Val, key: Type, element: Type, deep: bool) -> Contribution:
        ops, count = self.ops, word(cardinality(key))

        def entries(add: Callable[[Contribution], None]) -> None:
            ops.counted(count, lambda rank, _: add(self._of(ops.at_rank(value, rank), False)))

        if not is_symmetric(key):
            if cardinality(key) <= MAX_ENTRIES:
                ranks = map(word, range(cardinality(key)))
                return self._joined([self._of(ops.at_rank(value, p), deep) for p in ranks])
            # If there are many entries, it matters little which entry belongs to which key.
            return self._summed(entries)
        if key != self.enum:
            return self._summed(entries)
        own = self._of(ops.at_rank(value, self.member), deep)
        if not deep or not is_symmetric(element):
            return own
        return self._joined([own, self._summed(entries)])
