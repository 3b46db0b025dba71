"""Elaborates the patterns of ``match`` and ``on`` to tests, and binds the names in them."""

from __future__ import annotations

from fencepost.spec.core import ir
from fencepost.spec.core.types import Bool, Field, Nominal, Option, Record, Type, Union, describe
from fencepost.spec.elaborate.base.context import ANOTHER_NAME, Context, first_ghost
from fencepost.spec.elaborate.base.ghosts import comparing, field_ghost
from fencepost.spec.elaborate.base.symbols import Ghost, Operand
from fencepost.spec.elaborate.types.members import member_of
from fencepost.spec.elaborate.types.narrowing import reading
from fencepost.spec.elaborate.types.partiality import settled, unified
from fencepost.spec.elaborate.types.type_expressions import declaration
from fencepost.spec.records import dataclass, replace
from fencepost.spec.syntax import nodes as syntax


@dataclass(frozen=True, slots=True)
class Match:
    """The condition under which a pattern matches.

    ``test`` is None if the pattern matches every value. ``members`` are the members that it
    matches, or None for all members. ``certain`` is True if it matches all values of these members,
    that is, if it contains no ``==``.
    """

    test: ir.Expr | None
    ghost: Ghost | None
    members: frozenset[int] | None
    certain: bool


Matched = tuple[Match | None, Context]
"""The match of a pattern, and the context with the names that the pattern binds. The match is None
if a mistake was reported.
"""


def matched(context: Context, pattern: syntax.Pattern, subject: Operand | None) -> Matched:
    """Matches the pattern against ``subject``, a local or variable.

    The names in the pattern are bound even if something is wrong.
    """
    match, context = _matched(context, pattern, subject)
    if pattern.alias is not None:
        whole = None if match is None or subject is None else Operand(subject.expr, subject.ghost)
        context = context.bind(pattern.alias, whole)
    return match, context


def bind(context: Context, target: syntax.Target, operand: Operand | None) -> Context:
    """Returns ``context`` with the names of ``target`` bound to ``operand``, a local or a value
    that does not change, or to its components.
    """
    if isinstance(target, syntax.Name):
        return context.bind(target, operand)
    return _tuple(context, target, operand, ANOTHER_NAME)[1]


def _broken(context: Context, pattern: syntax.Pattern | syntax.TuplePattern) -> Matched:
    arguments = syntax.TuplePattern(pattern.arguments or (), span=pattern.span)
    for name in syntax.names_of(arguments):
        context = context.bind(name, None)
    return None, context


def _matched(context: Context, pattern: syntax.Pattern, subject: Operand | None) -> Matched:
    if subject is None:
        return _broken(context, pattern)
    kind = subject.type
    member = pattern.member
    if member is None:
        return Match(None, None, None, True), context
    if isinstance(member, syntax.Nothing | syntax.Boolean):
        return _constant(context, pattern, subject, member), context
    if isinstance(member, syntax.TuplePattern):
        return _tuple(context, member, subject)
    if isinstance(kind, Record):
        return _record(context, pattern, subject, kind)
    tag = member_of(context, member, kind)
    if tag is None:
        return _broken(context, pattern)
    if isinstance(kind, Nominal):
        if pattern.arguments is not None:
            message = f"{kind.members[tag]} has no fields: write it without brackets"
            context.report("F410", pattern.span, message)
            return _broken(context, pattern)
        equal = ir.Equal(subject.expr, ir.Literal(kind, tag), span=pattern.span)
        test = settled(equal, subject.expr)
        return Match(test, subject.ghost, frozenset([tag]), True), context
    assert isinstance(kind, Union)
    variant = kind.variants[tag]
    narrowed = context.learn({reading(subject.expr): frozenset([tag])})
    test = settled(ir.HasTag(subject.expr, tag, span=pattern.span), subject.expr)
    base = Match(test, subject.ghost, frozenset([tag]), True)
    parts = [
        Operand(ir.Payload(field.type, subject.expr, tag, index, span=pattern.span), subject.ghost)
        for index, field in enumerate(variant.fields)
    ]
    return _arguments(narrowed, base, pattern, kind, variant.name, variant.fields, parts)


def _constant(
    context: Context,
    pattern: syntax.Pattern,
    subject: Operand,
    member: syntax.Nothing | syntax.Boolean,
) -> Match | None:
    kind = subject.type
    if isinstance(member, syntax.Nothing) and isinstance(kind, Option):
        test: ir.Expr = ir.Not(ir.IsSome(subject.expr, span=pattern.span), span=pattern.span)
        return Match(settled(test, subject.expr), subject.ghost, frozenset([0]), True)
    if isinstance(member, syntax.Boolean) and isinstance(kind, Bool):
        test = subject.expr if member.value else ir.Not(subject.expr, span=pattern.span)
        test = settled(test, subject.expr)
        return Match(test, subject.ghost, frozenset([int(member.value)]), True)
    return context.report(
        "F302", pattern.span, f"{pattern.span.text} is not a value of {describe(kind)}"
    )


def _record(context: Context, pattern: syntax.Pattern, subject: Operand, kind: Record) -> Matched:
    member = pattern.member
    name = member.name if isinstance(member, syntax.Attribute) else member
    if not isinstance(name, syntax.Name) or name.text != kind.name:
        message = f"this is matched with a {describe(kind)}, a record: write {kind.name}(...) or _"
        context.report("F302", pattern.span, message)
        return _broken(context, pattern)
    if isinstance(member, syntax.Attribute) and isinstance(member.base, syntax.Name):
        context.look_up(member.base)
    context.part(name, kind)
    parts = [
        Operand(ir.GetField(field.type, subject.expr, index, span=pattern.span), subject.ghost)
        for index, field in enumerate(kind.fields)
    ]
    base = Match(None, subject.ghost, None, True)
    return _arguments(context, base, pattern, kind, kind.name, kind.fields, parts)


def _tuple(
    context: Context, pattern: syntax.TuplePattern, subject: Operand | None, advice: str = ""
) -> Matched:
    """Matches ``pattern`` against a tuple. ``advice`` is for a name that hides another one; the
    default suggests a comparison.
    """
    if subject is None:
        return _broken(context, pattern)
    kind = subject.type
    if not isinstance(kind, Record) or not kind.is_tuple:
        context.mismatch("F302", pattern.span, "this pattern takes a tuple", kind)
        return _broken(context, pattern)
    if len(pattern.arguments) != len(kind.fields):
        numbers = f"{len(kind.fields)} components, and this pattern has {len(pattern.arguments)}"
        context.report("F410", pattern.span, f"{describe(kind)} has {numbers}")
        return _broken(context, pattern)
    parts = [
        Operand(
            settled(ir.GetField(field.type, subject.expr, index, span=pattern.span), subject.expr),
            subject.ghost,
        )
        for index, field in enumerate(kind.fields)
    ]
    base = Match(None, subject.ghost, None, True)
    return _arguments(context, base, pattern, kind, "", kind.fields, parts, advice)


def _arguments(
    context: Context,
    base: Match,
    pattern: syntax.Pattern | syntax.TuplePattern,
    kind: Type,
    name: str,
    fields: tuple[Field, ...],
    parts: list[Operand],
    advice: str = "",
) -> Matched:
    if pattern.arguments is None:
        return base, context
    if len(pattern.arguments) != len(fields):
        names = ", ".join(field.name for field in fields)
        advice = f"write {name}({names}), with _ for ignored fields"
        if not fields:
            advice = f"{name} has no fields: write it without brackets"
        count = len(pattern.arguments)
        number = "1 field" if len(fields) == 1 else f"{len(fields)} fields"
        message = f"{name} has {number}, and this pattern has {count}; {advice}"
        notes = declaration(context, kind)
        context.report("F410", pattern.span, message if fields else advice, *notes)
        return _broken(context, pattern)
    tests = [] if base.test is None else [base.test]
    ghost = base.ghost
    good = certain = True
    for argument, field, part in zip(pattern.arguments, fields, parts, strict=True):
        own = part.ghost or field_ghost(field.ghost, field.name, argument.span)
        match argument:
            case syntax.Bind(name=bound):
                operand = Operand(replace(part.expr, span=bound.span), own)
                compared = f"write =={bound.text} to compare the field, or {ANOTHER_NAME}"
                reported = len(context.work.problems)
                context = context.bind(bound, operand, advice or compared)
                good = good and len(context.work.problems) == reported
            case syntax.Ignore():
                pass
            case syntax.TuplePattern():
                inner, context = _tuple(context, argument, Operand(part.expr, own), advice)
                if inner is None:
                    good = False
                    continue
                certain = certain and inner.certain
                tests += [] if inner.test is None else [inner.test]
                ghost = ghost or inner.ghost
            case syntax.Equals(value=value):
                test = _equals(context, Operand(part.expr, own), field.type, value)
                certain = False
                if test is None:
                    good = False
                else:
                    tests.append(test.expr)
                    ghost = ghost or test.ghost
    if not good:
        return None, context
    whole: ir.Expr | None = None
    if tests:
        whole = tests[0] if len(tests) == 1 else ir.And(tuple(tests), span=pattern.span)
    return Match(whole, ghost, base.members, certain), context


def _equals(context: Context, part: Operand, kind: Type, value: syntax.Expr) -> Operand | None:
    operand = context.expression(value, kind)
    if operand is None:
        return None
    both = unified(context, part, operand, value.span, "this compares")
    if both is None:
        return None
    ghost = first_ghost(part, operand) or comparing(both[2], value.span)
    return Operand(ir.Equal(both[0].expr, both[1].expr, span=value.span), ghost)
