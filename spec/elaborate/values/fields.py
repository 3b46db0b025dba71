"""Elaborates access to the parts of a value: fields of records and variants, elements of sequences
and maps, and the content of an option.
"""

from __future__ import annotations

from fencepost.spec.core import ir
from fencepost.spec.core.types import (
    Map,
    Option,
    Record,
    Seq,
    Type,
    Union,
    describe,
)
from fencepost.spec.elaborate.base.context import Context, Reported, first_ghost
from fencepost.spec.elaborate.base.ghosts import field_ghost
from fencepost.spec.elaborate.base.symbols import Operand
from fencepost.spec.elaborate.types.bidirectional import open_ended
from fencepost.spec.elaborate.types.narrowing import known_tags, reading
from fencepost.spec.elaborate.types.partiality import (
    coerced,
    content,
    converted_value,
    element_at,
    settled,
    unified,
)
from fencepost.spec.elaborate.types.type_expressions import declaration
from fencepost.spec.elaborate.values.sequences import is_index, part
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.problem import Note, listing, suggestion, suggestion_or_all
from fencepost.spec.text.source import Span


def indexed(context: Context, node: syntax.Index) -> Operand | None:
    """Elaborates ``q[i]``, ``m[k]`` and ``m[a, b]``. Channel families and types with arguments are
    elaborated in `names`.
    """
    inner = context.inner()
    base = inner.expression(node.base)
    for written in node.arguments:
        if base and isinstance(base.type, Seq) and isinstance(written, syntax.Range):
            base = part(inner, base, written.low, written.high, node.span)
            continue
        key = base.type.key if base and isinstance(base.type, Map) else None
        index = inner.expression(written, key)
        if base is None or index is None:
            base = None
            continue
        base = _index(context, base, index, node.span, written.span)
    return base


def _index(
    context: Context, base: Operand, index: Operand, span: Span, written: Span
) -> Operand | None:
    match base.type:
        case Seq():
            if not is_index(context, index, written):
                return None
            expr = element_at(context, base.expr, index.expr, span)
        case Map(key, value):
            notes = key_notes(key, index.type)
            converted = coerced(context, index, key, written, "the key", *notes)
            if converted is None:
                return None
            expr = ir.Get(value, base.expr, converted.expr, span=span)
            expr = settled(expr, base.expr, converted.expr)
        case other:
            return no_index(context, other, span)
    return Operand(expr, first_ghost(base, index))


def key_notes(key: Type, kind: Type) -> tuple[Note, ...]:
    """Returns the advice about a value of type ``kind`` in the position of a key of type ``key``,
    which may be a tuple.
    """
    wrong = isinstance(key, Record) and key.is_tuple and not isinstance(kind, Record)
    return ((None, "a tuple as a key has its own brackets: m[(a, b)]"),) if wrong else ()


def part_of(context: Context, node: syntax.Part) -> Operand | None:
    """Elaborates ``q[i..]`` and ``q[..j]``."""
    inner = context.inner()
    base = inner.expression(node.base)
    if base is None:
        return None
    if not isinstance(base.type, Seq):
        return context.mismatch("F313", node.base.span, "only a sequence has parts", base.type)
    return part(inner, base, node.low, node.high, node.span)


def no_index(context: Context, kind: Type, span: Span) -> Reported:
    """Reports that a value of type ``kind`` cannot be indexed (F313)."""
    is_tuple = isinstance(kind, Record) and kind.is_tuple
    hint = "; the first component of a tuple t is t.1" if is_tuple else ""
    return context.mismatch("F313", span, "only a sequence or map can be indexed", kind, hint)


def field_of(context: Context, node: syntax.Attribute) -> Operand | None:
    """Elaborates ``r.f``, a field of a record, or of a union value whose variant is known here."""
    operand = context.inner().expression(node.base)
    if operand is None:
        return None
    kind = operand.type
    if isinstance(kind, Union):
        return _payload(context, node, operand, kind)
    index = field_index(context, node.name, kind)
    if index is None or not isinstance(kind, Record):
        return None
    item = kind.fields[index]
    ghost = operand.ghost or field_ghost(item.ghost, item.name, node.span)
    expr = ir.GetField(item.type, operand.expr, index, span=node.span)
    return Operand(settled(expr, operand.expr), ghost)


def field_index(context: Context, name: syntax.Name, kind: Type) -> int | None:
    """Returns the index of a record's field. Reports F314 if the record has no such field."""
    names = [item.name for item in kind.fields] if isinstance(kind, Record) else []
    if name.text in names:
        context.part(name, kind, name.text)
        return names.index(name.text)
    hint = "; `!` unwraps an option" if isinstance(kind, Option) else ""
    if isinstance(kind, Record) and kind.is_tuple:
        last = f".1 to .{len(names)}" if len(names) > 2 else ".1 and .2"
        message = f'{describe(kind)} has no component "{name.text}"; its components are {last}'
        return context.report("F314", name.span, message)
    if names:
        hint = suggestion_or_all(name.text, names)
    message = f'{describe(kind)} has no field "{name.text}"{hint}'
    return context.report("F314", name.span, message, *declaration(context, kind))


def _payload(
    context: Context, node: syntax.Attribute, operand: Operand, kind: Union
) -> Operand | None:
    name = node.name.text
    holders = {
        tag: [item.name for item in variant.fields].index(name)
        for tag, variant in enumerate(kind.variants)
        if any(item.name == name for item in variant.fields)
    }
    if not holders:
        names = [item.name for variant in kind.variants for item in variant.fields]
        return context.report(
            "F314",
            node.name.span,
            f'no variant of {describe(kind)} has a field "{name}"{suggestion(name, names)}',
            *declaration(context, kind),
        )
    # If contradictory conditions make every variant impossible, the field is never read.
    possible = _tags(context, operand.expr, kind) or frozenset(holders)
    if not possible <= holders.keys():
        if reading(operand.expr) in context.work.misnamed:
            return None
        variants = listing([kind.variants[tag].name for tag in holders])
        example = kind.variants[next(iter(holders))].name
        others = listing([kind.variants[tag].name for tag in sorted(possible - holders.keys())])
        return context.report(
            "F315",
            node.span,
            f'"{name}" is a field of {variants}, but this may be {others} here; test'
            f" `... is {example}` or `match` before",
            *declaration(context, kind),
        )
    for tag in possible:
        context.part(node.name, kind, kind.variants[tag].name, name)
    context.work.limit(len(possible), node.span)
    slot: int | None = None
    whole = operand.expr
    if len(possible) > 1 and not isinstance(whole, ir.Local | ir.Variable | ir.Literal):
        slot = context.work.slot()
        whole = ir.Local(kind, slot, span=node.base.span)
    result: Operand | None = None
    for tag in sorted(possible, reverse=True):
        item = kind.variants[tag].fields[holders[tag]]
        ghost = operand.ghost or field_ghost(item.ghost, name, node.span)
        this = Operand(ir.Payload(item.type, whole, tag, holders[tag], span=node.span), ghost)
        if result is None:
            result = this
            continue
        both = unified(context, this, result, node.span, f'"{name}" can be')
        if both is None:
            return None
        test = ir.HasTag(whole, tag, span=node.span)
        expr = ir.Conditional(both[2], test, both[0].expr, both[1].expr, span=node.span)
        result = Operand(expr, first_ghost(this, result))
    assert result is not None
    if slot is None:
        return result
    let = ir.Let(result.type, slot, operand.expr, result.expr, span=node.span)
    return Operand(let, result.ghost)


def _tags(context: Context, expr: ir.Expr, kind: Union) -> frozenset[int]:
    """Returns the tags that a union value can have at this position."""
    if isinstance(expr, ir.Literal):
        # Tests of a literal have already been decided, so this code either always runs or never
        # does.
        assert isinstance(expr.value, tuple)
        (tag, *_) = expr.value
        assert isinstance(tag, int)
        return frozenset() if context.work.muted else frozenset([tag])
    every = frozenset(range(len(kind.variants)))
    tags = known_tags(context.facts, expr)
    return every if tags is None else tags


def with_fields(context: Context, node: syntax.With) -> Operand | None:
    """Elaborates ``r with f: e, g: d``."""
    inner = context.inner()
    operand = inner.expression(node.record)
    context.work.limit(len(node.fields), node.span)
    seen: dict[str, syntax.Name] = {}
    for field in node.fields:
        assert field.name is not None
        if field.name.text in seen:
            first = (seen[field.name.text].span, "first given here")
            return context.report("F320", field.span, f'"{field.name.text}" is given twice', first)
        seen[field.name.text] = field.name
        operand = _with_field(inner, operand, field.name, field.value, node.span)
    return operand


def _with_field(
    context: Context, operand: Operand | None, name: syntax.Name, node: syntax.Expr, span: Span
) -> Operand | None:
    """Gives a field of a record a new value. Returns None if a mistake was reported."""
    index = None if operand is None else field_index(context, name, operand.type)
    if operand is None or index is None or not isinstance(operand.type, Record):
        if not open_ended(context, node):
            context.expression(node)
        return None
    item = operand.type.fields[index]
    value = converted_value(context, node, item.type, item.name)
    if value is None:
        return None
    ghost = operand.ghost or (None if item.ghost else value.ghost)
    expr = ir.WithField(operand.type, operand.expr, index, value.expr, span=span)
    return Operand(settled(expr, operand.expr, value.expr), ghost)


def unwrapped(context: Context, node: syntax.Unwrap) -> Operand | None:
    """Elaborates ``e!``."""
    operand = context.inner().expression(node.operand)
    if operand is None:
        return None
    if not isinstance(operand.type, Option):
        return context.mismatch("F316", node.span, "`!` unwraps an option", operand.type)
    site = context.site("F906", node.span, "this is none, and `!` unwraps a value")
    return Operand(content(context, operand.expr, node.span, site), operand.ghost)
