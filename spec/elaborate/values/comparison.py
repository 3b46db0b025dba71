"""Elaborates comparisons such as ``==``, ``<``, ``in`` and ``is``."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.spec.core import ir
from fencepost.spec.core.type_relations import (
    component_pairs,
    element_of,
    join,
    same_shape,
    set_type,
    within,
)
from fencepost.spec.core.types import Integer, Option, Set, Type, Union, describe
from fencepost.spec.elaborate.base.context import Context, first_ghost
from fencepost.spec.elaborate.base.ghosts import comparing
from fencepost.spec.elaborate.base.symbols import Operand
from fencepost.spec.elaborate.types.bidirectional import alike, open_ended, pair
from fencepost.spec.elaborate.types.members import member_of
from fencepost.spec.elaborate.types.narrowing import reading
from fencepost.spec.elaborate.types.partiality import (
    bound,
    bound_all,
    bound_pair,
    settled,
    unified,
    widened,
)
from fencepost.spec.elaborate.values.collections import elements, no_collection
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.source import Span

FEW = 8
"""A test for membership in a literal set of at most this many values becomes a disjunction of
equalities, which is faster to evaluate.
"""


def _negated(expr: ir.Expr, negated: bool) -> ir.Expr:
    return settled(ir.Not(expr, span=expr.span), expr) if negated else expr


def equality(context: Context, node: syntax.Binary) -> Operand | None:
    """Elaborates ``a == b`` and ``a != b``."""
    both = alike(context, node.left, node.right, node.span, "this compares")
    if both is None:
        return None
    negated = node.operator == "!="
    for side, other in ((node.left, both[1]), (node.right, both[0])):
        if isinstance(side, syntax.Nothing):
            # A comparison with none does not read the content of the option, so its ghosts do not
            # matter.
            some = ir.IsSome(other.expr, span=node.span)
            return Operand(_negated(settled(some, other.expr), not negated), other.ghost)
    ghost = first_ghost(*both[:2]) or comparing(both[2], node.span)
    expr = ir.Equal(both[0].expr, both[1].expr, span=node.span)
    return Operand(_negated(settled(expr, both[0].expr, both[1].expr), negated), ghost)


def order(context: Context, node: syntax.Binary) -> Operand | None:
    """Elaborates ``<``, ``<=``, ``>`` and ``>=`` for two integers, or for two sets as the subset
    relation.
    """
    left, right = pair(context, node.left, node.right)
    if left is None or right is None:
        return None
    for operand, side in ((left, node.left), (right, node.right)):
        if not isinstance(operand.type, Integer | Set):
            rule = f"{node.operator} compares two integers or two sets"
            return context.mismatch("F308", side.span, rule, operand.type)
    both = unified(context, left, right, node.span, "this compares")
    if both is None:
        return None
    small, large = both[0].expr, both[1].expr
    if isinstance(both[2], Set):
        ghost = first_ghost(left, right) or comparing(both[2], node.span)
        return Operand(_sets(context, node.operator, small, large, node.span), ghost)
    # ``a > b`` is built as ``not a <= b``. This keeps the order of evaluation, which determines the
    # error that occurs first.
    swapped = node.operator in (">", ">=")
    less = ir.Less(small, large, or_equal=node.operator in ("<=", ">"), span=node.span)
    return Operand(_negated(settled(less, small, large), swapped), first_ghost(left, right))


def _sets(context: Context, sign: str, left: ir.Expr, right: ir.Expr, span: Span) -> ir.Expr:
    """Elaborates ``left sign right`` for two sets of the same type."""

    def compared(a: ir.Expr, b: ir.Expr) -> ir.Expr:
        inside = subset(b, a, span) if sign in (">", ">=") else subset(a, b, span)
        if sign in ("<=", ">="):
            return inside
        return ir.And((ir.Not(ir.Equal(a, b, span=span), span=span), inside), span=span)

    if sign == "<=":
        return settled(compared(left, right), left, right)
    return settled(bound_pair(context, left, right, compared), left, right)


def subset(small: ir.Expr, large: ir.Expr, span: Span) -> ir.Expr:
    """Builds the condition that ``small`` is a subset of ``large``, a set of the same type."""
    kind = small.type
    rest = ir.SetAlgebra(kind, ir.SetOperator.DIFFERENCE, small, large, span=span)
    return ir.Equal(rest, ir.Literal(kind, (), span=span), span=span)


# ---------------------------------------------------------------- membership


def membership(context: Context, node: syntax.Binary) -> Operand | None:
    """Elaborates ``e in S`` and ``e not in S``."""
    element: Operand | None
    if isinstance(node.right, syntax.Collection) or open_ended(context, node.right):
        element = context.expression(node.left)
        expected = None if element is None else set_type(element.type, 0)
        collection = elements(context, node.right, expected)
    else:
        collection = elements(context, node.right)
        inner = element_of(collection.type) if collection else None
        element = context.expression(node.left, inner)
    if element is None or collection is None:
        return None
    inner = element_of(collection.type)
    if inner is None:
        return no_collection(context, node.right.span, collection.type)
    if join(element.type, inner) is None:
        return context.report(
            "F302",
            node.span,
            f"this looks for {describe(element.type)} among values of {describe(inner)}",
        )
    ghost = first_ghost(element, collection) or comparing(inner, node.span)
    expr = contains(context, element.expr, collection.expr, node.span)
    return Operand(_negated(expr, node.operator == "not in"), ghost)


def contains(context: Context, element: ir.Expr, collection: ir.Expr, span: Span) -> ir.Expr:
    """Builds the condition that ``element`` is in ``collection``. The type of ``element`` and the
    element type of ``collection`` must have a common type.
    """
    inner = element_of(collection.type)
    assert inner is not None
    if isinstance(element.type, Option) and not isinstance(inner, Option):
        # None is not an element of a collection of plain values.
        kind = element.type.element

        def build(option: ir.Expr) -> ir.Expr:
            inside = contains(context, ir.Content(kind, option, span=span), collection, span)
            return ir.And((ir.IsSome(option, span=span), inside), span=span)

        return bound(context, element, build)
    if isinstance(inner, Option) and not isinstance(element.type, Option):
        element = widened(Operand(element), Option(element.type)).expr
    if isinstance(collection, ir.Universe) and same_shape(element.type, inner):
        return settled(ir.Fits(element, inner, span=span), element)
    if isinstance(collection, ir.Subsets):
        whole = collection.collection
        both = join(element.type, whole.type)
        assert both is not None

        def inside(values: Sequence[ir.Expr]) -> ir.Expr:
            small, large = (widened(Operand(value), both).expr for value in values)
            return subset(small, large, span)

        return bound_all(context, (element, whole), inside)
    if isinstance(collection, ir.Interval):
        return _between(context, element, collection, span)
    if isinstance(collection, ir.Literal) and not isinstance(element, ir.Literal):
        assert isinstance(collection.value, tuple)
        values = [ir.Literal(inner, value, span=span) for value in collection.value]
        if 0 < len(values) <= FEW:
            return _one_of(context, element, values, span)
    if element.type != inner and component_pairs(element.type, inner):
        return bound_pair(
            context, collection, element, lambda s, e: _converted_inside(s, e, inner, span)
        )
    return settled(ir.Contains(collection, element, span=span), collection, element)


def _converted_inside(collection: ir.Expr, element: ir.Expr, inner: Type, span: Span) -> ir.Expr:
    """Builds the condition that ``element`` is a value of the type ``inner`` and occurs in a
    collection of such values. This is faster than comparing it with every element.
    """
    converted = ir.Convert(inner, element, span=span)
    inside = settled(ir.Contains(collection, converted, span=span), collection, element)
    if within(element.type, inner):
        return inside
    fits = settled(ir.Fits(element, inner, span=span), element)
    if isinstance(fits, ir.Literal):
        return inside if fits.value else fits
    return ir.And((fits, inside), span=span)


def _between(context: Context, element: ir.Expr, ends: ir.Interval, span: Span) -> ir.Expr:
    def tests(values: Sequence[ir.Expr]) -> ir.Expr:
        e, low, high = values
        above = ir.Less(low, e, or_equal=True, span=span)
        return ir.And((above, ir.Less(e, high, or_equal=True, span=span)), span=span)

    # Both ends are evaluated before any comparison, as they would be if the set were built.
    return bound_all(context, (element, ends.low, ends.high), tests)


def _one_of(context: Context, element: ir.Expr, values: list[ir.Literal], span: Span) -> ir.Expr:
    target = join(element.type, values[0].type)
    assert target is not None

    def tests(e: ir.Expr) -> ir.Expr:
        equal = tuple(
            ir.Equal(e, widened(Operand(value), target).expr, span=span) for value in values
        )
        return equal[0] if len(equal) == 1 else ir.Or(equal, span=span)

    return bound(context, widened(Operand(element), target).expr, tests)


def is_test(context: Context, node: syntax.Is) -> Operand | None:
    """Elaborates ``m is Marker``."""
    operand = context.expression(node.operand)
    if operand is None:
        return None
    tag = member_of(context, node.member, operand.type)
    if tag is None:
        context.work.misnamed.add(reading(operand.expr))
        return None
    expr: ir.Expr
    if isinstance(operand.type, Union):
        expr = ir.HasTag(operand.expr, tag, span=node.span)
    else:
        expr = ir.Equal(operand.expr, ir.Literal(operand.type, tag), span=node.span)
    return Operand(_negated(settled(expr, operand.expr), node.negated), operand.ghost)
