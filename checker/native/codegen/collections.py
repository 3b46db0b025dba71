"""Sets, sequences and bags as machine words: adding, removing, finding and converting elements.

Operations that contain a loop become separate functions, one per type, to keep the code small.
"""

from __future__ import annotations

from collections.abc import Callable

from fencepost.checker.layout import WORD, Large, Small, is_scalar, shape
from fencepost.checker.native.codegen.emitter import I1, I64, LLVM, PTR, VOID, Emitter, flag, word
from fencepost.checker.native.codegen.enumeration import Enumeration
from fencepost.checker.native.codegen.flow import when
from fencepost.checker.native.codegen.values import Interval, Subsets, Universe, V, Val
from fencepost.checker.request import Unsupported
from fencepost.spec.core.ir import SetOperator
from fencepost.spec.core.type_relations import component_pairs, join
from fencepost.spec.core.types import (
    Bag,
    Int,
    Machine,
    Map,
    Option,
    Seq,
    Set,
    Type,
    as_collection,
    cardinality,
    count_values,
    describe,
)

MAX_BUILT = 1 << 16
"""A set that is not stored is built only if its type has at most this many elements."""


def machine(kind: Type) -> LLVM:
    """Returns the LLVM type of a helper function's argument that has type ``kind``."""
    if isinstance(shape(kind), Large):
        return PTR
    return I64


class Collections(Enumeration):
    """Operations on collections, emitted at the emitter's position."""

    # ------------------------------------------------------------ helper functions

    def passed(self, value: Val) -> LLVM:
        """Returns a value as it is passed to a helper: its code, or its pointer if the value is
        large.
        """
        if isinstance(shape(value.type), Large):
            return value.word
        return self.code(value)

    def received(self, kind: Type, argument: LLVM) -> Val:
        if isinstance(shape(kind), Large):
            return Val(kind, argument)
        return self.of_code(kind, argument)

    def _changed(
        self,
        name: str,
        value: Val,
        others: list[Val | LLVM],
        body: Callable[[Collections, Val, list[LLVM]], None],
    ) -> Val:
        """Returns a new value of the same type as ``value``, computed by a helper that changes a
        copy.

        The body operates on a value in memory. A small value is in a cell that holds its code.
        """
        kind = value.type
        arguments = [self.passed(x) if isinstance(x, Val) else x for x in others]
        keys = tuple(x.type if isinstance(x, Val) else None for x in others)
        kinds = [machine(x.type) if isinstance(x, Val) else I64 for x in others]
        if isinstance(shape(kind), Small):

            def small(e: Emitter) -> None:
                cell = e.cell()
                e.store(e.arguments[0], cell)
                body(Collections(e), Val(kind, cell), e.arguments[1:])
                e.ret(e.load(cell))

            helper = self.e.unit.helper((name, kind, keys), I64, [I64, *kinds], small)
            return Val(kind, self.e.call(helper, [value.word, *arguments]))

        def large(e: Emitter) -> None:
            body(Collections(e), Val(kind, e.arguments[0]), e.arguments[1:])
            e.ret()

        helper = self.e.unit.helper((name, kind, keys), VOID, [PTR, *kinds], large)
        changed = self.copied(value)
        self.e.call(helper, [changed.word, *arguments])
        return changed

    # ------------------------------------------------------------ building sets

    def materialized(self, value: V) -> Val:
        """Returns a value as a `Val`. A set that is not stored is built."""
        if isinstance(value, Val):
            return value
        kind = value.type
        if count_values(kind.element, MAX_BUILT) > MAX_BUILT:
            element = describe(kind.element)
            raise Unsupported(
                f"it builds no set of more than {MAX_BUILT:,} values, as {element} has"
            )
        size = shape(kind)
        if isinstance(value, Universe):
            count = cardinality(kind.element)
            words = [(1 << WORD) - 1] * (count // WORD)
            if count % WORD:
                words.append((1 << count % WORD) - 1)
            if isinstance(size, Small):
                return Val(kind, word(words[0]))
            return Val(kind, self.e.unit.table(words))
        result = self.constant((), kind)
        target = self.placed(result)
        self.over(value, lambda element, _, __: self.set_bit(target, element, True))
        return self.now(target)

    def set_bit(self, target: Val, element: Val, on: bool) -> None:
        e = self.e
        number = self.rank(element)
        address = target.word
        if isinstance(shape(target.type), Large):
            assert isinstance(target.type, Set)
            inside = e.select(
                e.ult(number, word(cardinality(target.type.element))), number, word(0)
            )
            address = e.index(target.word, e.shr(inside, 6))
        bit = e.shl(word(1), e.both(number, word(63)))
        old = e.load(address)
        e.store(e.either(old, bit) if on else e.both(old, e.invert(bit)), address)

    # ------------------------------------------------------------ operations

    def added(self, value: Val, element: Val) -> Val:
        """Returns a collection with one more element. There must be room for the element."""
        kind = value.type
        if isinstance(kind, Set) and kind.capacity is None:
            return self._with_bit(value, element, True)
        if isinstance(kind, Seq):
            return self._appended(value, element)
        return self._changed("add", value, [element], _insert_sorted)

    def _with_bit(self, value: Val, element: Val, on: bool) -> Val:
        if isinstance(shape(value.type), Small):
            e = self.e
            bit = e.shl(word(1), self.rank(element))
            if on:
                return Val(value.type, e.either(value.word, bit))
            return Val(value.type, e.both(value.word, e.invert(bit)))
        changed = self.copied(value)
        self.set_bit(changed, element, on)
        return changed

    def _appended(self, value: Val, element: Val) -> Val:
        target = self.placed(value)
        length = self.length(value)
        self.set_at(target, length, element)
        self.set_length(target, self.e.add(length, word(1)))
        return self.now(target)

    def removed(self, value: Val, element: Val) -> Val:
        """Returns a set or bag without one occurrence of ``element``."""
        kind = value.type
        if isinstance(kind, Set) and kind.capacity is None:
            return self._with_bit(value, element, False)
        return self._changed("remove", value, [element], _remove_one)

    def inserted(self, value: Val, index: LLVM, element: Val) -> Val:
        """Returns a sequence with an element inserted at position ``index``."""
        return self._changed("insert", value, [index, element], _insert_at)

    def shortened(self, value: Val, index: LLVM) -> Val:
        """Returns a sequence without the element at position ``index``."""
        return self._changed("shorten", value, [index], _remove_at)

    def contains(self, collection: V, element: Val) -> LLVM:
        """Returns whether an element occurs. The type of ``element`` may have a different range
        than the element type of the collection.
        """
        e = self.e
        inner = as_collection(collection.type).element
        if is_scalar(inner) and isinstance(inner, Int | Machine):
            fits = e.both(
                e.sle(word(inner.low), element.word), e.sle(element.word, word(inner.high))
            )
            if isinstance(collection, Universe):
                return fits
            if isinstance(collection, Interval):
                above = e.sle(collection.low, element.word)
                return e.both(above, e.sle(element.word, collection.high))
            assert isinstance(collection, Val)
            element = Val(inner, e.select(fits, element.word, word(inner.low)))
            return e.both(fits, self._contains(collection, element))
        if element.type == inner and not isinstance(collection, Val):
            if isinstance(collection, Universe):
                return flag(True)
            if isinstance(collection, Subsets):
                rest = self.combined(SetOperator.DIFFERENCE, element, collection.base, inner)
                return self.equal(rest, self.constant((), inner))
            collection = self.materialized(collection)
        if element.type != inner:
            return self._contains_like(self.materialized(collection), element)
        assert isinstance(collection, Val)
        return self._contains(collection, element)

    def _contains(self, collection: Val, element: Val) -> LLVM:
        e, kind = self.e, collection.type
        if isinstance(kind, Set) and kind.capacity is None:
            number = self.rank(element)
            if isinstance(shape(kind), Small):
                return e.as_flag(e.both(e.shr(collection.word, number), word(1)))
            inside = e.select(e.ult(number, word(cardinality(kind.element))), number, word(0))
            bits = e.get(collection.word, e.shr(inside, 6))
            return e.as_flag(e.both(e.shr(bits, e.both(inside, word(63))), word(1)))

        def body(emitter: Emitter) -> None:
            ops = Collections(emitter)
            haystack = ops.received(kind, emitter.arguments[0])
            needle = ops.received(element.type, emitter.arguments[1])

            def look(item: Val, _: LLVM, __: LLVM) -> None:
                with when(emitter, ops.equal(item, needle)):
                    emitter.ret(flag(True))

            ops.over(haystack, look)
            emitter.ret(flag(False))

        parameters = [machine(kind), machine(element.type)]
        helper = e.unit.helper(("contains", kind, element.type), I1, parameters, body)
        return e.call(helper, [self.passed(collection), self.passed(element)])

    def _contains_like(self, collection: Val, element: Val) -> LLVM:
        """Returns whether an element occurs. The types of the element and of the collection's
        elements may differ in the ranges or capacities of their parts.
        """
        e = self.e
        inner = as_collection(collection.type).element
        target = join(inner, element.type)
        assert target is not None
        needle = self.converted(element, target)
        result = e.cell(I1)
        e.store(flag(False), result)

        def look(item: Val, _: LLVM, end: LLVM) -> None:
            with when(e, self.equal(self.converted(item, target), needle)):
                e.store(flag(True), result)
                e.goto(end)

        self.over(collection, look)
        return e.load(result, I1)

    def size(self, collection: V) -> LLVM:
        """Returns the number of elements."""
        e = self.e
        if isinstance(collection, Universe):
            return word(cardinality(collection.type.element))
        if isinstance(collection, Interval):
            span = e.add(e.sub(collection.high, collection.low), word(1))
            return e.select(e.sle(collection.low, collection.high), span, word(0))
        if isinstance(collection, Subsets):
            return e.shl(word(1), self.size(collection.base))
        kind = collection.type
        if not isinstance(kind, Set) or kind.capacity is not None:
            return self.length(collection)
        size = shape(kind)
        if isinstance(size, Small):
            return e.count_ones(collection.word)
        total = word(0)
        for index in range(size.words):
            total = e.add(total, e.count_ones(e.get(collection.word, index)))
        return total

    def combined(self, operator: SetOperator, left: V, right: V, kind: Type) -> Val:
        """Returns the union, intersection or difference as a set of type ``kind``."""
        assert isinstance(kind, Set)
        e = self.e
        a, b = self.materialized(left), self.materialized(right)
        if a.type == b.type == kind and kind.capacity is None:
            return self._bitwise(operator, a, b, kind)
        target = self.placed(self.constant((), kind))

        def put(element: Val) -> None:
            grown = self.added(self.now(target), self.converted(element, kind.element))
            self.replace(target, grown)

        def keep(element: Val, _: LLVM, __: LLVM) -> None:
            inside = self.contains(b, element)
            if operator is SetOperator.DIFFERENCE:
                inside = e.invert(inside)
            with when(e, inside):
                put(element)

        if operator is SetOperator.UNION:
            self.over(a, lambda element, _, __: put(element))
            self.over(b, lambda element, _, __: put(element))
        else:
            self.over(a, keep)
        return self.now(target)

    def _bitwise(self, operator: SetOperator, left: Val, right: Val, kind: Set) -> Val:
        e = self.e

        def combine(a: LLVM, b: LLVM) -> LLVM:
            if operator is SetOperator.UNION:
                return e.either(a, b)
            return e.both(a, b if operator is SetOperator.INTERSECTION else e.invert(b))

        size = shape(kind)
        if isinstance(size, Small):
            return Val(kind, combine(left.word, right.word))
        result = e.words(size.words)
        for index in range(size.words):
            e.put(result, index, combine(e.get(left.word, index), e.get(right.word, index)))
        return Val(kind, result)

    # ------------------------------------------------------------ conversion

    def converted(self, value: V, target: Type) -> Val:
        """Converts a value to a type of the same shape, which must be able to hold the value."""
        if isinstance(value, Val) and value.type == target:
            return value
        if isinstance(target, Int | Machine):
            assert isinstance(value, Val)
            return Val(target, value.word)
        if isinstance(target, Set | Seq | Bag):
            location = self.placed(self.constant((), target))

            def grow(element: Val, _: LLVM, __: LLVM) -> None:
                grown = self.added(self.now(location), self.converted(element, target.element))
                self.replace(location, grown)

            self.over(value, grow)
            return self.now(location)
        assert isinstance(value, Val)
        if isinstance(target, Option):
            return self._converted_option(value, target)
        if pairs := component_pairs(value.type, target):
            parts = [
                self.converted(self.part(value, 0, index), kind)
                for index, (_, kind) in enumerate(pairs)
            ]
            return self.built(target, 0, parts)
        if isinstance(target, Map):
            source = value
            return self.mapped(
                target,
                lambda location: self.converted(self.at_rank(source, location), target.value),
            )
        raise AssertionError(f"{value.type} as {target}")

    def _converted_option(self, value: Val, target: Option) -> Val:
        e = self.e
        location = self.placed(self.constant((), target))
        with when(e, e.as_flag(self.tag(value))):
            content = self.converted(self.part(value, 1, 0), target.element)
            self.replace(location, self.built(target, 1, [content]))
        return self.now(location)

    def mapped(self, kind: Map, body: Callable[[LLVM], Val]) -> Val:
        """Returns the map whose value at each key is ``body`` of the key's rank."""
        target = self.placed(self._zero(kind))

        def put(rank: LLVM, _: LLVM) -> None:
            new = body(rank)
            if isinstance(shape(kind), Large):
                self.put_at(target, rank, new)
            else:
                self.replace(target, self.with_element(self.now(target), rank, new))

        self.counted(word(cardinality(kind.key)), put)
        return self.now(target)

    def _zero(self, kind: Type) -> Val:
        size = shape(kind)
        if isinstance(size, Small):
            return Val(kind, word(0))
        return Val(kind, self.room(kind))


# ---------------------------------------------------------------- bodies of helpers


def _insert_sorted(ops: Collections, target: Val, arguments: list[LLVM]) -> None:
    kind = as_collection(target.type)
    e = ops.e
    element = ops.received(kind.element, arguments[0])
    length = ops.length(ops.now(target))
    position = e.cell()
    e.store(length, position)
    head, test, lower, at_element = e.block(), e.block(), e.block(), e.block()
    e.goto(head)
    e.at(head)
    current = e.load(position)
    e.branch(e.as_flag(current), test, at_element)
    e.at(test)
    before = ops.at(ops.now(target), e.sub(current, word(1)))
    if isinstance(kind, Set):
        with when(e, ops.equal(before, element)):
            _return(ops, target)
    e.branch(ops.less(element, before), lower, at_element)
    e.at(lower)
    e.store(e.sub(current, word(1)), position)
    e.goto(head)
    e.at(at_element)
    index = e.load(position)
    ops.open_gap(target, index, length)
    ops.set_at(target, index, element)
    ops.set_length(target, e.add(length, word(1)))


def _return(ops: Collections, target: Val) -> None:
    """Returns early from a helper created by `Collections._changed`."""
    if isinstance(shape(target.type), Small):
        ops.e.ret(ops.e.load(target.word))
    else:
        ops.e.ret()


def _remove_one(ops: Collections, target: Val, arguments: list[LLVM]) -> None:
    kind = as_collection(target.type)
    e = ops.e
    element = ops.received(kind.element, arguments[0])
    length = ops.length(ops.now(target))

    def look(index: LLVM, _: LLVM) -> None:
        with when(e, ops.equal(ops.at(ops.now(target), index), element)):
            ops.close_gap(target, index, length)
            _return(ops, target)

    ops.counted(length, look)


def _insert_at(ops: Collections, target: Val, arguments: list[LLVM]) -> None:
    kind = target.type
    assert isinstance(kind, Seq)
    length = ops.length(ops.now(target))
    ops.open_gap(target, arguments[0], length)
    ops.set_at(target, arguments[0], ops.received(kind.element, arguments[1]))
    ops.set_length(target, ops.e.add(length, word(1)))


def _remove_at(ops: Collections, target: Val, arguments: list[LLVM]) -> None:
    length = ops.length(ops.now(target))
    ops.close_gap(target, arguments[0], length)
