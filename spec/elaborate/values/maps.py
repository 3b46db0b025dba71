"""Maps written out, ``[A: 1, B: 2]``: a value for every key, found in the order written."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.spec.core import ir
from fencepost.spec.core.size_limits import MOST_KEYS, countable
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
"""The number of left-out keys that a message names."""


def literal_map(context: Context, node: syntax.Map, expected: Type | None) -> Operand | None:
    """``[A: 1, B: 2]``: its keys are constants, every value of the key type once."""
    if isinstance(expected, Option):
        expected = expected.element
    wanted = expected if isinstance(expected, Map) else None
    context.work.limit(len(node.entries), node.span)
    inner = context.inner()
    keys = _keys(inner, node, wanted and wanted.key)
    written = tuple(entry.value for entry in node.entries)
    found = each(inner, written, wanted and wanted.value)
    if keys is None or found is None:
        return None
    value = common(context, found, written)
    if value is None:
        return None
    if wanted and isinstance(wanted.value, Option) and not isinstance(value, Option):
        value = Option(value)
    key = keys[0].type
    target = map_type(context, key, value, node.span)
    if target is None or not _all_there(context, keys, key, node):
        return None
    made = [widened(operand, value) for operand in found]
    expr = _built(context, target, keys, made, node.span)
    return Operand(expr, first_ghost(*made))


def _keys(context: Context, node: syntax.Map, kind: Type | None) -> list[ir.Literal] | None:
    """The keys as values of one type, each of them once."""
    written = tuple(entry.key for entry in node.entries)
    found = each(context, written, kind)
    kind = kind or (None if found is None else common(context, found, written))
    if found is None or kind is None:
        return None
    keys: list[ir.Literal] = []
    first: dict[Value, Span] = {}
    for operand, part in zip(found, written, strict=True):
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
    """Whether every value of the key type is a key; reported where one is not (F312)."""
    assert countable(kind, MOST_KEYS)
    given = {key.value for key in keys}
    missing = [show(value, kind) for value in values(kind) if value not in given]
    if missing:
        rest = len(missing) - FEW
        named = missing if rest <= 0 else [*missing[:FEW], f"{rest} more"]
        message = f"a map has a value for every key, and this has none for {listing(named, 'and')}"
        context.report("F312", node.span, message)
    return not missing


def _built(
    context: Context, kind: Map, keys: Sequence[ir.Literal], found: Sequence[Operand], span: Span
) -> ir.Expr:
    """The map: the values, each found once and in the order written, and which key has which."""
    slot = context.work.slot()
    here = ir.Local(kind.key, slot, span=span)

    def made(values: tuple[ir.Expr, ...]) -> ir.Expr:
        if len(values) < len(found):
            return bound(context, found[len(values)].expr, lambda value: made((*values, value)))
        chosen = values[-1]
        for key, value in zip(reversed(keys[:-1]), reversed(values[:-1]), strict=True):
            test = ir.Equal(here, key, span=span)
            chosen = ir.Conditional(kind.value, test, value, chosen, span=span)
        return settled(ir.BuildMap(kind, slot, chosen, span=span), *values)

    return made(())
