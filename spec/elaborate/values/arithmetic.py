"""Elaborates integer literals, arithmetic, conversions, ranges used as sets, and operators on sets.

The range of every result is known, so every overflow of 64 bits is detected.
"""

from __future__ import annotations

from fencepost.spec.core import ir
from fencepost.spec.core.operators import Operator, result_range
from fencepost.spec.core.size_limits import MAX_CAPACITY, most
from fencepost.spec.core.type_relations import join, set_type
from fencepost.spec.core.types import (
    Int,
    Integer,
    Machine,
    Option,
    Seq,
    Set,
    Type,
    describe,
    has_ghost,
)
from fencepost.spec.elaborate.base import other_languages
from fencepost.spec.elaborate.base.context import Context, first_ghost
from fencepost.spec.elaborate.base.symbols import Ghost, Operand
from fencepost.spec.elaborate.types.arguments import wrong_number
from fencepost.spec.elaborate.types.partiality import (
    converting,
    in_64_bits,
    integer_of,
    narrowed,
    number,
    quotient,
    settled,
    unified,
    widened,
)
from fencepost.spec.elaborate.values.sequences import joined
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.source import Span

_SET_OPERATORS = {operator.value: operator for operator in ir.SetOperator}


_TAKEN = {
    "+": "integers or two sequences", "-": "integers or sets", "|": "sets", "&": "sets",
}  # fmt: skip


def literal(context: Context, value: int, span: Span, expected: Type | None) -> Operand | None:
    """Elaborates an integer literal. It takes on an expected machine integer type."""
    if isinstance(expected, Option):
        expected = expected.element
    if isinstance(expected, Machine):
        if not expected.low <= value <= expected.high:
            return context.report(
                "F701",
                span,
                f"{describe(expected)} holds {expected.low}..{expected.high}, but this is {value}",
            )
        return Operand(ir.Literal(expected, value, span=span))
    kind = in_64_bits(context, value, value, span)
    return None if kind is None else Operand(number(value, span))


def negated(context: Context, operand: Operand, span: Span) -> Operand | None:
    """Elaborates ``-e``."""
    value = integer_of(operand.expr)
    match operand.type:
        case Int(low, high):
            if value is not None:
                low = high = value
            kind = in_64_bits(context, -high, -low, span)
            if kind is None:
                return None
            expr: ir.Expr = ir.Negate(kind, operand.expr, span=span)
        case Machine() as kind:
            expr = ir.Negate(kind, operand.expr, span=span)
        case other:
            return context.mismatch("F308", span, "- takes an integer", other)
    return Operand(settled(expr, operand.expr), operand.ghost)


def combined(
    context: Context, operator: str, left: Operand, right: Operand, span: Span
) -> Operand | None:
    """Elaborates ``left operator right`` for + - * // % | & over integers or sets, and for + over
    sequences.
    """
    if isinstance(left.type, Set) and isinstance(right.type, Set) and operator in _SET_OPERATORS:
        return _sets(context, operator, left, right, span)
    if isinstance(left.type, Seq) and isinstance(right.type, Seq) and operator == "+":
        return joined(context, left, right, span)
    wrong = _no_operand(operator, left.type, right.type)
    if wrong is not None:
        accepted = _TAKEN.get(operator, "integers")
        joining = operator == "+" and isinstance(left.type, Seq)
        hint = other_languages.operator(operator, left.type if joining else wrong)
        if isinstance(wrong, Option):
            hint = ""
        elif not hint and operator in _SET_OPERATORS and _element(left.type, right.type):
            hint = "; the set of one element is {e}"
        return context.mismatch("F308", span, f"{operator} takes two {accepted}", wrong, hint)
    both = unified(context, left, right, span, "this combines")
    if both is None:
        return None
    kind = both[2]
    if isinstance(kind, Int):
        left, right = _tight(left), _tight(right)
        assert isinstance(left.type, Int)
        assert isinstance(right.type, Int)
        first, second = ((side.low, side.high) for side in (left.type, right.type))
        low, high = result_range(Operator(operator), first, second)
        result = in_64_bits(context, low, high, span)
        if result is None:
            return None
        kind = result
    meaning = Operator(operator)
    if meaning.row.divides:
        return quotient(context, meaning, left, right, kind, span)
    expr = ir.Arithmetic(kind, meaning, left.expr, right.expr, span=span)
    return Operand(settled(expr, left.expr, right.expr), first_ghost(left, right))


def _no_operand(operator: str, left: Type, right: Type) -> Type | None:
    """Returns the type of the first operand that the operator does not accept, or None."""
    sets = operator in "|&" or (operator in _SET_OPERATORS and isinstance(left, Set))
    sequences = operator == "+" and isinstance(left, Seq)
    accepted = Set if sets else Seq if sequences else Integer
    return next((kind for kind in (left, right) if not isinstance(kind, accepted)), None)


def _element(left: Type, right: Type) -> bool:
    """Whether one of two types is a set whose element type is the other."""
    sides = ((left, right), (right, left))
    return any(isinstance(a, Set) and join(a.element, b) is not None for a, b in sides)


def _tight(operand: Operand) -> Operand:
    """Gives the operand the tightest type if it is a literal."""
    value = integer_of(operand.expr)
    return operand if value is None else Operand(number(value, operand.expr.span), operand.ghost)


def _sets(
    context: Context, operator: str, left: Operand, right: Operand, span: Span
) -> Operand | None:
    assert isinstance(left.type, Set)
    assert isinstance(right.type, Set)
    both = join(left.type, right.type)
    if both is None:
        return context.report(
            "F302",
            span,
            f"{operator} combines {describe(left.type)} and {describe(right.type)}, which have no"
            " element in common",
        )
    assert isinstance(both, Set)
    element = both.element
    sizes = most(left.type), most(right.type)
    size = {"|": sum(sizes), "&": min(sizes), "-": sizes[0]}[operator]
    kind = set_type(element, size)
    if kind.capacity is not None and kind.capacity > MAX_CAPACITY:
        return context.report(
            "F705", span, f"this set can have {size} elements, more than {MAX_CAPACITY}"
        )
    ghost = first_ghost(left, right)
    if has_ghost(element):
        ghost = Ghost(span, f"a set depends on the ghost fields of {describe(element)}")
    first = widened(left, set_type(element, sizes[0])).expr
    second = widened(right, set_type(element, sizes[1])).expr
    expr = ir.SetAlgebra(kind, _SET_OPERATORS[operator], first, second, span=span)
    return Operand(settled(expr, first, second), ghost)


def interval(context: Context, low: Operand, high: Operand, span: Span) -> Operand | None:
    """Elaborates ``low..high`` as a set."""
    for operand in (low, high):
        if not isinstance(operand.type, Int):
            where, kind = operand.expr.span or span, operand.type
            rule = "an integer is required here"
            return context.mismatch("F301", where, rule, kind, converting(kind))
    low, high = _tight(low), _tight(high)
    assert isinstance(low.type, Int)
    assert isinstance(high.type, Int)
    minimum, maximum = low.type.low, high.type.high
    if isinstance(low.expr, ir.Literal) and isinstance(high.expr, ir.Literal):
        if minimum > maximum:
            return Operand(ir.Literal(Set(low.type), (), span=span))
        return Operand(ir.Universe(Set(Int(minimum, maximum)), span=span))
    kind = Set(Int(min(minimum, maximum), max(minimum, maximum)))
    return Operand(ir.Interval(kind, low.expr, high.expr, span=span), first_ghost(low, high))


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
        return literal(context, value, node.span, target)
    kind = operand.type
    assert isinstance(kind, Integer)
    if target.low <= kind.low and kind.high <= target.high:
        return Operand(ir.Convert(target, operand.expr, span=node.span), operand.ghost)
    site = context.site("F901", node.span, f"this number does not fit in {describe(target)}")
    return Operand(
        narrowed(context, operand.expr, target, [(target, site)], node.span), operand.ghost
    )


def _number(context: Context, node: syntax.Call, name: str) -> Operand | None:
    if len(node.arguments) != 1:
        return wrong_number(context, name, 1, len(node.arguments), node.span)
    operand = context.inner().expression(node.arguments[0].value)
    if operand is None or isinstance(operand.type, Integer):
        return operand
    return context.mismatch("F308", node.span, f"{name} converts integers", operand.type)
