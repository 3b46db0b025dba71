"""The native domain for statements and choices: emits machine code while the fold runs.

Statements run in one of two modes. In mode *last*, the action ends after the statement. A choice is
then a loop around its body, and the end of the body completes the step. Otherwise, other statements
follow. A choice then takes the index of its alternative from a vector of indices, the *odometer*,
and the enclosing region runs once per vector.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from fencepost.checker.layout import Large, shape
from fencepost.checker.native.codegen.analysis import has_inner_pick
from fencepost.checker.native.codegen.emitter import I1, I8, I64, LLVM, flag, known, word
from fencepost.checker.native.codegen.expressions import NativeExpressions
from fencepost.checker.native.codegen.flow import when
from fencepost.checker.native.codegen.frame import Frame
from fencepost.checker.native.codegen.values import V, Val
from fencepost.checker.request import required_by
from fencepost.spec.core import ir
from fencepost.spec.core.size_limits import most
from fencepost.spec.core.traverse import may_fail
from fencepost.spec.core.types import Bag, Bool, Set, Union, as_collection
from fencepost.spec.semantics.domain import Place
from fencepost.spec.semantics.fold import updated

MAX_FLAGS = 1 << 16
"""If the condition of a choice may fail, its results are kept for at most this many elements."""


class NativeDomain(NativeExpressions):
    """Implements `Domain`. V is `values.V`; C is None, since code is emitted as a side effect."""

    def __init__(self, frame: Frame) -> None:
        super().__init__(frame)
        self.last = True
        self._ends: dict[int, LLVM | None] = {}

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
        """Completes a statement. At the end of the action, this also completes the step."""
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
        # A value that points into a variable would change with the variable.
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

    def branch(self, condition: V, then: Callable[[], None], otherwise: Callable[[], None]) -> None:
        e = self.e
        truth = self._flag(condition)
        if known(truth) is not None:
            (then if known(truth) else otherwise)()
            return
        self.frame.begin()
        yes, no, end = e.block(), e.block(), e.block()
        e.branch(truth, yes, no)
        for block, arm in ((yes, then), (no, otherwise)):
            e.at(block)
            arm()
            e.goto(end)
        e.at(end)
        if self.last:
            # Both arms have ended the step, so this block is unreachable.
            e.goto(self.frame.next_vector())

    def each(self, collection: V, body: Callable[[V], None]) -> None:
        self.frame.begin()
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
        self.frame.begin()
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
        # The code after a leave is unreachable but still needs a block.
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
        collection = self._narrowed(collection, pick)
        offer = self._offer(collection, condition, pick)

        def chosen(element: V) -> None:
            assert isinstance(element, Val)
            self.frame.chosen(pick, element)
            body(element)

        with required_by(pick.span):
            if self.last:
                self._loop(collection, offer, chosen, pick)
            else:
                self._indexed(collection, offer, chosen, pick)

    def _narrowed(self, collection: V, pick: ir.Pick) -> V:
        """If the choice is from a set of bits and the condition begins with a test of the variant,
        returns the elements that pass the test. The other elements are then skipped together.
        Otherwise, returns the whole collection.
        """
        if not isinstance(collection, Val) or pick.condition is None:
            return collection
        first = pick.condition
        if isinstance(first, ir.And):
            first = first.parts[0]
        match first, collection.type:
            case ir.HasTag(union=ir.Local(slot=slot), tag=tag), (Set(Union(), None) as kind) if (
                slot == pick.slot
            ):
                members = self.ops.variant(kind, tag)
                return self.ops.combined(ir.SetOperator.INTERSECTION, collection, members, kind)
            case _:
                return collection

    def _offer(
        self, collection: V, condition: Callable[[V], V] | None, pick: ir.Pick
    ) -> Callable[[Val, LLVM], LLVM]:
        """Returns a function that emits, for an element and its ordinal, the test whether the
        element is offered.

        If the condition may fail, it is evaluated for all elements before any element is chosen. If
        there are too many elements to keep the results, it is then evaluated again.
        """
        e = self.e
        distinct = self._distinct(collection)

        def offered(element: Val, ordinal: LLVM) -> LLVM:
            tests: list[Callable[[], V]] = [
                lambda: Val(ir.BOOL, self.frame.permitted(pick, element))
            ]
            if condition is not None:
                tests.append(partial(condition, element))
            tests.append(lambda: Val(ir.BOOL, distinct(element, ordinal)))
            return self._flag(self.conjunction(tests))

        if condition is None or pick.condition is None or not may_fail(pick.condition):
            return offered
        evaluated, count = condition, most(as_collection(pick.domain.type))
        if count > MAX_FLAGS:

            def evaluate(element: Val, _: LLVM, __: LLVM) -> None:
                evaluated(element)

            self.ops.over(collection, evaluate)
            return offered
        flags = e.bytes(count)

        def ask(element: Val, ordinal: LLVM, _: LLVM) -> None:
            truth = self._flag(evaluated(element))
            index = e.select(e.ult(ordinal, word(count)), ordinal, word(0))
            e.store(e.as_byte(truth), e.index(flags, index, I8))

        self.ops.over(collection, ask)

        def noted(element: Val, ordinal: LLVM) -> LLVM:
            index = e.select(e.ult(ordinal, word(count)), ordinal, word(0))
            stored = e.widened(e.load(e.index(flags, index, I8), I8))
            first = e.both(self.frame.permitted(pick, element), distinct(element, ordinal))
            return e.both(first, e.as_flag(stored))

        return noted

    def _distinct(self, collection: V) -> Callable[[Val, LLVM], LLVM]:
        """Returns a test that is true for the first of several equal elements. Equal elements of a
        bag are adjacent and count as one choice.
        """
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
        """Emits a choice that is last except for its body. The body runs to the end of the step for
        each alternative.
        """
        e, frame = self.e, self.frame
        outer = frame.next_vector()
        restore = frame.save()
        some = e.cell(I1)
        e.store(flag(False), some)

        def alternative(element: Val, ordinal: LLVM, _: LLVM) -> None:
            take, done, next_one = e.block(), e.block(), e.block()
            e.branch(offer(element, ordinal), take, next_one)
            e.at(take)
            e.store(flag(True), some)
            frame.set_next_vector(done)
            self.region(pick.body, lambda: body(element))
            e.goto(done)
            e.at(done)
            # The test for an offer depends on the state before the choice, so the state is
            # restored.
            restore()
            e.goto(next_one)
            e.at(next_one)

        self.ops.over(collection, alternative)
        frame.set_next_vector(outer)
        with when(e, e.invert(e.load(some, I1))):
            frame.refuse(pick.guard)
        e.goto(outer)

    def region(self, statement: ir.Statement, body: Callable[[], None]) -> None:
        """Emits code that ends every vector of choices. If the statement contains choices, the code
        runs once for each of their vectors.
        """
        if not has_inner_pick(statement):
            body()
            return
        e, frame = self.e, self.frame
        frame.begin()
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
        self.ops.polling.ask()
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
        """Emits a choice that other statements follow. The odometer determines the alternative of
        this run.
        """
        self.frame.begin()
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
        selected = e.load(cell)
        kind = as_collection(collection.type).element
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
            e.branch(e.eq(number, selected), take, skip)
            e.at(take)
            if isinstance(size, Large):
                e.copy(room, element.word, size.words)
            else:
                e.store(element.word, room)
            e.goto(on)
            e.at(skip)
            # It suffices to know that another alternative follows the selected one.
            e.branch(e.ult(selected, number), end, on)
            e.at(on)

        self.ops.over(collection, look)
        offered = e.load(count)
        with when(e, e.invert(e.ult(selected, offered))):
            # An empty offer has no index.
            e.store(position, odometer.depth)
            self.frame.refuse(pick.guard)
        e.put(cell, 1, e.as_word(e.ult(e.add(selected, word(1)), offered)))
        e.store(e.add(position, word(1)), odometer.position)
        body(Val(kind, room if isinstance(size, Large) else e.load(room, machine)))
