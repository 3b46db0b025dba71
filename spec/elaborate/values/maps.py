"""Map literals, ``[A: 1, B: 2]``: a value for every key, evaluated in the order of the text."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.spec.core import ir
from fencepost.spec.core.size_limits import MAX_KEYS, countable
from fencepost.spec.core.spelling import show
from fencepost.spec.core.types import Map, Option, Type, Value, values
from fencepost.spec.elaborate.base.context import Context, first_ghost
from fencepost.spec.elaborate.base.size_checks import map_type
from fencepost.spec.elaborate.base.symbols import Operand
from fencepost.spec.elaborate.types.partiality import bound, coerced, settled, widened
from fencepost.spec.elaborate.values.collections import common, each
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.problem import listing
from fencepost.spec.text.source import Span

FEW = 4
"""Number of missing keys that a message names."""


def literal_map(context: Context, node: syntax.Map, expected: Type | None) -> Operand | None:
    """Elaborates ``[A: 1, B: 2]``. Its keys are constants; every value of the key type occurs
    once.
    """
    if isinstance(expected, Option):
        expected = expected.element
    expected_map = expected if isinstance(expected, Map) else None
    context.work.limit(len(node.entries), node.span)
    inner = context.inner()
    keys = _keys(inner, node, expected_map and expected_map.key)
    written = tuple(entry.value for entry in node.entries)
    operands = each(inner, written, expected_map and expected_map.value)
    if keys is None or operands is None:
        return None
    value = common(context, operands, written)
    if value is None:
        return None
    if expected_map and isinstance(expected_map.value, Option) and not isinstance(value, Option):
        value = Option(value)
    key = keys[0].type
    target = map_type(context, key, value, node.span)
    if target is None or not _all_there(context, keys, key, node):
        return None
    widened_values = [widened(operand, value) for operand in operands]
    expr = _built(context, target, keys, widened_values, node.span)
    return Operand(expr, first_ghost(*widened_values))


def _keys(context: Context, node: syntax.Map, kind: Type | None) -> list[ir.Literal] | None:
    """The keys as values of one type, each of them once."""
    written = tuple(entry.key for entry in node.entries)
    operands = each(context, written, kind)
    kind = kind or (None if operands is None else common(context, operands, written))
    if operands is None or kind is None:
        return None
    keys: list[ir.Literal] = []
    first: dict[Value, Span] = {}
    for operand, part in zip(operands, written, strict=True):
        key = coerced(context, operand, kind, part.span, "the key")
        if key is None:
            return None
        if not isinstance(key.expr, ir.Literal):
            message = "a key of a map that is written out is a constant"
            note = (None, "the form with any keys is: [e for k in K], where K is a type")
            context.report("F312", part.span, message, note)
            return None
        keys.append(key.expr)
        value = key.expr.value
        if value in first:
            message = f"{show(value, kind)} has a value already"
            context.report("F312", part.span, message, (first[value], "first given here"))
            return None
        first[value] = part.span
    return keys


def _all_there(context: Context, keys: Sequence[ir.Literal], kind: Type, node: syntax.Map) -> bool:
    """Whether every value of the key type is a key. Reports F312 if one is missing."""
    assert countable(kind, MAX_KEYS)
    present = {key.value for key in keys}
    missing = [show(value, kind) for value in values(kind) if value not in present]
    if missing:
        rest = len(missing) - FEW
        named = missing if rest <= 0 else [*missing[:FEW], f"{rest} more"]
        message = f"a map has a value for every key, and this has none for {listing(named, 'and')}"
        context.report("F312", node.span, message)
    return not missing


def _built(
    context: Context, kind: Map, keys: Sequence[ir.Literal], operands: Sequence[Operand], span: Span
) -> ir.Expr:
    """The map. Each value is evaluated once, in the order of the text, before it is assigned to its
    key.
    """
    slot = context.work.slot()
    key_local = ir.Local(kind.key, slot, span=span)

    def build(values: tuple[ir.Expr, ...]) -> ir.Expr:
        if len(values) < len(operands):
            return bound(context, operands[len(values)].expr, lambda value: build((*values, value)))
        chosen = values[-1]
        for key, value in zip(reversed(keys[:-1]), reversed(values[:-1]), strict=True):
            test = ir.Equal(key_local, key, span=span)
            chosen = ir.Conditional(kind.value, test, value, chosen, span=span)
        return settled(ir.BuildMap(kind, slot, chosen, span=span), *values)

    return build(())
