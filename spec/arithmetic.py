"""Arithmetic and set operators: the range of each result, so that nothing leaves 64 bits unseen."""

from __future__ import annotations

from itertools import product

from fencepost.spec import ir
from fencepost.spec.defined import in_64_bits, join, quotient, unified, widened
from fencepost.spec.elaboration import Context, first_ghost
from fencepost.spec.entities import Ghost, Operand
from fencepost.spec.resolve import MOST_CAPACITY, countable
from fencepost.spec.source import Span
from fencepost.spec.types import SMALL_SET, Int, Machine, Set, cardinality, describe, has_ghost

_OPERATORS = {operator.value: operator for operator in ir.Operator}
_SET_OPERATORS = {operator.value: operator for operator in ir.SetOperator}


def negated(context: Context, operand: Operand, span: Span) -> Operand | None:
    """``-e``."""
    match operand.type:
        case Int(low, high):
            kind = in_64_bits(context, -high, -low, span)
            if kind is None:
                return None
            if isinstance(operand.expr, ir.Literal) and isinstance(operand.expr.value, int):
                return Operand(ir.Literal(kind, -operand.expr.value, span=span), operand.ghost)
            return Operand(ir.Negate(kind, operand.expr, span=span), operand.ghost)
        case Machine() as kind:
            return Operand(ir.Negate(kind, operand.expr, span=span), operand.ghost)
        case other:
            context.report("F308", span, f"- takes an integer, and this is {describe(other)}")
            return None


def combined(
    context: Context, operator: str, left: Operand, right: Operand, span: Span
) -> Operand | None:
    """``left operator right`` for + - * // % | & over integers or sets."""
    if isinstance(left.type, Set) and isinstance(right.type, Set) and operator in _SET_OPERATORS:
        return _sets(context, operator, left, right, span)
    for operand in (left, right):
        numbers = isinstance(operand.type, Int | Machine)
        if operator in "|&" or not numbers:
            wanted = "sets" if operator in "|&" else "integers"
            if operator == "-":
                wanted = "integers or sets"
            context.report(
                "F308", span, f"{operator} takes two {wanted}, and here is {describe(operand.type)}"
            )
            return None
    both = unified(context, left, right, span, "this combines")
    if both is None:
        return None
    kind = both[2]
    if isinstance(kind, Machine):
        if operator in ("//", "%"):
            return quotient(context, _OPERATORS[operator], left, right, kind, span)
        expr = ir.Arithmetic(kind, _OPERATORS[operator], left.expr, right.expr, span=span)
        return Operand(expr, first_ghost(left, right))
    assert isinstance(left.type, Int)
    assert isinstance(right.type, Int)
    low, high = result_range(operator, left.type, right.type)
    result = in_64_bits(context, low, high, span)
    if result is None:
        return None
    if operator in ("//", "%"):
        return quotient(context, _OPERATORS[operator], left, right, result, span)
    if isinstance(left.expr, ir.Literal) and isinstance(right.expr, ir.Literal):
        return Operand(ir.Literal(result, low, span=span), first_ghost(left, right))
    expr = ir.Arithmetic(result, _OPERATORS[operator], left.expr, right.expr, span=span)
    return Operand(expr, first_ghost(left, right))


def result_range(operator: str, left: Int, right: Int) -> tuple[int, int]:
    """The least and greatest result of ``left operator right``; a zero divisor yields none."""
    match operator:
        case "+":
            return left.low + right.low, left.high + right.high
        case "-":
            return left.low - right.high, left.high - right.low
        case "*":
            corners = [a * b for a, b in product((left.low, left.high), (right.low, right.high))]
            return min(corners), max(corners)
        case "//":
            ends = {right.low, right.high} | ({-1, 1} & set(range(max(right.low, -1), 2)))
            divisors = [d for d in ends if d != 0 and right.low <= d <= right.high]
            corners = [a // b for a, b in product((left.low, left.high), divisors)]
            return (min(corners), max(corners)) if corners else (0, 0)
        case "%":
            # The remainder has the sign of the divisor and is smaller.
            high = max(right.high - 1, 0)
            if left.low >= 0 and right.low > 0:
                high = min(high, left.high)
            return min(right.low + 1, 0), high
        case _:
            raise AssertionError(operator)


def _sets(
    context: Context, operator: str, left: Operand, right: Operand, span: Span
) -> Operand | None:
    assert isinstance(left.type, Set)
    assert isinstance(right.type, Set)
    element = join(left.type.element, right.type.element)
    if element is None:
        context.report(
            "F302",
            span,
            f"{operator} combines {describe(left.type)} and {describe(right.type)}, which have no"
            " element in common",
        )
        return None
    most = [
        cardinality(kind.element) if kind.capacity is None else kind.capacity
        for kind in (left.type, right.type)
    ]
    size = {"|": sum(most), "&": min(most), "-": most[0]}[operator]
    if not countable(element, SMALL_SET) and size > MOST_CAPACITY:
        context.report(
            "F705", span, f"this set can have {size} elements, more than {MOST_CAPACITY}"
        )
        return None
    kind = Set(element, None if countable(element, SMALL_SET) else size)
    ghost = first_ghost(left, right)
    if has_ghost(element):
        ghost = Ghost(span, f"a set depends on the ghost fields of {describe(element)}")
    sides = [
        widened(side, Set(element, side.type.capacity))
        for side in (left, right)  # type: ignore[union-attr]  # both are sets
    ]
    expr = ir.SetAlgebra(kind, _SET_OPERATORS[operator], sides[0].expr, sides[1].expr, span=span)
    return Operand(expr, ghost)
