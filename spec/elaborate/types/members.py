"""Resolves members of enums and unions, and determines which member a name denotes where a type is
expected.
"""

from __future__ import annotations

from fencepost.spec.core import ir
from fencepost.spec.core.types import Enum, Nominal, Option, Type, Union, describe
from fencepost.spec.elaborate.base.context import Context
from fencepost.spec.elaborate.base.symbols import BrokenEntity, MemberEntity, ModuleEntity, Operand
from fencepost.spec.elaborate.types.partiality import settled
from fencepost.spec.elaborate.types.type_expressions import declaration, resolve, type_of
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.problem import listing, suggestion_or_all
from fencepost.spec.text.source import Span


def member_names(kind: Type | None) -> tuple[str, ...]:
    """Returns the names of an enum's members or a union's variants, and () for any other type."""
    match kind:
        case Nominal(members=names):
            return names
        case Union(variants=variants):
            return tuple(variant.name for variant in variants)
        case _:
            return ()


def member_of(context: Context, node: syntax.Expr, kind: Type) -> int | None:
    """Returns the index of the member of ``kind`` that ``node`` names after ``is`` or in a pattern.
    Returns None if a mistake was reported.
    """
    if not isinstance(kind, Nominal | Union):
        hint = ""
        if isinstance(kind, Option) and isinstance(node, syntax.Name) and node.text == "None":
            hint = "; `== none` and `!= none` test for a value"
        rule = "`is` and patterns tell the members of an enum or union apart"
        return context.mismatch("F309", node.span, rule, kind, hint)
    name = node.name if isinstance(node, syntax.Attribute) else node
    assert isinstance(name, syntax.Name)
    if isinstance(node, syntax.Attribute) and not _names_type(context, node.base, kind):
        return None
    index = index_of(context, name, kind)
    return None if index is None or _is_one_of_alike(context, kind, index, name.span) else index


def _is_one_of_alike(context: Context, kind: Nominal | Union, index: int, span: Span) -> bool:
    """Whether the member belongs to a symmetric type and must not be named here. If so, reports
    F803, because the values of a symmetric type are interchangeable.
    """
    if context.position.apart or not isinstance(kind, Enum) or not kind.symmetric:
        return False
    message = (
        f"`{kind.members[index]}` is named, and the values of {kind.name} are interchangeable:"
        f" quantify (`forall c in {kind.name}: ...`), take a parameter or `pick`; `enum` makes a"
        " type whose values differ"
    )
    context.report("F803", span, message, *declaration(context, kind))
    return True


def index_of(context: Context, name: syntax.Name, kind: Nominal | Union) -> int | None:
    """Returns the index of the member of ``kind`` called ``name``. Reports F211 if there is no such
    member.
    """
    names = member_names(kind)
    if name.text in names:
        context.part(name, kind, name.text)
        return names.index(name.text)
    hint = suggestion_or_all(name.text, names)
    message = f'{describe(kind)} has no member "{name.text}"{hint}'
    return context.report("F211", name.span, message, *declaration(context, kind))


def _names_type(context: Context, base: syntax.Expr, kind: Type) -> bool:
    """Checks whether ``base``, written before a member, names the type ``kind`` or a module."""
    if isinstance(base, syntax.Name):
        entity = context.look_up(base)
        if isinstance(entity, ModuleEntity):
            return True
        if isinstance(entity, BrokenEntity):
            return False
    resolved = resolve(context, base)
    if resolved is not None and resolved != kind:
        context.report(
            "F302",
            base.span,
            f"this names {describe(resolved)}, and the value is a {describe(kind)}",
        )
    return resolved == kind


def member_named(
    context: Context, name: syntax.Name, expected: Type | None
) -> tuple[Nominal | Union, int] | None:
    """Returns the member that a bare name denotes, together with its type.

    A member of the expected type takes precedence. Otherwise the name must belong to exactly one
    type; a name that several types share is reported (F209). Returns None without a report if the
    name is not a member.
    """
    text = name.text
    if isinstance(expected, Option):
        expected = expected.element
    if isinstance(expected, Nominal | Union) and text in member_names(expected):
        context.part(name, expected, text)
        return expected, member_names(expected).index(text)
    members = context.members(text)
    if len({member.owner for member in members}) == 1:
        context.meant(name, members[0])
        return _member(context, members[0])
    if members:
        owners = listing([member.owner.name for member in members], "and")
        written = listing([f"{member.owner.name}.{text}" for member in members])
        context.report(
            "F209",
            name.span,
            f'"{text}" is a member of {owners}; write {written}',
            *((member.span, f"a member of {member.owner.name}") for member in members),
        )
    return None


def _member(context: Context, member: MemberEntity) -> tuple[Nominal | Union, int] | None:
    kind = type_of(context.work, member.owner)
    return (kind, member.index) if isinstance(kind, Nominal | Union) else None


def member_value(context: Context, kind: Nominal | Union, index: int, span: Span) -> Operand | None:
    """Elaborates a member of an enum, or a variant without fields, from its index."""
    if _is_one_of_alike(context, kind, index, span):
        return None
    if isinstance(kind, Nominal):
        return Operand(ir.Literal(kind, index, span=span))
    variant = kind.variants[index]
    if variant.fields:
        fields = ", ".join(f"{item.name}: ..." for item in variant.fields)
        return context.report(
            "F317", span, f"{variant.name} carries fields: write {variant.name}({fields})"
        )
    return Operand(settled(ir.MakeVariant(kind, index, (), span=span)))
