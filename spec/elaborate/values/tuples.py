"""Elaborates tuples, which are records without names."""

from __future__ import annotations

from fencepost.spec.core import ir
from fencepost.spec.core.types import Option, Record, Type, tuple_type
from fencepost.spec.elaborate.base.context import Context, first_ghost
from fencepost.spec.elaborate.base.size_checks import bounded
from fencepost.spec.elaborate.base.symbols import Operand
from fencepost.spec.elaborate.types.partiality import settled, widened
from fencepost.spec.elaborate.types.type_expressions import denotes_type
from fencepost.spec.elaborate.values.collections import universe
from fencepost.spec.records import replace
from fencepost.spec.syntax import nodes as syntax


def value(context: Context, node: syntax.Tuple, expected: Type | None) -> Operand | None:
    """Elaborates ``(a, b)``. If all parts are types and no tuple is expected, this is the set of
    all values of the tuple type.
    """
    if isinstance(expected, Option):
        expected = expected.element
    wanted: list[Type | None] = [None] * len(node.parts)
    if isinstance(expected, Record) and expected.is_tuple:
        if len(expected.fields) == len(wanted):
            wanted = [field.type for field in expected.fields]
    elif denotes_type(context, node):
        return universe(context, context.resolve(node), node.span)
    inner = context.inner()
    operands: list[Operand] = []
    for part, kind in zip(node.parts, wanted, strict=True):
        operand = inner.expression(part, kind)
        if operand is None:
            continue
        if isinstance(kind, Option) and not isinstance(operand.type, Option):
            operand = widened(operand, Option(operand.type))
        operands.append(operand)
    if len(operands) < len(node.parts):
        return None
    # The expression of a local or of a call has the span of another place.
    pairs = zip(operands, node.parts, strict=True)
    exprs = tuple(replace(operand.expr, span=part.span) for operand, part in pairs)
    kind = tuple_type([expr.type for expr in exprs])
    if bounded(context, kind, node.span) is None:
        return None
    expr = settled(ir.MakeRecord(kind, exprs, span=node.span), *exprs)
    return Operand(expr, first_ghost(*operands))
