"""The table of built-in functions and methods. A row has the name, the arguments, the core form and
the line of help of a function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from fencepost.spec.core import ir
from fencepost.spec.core.operators import Operator
from fencepost.spec.core.size_limits import most
from fencepost.spec.core.type_relations import join
from fencepost.spec.core.types import (
    INT64_HIGH,
    Bag,
    Collection,
    Int,
    Integer,
    Machine,
    Option,
    Seq,
    Set,
    Type,
    as_collection,
    describe,
)
from fencepost.spec.elaborate.base.built_in import RESERVED, BuiltIn
from fencepost.spec.elaborate.base.context import Context, first_ghost
from fencepost.spec.elaborate.base.ghosts import comparing
from fencepost.spec.elaborate.base.symbols import Operand
from fencepost.spec.elaborate.types.arguments import named, wrong_number
from fencepost.spec.elaborate.types.bidirectional import alike
from fencepost.spec.elaborate.types.partiality import (
    bound,
    bound_pair,
    coerced,
    content,
    converted_value,
    end_of,
    guarded,
    in_64_bits,
    number,
    settled,
    size,
    unified,
)
from fencepost.spec.elaborate.values import arithmetic
from fencepost.spec.elaborate.values.collections import comprehension, elements, stored
from fencepost.spec.elaborate.values.enabled import enabled
from fencepost.spec.records import dataclass, replace
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.problem import Note
from fencepost.spec.text.source import Span

Build: TypeAlias = Callable[[Context, syntax.Call], Operand | None]


@dataclass(frozen=True, slots=True)
class Function(BuiltIn):
    """A built-in function. ``takes`` describes its argument, and ``builds`` holds the function that
    elaborates a call, for each number of arguments.
    """

    takes: str
    builds: Mapping[int, Build]


@dataclass(frozen=True, slots=True)
class Target:
    """The collection that a method changes: its value before the change, and what messages say
    about it.
    """

    read: ir.Expr
    holder: str
    note: Note

    @property
    def type(self) -> Type:
        return self.read.type


@dataclass(frozen=True, slots=True)
class Method(BuiltIn):
    """A method of collections. ``changes`` are the types of these collections, and ``arity`` is the
    number of arguments. ``build`` returns the new value of the collection.
    """

    changes: tuple[type[Collection], ...]
    arity: int
    build: Callable[[Context, Target, syntax.Call], Operand | None]


def function(context: Context, row: Function, node: syntax.Call) -> Operand | None:
    """Elaborates a call of a built-in function."""
    if named(context, node.arguments):
        return None
    count = len(node.arguments)
    if count not in row.builds:
        return wrong_number(context, row.name, min(row.builds), count, node.span)
    return row.builds[count](context.inner(), node)


def methods_of(kind: Type) -> dict[str, Method]:
    """Returns the methods of values of a type."""
    return {name: row for name, row in METHODS.items() if isinstance(kind, row.changes)}


# ---------------------------------------------------------------- functions of collections


def _of_collection(
    core: Callable[[Context, Operand, Span], Operand | None],
    kind: type[Collection] | None = None,
    described: str = "",
) -> Build:
    """Returns a function that elaborates a call with a collection as its only argument. ``core``
    gives the core form of the call. ``kind`` is the type that the collection must have, if any, and
    ``described`` its name in messages. A comprehension in square brackets always makes a sequence
    here.
    """

    def build(context: Context, node: syntax.Call) -> Operand | None:
        value = node.arguments[0].value
        if isinstance(value, syntax.Comprehension):
            operand = comprehension(context, value, None, sequence=True)
        else:
            operand = elements(context, value)
        if operand is None:
            return None
        if kind is not None and not isinstance(operand.type, kind):
            name = node.function.span.text
            return context.mismatch("F311", value.span, f"{name} takes a {described}", operand.type)
        return core(context, operand, node.span)

    return build


def _length(context: Context, operand: Operand, span: Span) -> Operand | None:
    kind = as_collection(operand.type)
    if most(kind) > INT64_HIGH:
        message = f"{describe(kind.element)} has more than {INT64_HIGH} values, too many to count"
        return context.report("F710", span, message)
    return Operand(replace(size(operand.expr), span=span), operand.ghost)


def _count(context: Context, node: syntax.Call) -> Operand | None:
    first = context.expression(node.arguments[0].value)
    if first is None:
        return None
    if not isinstance(first.type, Seq | Bag):
        rule = "count(q, e) takes a sequence or bag"
        return context.mismatch("F311", node.arguments[0].span, rule, first.type)
    inner = first.type.element
    second = context.expression(node.arguments[1].value, inner)
    if second is None:
        return None
    both = unified(
        context, second, Operand(ir.Local(inner, -1)), node.span, "this looks for one among"
    )
    if both is None:
        return None
    kind = Int(0, first.type.capacity)
    ghost = first_ghost(first, second) or comparing(inner, node.span)
    if isinstance(both[2], Option) and not isinstance(inner, Option):
        # None is not an element of a collection of plain values.
        expr = _count_option(context, first.expr, second.expr, kind, node.span)
    else:
        expr = ir.Occurrences(kind, first.expr, both[0].expr, span=node.span)
    return Operand(expr, ghost)


def _count_option(
    context: Context, collection: ir.Expr, option: ir.Expr, kind: Int, span: Span
) -> ir.Expr:
    assert isinstance(option.type, Option)
    element = option.type.element

    def build(c: ir.Expr, o: ir.Expr) -> ir.Expr:
        counted = ir.Occurrences(kind, c, ir.Content(element, o, span=span), span=span)
        zero = ir.Literal(kind, 0, span=span)
        return ir.Conditional(kind, ir.IsSome(o, span=span), counted, zero, span=span)

    return bound_pair(context, collection, option, build)


def _indices(context: Context, operand: Operand, span: Span) -> Operand | None:
    length = size(operand.expr)
    assert isinstance(length.type, Int)
    above = Int(length.type.low - 1, length.type.high - 1)
    expr = ir.Arithmetic(above, Operator.SUBTRACT, length, number(1), span=span)
    last = Operand(settled(expr, length), operand.ghost)
    return arithmetic.interval(context, Operand(number(0, span)), last, span)


def _first(context: Context, operand: Operand, span: Span) -> Operand:
    return Operand(end_of(context, operand.expr, True, span), operand.ghost)


def _last(context: Context, operand: Operand, span: Span) -> Operand:
    return Operand(end_of(context, operand.expr, False, span), operand.ghost)


def _sum(context: Context, operand: Operand, span: Span) -> Operand | None:
    whole = as_collection(operand.type)
    element = whole.element
    if not isinstance(element, Int):
        hint = "; [int(x) for x in ...] converts" if isinstance(element, Machine) else ""
        message = f"sum adds integers, but these are {describe(element)}{hint}"
        return context.report("F308", span, message)
    count = most(whole)
    kind = in_64_bits(context, count * min(element.low, 0), count * max(element.high, 0), span)
    if kind is None:
        return None
    return Operand(settled(ir.Sum(kind, operand.expr, span=span), operand.expr), operand.ghost)


def _extreme(greatest: bool) -> Build:
    def core(context: Context, operand: Operand, span: Span) -> Operand:
        element = as_collection(operand.type).element
        word = "max" if greatest else "min"
        site = context.site("F905", span, f"{word} of an empty collection")
        extreme = ir.Extreme(Option(element), greatest, operand.expr, span=span)
        ghost = operand.ghost or comparing(element, span)
        return Operand(content(context, settled(extreme, operand.expr), span, site), ghost)

    return _of_collection(core)


def _of_two(greatest: bool) -> Build:
    def build(context: Context, node: syntax.Call) -> Operand | None:
        left, right = (argument.value for argument in node.arguments)
        both = alike(context, left, right, node.span, "this compares")
        if both is None:
            return None
        kind = both[2]
        if not isinstance(kind, Integer):
            return context.mismatch("F308", node.span, "this compares integers", kind)
        first, second = both[0].expr, both[1].expr

        def chosen(a: ir.Expr, b: ir.Expr) -> ir.Expr:
            less = ir.Less(b, a) if greatest else ir.Less(a, b)
            return ir.Conditional(kind, less, a, b, span=node.span)

        expr = bound_pair(context, first, second, chosen)
        return Operand(settled(expr, first, second), first_ghost(*both[:2]))

    return build


def _subsets(context: Context, operand: Operand, span: Span) -> Operand | None:
    base = stored(context, operand, span)
    if base is None:
        return None
    if isinstance(base.expr, ir.Universe):
        return Operand(ir.Universe(Set(base.type), span=span), base.ghost)
    return Operand(ir.Subsets(Set(base.type), base.expr, span=span), base.ghost)


# ---------------------------------------------------------------- functions of states


def _next(context: Context, node: syntax.Call) -> Operand | None:
    if context.position.place != "step" or context.position.after:
        message = "next(...) is allowed in step invariants only"
        if context.position.after:
            message = "next(...) refers to the next state, so it cannot be nested"
        return context.report("F318", node.span, message)
    return context.at(replace(context.position, after=True)).expression(node.arguments[0].value)


# ---------------------------------------------------------------- methods


def _grown(front: bool) -> Callable[[Context, Target, syntax.Call], Operand | None]:
    """Returns a function that adds an element to a collection. A sequence gets the element at its
    end, or at its start if ``front`` is set.
    """

    def build(context: Context, target: Target, call: syntax.Call) -> Operand | None:
        kind, span = as_collection(target.type), call.span
        holder = f"an element of {target.holder}"
        written = call.arguments[0].value
        element = converted_value(context, written, kind.element, holder, target.note)
        if element is None:
            return None

        def added(e: ir.Expr) -> ir.Expr:
            whole: ir.Expr = ir.Add(kind, target.read, e, span=span)
            if front:
                whole = ir.InsertAt(kind, target.read, number(0), e, span=span)
            if kind.capacity is None:
                return whole
            full = f"{target.holder} is full: its capacity is {kind.capacity}"
            room: ir.Expr = ir.Less(size(target.read), number(kind.capacity), span=span)
            if isinstance(kind, Set):
                room = ir.Or((ir.Contains(target.read, e), room), span=span)
            return guarded(room, context.site("F902", span, full), whole)

        return Operand(bound(context, element.expr, added), element.ghost)

    return build


def _removed(context: Context, target: Target, call: syntax.Call) -> Operand | None:
    """Removes an element from a set or bag. If the collection cannot hold such an element, nothing
    changes.
    """
    kind, span, written = as_collection(target.type), call.span, call.arguments[0].value
    element = kind.element
    operand = context.expression(written, element)
    if operand is None:
        return None
    ghost = operand.ghost or comparing(element, span)
    if join(operand.type, element) is None or isinstance(element, Option):
        holder = f"an element of {target.holder}"
        operand = coerced(context, operand, element, written.span, holder, target.note)
        if operand is None:
            return None
    if operand.type == element:
        return Operand(ir.Remove(kind, target.read, operand.expr, span=span), ghost)

    def without(value: ir.Expr) -> ir.Expr:
        plain = value
        if isinstance(value.type, Option):
            plain = ir.Content(value.type.element, value, span=span)
        fits: ir.Expr = ir.Fits(plain, element, span=span)
        if isinstance(value.type, Option):
            fits = ir.And((ir.IsSome(value, span=span), fits), span=span)
        rest = ir.Remove(kind, target.read, ir.Convert(element, plain, span=span), span=span)
        return ir.Conditional(kind, fits, rest, target.read, span=span)

    return Operand(bound(context, operand.expr, without), ghost)


def _popped(first: bool) -> Callable[[Context, Target, syntax.Call], Operand | None]:
    """Returns a function that removes the first or last element of a sequence."""

    def build(context: Context, target: Target, call: syntax.Call) -> Operand:
        kind, span = as_collection(target.type), call.span
        site = context.site("F903", span, "the sequence is empty")
        length = size(target.read)
        index: ir.Expr = number(0)
        if not first:
            last = Int(-1, most(kind) - 1)
            index = ir.Arithmetic(last, Operator.SUBTRACT, length, number(1), span=span)
        rest = ir.RemoveAt(kind, target.read, index, span=span)
        return Operand(guarded(ir.Less(number(0), length, span=span), site, rest))

    return build


def _cleared(context: Context, target: Target, call: syntax.Call) -> Operand:
    return Operand(ir.Literal(target.type, (), span=call.span))


# ---------------------------------------------------------------- the rows

_FUNCTIONS = (
    Function(
        "len", "function", "len(c)", "the number of elements of a collection",
        "sequence, set, bag, channel", {1: _of_collection(_length)},
    ),
    Function(
        "count", "function", "count(c) or count(c, e)",
        "the number of elements, or of those equal to e",
        "as for `len`; with e, a sequence or bag", {1: _of_collection(_length), 2: _count},
    ),
    Function(
        "indices", "function", "indices(q)", "the positions of a sequence, from 0",
        "sequence", {1: _of_collection(_indices, Seq, "sequence")},
    ),
    Function(
        "first", "function", "first(q)",
        "the first element; an evaluation error if the collection is empty",
        "sequence", {1: _of_collection(_first, Seq, "sequence")},
    ),
    Function(
        "last", "function", "last(q)",
        "the last element; an evaluation error if the collection is empty",
        "sequence", {1: _of_collection(_last, Seq, "sequence")},
    ),
    Function(
        "sum", "function", "sum(c)",
        "the sum of the integers in a collection; 0 if it is empty",
        "sequence, set, bag of integers", {1: _of_collection(_sum)},
    ),
    Function(
        "min", "function", "min(c) or min(a, b)",
        "the least element; an evaluation error if the collection is empty",
        "sequence, set, bag; or two integers", {1: _extreme(False), 2: _of_two(False)},
    ),
    Function(
        "max", "function", "max(c) or max(a, b)",
        "the greatest element; an evaluation error if the collection is empty",
        "sequence, set, bag; or two integers", {1: _extreme(True), 2: _of_two(True)},
    ),
    Function(
        "subsets", "function", "subsets(s)",
        "the set of all subsets of a set",
        "set", {1: _of_collection(_subsets, Set, "set")},
    ),
    Function(
        "next", "function", "next(e)", "the value of e after the step, in a step invariant",
        "anything", {1: _next},
    ),
    Function(
        "enabled", "function", "enabled(R.a) or enabled(R[i].a(x))",
        "whether the action can be taken by any process or by process i, with any parameters or"
        " with the given ones; only in properties",
        "action", {1: enabled},
    ),
)  # fmt: skip

_METHODS = (
    Method(
        "add", "method", "s.add(e)", "adds an element to a set or bag",
        (Set, Bag), 1, _grown(False),
    ),
    Method(
        "remove", "method", "s.remove(e)",
        "removes an element from a set or bag; no effect if it is absent",
        (Set, Bag), 1, _removed,
    ),
    Method(
        "append", "method", "q.append(e)", "appends an element to a sequence",
        (Seq,), 1, _grown(False),
    ),
    Method(
        "prepend", "method", "q.prepend(e)", "prepends an element to a sequence",
        (Seq,), 1, _grown(True),
    ),
    Method(
        "pop_first", "method", "q.pop_first()", "removes the first element of a sequence",
        (Seq,), 0, _popped(True),
    ),
    Method(
        "pop_last", "method", "q.pop_last()", "removes the last element of a sequence",
        (Seq,), 0, _popped(False),
    ),
    Method(
        "clear", "method", "c.clear()", "empties a collection", (Set, Seq, Bag), 0, _cleared
    ),
)  # fmt: skip

FUNCTIONS: Mapping[str, Function] = {row.name: row for row in _FUNCTIONS}
METHODS: Mapping[str, Method] = {row.name: row for row in _METHODS}
BUILT_IN: Mapping[str, BuiltIn] = {**RESERVED, **FUNCTIONS, **METHODS}
"""The rows of all built-in names."""
