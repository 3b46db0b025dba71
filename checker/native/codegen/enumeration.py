"""Loops over the values of large types, and over the subsets of a set, in ascending order.

The values of a small type are computed from their ranks (see `ranks`). For any other type, the loop
keeps the current value in memory, and a function for each type replaces it by the next value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fencepost.checker.layout import Large, is_scalar, parts_of, shape
from fencepost.checker.native.codegen.emitter import I1, LLVM, PTR, Emitter, flag, word
from fencepost.checker.native.codegen.flow import when
from fencepost.checker.native.codegen.order import Gaps
from fencepost.checker.native.codegen.ranks import has_ranks
from fencepost.checker.native.codegen.values import Subsets, Universe, V, Val
from fencepost.spec.core.types import (
    Bag,
    Elements,
    Flags,
    Numbers,
    Product,
    Seq,
    Sum,
    Type,
    as_collection,
    cardinality,
    first,
    view,
)


class Enumeration(Gaps):
    """Enumerates values, emitted at the emitter's position. A value that changes is represented as
    in `Gaps`.
    """

    def _over(self, value: V, body: Callable[[Val, LLVM, LLVM], None]) -> None:
        if isinstance(value, Subsets):
            self.one_by_one(value.type.element, value.base, body)
        elif isinstance(value, Universe) and not has_ranks(value.type.element):
            self.one_by_one(value.type.element, None, body)
        else:
            super()._over(value, body)

    def one_by_one(
        self, kind: Type, base: Val | None, body: Callable[[Val, LLVM, LLVM], None]
    ) -> None:
        """Emits a loop over the values of ``kind`` or, with ``base``, over its subsets."""
        least = first(kind)
        if least is None:
            return
        e = self.e
        places = [self.placed(value) for value in (self.constant(least, kind), base) if value]
        current, number = places[0], e.cell()
        e.store(word(0), number)
        head, end = e.block(), e.block()
        e.goto(head)
        e.at(head)
        ordinal = e.load(number)
        body(self.now(current), ordinal, end)
        e.store(e.add(ordinal, word(1)), number)
        e.branch(self._followed(*places), head, end)
        e.at(end)

    def _followed(self, *targets: Val) -> LLVM:
        """Replaces a value by the next one. Returns false if there is none; the value is then
        undefined. A second location, if given, holds the set whose subsets are enumerated.
        """
        kind = targets[0].type

        def body(e: Emitter) -> None:
            Enumeration(e).follow(*(Val(kind, argument) for argument in e.arguments))
            e.ret(flag(False))

        parameters = [PTR] * len(targets)
        helper = self.e.unit.helper(("following", kind, len(targets)), I1, parameters, body)
        return self.e.call(helper, [target.word for target in targets])

    def follow(self, target: Val, base: Val | None = None) -> None:
        """Emits the body of `_followed`, which returns true where it has stored the next value."""
        kind = target.type
        whole = None if base is None else self.now(base)
        match view(kind):
            case Numbers():
                self._try(self.now(target), lambda new: self.replace(target, new))
            case Product(_, None):
                self._follow_parts(target, 0)
            case Sum() as form:
                self._follow_cases(target, form)
            case Product(parts) as form:
                self._follow_map(target, parts[0].type, form.times)
            case Flags(element):
                self._follow_bits(target, whole, cardinality(element))
            case Elements(element, capacity):
                if whole is not None and capacity:
                    self._follow_in(target, whole)
                elif first(element) is not None and capacity:
                    self._follow_elements(target, capacity)

    # ------------------------------------------------------------ parts

    def _try(self, part: Val, put: Callable[[Val], None]) -> None:
        """Emits code that passes the value after ``part`` to ``put`` and returns true, if there is
        such a value.
        """
        e, kind = self.e, part.type
        if is_scalar(kind):
            code = self.code(part)
            with when(e, e.ult(code, word(cardinality(kind) - 1))):
                put(self.of_code(kind, e.add(code, word(1))))
                e.ret(flag(True))
            return
        changing = self.placed(part)
        with when(e, self._followed(changing)):
            put(self.now(changing))
            e.ret(flag(True))

    def _least(self, kind: Type) -> Val:
        least = first(kind)
        assert least is not None
        return self.constant(least, kind)

    def _follow_parts(self, target: Val, case: int) -> None:
        kind = target.type
        types = [part.type for part in parts_of(kind, case)]
        old = [self.part(self.now(target), case, index) for index in range(len(types))]
        for index in reversed(range(len(types))):
            rest = [self._least(type) for type in types[index + 1 :]]

            def put(new: Val, before: Sequence[Val] = old[:index], rest: list[Val] = rest) -> None:
                self.replace(target, self.built(kind, case, [*before, new, *rest]))

            self._try(old[index], put)

    def _follow_cases(self, target: Val, form: Sum) -> None:
        e, kind = self.e, target.type
        later: Val | None = None
        for case, parts in reversed([*enumerate(form.cases)]):
            least = [value for part in parts if (value := first(part.type)) is not None]
            if len(least) < len(parts):
                continue
            with when(e, e.eq(self.tag(self.now(target)), word(case))):
                self._follow_parts(target, case)
                if later is not None:
                    self.replace(target, later)
                e.ret(flag(later is not None))
            later = self.constant(form.closed(case, least), kind)

    def _follow_map(self, target: Val, element: Type, keys: int) -> None:
        e, kind = self.e, target.type

        def put(index: LLVM, new: Val) -> None:
            if isinstance(shape(kind), Large):
                self.put_at(target, index, new)
            else:
                self.replace(target, self.with_element(self.now(target), index, new))

        def look(step: LLVM, _: LLVM) -> None:
            index = e.sub(word(keys - 1), step)
            self._try(self.at_rank(self.now(target), index), lambda new: put(index, new))
            put(index, self._least(element))

        self.counted(word(keys), look)

    # ------------------------------------------------------------ collections

    def _follow_elements(self, target: Val, capacity: int) -> None:
        """Appends the least possible element. If this is impossible, replaces the last element that
        can be replaced by a greater one.
        """
        e, kind = self.e, as_collection(target.type)
        length = self.length(self.now(target))

        def append(new: Val) -> None:
            self.set_at(target, length, new)
            self.set_length(target, e.add(length, word(1)))

        with when(e, e.ult(length, word(capacity))):
            any_order = flag(isinstance(kind, Seq))
            with when(e, e.either(any_order, e.eq(length, word(0)))):
                append(self._least(kind.element))
                e.ret(flag(True))
            last = self.at(self.now(target), e.sub(length, word(1)))
            if isinstance(kind, Bag):
                append(last)
                e.ret(flag(True))
            else:
                self._try(last, append)

        def look(step: LLVM, _: LLVM) -> None:
            index = e.sub(e.sub(length, step), word(1))
            element = self.at(self.now(target), index)
            self._try(element, lambda new: self.set_at(target, index, new))
            self.clear_at(target, index)
            self.set_length(target, index)

        self.counted(length, look)

    def _follow_in(self, target: Val, base: Val) -> None:
        """Like `_follow_elements`, for a set whose elements come from ``base``."""
        e = self.e
        length, count = self.length(self.now(target)), self.length(base)
        last = e.sub(count, word(1))
        with when(e, e.invert(e.as_flag(count))):
            e.ret(flag(False))

        def put(index: LLVM, position: LLVM) -> None:
            self.set_at(target, index, self.at(base, position))
            self.set_length(target, e.add(index, word(1)))
            e.ret(flag(True))

        def position(index: LLVM) -> LLVM:
            """Returns the position in ``base`` of the element at ``index``."""
            element, cell = self.at(self.now(target), index), e.cell()
            e.store(last, cell)

            def look(step: LLVM, end: LLVM) -> None:
                # Elements tend to be near the end.
                e.store(e.sub(last, step), cell)
                with when(e, self.equal(self.at(base, e.load(cell)), element)):
                    e.goto(end)

            self.counted(count, look)
            return e.load(cell)

        with when(e, e.invert(e.as_flag(length))):
            put(length, word(0))
        end = e.sub(length, word(1))
        at = position(end)
        with when(e, e.ult(at, last)):
            put(length, e.add(at, word(1)))
        self.clear_at(target, end)
        self.set_length(target, end)
        with when(e, e.as_flag(end)):
            before = e.sub(end, word(1))
            put(before, e.add(position(before), word(1)))

    def _follow_bits(self, target: Val, base: Val | None, count: int) -> None:
        """Like `_follow_elements`, for a set of bits. Its elements come from ``base``, if given."""
        e = self.e
        size = shape(target.type)
        words = range(size.words if isinstance(size, Large) else 1)

        def allowed(index: int) -> LLVM:
            if base is None:
                bits = min(max(count - 64 * index, 0), 64)
                return word((1 << bits) - 1)
            return e.get(base.word, index) if isinstance(size, Large) else base.word

        def highest() -> LLVM:
            """Returns the highest position in the set plus 1, or 0 if the set is empty."""
            result: LLVM = word(0)
            for index in words:
                bits = e.get(target.word, index)
                here = e.sub(word(64 * (index + 1)), e.leading_zeros(bits))
                result = e.select(e.as_flag(bits), here, result)
            return result

        def flip(position: LLVM) -> None:
            address = e.index(target.word, e.shr(position, 6))
            bit = e.shl(word(1), e.both(position, word(63)))
            e.store(e.differ(e.load(address), bit), address)

        def add(start: LLVM) -> None:
            """Adds the least element from position ``start`` on and returns true, if there is
            one.
            """
            least: LLVM = word(64 * len(words))
            for index in reversed(words):
                skipped = e.sub(start, word(64 * index))
                mask = e.select(
                    e.sle(skipped, word(0)),
                    word(-1),
                    e.select(
                        e.slt(skipped, word(64)),
                        e.shl(word(-1), e.both(skipped, word(63))),
                        word(0),
                    ),
                )
                bits = e.both(allowed(index), mask)
                here = e.add(e.lowest_one(bits), word(64 * index))
                least = e.select(e.as_flag(bits), here, least)
            with when(e, e.ult(least, word(64 * len(words)))):
                flip(least)
                e.ret(flag(True))

        top = highest()
        add(top)
        with when(e, e.invert(e.as_flag(top))):
            e.ret(flag(False))
        # The greatest element cannot be replaced, but the one before it can.
        flip(e.sub(top, word(1)))
        top = highest()
        with when(e, e.as_flag(top)):
            flip(e.sub(top, word(1)))
            add(top)
