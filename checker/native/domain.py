"""The native domain: the meaning of the core, emitted as machine code while the fold runs.

A `Frame` says what the function under construction works on: where variables are read and kept,
what a false guard, a failure and the end of a step do. Statements run in one of two modes. *Last*:
nothing of the action follows, so a choice is a loop around its body, and whoever ends, ends the
step. Otherwise more follows, and a choice reads its alternative from a vector of indices, the
*odometer*, with which the region around it is run again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from fencepost.checker.layout import Large, Part, Small, is_scalar, place_fields, shape, tight
from fencepost.checker.native.collections import Collections
from fencepost.checker.native.emitter import I1, I8, I64, LLVM, PTR, Emitter, flag, known, word
from fencepost.checker.native.scan import has_inner_pick, may_fail, most_elements
from fencepost.checker.native.values import Between, Unsupported, V, Val, Whole
from fencepost.spec import ir
from fencepost.spec.domain import AtIndex, AtKey, Place
from fencepost.spec.semantics import updated
from fencepost.spec.types import (
    Bag,
    Bool,
    Field,
    Int,
    Machine,
    Map,
    Option,
    Record,
    Seq,
    Set,
    Type,
    Union,
    Value,
    cardinality,
)

MOST_FLAGS = 1 << 20


class Frame(Protocol):
    """What the function under construction works on."""

    ops: Collections

    def read(self, variable: int, next: bool) -> Val:
        """The value of a variable."""
        ...

    def keep(self, variable: int, path: Sequence[Place[V]], value: Val) -> bool:
        """Changes a variable in place; False where the whole value must be given instead."""
        ...

    def fail(self, site: int, assertion: bool) -> None:
        """Ends the block: evaluation failed here."""
        ...

    def witness(self, mark: int) -> None:
        """Sets a coverage mark at once."""
        ...

    def mark(self, mark: int) -> None:
        """Sets a coverage mark if the step is completed."""
        ...

    def refuse(self, guard: int) -> None:
        """Ends the block: a guard was false, so this vector of choices leads nowhere."""
        ...

    def finish(self) -> None:
        """Ends the block: the step is complete."""
        ...

    def save(self) -> Callable[[], None]:
        """Remembers the variables as they are; the result makes them so again."""
        ...

    def next_vector(self) -> LLVM:
        """The block in which the next vector of choices is tried."""
        ...

    def set_next_vector(self, block: LLVM) -> None: ...

    def odometer(self) -> Odometer:
        """The vector of indices of choices that are not loops."""
        ...

    def enabled(self, action: int, instance: Val | None) -> LLVM:
        """Whether an action can be taken, as a flag."""
        ...

    def first_choice(self, pick: ir.Pick, element: Val) -> LLVM:
        """Whether a choice may take this element at all (an instance may be asked for)."""
        ...


class Odometer:
    """Cells and scratch memory of the choices that are not loops: index and "there is more"."""

    def __init__(self, e: Emitter, scratch: LLVM) -> None:
        self.position = e.cell()
        self.depth = e.cell()
        self.scratch = scratch
        e.store(word(0), self.position)
        e.store(word(0), self.depth)


class NativeDomain:
    """See `Domain`: V is `values.V`, C is None (code is emitted on the way)."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.ops = frame.ops
        self.e = frame.ops.e
        self.last = True
        self._ends: dict[int, LLVM | None] = {}

    # ------------------------------------------------------------ leaves and binding

    def constant(self, value: Value, type: Type) -> V:
        return self.ops.constant(value, type)

    def variable(self, index: int, next: bool, type: Type) -> V:
        return self.frame.read(index, next)

    def let(self, value: V, body: Callable[[V], V]) -> V:
        return body(value)

    def demand(self, condition: V, site: int, body: Callable[[], V]) -> V:
        self._unless(condition, lambda: self.frame.fail(site, False))
        return body()

    def _unless(self, condition: V, failed: Callable[[], None]) -> None:
        """Goes on where the condition holds; ``failed`` ends the other block."""
        truth = self._flag(condition)
        if known(truth) == 1:
            return
        e = self.e
        wrong, right = e.block(), e.block()
        e.unlikely(e.invert(truth), wrong, right)
        e.at(wrong)
        failed()
        e.at(right)

    def witness(self, mark: int, condition: V) -> V:
        e = self.e
        truth = self._flag(condition)
        seen, on = e.block(), e.block()
        e.branch(truth, seen, on)
        e.at(seen)
        self.frame.witness(mark)
        e.goto(on)
        e.at(on)
        return Val(ir.BOOL, truth)

    def _flag(self, value: V) -> LLVM:
        assert isinstance(value, Val)
        return value.word

    def _word(self, value: V) -> LLVM:
        assert isinstance(value, Val)
        return value.word

    def _val(self, value: V) -> Val:
        return self.ops.materialized(value)

    # ------------------------------------------------------------ truth

    def negation(self, operand: V) -> V:
        return Val(ir.BOOL, self.e.invert(self._flag(operand)))

    def conjunction(self, parts: Sequence[Callable[[], V]]) -> V:
        return self._connected(parts, True)

    def disjunction(self, parts: Sequence[Callable[[], V]]) -> V:
        return self._connected(parts, False)

    def _connected(self, parts: Sequence[Callable[[], V]], unit: bool) -> V:
        e = self.e
        end = e.block()
        incoming: list[tuple[LLVM, LLVM]] = []
        for number, part in enumerate(parts):
            truth = self._flag(part())
            if number == len(parts) - 1 or known(truth) == int(not unit):
                incoming.append((truth, e.here))
                e.goto(end)
                break
            on = e.block()
            if known(truth) is None:
                incoming.append((flag(not unit), e.here))
                e.branch(truth, *((on, end) if unit else (end, on)))
            else:
                e.goto(on)
            e.at(on)
        if not parts:
            return Val(ir.BOOL, flag(unit))
        e.at(end)
        return Val(ir.BOOL, e.phi(incoming))

    def conditional(
        self, condition: V, then: Callable[[], V], otherwise: Callable[[], V], type: Type
    ) -> V:
        e = self.e
        truth = self._flag(condition)
        if known(truth) is not None:
            return then() if known(truth) else otherwise()
        yes, no, end = e.block(), e.block(), e.block()
        e.branch(truth, yes, no)
        size = shape(type)
        room = e.words(size.words) if isinstance(size, Large) else None
        incoming: list[tuple[LLVM, LLVM]] = []
        for block, arm in ((yes, then), (no, otherwise)):
            e.at(block)
            value = self._val(arm())
            if room is not None and isinstance(size, Large):
                e.copy(room, value.word, size.words)
            incoming.append((value.word, e.here))
            e.goto(end)
        e.at(end)
        return Val(type, e.phi(incoming) if room is None else room)

    # ------------------------------------------------------------ numbers

    def arithmetic(self, operator: ir.Operator, left: V, right: V, type: Type) -> V:
        e, a, b = self.e, self._word(left), self._word(right)
        match operator:
            case ir.Operator.ADD:
                result = e.add(a, b)
            case ir.Operator.SUBTRACT:
                result = e.sub(a, b)
            case ir.Operator.MULTIPLY:
                result = e.mul(a, b)
            case ir.Operator.DIVIDE | ir.Operator.REMAINDER:
                result = self._divided(operator, left, right)
        if isinstance(type, Machine) and type.bits < 64:
            spare = 64 - type.bits
            result = e.sar(e.shl(result, spare), spare)
        return Val(type, result)

    def _divided(self, operator: ir.Operator, left: V, right: V) -> LLVM:
        """Floor quotient or remainder; a zero divisor (which is never used) is made harmless."""
        e, a, b = self.e, self._word(left), self._word(right)
        if self._never_negative(left) and self._never_negative(right):
            divisor = e.select(e.eq(b, word(0)), word(1), b)
            if operator is ir.Operator.DIVIDE:
                return e.udiv(a, divisor)
            return e.urem(a, divisor)
        # LLVM leaves x / 0 and MIN / -1 undefined, so neither is ever asked of it.
        odd = e.either(e.eq(b, word(0)), e.eq(b, word(-1)))
        divisor = e.select(odd, word(1), b)
        towards_zero = e.sdiv(a, divisor)
        rest = e.sub(a, e.mul(towards_zero, divisor))
        apart = e.slt(e.differ(rest, divisor), word(0))
        correct = e.both(e.as_flag(rest), apart)
        if operator is ir.Operator.DIVIDE:
            floor = e.sub(towards_zero, e.as_word(correct))
            return e.select(e.eq(b, word(-1)), e.sub(word(0), a), floor)
        floor_rest = e.select(correct, e.add(rest, divisor), rest)
        return e.select(odd, word(0), floor_rest)

    def _never_negative(self, value: V) -> bool:
        return isinstance(value.type, Int) and value.type.low >= 0

    def between(self, number: V, low: int, high: int) -> V:
        e, n = self.e, self._word(number)
        return Val(ir.BOOL, e.both(e.sle(word(low), n), e.sle(n, word(high))))

    def equal(self, left: V, right: V) -> V:
        a, b = self._val(left), self._val(right)
        if is_scalar(a.type):
            if isinstance(a.type, Bool):
                return Val(ir.BOOL, self.e.invert(self.e.differ(a.word, b.word)))
            return Val(ir.BOOL, self.e.eq(a.word, b.word))
        if a.type != b.type:
            b = self.ops.converted(b, a.type)
        return Val(ir.BOOL, self.ops.equal(a, b))

    def less(self, left: V, right: V, or_equal: bool) -> V:
        a, b = self._val(left), self._val(right)
        if isinstance(a.type, Int | Machine):
            compare = self.e.sle if or_equal else self.e.slt
            return Val(ir.BOOL, compare(a.word, b.word))
        if or_equal:
            return Val(ir.BOOL, self.e.invert(self.ops.less(b, a)))
        return Val(ir.BOOL, self.ops.less(a, b))

    def convert(self, value: V, source: Type, target: Type) -> V:
        if isinstance(value, Whole | Between) and isinstance(target, Set):
            return self.ops.converted(self.ops.materialized(value), target)
        return self.ops.converted(value, target)

    # ------------------------------------------------------------ records, unions, options

    def record(self, fields: Sequence[V], type: Type) -> V:
        assert isinstance(type, Record)
        return self.ops.built(type, 0, type.fields, [self._val(part) for part in fields])

    def field(self, record: V, index: int, type: Type) -> V:
        whole = self._val(record)
        assert isinstance(whole.type, Record)
        return self.ops.part(whole, whole.type.fields, index)

    def variant(self, tag: int, fields: Sequence[V], type: Type) -> V:
        assert isinstance(type, Union)
        parts = [self._val(part) for part in fields]
        return self.ops.built(type, tag, type.variants[tag].fields, parts)

    def has_tag(self, union: V, tag: int) -> V:
        return Val(ir.BOOL, self.e.eq(self.ops.tag(self._val(union)), word(tag)))

    def payload(self, union: V, tag: int, index: int, type: Type) -> V:
        whole = self._val(union)
        assert isinstance(whole.type, Union)
        return self.ops.part(whole, whole.type.variants[tag].fields, index)

    def some(self, value: V, type: Type) -> V:
        assert isinstance(type, Option)
        return self.ops.built(type, 1, (Field("", type.element),), [self._val(value)])

    def is_some(self, option: V) -> V:
        return Val(ir.BOOL, self.e.as_flag(self.ops.tag(self._val(option))))

    def content(self, option: V, type: Type) -> V:
        return self.ops.part(self._val(option), (Field("", type),), 0)

    def replace(self, base: V, place: Place[V], value: V, type: Type) -> V:
        whole, new = self._val(base), self._val(value)
        match place:
            case ir.FieldStep(index):
                return self.ops.with_part(whole, index, new)
            case AtKey(key):
                return self.ops.with_element(whole, self.ops.rank(self._val(key)), new)
            case AtIndex(index):
                return self.ops.with_element(whole, self._word(index), new)

    # ------------------------------------------------------------ collections

    def universe(self, type: Set) -> V:
        return Whole(type)

    def interval(self, low: V, high: V, type: Type) -> V:
        assert isinstance(type, Set)
        return Between(type, self._word(low), self._word(high))

    def build(self, elements: Sequence[V], type: Type) -> V:
        result = self.ops.constant((), type)
        for element in elements:
            result = self.ops.added(result, self._val(element))
        return result

    def add(self, collection: V, element: V, type: Type) -> V:
        return self.ops.added(self._val(collection), self._val(element))

    def remove(self, collection: V, element: V, type: Type) -> V:
        return self.ops.removed(self._val(collection), self._val(element))

    def insert_at(self, sequence: V, index: V, element: V, type: Type) -> V:
        return self.ops.inserted(self._val(sequence), self._word(index), self._val(element))

    def remove_at(self, sequence: V, index: V, type: Type) -> V:
        return self.ops.shortened(self._val(sequence), self._word(index))

    def contains(self, collection: V, element: V) -> V:
        return Val(ir.BOOL, self.ops.contains(collection, self._val(element)))

    def size(self, collection: V, type: Type) -> V:
        return Val(type, self.ops.size(collection))

    def algebra(self, operator: ir.SetOperator, left: V, right: V, type: Type) -> V:
        return self.ops.combined(operator, left, right, type)

    def at(self, sequence: V, index: V, type: Type) -> V:
        return self.ops.at(self._val(sequence), self._word(index))

    def get(self, map: V, key: V, kind: Map) -> V:
        return self.ops.at_rank(self._val(map), self.ops.rank(self._val(key)))

    def build_map(self, body: Callable[[V], V], type: Map) -> V:
        return self.ops.mapped(
            type, lambda rank: self._val(body(self.ops.unrank(type.key, rank)))
        )

    def holds(self, every: bool, collection: V, body: Callable[[V], V]) -> V:
        e = self.e
        result = e.cell(I1)
        e.store(flag(every), result)

        def look(element: Val, _: LLVM, end: LLVM) -> None:
            truth = self._flag(body(element))
            decided, on = e.block(), e.block()
            e.branch(truth, *((on, decided) if every else (decided, on)))
            e.at(decided)
            e.store(flag(not every), result)
            e.goto(end)
            e.at(on)

        self.ops.over(collection, look)
        return Val(ir.BOOL, e.load(result, I1))

    def fold(
        self,
        collection: V,
        start: V,
        body: Callable[[V, V], V],
        stop: Callable[[V], V] | None,
        type: Type,
    ) -> V:
        e = self.e
        size = shape(type)
        kind = I1 if isinstance(type, Bool) else I64
        room = e.words(size.words) if isinstance(size, Large) else e.cell(kind)

        def keep(value: Val) -> None:
            if isinstance(size, Large):
                e.copy(room, value.word, size.words)
            else:
                e.store(value.word, room)

        def now() -> Val:
            return Val(type, room if isinstance(size, Large) else e.load(room, kind))

        keep(self._val(start))

        def step(element: Val, _: LLVM, end: LLVM) -> None:
            keep(self._val(body(element, now())))
            if stop is not None:
                on = e.block()
                e.branch(self._flag(stop(now())), end, on)
                e.at(on)

        self.ops.over(collection, step)
        return now()

    def enabled(self, action: int, instance: V | None) -> V:
        chosen = None if instance is None else self._val(instance)
        return Val(ir.BOOL, self.frame.enabled(action, chosen))

    # ------------------------------------------------------------ statements

    def sequence(self, parts: Sequence[Callable[[], None]]) -> None:
        last = self.last
        for number, part in enumerate(parts):
            if self.e.ended:
                return
            self.last = last and number == len(parts) - 1
            part()
        self.last = last
        if not parts:
            self._done()

    def _done(self) -> None:
        """A statement is complete; at the end of the action so is the step."""
        if self.last and not self.e.ended:
            self.frame.finish()

    def assign(self, variable: int, path: Sequence[Place[V]], value: V) -> None:
        new = self._val(value)
        if not self.frame.keep(variable, path, new):
            base = self.frame.read(variable, False)
            whole = updated(self, base, base.type, path, new)
            assert isinstance(whole, Val)
            kept = self.frame.keep(variable, (), whole)
            assert kept
        self._done()

    def bind(self, value: V, body: Callable[[V], None]) -> None:
        # What points into a variable would change with it.
        if isinstance(value, Val) and value.moving:
            value = self.ops.copied(value)
        body(value)

    def require(self, condition: V, guard: int) -> None:
        self._unless(condition, lambda: self.frame.refuse(guard))
        self._done()

    def affirm(self, condition: V, site: int) -> None:
        self._unless(condition, lambda: self.frame.fail(site, True))
        self._done()

    def ensure(self, condition: V, site: int) -> None:
        self._unless(condition, lambda: self.frame.fail(site, False))
        self._done()

    def branch(
        self, condition: V, then: Callable[[], None], otherwise: Callable[[], None]
    ) -> None:
        e = self.e
        truth = self._flag(condition)
        if known(truth) is not None:
            (then if known(truth) else otherwise)()
            return
        yes, no, end = e.block(), e.block(), e.block()
        e.branch(truth, yes, no)
        for block, arm in ((yes, then), (no, otherwise)):
            e.at(block)
            arm()
            e.goto(end)
        e.at(end)
        if self.last:
            # Both arms ended the step, so this block is never reached.
            e.goto(self.frame.next_vector())

    def each(self, collection: V, body: Callable[[V], None]) -> None:
        last, self.last = self.last, False
        if isinstance(collection, Val) and collection.moving:
            collection = self.ops.copied(collection)
        self.ops.over(collection, lambda element, _, __: body(element))
        self.last = last
        self._done()

    def block(self, label: int, body: Callable[[], None]) -> None:
        if self.last:
            self._ends[label] = None
            body()
            return
        end = self.e.block()
        self._ends[label] = end
        body()
        self.e.goto(end)
        self.e.at(end)

    def leave(self, label: int) -> None:
        end = self._ends[label]
        if end is None:
            self.frame.finish()
        else:
            self.e.goto(end)
        # Whatever is emitted behind a leave is dead, and needs a block all the same.
        self.e.at(self.e.block("dead"))
        if self.last:
            self.e.goto(self.frame.next_vector())

    def mark(self, mark: int) -> None:
        self.frame.mark(mark)
        self._done()

    # ------------------------------------------------------------ choices

    def pick(
        self,
        collection: V,
        condition: Callable[[V], V] | None,
        body: Callable[[V], None],
        pick: ir.Pick,
    ) -> None:
        if isinstance(collection, Val) and collection.moving:
            collection = self.ops.copied(collection)
        offer = self._offer(collection, condition, pick)
        if self.last:
            self._loop(collection, offer, body, pick)
        else:
            self._indexed(collection, offer, body, pick)

    def _offer(
        self, collection: V, condition: Callable[[V], V] | None, pick: ir.Pick
    ) -> Callable[[Val, LLVM], LLVM]:
        """Whether an element is offered, as code to be emitted for each element (and ordinal).

        Where the condition may fail, it is evaluated for all elements before any is chosen.
        """
        e = self.e
        distinct = self._distinct(collection)

        def offered(element: Val, ordinal: LLVM) -> LLVM:
            tests: list[Callable[[], V]] = [
                lambda: Val(ir.BOOL, self.frame.first_choice(pick, element)),
                lambda: Val(ir.BOOL, distinct(element, ordinal)),
            ]
            if condition is not None:
                tests.append(lambda: condition(element))
            return self._flag(self.conjunction(tests))

        if condition is None or pick.condition is None or not may_fail(pick.condition):
            return offered
        most = most_elements(pick.domain)
        if most > MOST_FLAGS:
            raise Unsupported("the native engine does not choose from so many values")
        flags = e.bytes(most)
        asked = condition

        def ask(element: Val, ordinal: LLVM, _: LLVM) -> None:
            truth = self._flag(asked(element))
            place = e.select(e.ult(ordinal, word(most)), ordinal, word(0))
            e.store(e.as_byte(truth), e.index(flags, place, I8))

        self.ops.over(collection, ask)

        def noted(element: Val, ordinal: LLVM) -> LLVM:
            place = e.select(e.ult(ordinal, word(most)), ordinal, word(0))
            stored = e.builder.zext(e.load(e.index(flags, place, I8), I8), I64)
            first = e.both(self.frame.first_choice(pick, element), distinct(element, ordinal))
            return e.both(first, e.as_flag(stored))

        return noted

    def _distinct(self, collection: V) -> Callable[[Val, LLVM], LLVM]:
        """In a bag, equal elements stand together and are one choice."""
        if not isinstance(collection, Val) or not isinstance(collection.type, Bag):
            return lambda element, ordinal: flag(True)
        bag, e = collection, self.e

        def first(element: Val, ordinal: LLVM) -> LLVM:
            before = e.select(e.eq(ordinal, word(0)), word(0), e.sub(ordinal, word(1)))
            same = self.ops.equal(self.ops.at(bag, before), element)
            return e.either(e.eq(ordinal, word(0)), e.invert(same))

        return first

    def _loop(
        self,
        collection: V,
        offer: Callable[[Val, LLVM], LLVM],
        body: Callable[[V], None],
        pick: ir.Pick,
    ) -> None:
        """The choice is the last thing but its body: each alternative runs it to the end."""
        e, frame = self.e, self.frame
        outer = frame.next_vector()
        restore = frame.save()
        some = e.cell(I1)
        e.store(flag(False), some)

        def alternative(element: Val, ordinal: LLVM, _: LLVM) -> None:
            take, on = e.block(), e.block()
            e.branch(offer(element, ordinal), take, on)
            e.at(take)
            e.store(flag(True), some)
            restore()
            frame.set_next_vector(on)
            self.region(pick.body, lambda: body(element))
            e.goto(on)
            e.at(on)

        self.ops.over(collection, alternative)
        frame.set_next_vector(outer)
        done, none = e.block(), e.block()
        e.branch(e.load(some, I1), done, none)
        e.at(none)
        frame.refuse(pick.guard)
        e.at(done)
        e.goto(outer)

    def region(self, statement: ir.Statement, body: Callable[[], None]) -> None:
        """Emits code that ends every vector; with choices inside it, once for each of theirs."""
        if not has_inner_pick(statement):
            body()
            return
        e, frame = self.e, self.frame
        odometer = frame.odometer()
        outer = frame.next_vector()
        base = e.load(odometer.position)
        e.store(base, odometer.depth)
        restore = frame.save()
        start, advance, turn, pop, over = (e.block() for _ in range(5))
        e.goto(start)
        e.at(start)
        restore()
        e.store(base, odometer.position)
        frame.set_next_vector(advance)
        body()
        e.goto(advance)
        frame.set_next_vector(outer)
        e.at(advance)
        depth = e.load(odometer.depth)
        test = e.block()
        e.branch(e.eq(depth, base), over, test)
        e.at(test)
        cell = e.index(odometer.scratch, e.mul(e.sub(depth, word(1)), word(2)))
        e.branch(e.as_flag(e.get(cell, 1)), turn, pop)
        e.at(turn)
        e.store(e.add(e.load(cell), word(1)), cell)
        e.goto(start)
        e.at(pop)
        e.store(e.sub(depth, word(1)), odometer.depth)
        e.goto(advance)
        e.at(over)
        e.store(base, odometer.position)
        e.goto(outer)

    def _indexed(
        self,
        collection: V,
        offer: Callable[[Val, LLVM], LLVM],
        body: Callable[[V], None],
        pick: ir.Pick,
    ) -> None:
        """More follows behind the choice: the odometer says which alternative this run takes."""
        e, odometer = self.e, self.frame.odometer()
        position = e.load(odometer.position)
        fresh = e.eq(position, e.load(odometer.depth))
        cell = e.index(odometer.scratch, e.mul(position, word(2)))
        new, old, at = e.block(), e.block(), e.block()
        e.branch(fresh, new, old)
        e.at(new)
        e.store(word(0), cell)
        e.store(e.add(position, word(1)), odometer.depth)
        e.goto(at)
        e.at(old)
        e.goto(at)
        e.at(at)
        wanted = e.load(cell)
        kind = _element_of(collection)
        size = shape(kind)
        machine = I1 if isinstance(kind, Bool) else I64
        room = e.words(size.words) if isinstance(size, Large) else e.cell(machine)
        count = e.cell()
        e.store(word(0), count)

        def look(element: Val, ordinal: LLVM, end: LLVM) -> None:
            yes, take, skip, on = (e.block() for _ in range(4))
            e.branch(offer(element, ordinal), yes, on)
            e.at(yes)
            number = e.load(count)
            e.store(e.add(number, word(1)), count)
            e.branch(e.eq(number, wanted), take, skip)
            e.at(take)
            if isinstance(size, Large):
                e.copy(room, element.word, size.words)
            else:
                e.store(element.word, room)
            e.goto(on)
            e.at(skip)
            # One more than the wanted one is all that there is to know.
            e.branch(e.ult(wanted, number), end, on)
            e.at(on)

        self.ops.over(collection, look)
        found = e.load(count)
        good, none = e.block(), e.block()
        e.branch(e.ult(wanted, found), good, none)
        e.at(none)
        # An empty offer leaves no index behind.
        e.store(position, odometer.depth)
        self.frame.refuse(pick.guard)
        e.at(good)
        e.put(cell, 1, e.as_word(e.ult(e.add(wanted, word(1)), found)))
        e.store(e.add(position, word(1)), odometer.position)
        body(Val(kind, room if isinstance(size, Large) else e.load(room, machine)))


def _element_of(collection: V) -> Type:
    kind = collection.type
    assert isinstance(kind, Set | Seq | Bag)
    return kind.element


__all__ = [
    "PTR", "Frame", "NativeDomain", "Odometer", "Part", "Small", "cardinality", "place_fields",
    "tight",
]  # fmt: skip
