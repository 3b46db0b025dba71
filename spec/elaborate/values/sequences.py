"""Elaborates slices of sequences, ``q[i..j]``, and concatenation, ``q + r``.

Both are built element by element, so engines only need to support access by position.
"""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.spec.core import ir
from fencepost.spec.core.operators import Operator
from fencepost.spec.core.size_limits import MAX_CAPACITY
from fencepost.spec.core.type_relations import join
from fencepost.spec.core.types import Int, Seq, Set, Type, describe
from fencepost.spec.elaborate.base.context import Context, first_ghost
from fencepost.spec.elaborate.base.symbols import Operand
from fencepost.spec.elaborate.types.partiality import (
    bound_all,
    bound_pair,
    converting,
    guarded,
    number,
    settled,
    size,
    widened,
)
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.source import Span


def is_index(context: Context, index: Operand, span: Span) -> bool:
    """Whether a value can be used as the index of a sequence. Reports F301 if it cannot."""
    if isinstance(index.type, Int):
        return True
    hint = converting(index.type)
    if isinstance(index.type, Set):
        hint = "; a part of a sequence is written q[i..j]"
    context.mismatch("F301", span, "an index is an integer", index.type, hint)
    return False


# ---------------------------------------------------------------- slices


def part(
    context: Context, base: Operand, low: syntax.Expr | None, high: syntax.Expr | None, span: Span
) -> Operand | None:
    """Elaborates ``q[i..j]``, the elements at positions i to j. The result is empty if i is greater
    than j.

    Without ``i``, the slice begins at the first element; without ``j``, it ends at the last. A
    position outside the sequence is an evaluation error.
    """
    ends: list[Operand | None] = []
    for node in (low, high):
        end = None if node is None else context.expression(node)
        if node is not None and (end is None or not is_index(context, end, node.span)):
            return None
        ends.append(end)
    first, last = ends

    operands = [operand.expr for operand in (base, first, last) if operand is not None]

    def build(values: Sequence[ir.Expr]) -> ir.Expr:
        i = None if first is None else values[1]
        j = None if last is None else values[-1]
        return _sliced(context, values[0], i, j, span)

    expr = bound_all(context, operands, build)
    return Operand(settled(expr, *operands), first_ghost(base, first, last))


def _sliced(
    context: Context, q: ir.Expr, i: ir.Expr | None, j: ir.Expr | None, span: Span
) -> ir.Expr:
    """Builds the slice of ``q`` from position ``i`` to ``j``. All three expressions are used more
    than once.
    """
    assert isinstance(q.type, Seq)
    element, capacity = q.type.element, q.type.capacity
    slot = context.work.slot()
    position = ir.Local(Int(0, max(capacity - 1, 0)), slot, span=span)
    selected: list[ir.Expr] = []
    inside: list[ir.Expr] = []
    lowest, highest = 0, capacity - 1
    if i is not None:
        lowest = max(_range(i).low, 0)
        selected.append(ir.Less(i, position, or_equal=True, span=span))
        if _range(i).low < 0:
            inside.append(ir.Less(number(0), i, or_equal=True, span=span))
    if j is not None:
        highest = min(_range(j).high, capacity - 1)
        selected.append(ir.Less(position, j, or_equal=True, span=span))
        inside.append(ir.Less(j, size(q), span=span))
    kind = Seq(element, max(highest - lowest + 1, 0))
    slice_expr: ir.Expr = ir.Literal(kind, (), span=span)
    if kind.capacity:
        at = ir.At(element, q, position, span=span)
        positions = _positions(size(q), capacity)
        slice_expr = ir.Collect(kind, slot, positions, _all(selected), at, span=span)
    if not inside:
        return slice_expr
    whole = _all(inside)
    assert whole is not None
    if i is not None and j is not None:
        whole = ir.Or((ir.Less(j, i, span=span), whole), span=span)
    site = context.site("F903", span, "this part is outside the sequence")
    return guarded(whole, site, slice_expr)


def _range(index: ir.Expr) -> Int:
    kind = index.type
    assert isinstance(kind, Int)
    return kind


def _all(parts: list[ir.Expr]) -> ir.Expr | None:
    if len(parts) < 2:
        return parts[0] if parts else None
    return ir.And(tuple(parts), span=parts[0].span)


def _positions(length: ir.Expr, most: int) -> ir.Expr:
    """Returns the set of positions of a sequence that has ``length`` elements, at most ``most``."""
    kind = _range(length)
    last = Int(kind.low - 1, kind.high - 1)
    end = ir.Arithmetic(last, Operator.SUBTRACT, length, number(1), span=length.span)
    return ir.Interval(Set(Int(0, max(most - 1, 0))), number(0), end, span=length.span)


# ---------------------------------------------------------------- concatenation


def joined(context: Context, left: Operand, right: Operand, span: Span) -> Operand | None:
    """Elaborates ``q + r``, the elements of q followed by those of r."""
    assert isinstance(left.type, Seq)
    assert isinstance(right.type, Seq)
    element = join(left.type.element, right.type.element)
    if element is None:
        return context.report(
            "F302",
            span,
            f"+ joins {describe(left.type)} and {describe(right.type)}, which have no element in"
            " common",
        )
    kind = Seq(element, left.type.capacity + right.type.capacity)
    if kind.capacity > MAX_CAPACITY:
        return context.report(
            "F705",
            span,
            f"this can have {kind.capacity} elements, but a collection has at most {MAX_CAPACITY}",
        )
    expr: ir.Expr
    if isinstance(right.expr, ir.Build):
        # If the right operand is a literal, its elements are appended one by one.
        expr = widened(left, kind).expr
        for item in right.expr.elements:
            expr = ir.Add(kind, expr, widened(Operand(item), element).expr, span=span)
    else:
        first = widened(left, Seq(element, left.type.capacity)).expr
        second = widened(right, Seq(element, right.type.capacity)).expr
        expr = bound_pair(context, first, second, lambda q, r: _both(context, q, r, kind, span))
        expr = settled(expr, first, second)
    return Operand(expr, first_ghost(left, right))


def _both(context: Context, q: ir.Expr, r: ir.Expr, kind: Seq, span: Span) -> ir.Expr:
    """Builds the concatenation of two sequences. Both expressions are used more than once."""
    if not kind.capacity:
        return ir.Literal(kind, (), span=span)
    element: Type = kind.element
    first, second = size(q), size(r)
    total = Int(_range(first).low + _range(second).low, _range(first).high + _range(second).high)
    length = ir.Arithmetic(total, Operator.ADD, first, second, span=span)
    slot = context.work.slot()
    position = ir.Local(Int(0, kind.capacity - 1), slot, span=span)
    offset_type = Int(-_range(first).high, kind.capacity - 1 - _range(first).low)
    offset = ir.Arithmetic(offset_type, Operator.SUBTRACT, position, first, span=span)
    item = ir.Conditional(
        element,
        ir.Less(position, first, span=span),
        ir.At(element, q, position, span=span),
        ir.At(element, r, offset, span=span),
        span=span,
    )
    return ir.Collect(kind, slot, _positions(length, kind.capacity), None, item, span=span)
