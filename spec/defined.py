"""Where an operation is partial, and how its definedness becomes an explicit condition.

Every function here builds core in which nothing can be undefined: the operation stands behind
a `Demand` of the condition under which it means something. It also holds the relations between
types on which this rests: which values one type shares with another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from fencepost.spec import ir
from fencepost.spec.elaboration import Context, first_ghost
from fencepost.spec.entities import Operand
from fencepost.spec.problem import Note
from fencepost.spec.source import Span
from fencepost.spec.types import (
    INT64_HIGH,
    INT64_LOW,
    Bag,
    Bool,
    Enum,
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
    describe,
)

MOST_ITERATED = 1 << 20
"""A type with more values than this cannot be iterated or chosen from."""


# ---------------------------------------------------------------- relations between types


def join(left: Type, right: Type) -> Type | None:
    """The least type that holds the values of both, or None where they have nothing in common."""
    if left == right:
        return left
    match left, right:
        case Int(a, b), Int(c, d):
            return Int(min(a, c), max(b, d))
        case Option(a), Option(b):
            inner = join(a, b)
            return None if inner is None else Option(inner)
        case (Option(a), b) | (b, Option(a)):
            inner = join(a, b)
            return None if inner is None else Option(inner)
        case Set(a, m), Set(b, n):
            inner = join(a, b)
            size = None if m is None or n is None else max(m, n)
            return None if inner is None else Set(inner, size)
        case Seq(a, m), Seq(b, n):
            inner = join(a, b)
            return None if inner is None else Seq(inner, max(m, n))
        case Bag(a, m), Bag(b, n):
            inner = join(a, b)
            return None if inner is None else Bag(inner, max(m, n))
        case Map(k, a), Map(j, b) if k == j:
            inner = join(a, b)
            return None if inner is None else Map(k, inner)
        case _:
            return None


def within(inner: Type, outer: Type) -> bool:
    """Whether every value of ``inner`` is one of ``outer``, which has the same shape."""
    if inner == outer:
        return True
    match inner, outer:
        case Int(a, b), Int(c, d):
            return a > b or (c <= a and b <= d)
        case Option(a), Option(b):
            return within(a, b)
        case Set(a, m), Set(b, n):
            most = cardinality(a) if m is None else m
            return within(a, b) and (n is None or most <= n)
        case (Seq(a, m), Seq(b, n)) | (Bag(a, m), Bag(b, n)):
            return m <= n and within(a, b)
        case Map(k, a), Map(j, b):
            return k == j and within(a, b)
        case _:
            return False


def same_shape(left: Type, right: Type) -> bool:
    """Whether the types differ in ranges and capacities only."""
    match left, right:
        case Int(), Int():
            return True
        case (Option(a), Option(b)) | (Set(a), Set(b)) | (Seq(a), Seq(b)) | (Bag(a), Bag(b)):
            return same_shape(a, b)
        case Map(k, a), Map(j, b):
            return k == j and same_shape(a, b)
        case _:
            return left == right


def least(kind: Type) -> Value:
    """The least value of a type that has one (a placeholder before a map's first assignment)."""
    match kind:
        case Bool():
            return False
        case Int(low=low) | Machine(low=low):
            return low
        case Enum():
            return 0
        case Record(fields=fields):
            return tuple(least(field.type) for field in fields)
        case Union(variants=variants):
            return (0, *(least(field.type) for field in variants[0].fields))
        case Option() | Set() | Seq() | Bag():
            return ()
        case Map(key, value):
            return (least(value),) * cardinality(key)
        case _:
            assert_never(kind)


# ---------------------------------------------------------------- binding


def is_simple(expr: ir.Expr) -> bool:
    """Whether an expression may be written twice at no cost."""
    return isinstance(expr, ir.Literal | ir.Local | ir.Variable)


def bound(context: Context, expr: ir.Expr, build: Callable[[ir.Expr], ir.Expr]) -> ir.Expr:
    """``build`` of ``expr``, which may use it any number of times: it is evaluated once."""
    if is_simple(expr):
        return build(expr)
    slot = context.work.slot()
    body = build(ir.Local(expr.type, slot, span=expr.span))
    return ir.Let(body.type, slot, expr, body, span=body.span)


# ---------------------------------------------------------------- values of another type


def coerced(
    context: Context,
    operand: Operand | None,
    target: Type,
    span: Span,
    holder: str = "",
    *notes: Note,
) -> Operand | None:
    """``operand`` as a value of ``target``.

    A value outside the target's range or capacity is an evaluation error where it can happen;
    another kind of type is a static one (F301), and so is a literal out of range (F701).
    ``holder`` is what the value is for ("hour"), in messages.
    """
    if operand is None:
        return None
    expr = operand.expr
    if isinstance(target, Option) and not isinstance(expr.type, Option):
        inner = coerced(context, operand, target.element, span, holder, *notes)
        if inner is None:
            return None
        return Operand(ir.Some(target, inner.expr, span=span), inner.ghost)
    if expr.type == target:
        return operand
    holds = f"{holder} holds {describe(target)}" if holder else f"{describe(target)} is wanted here"
    if not same_shape(expr.type, target):
        hint = ""
        if isinstance(expr.type, Option) and same_shape(expr.type.element, target):
            hint = "; `!` unwraps an option"
        elif {type(expr.type), type(target)} == {Int, Machine}:
            name = describe(target) if isinstance(target, Machine) else "int"
            hint = f"; {name}(...) converts"
        context.report("F301", span, f"{holds}, and this is {describe(expr.type)}{hint}", *notes)
        return None
    if isinstance(expr, ir.Literal) and isinstance(target, Int):
        value = expr.value
        if isinstance(value, int) and not target.low <= value <= target.high:
            context.report("F701", span, f"{holds}, and this is {value}", *notes)
            return None
        return Operand(ir.Literal(target, value, span=span), operand.ghost)
    return Operand(fitted(context, expr, target, span, holds), operand.ghost)


def fitted(context: Context, expr: ir.Expr, target: Type, span: Span, holds: str) -> ir.Expr:
    """``expr`` (of the same shape) as a value of ``target``, checked where it may not fit."""
    if within(expr.type, target):
        return ir.Convert(target, expr, span=span)
    code = "F901" if isinstance(target, Int) else "F902"
    site = context.site(code, span, f"{holds}, and this value does not fit")
    return bound(
        context,
        expr,
        lambda value: ir.Demand(
            target, ir.Fits(value, target), site, ir.Convert(target, value, span=span), span=span
        ),
    )


def unified(
    context: Context, left: Operand, right: Operand, span: Span, what: str
) -> tuple[Operand, Operand, Type] | None:
    """Both operands as values of their common type; F302 when there is none."""
    target = join(left.type, right.type)
    if target is None:
        context.report(
            "F302",
            span,
            f"{what} {describe(left.type)} and {describe(right.type)}, which have no value in"
            f" common{_mixing(left.type, right.type)}",
        )
        return None
    return widened(left, target), widened(right, target), target


def _mixing(left: Type, right: Type) -> str:
    if {type(left), type(right)} == {Int, Machine}:
        machine = left if isinstance(left, Machine) else right
        return f"; {describe(machine)}(...) or int(...) converts"
    return ""


def widened(operand: Operand, target: Type) -> Operand:
    """``operand`` as a value of a type that holds all of its own type's values."""
    expr = operand.expr
    if expr.type == target:
        return operand
    if isinstance(target, Option) and not isinstance(expr.type, Option):
        inner = widened(operand, target.element)
        return Operand(ir.Some(target, inner.expr, span=expr.span), operand.ghost)
    if isinstance(expr, ir.Literal):
        return Operand(ir.Literal(target, expr.value, span=expr.span), operand.ghost)
    return Operand(ir.Convert(target, expr, span=expr.span), operand.ghost)


# ---------------------------------------------------------------- partial operations


def _number(value: int) -> ir.Literal:
    return ir.Literal(Int(value, value), value)


def size(collection: ir.Expr) -> ir.Expr:
    """How many elements a collection has, with its range as the type."""
    match collection.type:
        case Set(element, None):
            most = cardinality(element)
        case Set(_, capacity) | Seq(_, capacity) | Bag(_, capacity):
            assert capacity is not None
            most = capacity
        case other:
            raise AssertionError(other)
    return ir.Size(Int(0, min(most, INT64_HIGH)), collection, span=collection.span)


def in_bounds(sequence: ir.Expr, index: ir.Expr) -> ir.Expr:
    """Whether ``index`` is a position of ``sequence``; both are used more than once."""
    tests: list[ir.Expr] = [ir.Less(index, size(sequence))]
    if not (isinstance(index.type, Int) and index.type.low >= 0):
        tests.insert(0, ir.Less(_number(0), index, or_equal=True))
    return tests[0] if len(tests) == 1 else ir.And(tuple(tests))


def element_at(context: Context, sequence: ir.Expr, index: ir.Expr, span: Span) -> ir.Expr:
    """``sequence[index]``; an index outside is an evaluation error."""
    assert isinstance(sequence.type, Seq)
    element = sequence.type.element
    site = context.site("F903", span, "the index lies outside the sequence")
    return bound(
        context,
        sequence,
        lambda s: bound(
            context,
            index,
            lambda i: ir.Demand(
                element, in_bounds(s, i), site, ir.At(element, s, i, span=span), span=span
            ),
        ),
    )


def end_of(context: Context, sequence: ir.Expr, first: bool, span: Span) -> ir.Expr:
    """``first(q)`` or ``last(q)``; an empty sequence is an evaluation error."""
    assert isinstance(sequence.type, Seq)
    element = sequence.type.element
    site = context.site("F903", span, "the sequence is empty")

    def build(s: ir.Expr) -> ir.Expr:
        length = size(s)
        assert isinstance(length.type, Int)
        index: ir.Expr = _number(0)
        if not first:
            kind = Int(-1, length.type.high - 1)
            index = ir.Arithmetic(kind, ir.Operator.SUBTRACT, length, _number(1))
        nonempty = ir.Less(_number(0), length)
        return ir.Demand(element, nonempty, site, ir.At(element, s, index, span=span), span=span)

    return bound(context, sequence, build)


def content(context: Context, option: ir.Expr, span: Span, site: int) -> ir.Expr:
    """What is in ``option``; none is the evaluation error ``site``."""
    assert isinstance(option.type, Option)
    element = option.type.element
    return bound(
        context,
        option,
        lambda o: ir.Demand(
            element, ir.IsSome(o), site, ir.Content(element, o, span=span), span=span
        ),
    )


def quotient(
    context: Context, operator: ir.Operator, left: Operand, right: Operand, kind: Type, span: Span
) -> Operand:
    """``left // right`` or ``left % right``; a zero divisor is an evaluation error."""
    ghost = first_ghost(left, right)
    divisor = right.expr.type
    zero = ir.Literal(divisor, 0)
    if isinstance(divisor, Int) and (divisor.low > 0 or divisor.high < 0):
        return Operand(ir.Arithmetic(kind, operator, left.expr, right.expr, span=span), ghost)
    site = context.site("F904", span, "the divisor is zero")
    expr = bound(
        context,
        left.expr,
        lambda a: bound(
            context,
            right.expr,
            lambda b: ir.Demand(
                kind,
                ir.Not(ir.Equal(b, zero)),
                site,
                ir.Arithmetic(kind, operator, a, b, span=span),
                span=span,
            ),
        ),
    )
    return Operand(expr, ghost)


def in_64_bits(context: Context, low: int, high: int, span: Span) -> Int | None:
    """``low..high`` as a type; F702 where it leaves 64 bits."""
    if low < INT64_LOW or high > INT64_HIGH:
        context.report(
            "F702", span, f"this could lie anywhere in {low}..{high}, which leaves 64 bits"
        )
        return None
    return Int(low, high)
