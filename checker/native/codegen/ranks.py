"""Ranks of values, and ordered iteration over collections.

The rank of a value is its position among all values of its type in ascending order. A set of bits
contains its elements by rank.
"""

from __future__ import annotations

from collections.abc import Callable

from fencepost.checker.layout import (
    WORD,
    Large,
    Small,
    encode,
    is_scalar,
    parts_of,
    shape,
)
from fencepost.checker.native.codegen.emitter import I64, LLVM, Emitter, word
from fencepost.checker.native.codegen.flow import when
from fencepost.checker.native.codegen.values import Interval, Universe, V, Val, Values
from fencepost.checker.request import Unsupported
from fencepost.spec.core.size_limits import most
from fencepost.spec.core.types import (
    INT64_HIGH,
    Bag,
    Map,
    Option,
    Record,
    Seq,
    Set,
    Type,
    Union,
    as_collection,
    cardinality,
    components,
    count_values,
    describe,
    values,
)

MAX_TABLED = 1 << 12
"""If a type contains collections and has at most this many values, they are enumerated with a
table.
"""
MAX_RANKED = 1 << 16
"""If a type contains collections, its values can be ranked only if there are at most this many."""


class Ranks(Values):
    """Ranks and loops over elements, emitted at the emitter's position."""

    # ------------------------------------------------------------ ranks

    def rank(self, value: Val) -> LLVM:
        """Returns the position of a value among the values of its type in ascending order."""
        e, kind = self.e, value.type
        if is_scalar(kind):
            return self.code(value)
        match kind:
            case Record():
                return self._rank_of_parts(value, 0)
            case Option() if _numbered(kind):
                some = e.add(self._rank_of_parts(value, 1), word(1))
                return e.select(e.as_flag(self.tag(value)), some, word(0))
            case Union(variants=variants) if _numbered(kind):
                result: LLVM = word(0)
                before = 0
                for number, variant in enumerate(variants):
                    own = e.add(self._rank_of_parts(value, number), word(before))
                    result = e.select(e.eq(self.tag(value), word(number)), own, result)
                    before += cardinality(Record("", variant.fields))
                return result
            case _:
                return self._searched(value)

    def _rank_of_parts(self, value: Val, case: int) -> LLVM:
        parts = parts_of(value.type, case)
        if not all(_numbered(part.type) for part in parts):
            return self._searched(value)
        result: LLVM = word(0)
        for index, part in enumerate(parts):
            scaled = self.e.mul(result, word(cardinality(part.type)))
            result = self.e.add(scaled, self.rank(self.part(value, case, index)))
        return result

    def _searched(self, value: Val) -> LLVM:
        """Finds the rank of a value in a table of all codes."""
        kind = value.type
        codes = _codes(kind)
        table = self.e.unit.table(codes)

        def body(e: Emitter) -> None:
            inner = Ranks(e)

            def look(index: LLVM, _: LLVM) -> None:
                with when(e, e.eq(e.get(table, index), e.arguments[0])):
                    e.ret(index)

            inner.counted(word(len(codes)), look)
            e.ret(word(0))

        search = self.e.unit.helper(("rank", kind), I64, [I64], body)
        return self.e.call(search, [value.word])

    def unrank(self, kind: Type, rank: LLVM) -> Val:
        """Returns the value at position ``rank`` among the values of a type in ascending order."""
        e = self.e
        if is_scalar(kind):
            return self.of_code(kind, rank)
        match kind:
            case Record() if _numbered(kind):
                return self._of_rank(kind, 0, rank)
            case Option() if _numbered(kind):
                none = self.constant((), kind)
                some = self._of_rank(kind, 1, e.sub(rank, word(1)))
                return self.chosen(e.eq(rank, word(0)), none, some)
            case Union(variants=variants) if _numbered(kind):
                result: Val | None = None
                before = 0
                for number, variant in enumerate(variants):
                    own = self._of_rank(kind, number, e.sub(rank, word(before)))
                    if result is None:
                        result = own
                    else:
                        result = self.chosen(e.ult(rank, word(before)), result, own)
                    before += cardinality(Record("", variant.fields))
                assert result is not None
                return result
            case _:
                codes = _codes(kind)
                inside = e.select(e.ult(rank, word(len(codes))), rank, word(0))
                return Val(kind, e.get(e.unit.table(codes), inside))

    def _of_rank(self, kind: Type, case: int, rank: LLVM) -> Val:
        """Returns the record, or the value of a case, at position ``rank`` among the values of this
        case.
        """
        values: list[Val] = []
        for part in reversed(parts_of(kind, case)):
            count = word(cardinality(part.type))
            values.insert(0, self.unrank(part.type, self.e.urem(rank, count)))
            rank = self.e.udiv(rank, count)
        return self.built(kind, case, values)

    def variant(self, kind: Set, tag: int) -> Val:
        """Returns the set of bits with all values of one variant. The ranks of these values are
        consecutive.
        """
        assert isinstance(kind.element, Union)
        counts = [cardinality(Record("", variant.fields)) for variant in kind.element.variants]
        bits = ((1 << counts[tag]) - 1) << sum(counts[:tag])
        size = shape(kind)
        if isinstance(size, Small):
            return Val(kind, word(bits))
        words = [bits >> WORD * index & (1 << WORD) - 1 for index in range(size.words)]
        return Val(kind, self.e.unit.table(words))

    def chosen(self, condition: LLVM, then: Val, otherwise: Val) -> Val:
        """Returns one of two values. Both are computed."""
        return Val(then.type, self.e.select(condition, then.word, otherwise.word))

    # ------------------------------------------------------------ elements in order

    def over(self, value: V, body: Callable[[Val, LLVM, LLVM], None]) -> None:
        """Emits ``body(element, ordinal, end)`` for the elements in order. The body may jump to
        ``end``.
        """
        kind = as_collection(value.type)

        def polled(element: Val, ordinal: LLVM, end: LLVM) -> None:
            with self.polling.loop(most(kind)):
                body(element, ordinal, end)

        self._over(value, polled)

    def _over(self, value: V, body: Callable[[Val, LLVM, LLVM], None]) -> None:
        e = self.e
        if isinstance(value, Universe):
            element = value.type.element
            self.counted(
                word(cardinality(element)),
                lambda index, end: body(self.unrank(element, index), index, end),
            )
        elif isinstance(value, Interval):
            element = value.type.element
            low = value.low
            if count_values(element, INT64_HIGH) > INT64_HIGH:
                raise Unsupported(f"it does not count the values of a range in {describe(element)}")
            span = e.add(e.sub(value.high, low), word(1))
            count = e.select(e.sle(low, value.high), span, word(0))
            self.counted(count, lambda i, end: body(Val(element, e.add(low, i)), i, end))
        elif isinstance(value.type, Set) and value.type.capacity is None:
            assert isinstance(value, Val)
            self._over_bits(value, value.type.element, body)
        else:
            assert isinstance(value, Val)
            whole = value
            self.counted(
                self.length(whole), lambda index, end: body(self.at(whole, index), index, end)
            )

    def _over_bits(
        self, value: Val, element: Type, body: Callable[[Val, LLVM, LLVM], None]
    ) -> None:
        e = self.e
        size = shape(value.type)
        if isinstance(size, Small):
            self._over_word(value.word, word(0), element, body, None)
            return
        stopped = e.block()

        def each(index: LLVM, end: LLVM) -> None:
            base = e.shl(index, 6)
            self._over_word(e.get(value.word, index), base, element, body, stopped)

        self.counted(word(size.words), each)
        e.goto(stopped)
        e.at(stopped)

    def _over_word(
        self,
        bits: LLVM,
        base: LLVM,
        element: Type,
        body: Callable[[Val, LLVM, LLVM], None],
        stopped: LLVM | None,
    ) -> None:
        e = self.e
        cell = e.cell()
        head, inside, end = e.block(), e.block(), e.block()
        e.store(bits, cell)
        e.goto(head)
        e.at(head)
        remaining = e.load(cell)
        e.branch(e.as_flag(remaining), inside, end)
        e.at(inside)
        e.store(e.both(remaining, e.sub(remaining, word(1))), cell)
        rank = e.add(base, e.lowest_one(remaining))
        body(self.unrank(element, rank), rank, stopped or end)
        e.goto(head)
        e.at(end)


def _numbered(kind: Type) -> bool:
    """Returns whether ranks of ``kind`` are computed from the ranks of its parts."""
    return not isinstance(kind, Set | Seq | Bag | Map) and all(map(_numbered, components(kind)))


def has_ranks(kind: Type) -> bool:
    """Returns whether `Ranks.unrank` computes the values of ``kind``. All ranks fit in 63 bits."""
    if _numbered(kind):
        return count_values(kind, INT64_HIGH) <= INT64_HIGH
    return isinstance(shape(kind), Small) and count_values(kind, MAX_TABLED) <= MAX_TABLED


def _codes(kind: Type) -> tuple[int, ...]:
    """Returns the codes of all values of a type, in ascending order of the values."""
    if isinstance(shape(kind), Large) or count_values(kind, MAX_RANKED) > MAX_RANKED:
        raise Unsupported(
            f"it does not number the values of {describe(kind)}, which takes more than 64 bits or "
            f"has more than {MAX_RANKED:,} values"
        )
    return tuple(encode(kind, value) for value in values(kind))
