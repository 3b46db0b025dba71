"""Converts values between the types of different modules. A refinement matches members of enums and
unions by name, and records by the names of their fields.
"""

from __future__ import annotations

from collections.abc import Mapping

from fencepost.spec.core import ir
from fencepost.spec.core.size_limits import most
from fencepost.spec.core.type_relations import same_shape, set_type
from fencepost.spec.core.types import (
    Bag,
    Field,
    Map,
    Nominal,
    Option,
    Record,
    Seq,
    Set,
    Type,
    Union,
)
from fencepost.spec.elaborate.base.context import Context
from fencepost.spec.elaborate.base.symbols import Operand
from fencepost.spec.elaborate.types.partiality import bound, coerced
from fencepost.spec.text.source import Span


def converted(context: Context, expr: ir.Expr, target: Type, span: Span) -> ir.Expr | None:
    """Converts ``expr`` to a type that differs from ``target`` only in ranges and capacities.
    Returns None if a member or field has no counterpart.
    """
    if not _convertible(expr.type, target):
        return None
    return bound(context, expr, lambda value: _made(context, value, target, span))


def _convertible(source: Type, target: Type) -> bool:
    if same_shape(source, target):
        return True
    match source, target:
        case Nominal(members=members), Nominal(members=others):
            return set(members) <= set(others)
        case Union(variants=variants), Union(variants=others):
            named = {variant.name: variant.fields for variant in others}
            return all(
                variant.name in named and _fields_match(variant.fields, named[variant.name])
                for variant in variants
            )
        case Record(fields=fields), Record(fields=others):
            return _fields_match(fields, others)
        case (Set(a), Set(b)) | (Bag(a), Bag(b)) | (Seq(a), Seq(b)) | (Option(a), Option(b)):
            return _convertible(a, b)
        case Map(key, value), Map(other, other_value):
            same_keys = key == other
            if isinstance(key, Nominal) and isinstance(other, Nominal):
                same_keys = sorted(key.members) == sorted(other.members)
            return same_keys and _convertible(value, other_value)
        case _:
            return False


def _fields_match(fields: tuple[Field, ...], others: tuple[Field, ...]) -> bool:
    named = {field.name: field.type for field in fields if not field.ghost}
    return named.keys() == {field.name for field in others} and all(
        _convertible(named[field.name], field.type) for field in others
    )


def _made(context: Context, expr: ir.Expr, target: Type, span: Span) -> ir.Expr:
    source = expr.type
    if same_shape(source, target):
        return expr
    match source, target:
        case Nominal(members=members), Nominal(members=others):
            table = Map(source, target)
            value = tuple(others.index(name) for name in members)
            return ir.Get(target, ir.Literal(table, value, span=span), expr, span=span)
        case Union(variants=variants), Union():
            converted = [_variant(context, expr, tag, target, span) for tag in range(len(variants))]
            result = converted[-1]
            for tag in reversed(range(len(variants) - 1)):
                test = ir.HasTag(expr, tag, span=span)
                result = ir.Conditional(target, test, converted[tag], result, span=span)
            return result
        case Record(fields=fields), Record(fields=others):
            parts = {f.name: ir.GetField(f.type, expr, index) for index, f in enumerate(fields)}
            return ir.MakeRecord(target, _fields(context, parts, others, span), span=span)
        case Option(element), Option(target_part):
            inner = _made(context, ir.Content(element, expr, span=span), target_part, span)
            option = Option(inner.type)
            some, none = ir.Some(option, inner, span=span), ir.Literal(option, (), span=span)
            return ir.Conditional(option, ir.IsSome(expr, span=span), some, none, span=span)
        case Map(key, value), Map(other, target_part):
            slot = context.work.slot()
            back = _made(context, ir.Local(other, slot, span=span), key, span)
            body = _made(context, ir.Get(value, expr, back, span=span), target_part, span)
            return ir.BuildMap(Map(other, body.type), slot, body, span=span)
        case (Set(a), Set(b)) | (Bag(a), Bag(b)) | (Seq(a), Seq(b)):
            slot = context.work.slot()
            body = _made(context, ir.Local(a, slot, span=span), b, span)
            kind: Type
            match source:
                case Set():
                    kind = set_type(body.type, most(source))
                case Bag(_, capacity):
                    kind = Bag(body.type, capacity)
                case Seq(_, capacity):
                    kind = Seq(body.type, capacity)
            return ir.Collect(kind, slot, expr, None, body, span=span)
        case _:
            raise AssertionError((source, target))


def _variant(context: Context, expr: ir.Expr, tag: int, target: Union, span: Span) -> ir.Expr:
    """Converts ``expr``, whose tag is known to be ``tag``, to ``target``."""
    assert isinstance(expr.type, Union)
    variant = expr.type.variants[tag]
    wanted = next(n for n, other in enumerate(target.variants) if other.name == variant.name)
    parts = {f.name: ir.Payload(f.type, expr, tag, n) for n, f in enumerate(variant.fields)}
    values = _fields(context, parts, target.variants[wanted].fields, span)
    return ir.MakeVariant(target, wanted, values, span=span)


def _fields(
    context: Context, parts: Mapping[str, ir.Expr], fields: tuple[Field, ...], span: Span
) -> tuple[ir.Expr, ...]:
    """Converts the parts with the names of ``fields`` to the types of these fields."""
    values: list[ir.Expr] = []
    for field in fields:
        converted = coerced(context, Operand(parts[field.name]), field.type, span)
        assert converted is not None
        values.append(converted.expr)
    return tuple(values)
