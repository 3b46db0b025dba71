"""Elaborates built-in functions such as ``len``, ``sum``, ``next`` and ``enabled``, and
conversions.
"""

from __future__ import annotations

from collections.abc import Callable

from fencepost.spec.core import ir
from fencepost.spec.core.operators import Operator
from fencepost.spec.core.size_limits import MAX_CAPACITY, countable, most
from fencepost.spec.core.type_relations import set_type
from fencepost.spec.core.types import (
    Bag,
    Int,
    Integer,
    Machine,
    Option,
    Seq,
    Set,
    as_collection,
    cardinality,
    describe,
)
from fencepost.spec.elaborate.base.built_in import BUILT_IN, FUNCTION_WORDS
from fencepost.spec.elaborate.base.context import Context, first_ghost
from fencepost.spec.elaborate.base.ghosts import comparing
from fencepost.spec.elaborate.base.symbols import Operand
from fencepost.spec.elaborate.types.arguments import named, wrong_number
from fencepost.spec.elaborate.types.bidirectional import pair
from fencepost.spec.elaborate.types.partiality import (
    bound,
    bound_pair,
    content,
    end_of,
    in_64_bits,
    integer_of,
    narrowed,
    number,
    settled,
    size,
    unified,
)
from fencepost.spec.elaborate.values import arithmetic
from fencepost.spec.elaborate.values.collections import comprehension, elements
from fencepost.spec.elaborate.values.comparison import subset
from fencepost.spec.elaborate.values.enabled import enabled
from fencepost.spec.records import replace
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.source import Span


def function(context: Context, name: str, node: syntax.Call) -> Operand | None:
    """Elaborates a call of the built-in function ``name``."""
    if named(context, node.arguments):
        return None
    count, arity = len(node.arguments), BUILT_IN[name].arity
    if count not in arity:
        wrong_number(context, name, arity[0], count, node.span)
        return None
    return _FUNCTIONS[name](context.inner(), node)


def _collection(context: Context, node: syntax.Call) -> Operand | None:
    """Elaborates the only argument of a call, which must be a collection. A comprehension in square
    brackets always makes a sequence here.
    """
    value = node.arguments[0].value
    if isinstance(value, syntax.Comprehension):
        return comprehension(context, value, None, sequence=True)
    return elements(context, value)


def _sequence(context: Context, node: syntax.Call) -> Operand | None:
    operand = _collection(context, node)
    if operand is None or isinstance(operand.type, Seq):
        return operand
    name = node.function.span.text
    message = f"{name} takes a sequence, but this is {describe(operand.type)}"
    context.report("F311", node.arguments[0].span, message)
    return None


# ---------------------------------------------------------------- functions of collections


def _length(context: Context, node: syntax.Call) -> Operand | None:
    operand = _collection(context, node)
    if operand is None:
        return None
    return Operand(replace(size(operand.expr), span=node.span), operand.ghost)


def _count(context: Context, node: syntax.Call) -> Operand | None:
    if len(node.arguments) == 1:
        return _length(context, node)
    first = context.expression(node.arguments[0].value)
    if first is None:
        return None
    if not isinstance(first.type, Seq | Bag):
        message = f"count(q, e) takes a sequence or bag, but this is {describe(first.type)}"
        context.report("F311", node.arguments[0].span, message)
        return None
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


def _indices(context: Context, node: syntax.Call) -> Operand | None:
    operand = _sequence(context, node)
    if operand is None:
        return None
    length = size(operand.expr)
    assert isinstance(length.type, Int)
    above = Int(length.type.low - 1, length.type.high - 1)
    expr = ir.Arithmetic(above, Operator.SUBTRACT, length, number(1), span=node.span)
    last = Operand(settled(expr, length), operand.ghost)
    return arithmetic.interval(context, Operand(number(0, node.span)), last, node.span)


def _first(context: Context, node: syntax.Call) -> Operand | None:
    operand = _sequence(context, node)
    return operand and Operand(end_of(context, operand.expr, True, node.span), operand.ghost)


def _last(context: Context, node: syntax.Call) -> Operand | None:
    operand = _sequence(context, node)
    return operand and Operand(end_of(context, operand.expr, False, node.span), operand.ghost)


def _sum(context: Context, node: syntax.Call) -> Operand | None:
    operand = _collection(context, node)
    if operand is None:
        return None
    whole = as_collection(operand.type)
    element = whole.element
    if not isinstance(element, Int):
        hint = "; [int(x) for x in ...] converts" if isinstance(element, Machine) else ""
        message = f"sum adds integers, but these are {describe(element)}{hint}"
        context.report("F308", node.span, message)
        return None
    count = most(whole)
    kind = in_64_bits(context, count * min(element.low, 0), count * max(element.high, 0), node.span)
    if kind is None:
        return None
    return Operand(settled(ir.Sum(kind, operand.expr, span=node.span), operand.expr), operand.ghost)


def _extreme(greatest: bool) -> Callable[[Context, syntax.Call], Operand | None]:
    def build(context: Context, node: syntax.Call) -> Operand | None:
        if len(node.arguments) == 2:
            return _of_two(context, node, greatest)
        operand = _collection(context, node)
        if operand is None:
            return None
        element = as_collection(operand.type).element
        word = "max" if greatest else "min"
        site = context.site("F905", node.span, f"{word} of an empty collection")
        extreme = ir.Extreme(Option(element), greatest, operand.expr, span=node.span)
        ghost = operand.ghost or comparing(element, node.span)
        return Operand(content(context, settled(extreme, operand.expr), node.span, site), ghost)

    return build


def _of_two(context: Context, node: syntax.Call, greatest: bool) -> Operand | None:
    left, right = pair(context, node.arguments[0].value, node.arguments[1].value)
    if left is None or right is None:
        return None
    both = unified(context, left, right, node.span, "this compares")
    if both is None:
        return None
    kind = both[2]
    if not isinstance(kind, Integer):
        context.report("F308", node.span, f"this compares integers, but this is {describe(kind)}")
        return None
    first, second = both[0].expr, both[1].expr

    def chosen(a: ir.Expr, b: ir.Expr) -> ir.Expr:
        less = ir.Less(b, a) if greatest else ir.Less(a, b)
        return ir.Conditional(kind, less, a, b, span=node.span)

    expr = bound_pair(context, first, second, chosen)
    return Operand(settled(expr, first, second), first_ghost(left, right))


def _subsets(context: Context, node: syntax.Call) -> Operand | None:
    """Elaborates ``subsets(s)``, the set of all values of the type of ``s`` that are subsets of
    ``s``.
    """
    operand = _collection(context, node)
    if operand is None:
        return None
    kind = operand.type
    if not isinstance(kind, Set):
        message = f"subsets takes a set, but this is {describe(kind)}"
        context.report("F311", node.arguments[0].span, message)
        return None
    if not countable(kind, MAX_CAPACITY):
        message = f"{describe(kind)} has more than {MAX_CAPACITY} values, too many to iterate over"
        note = (None, "to test whether x is a subset of s, write x <= s")
        context.report("F710", node.span, message, note)
        return None
    every = ir.Universe(Set(kind), span=node.span)
    if isinstance(operand.expr, ir.Universe):
        return Operand(every, operand.ghost)
    slot = context.work.slot()
    subset_local = ir.Local(kind, slot, span=node.span)
    target = set_type(kind, cardinality(kind))

    def chosen(whole: ir.Expr) -> ir.Expr:
        inside = subset(subset_local, whole, node.span)
        return ir.Collect(target, slot, every, inside, subset_local, span=node.span)

    expr = bound(context, operand.expr, chosen)
    return Operand(settled(expr, operand.expr), operand.ghost)


# ---------------------------------------------------------------- functions of states


def _next(context: Context, node: syntax.Call) -> Operand | None:
    if context.position.place != "step" or context.position.after:
        message = "next(...) is allowed in step invariants only"
        if context.position.after:
            message = "next(...) refers to the next state, so it cannot be nested"
        context.report("F318", node.span, message)
        return None
    return context.at(replace(context.position, after=True)).expression(node.arguments[0].value)


# ---------------------------------------------------------------- conversions


def integer(context: Context, node: syntax.Call) -> Operand | None:
    """Elaborates ``int(e)``, which converts a number to an ``int``."""
    operand = _number(context, node, "int")
    if operand is None or isinstance(operand.type, Int):
        return operand
    assert isinstance(operand.type, Machine)
    value = integer_of(operand.expr)
    if value is not None:
        return Operand(number(value, node.span), operand.ghost)
    target = Int(operand.type.low, operand.type.high)
    return Operand(ir.Convert(target, operand.expr, span=node.span), operand.ghost)


def machine(context: Context, node: syntax.Call, target: Machine) -> Operand | None:
    """Elaborates ``int16(e)`` and similar calls, which convert a number to a machine integer. A
    number that does not fit is an evaluation error.
    """
    operand = _number(context, node, describe(target))
    if operand is None:
        return None
    value = integer_of(operand.expr)
    if value is not None and (target.low <= value <= target.high or not context.given):
        return arithmetic.literal(context, value, node.span, target)
    kind = operand.type
    assert isinstance(kind, Integer)
    if target.low <= kind.low and kind.high <= target.high:
        return Operand(ir.Convert(target, operand.expr, span=node.span), operand.ghost)
    site = context.site("F901", node.span, f"this number does not fit in {describe(target)}")
    return Operand(narrowed(context, operand.expr, target, site, node.span), operand.ghost)


def _number(context: Context, node: syntax.Call, name: str) -> Operand | None:
    if len(node.arguments) != 1:
        wrong_number(context, name, 1, len(node.arguments), node.span)
        return None
    operand = context.inner().expression(node.arguments[0].value)
    if operand is None or isinstance(operand.type, Integer):
        return operand
    hint = "; `!` unwraps an option" if isinstance(operand.type, Option) else ""
    message = f"{name} converts integers, but this is {describe(operand.type)}{hint}"
    context.report("F308", node.span, message)
    return None


_FUNCTIONS: dict[str, Callable[[Context, syntax.Call], Operand | None]] = {
    "len": _length,
    "count": _count,
    "indices": _indices,
    "first": _first,
    "last": _last,
    "sum": _sum,
    "min": _extreme(False),
    "max": _extreme(True),
    "next": _next,
    "enabled": enabled,
    "subsets": _subsets,
}
assert set(_FUNCTIONS) == set(FUNCTION_WORDS)
