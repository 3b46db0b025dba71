"""The native domain for expressions: emits machine code while the fold runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fencepost.checker.layout import Large, is_scalar, shape
from fencepost.checker.native.codegen.emitter import (
    I1,
    I64,
    LLVM,
    PTR,
    Emitter,
    flag,
    known,
    word,
)
from fencepost.checker.native.codegen.flow import when
from fencepost.checker.native.codegen.frame import Frame
from fencepost.checker.native.codegen.recursion import (
    ACTIVATION,
    FIRST_SITE,
    STOPPED,
    RecursionFrame,
    Recursive,
    keep,
    kept,
    kind_of,
    memory,
    reads_of,
    sites_of,
)
from fencepost.checker.native.codegen.values import Interval, Subsets, Universe, V, Val
from fencepost.checker.request import Unsupported
from fencepost.spec.core import ir
from fencepost.spec.core.operators import Operator
from fencepost.spec.core.types import (
    Bool,
    Int,
    Machine,
    Map,
    Set,
    Type,
    Value,
)
from fencepost.spec.semantics.domain import AtIndex, AtKey, Place


def symbol_name(index: int) -> str:
    """Returns the name of the word in memory that holds the value of a symbolic constant."""
    return f"symbol{index}"


class NativeExpressions:
    """Implements the operations of `Domain` on values. V is `values.V`."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.ops = frame.ops
        self.e = frame.ops.e
        self._functions: dict[tuple[int, ...], Recursive] = {}

    # ------------------------------------------------------------ leaves and binding

    def constant(self, value: Value, type: Type) -> V:
        return self.ops.constant(value, type)

    def symbol(self, index: int, type: Type) -> V:
        if not is_scalar(type):
            raise Unsupported("it gives no such value to a constant while the code runs")
        number = self.e.load(self.e.unit.number(symbol_name(index)))
        return Val(type, self.e.as_flag(number) if isinstance(type, Bool) else number)

    def variable(self, index: int, next: bool, type: Type) -> V:
        return self.frame.read(index, next)

    def let(self, value: V, body: Callable[[V], V]) -> V:
        return body(value)

    def demand(self, condition: V, site: int, body: Callable[[], V]) -> V:
        self._unless(condition, lambda: self.frame.fail(site, False))
        return body()

    def _unless(self, condition: V, failed: Callable[[], None]) -> None:
        """Continues if the condition holds. Otherwise runs the code of ``failed``, which must end
        its block.
        """
        truth = self._flag(condition)
        if known(truth) == 1:
            return
        with when(self.e, self.e.invert(truth), rare=True):
            failed()

    def recursion(
        self, expr: ir.Recursion, arguments: Sequence[V], body: Callable[[Sequence[V]], V]
    ) -> V:
        values = [self._val(argument) for argument in arguments]
        reads = reads_of(expr)
        if isinstance(self.frame, RecursionFrame):
            # This function may call the enclosing one, which needs its variables.
            reads = {read: value.type for read, value in self.frame.reads.items()}
        kinds = [*(value.type for value in values), *reads.values()]

        def recursive(function: LLVM) -> Recursive:
            return Recursive(function, expr.type, tuple(reads), sites_of(expr))

        def emit(e: Emitter) -> None:
            self._functions[expr.slots] = recursive(e.function)
            _, out, *words = e.arguments
            own = [Val(kind, argument) for kind, argument in zip(kinds, words, strict=True)]
            count = len(values)
            frame = RecursionFrame(e, dict(zip(reads, own[count:], strict=True)))
            outside = self.frame, self.ops, self.e
            self.frame, self.ops, self.e = frame, frame.ops, e
            frame.ops.polling.ask()
            keep(e, self._val(body(own[:count])), out)
            e.ret(word(0))
            self.frame, self.ops, self.e = outside
            rooms, name = e.unit.rooms, e.function.name
            rooms[name] = (rooms.get(name, 0) + ACTIVATION) * expr.depth

        parameters = [PTR, PTR, *map(kind_of, kinds)]
        key = expr, tuple(reads)
        return self._called(recursive(self.e.unit.helper(key, I64, parameters, emit)), values)

    def recall(self, expr: ir.Recall, arguments: Sequence[V]) -> V:
        values = [self._val(argument) for argument in arguments]
        return self._called(self._functions[expr.slots], values)

    def _called(self, recursive: Recursive, values: Sequence[Val]) -> V:
        """Calls a recursive function. If the evaluation fails, the caller fails too."""
        e, frame = self.e, self.frame
        out = memory(e, recursive.type)
        operands = [*values, *(frame.read(variable, next) for variable, next in recursive.reads)]
        words = [value.word for value in operands]
        status = e.call(recursive.function, [frame.context, out, *words])
        with when(e, e.as_flag(status), rare=True):
            if isinstance(frame, RecursionFrame):
                e.ret(status)
            else:
                with when(e, e.eq(status, word(STOPPED))):
                    self.ops.polling.ask()
                for site in recursive.sites:
                    with when(e, e.eq(status, word(FIRST_SITE + site))):
                        frame.fail(site, False)
        return kept(e, recursive.type, out)

    def witness(self, mark: int, condition: V) -> V:
        truth = self._flag(condition)
        with when(self.e, truth):
            self.frame.witness(mark)
        return Val(ir.BOOL, truth)

    def observe(self, number: int, condition: V, operands: Sequence[V], body: Callable[[], V]) -> V:
        e = self.e
        truth = self._flag(condition)
        if known(truth) != 0:
            with when(e, truth):
                values = [self._val(operand) for operand in operands]
                words = [
                    e.as_word(value.word) if isinstance(value.type, Bool) else value.word
                    for value in values
                ]
                self.frame.observe(number, words)
        return body()

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
        if not parts:
            return Val(ir.BOOL, flag(unit))
        e = self.e
        end = e.block()
        incoming: list[tuple[LLVM, LLVM]] = []
        for number, part in enumerate(parts):
            truth = self._flag(part())
            if number == len(parts) - 1 or known(truth) == int(not unit):
                incoming.append((truth, e.here))
                e.goto(end)
                break
            next_part = e.block()
            if known(truth) is None:
                incoming.append((flag(not unit), e.here))
                e.branch(truth, *((next_part, end) if unit else (end, next_part)))
            else:
                e.goto(next_part)
            e.at(next_part)
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

    def arithmetic(self, operator: Operator, left: V, right: V, type: Type) -> V:
        natural = all(isinstance(v.type, Int) and v.type.low >= 0 for v in (left, right))
        result = self.e.arithmetic(operator, self._word(left), self._word(right), natural)
        if isinstance(type, Machine) and type.bits < 64:
            spare = 64 - type.bits
            result = self.e.sar(self.e.shl(result, spare), spare)
        return Val(type, result)

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
        return self.ops.converted(self._val(value), target)

    # ------------------------------------------------------------ records, unions, options

    def record(self, fields: Sequence[V], type: Type) -> V:
        return self.ops.built(type, 0, [*map(self._val, fields)])

    def field(self, record: V, index: int, type: Type) -> V:
        return self.ops.part(self._val(record), 0, index)

    def variant(self, tag: int, fields: Sequence[V], type: Type) -> V:
        return self.ops.built(type, tag, [*map(self._val, fields)])

    def has_tag(self, union: V, tag: int) -> V:
        return Val(ir.BOOL, self.e.eq(self.ops.tag(self._val(union)), word(tag)))

    def payload(self, union: V, tag: int, index: int, type: Type) -> V:
        return self.ops.part(self._val(union), tag, index)

    def some(self, value: V, type: Type) -> V:
        return self.ops.built(type, 1, [self._val(value)])

    def is_some(self, option: V) -> V:
        return Val(ir.BOOL, self.e.as_flag(self.ops.tag(self._val(option))))

    def content(self, option: V, type: Type) -> V:
        return self.ops.part(self._val(option), 1, 0)

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
        return Universe(type)

    def subsets(self, collection: V, type: Set) -> V:
        base = self._val(collection)
        return Subsets(type, self.ops.copied(base) if base.moving else base)

    def interval(self, low: V, high: V, type: Type) -> V:
        assert isinstance(type, Set)
        return Interval(type, self._word(low), self._word(high))

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
        return self.ops.mapped(type, lambda rank: self._val(body(self.ops.unrank(type.key, rank))))

    def holds(self, every: bool, collection: V, body: Callable[[V], V]) -> V:
        e = self.e
        result = e.cell(I1)
        e.store(flag(every), result)

        def look(element: Val, _: LLVM, end: LLVM) -> None:
            truth = self._flag(body(element))
            with when(e, e.invert(truth) if every else truth):
                e.store(flag(not every), result)
                e.goto(end)

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
        room = memory(e, type)
        keep(e, self._val(start), room)

        def step(element: Val, _: LLVM, end: LLVM) -> None:
            keep(e, self._val(body(element, kept(e, type, room))), room)
            if stop is not None:
                with when(e, self._flag(stop(kept(e, type, room)))):
                    e.goto(end)

        self.ops.over(collection, step)
        return kept(e, type, room)

    def enabled(self, action: int, choices: Sequence[V]) -> V:
        chosen = [self._val(choice) for choice in choices]
        return Val(ir.BOOL, self.frame.enabled(action, chosen))
