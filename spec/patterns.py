"""Patterns of ``match`` and ``on``: what they test, and the names that they bind."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fencepost.spec import ir, syntax
from fencepost.spec.defined import unified
from fencepost.spec.elaboration import Context, first_ghost
from fencepost.spec.entities import Ghost, Operand
from fencepost.spec.expressions import comparing, ghost_field, member_of
from fencepost.spec.types import Bool, Enum, Field, Option, Record, Type, Union, describe


@dataclass(frozen=True, slots=True)
class Match:
    """What a pattern asks of a value, and what is known where it fits.

    ``test`` is None when it fits every value of its members; ``members`` are the members that
    it fits, None for all. ``certain``: every value of those members fits (no ``==``).
    """

    test: ir.Expr | None
    ghost: Ghost | None
    members: frozenset[int] | None
    certain: bool
    context: Context


def matched(context: Context, pattern: syntax.Pattern, subject: Operand) -> Match | None:
    """The pattern against ``subject``, a local or variable; the names it binds are in context."""
    result = _matched(context, pattern, subject)
    if result is None:
        for argument in pattern.arguments or ():
            if isinstance(argument, syntax.Bind):
                context = context.bind(argument.name, None)
        if pattern.alias is not None:
            context = context.bind(pattern.alias, None)
        return None
    if pattern.alias is not None:
        whole = Operand(subject.expr, subject.ghost)
        result = replace(result, context=result.context.bind(pattern.alias, whole))
    return result


def _matched(context: Context, pattern: syntax.Pattern, subject: Operand) -> Match | None:
    kind = subject.type
    member = pattern.member
    if member is None:
        return Match(None, None, None, True, context)
    if isinstance(member, syntax.Nothing | syntax.Boolean):
        return _constant(context, pattern, subject, member)
    if isinstance(kind, Record):
        return _record(context, pattern, subject, kind)
    tag = member_of(context, member, kind)
    if tag is None:
        return None
    if isinstance(kind, Enum):
        if pattern.arguments is not None:
            context.report("F410", pattern.span, f"{kind.members[tag]} carries nothing")
            return None
        test = ir.Equal(subject.expr, ir.Literal(kind, tag), span=pattern.span)
        return Match(test, subject.ghost, frozenset([tag]), True, context)
    assert isinstance(kind, Union)
    variant = kind.variants[tag]
    test = ir.HasTag(subject.expr, tag, span=pattern.span)
    known = context.learn({subject.expr: frozenset([tag])})
    base = Match(test, subject.ghost, frozenset([tag]), True, known)
    parts = [
        Operand(ir.Payload(field.type, subject.expr, tag, index, span=pattern.span), subject.ghost)
        for index, field in enumerate(variant.fields)
    ]
    return _arguments(base, pattern, variant.name, variant.fields, parts)


def _constant(
    context: Context,
    pattern: syntax.Pattern,
    subject: Operand,
    member: syntax.Nothing | syntax.Boolean,
) -> Match | None:
    kind = subject.type
    if isinstance(member, syntax.Nothing) and isinstance(kind, Option):
        test: ir.Expr = ir.Not(ir.IsSome(subject.expr, span=pattern.span), span=pattern.span)
        return Match(test, subject.ghost, frozenset([0]), True, context)
    if isinstance(member, syntax.Boolean) and isinstance(kind, Bool):
        test = subject.expr if member.value else ir.Not(subject.expr, span=pattern.span)
        return Match(test, subject.ghost, frozenset([int(member.value)]), True, context)
    context.report("F302", pattern.span, f"{pattern.span.text} is no value of {describe(kind)}")
    return None


def _record(
    context: Context, pattern: syntax.Pattern, subject: Operand, kind: Record
) -> Match | None:
    member = pattern.member
    name = member.name if isinstance(member, syntax.Attribute) else member
    if not isinstance(name, syntax.Name) or name.text != kind.name:
        context.report("F302", pattern.span, f"this is matched with {describe(kind)}, a record")
        return None
    parts = [
        Operand(ir.GetField(field.type, subject.expr, index, span=pattern.span), subject.ghost)
        for index, field in enumerate(kind.fields)
    ]
    base = Match(None, subject.ghost, None, True, context)
    return _arguments(base, pattern, kind.name, kind.fields, parts)


def _arguments(
    base: Match,
    pattern: syntax.Pattern,
    name: str,
    fields: tuple[Field, ...],
    parts: list[Operand],
) -> Match | None:
    if pattern.arguments is None:
        return base
    context = base.context
    if len(pattern.arguments) != len(fields):
        names = ", ".join(field.name for field in fields)
        context.report(
            "F410",
            pattern.span,
            f"{name} has {len(fields)} fields ({names}), and {len(pattern.arguments)} are named"
            " here; _ ignores one",
        )
        return None
    tests = [] if base.test is None else [base.test]
    ghost = base.ghost
    good = True
    certain = True
    for argument, field, part in zip(pattern.arguments, fields, parts, strict=True):
        own = part.ghost or ghost_field(field.ghost, field.name, argument.span)
        match argument:
            case syntax.Bind(name=bound):
                context = context.bind(bound, Operand(replace(part.expr, span=bound.span), own))
            case syntax.Ignore():
                pass
            case syntax.Equals(value=value):
                test = _equals(context, Operand(part.expr, own), field.type, value)
                certain = False
                if test is None:
                    good = False
                else:
                    tests.append(test.expr)
                    ghost = ghost or test.ghost
    if not good:
        return None
    test_expr: ir.Expr | None = None
    if tests:
        test_expr = tests[0] if len(tests) == 1 else ir.And(tuple(tests), span=pattern.span)
    return Match(test_expr, ghost, base.members, certain, context)


def _equals(context: Context, part: Operand, kind: Type, value: syntax.Expr) -> Operand | None:
    operand = context.expression(value, kind)
    if operand is None:
        return None
    both = unified(context, part, operand, value.span, "this compares")
    if both is None:
        return None
    ghost = first_ghost(part, operand) or comparing(both[2], value.span)
    return Operand(ir.Equal(both[0].expr, both[1].expr, span=value.span), ghost)


def missing_members(kind: Type, seen: set[int]) -> list[str]:
    """The members of ``kind`` that no case has covered, as a case would name them."""
    match kind:
        case Enum(members=names):
            pass
        case Union(variants=variants):
            names = tuple(variant.name for variant in variants)
        case Bool():
            names = ("false", "true")
        case Record():
            names = ()
        case _:
            return ["_"]
    return [name for index, name in enumerate(names) if index not in seen]
