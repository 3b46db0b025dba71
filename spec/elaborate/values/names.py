"""Elaborates names and dotted names in expressions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, assert_never

from fencepost.spec.core import ir
from fencepost.spec.core.types import Map, Nominal, Type, Union
from fencepost.spec.elaborate.base.built_in import TYPE_WORDS
from fencepost.spec.elaborate.base.context import Context
from fencepost.spec.elaborate.base.symbols import (
    ActionEntity,
    BrokenEntity,
    ChannelEntity,
    ConstEntity,
    DefEntity,
    Entity,
    FairnessEntity,
    Ghost,
    MemberEntity,
    ModuleEntity,
    Operand,
    ProcedureEntity,
    PropertyEntity,
    RoleEntity,
    TypeEntity,
    VariableEntity,
    kind_of,
)
from fencepost.spec.elaborate.types.constants import symbol, value_of
from fencepost.spec.elaborate.types.members import (
    index_of,
    member_named,
    member_names,
    member_value,
)
from fencepost.spec.elaborate.types.type_expressions import module_member, resolve, type_of
from fencepost.spec.elaborate.values.channels import channel_index
from fencepost.spec.elaborate.values.collections import universe
from fencepost.spec.elaborate.values.defs import expanded
from fencepost.spec.elaborate.values.enabled import in_property
from fencepost.spec.elaborate.values.fields import field_of, indexed
from fencepost.spec.elaborate.values.roles import Through, denoted, member, process, through
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.source import Span


def name(context: Context, node: syntax.Name, expected: Type | None) -> Operand | None:
    """Elaborates a bare name. It is looked up first as a local, then in the role, the module and
    the imports, and finally as a member of an enum or union.
    """
    text = node.text
    local = context.local(node)
    if local is not None:
        return local.operand
    entity = context.look_up(node)
    if entity is not None:
        return entity_value(context, entity, node)
    if text == "quiescent":
        return _quiescent(context, node.span)
    if text in TYPE_WORDS:
        return universe(context, resolve(context, node), node.span)
    chosen = member_named(context, node, expected)
    if chosen is not None:
        return member_value(context, *chosen, node.span)
    if not context.members(text):
        context.unknown(node, also=member_names(expected))
    return None


def entity_value(context: Context, entity: Entity, node: syntax.Expr) -> Operand | None:
    """Elaborates a reference to ``entity`` in an expression."""
    span = node.span
    match entity:
        case ConstEntity():
            result = value_of(context.work, entity)
            if entity.symbol is not None:
                return symbol(context, entity, span)
            return result and Operand(ir.Literal(result[0], result[1], span=span))
        case VariableEntity():
            return _own_variable(context, entity, span)
        case ChannelEntity():
            return _channel(context, entity, span)
        case TypeEntity():
            return universe(context, type_of(context.work, entity), span)
        case MemberEntity():
            kind = type_of(context.work, entity.owner)
            if not isinstance(kind, Nominal | Union):
                return None
            return member_value(context, kind, entity.index, span)
        case DefEntity():
            return expanded(context, entity, (), node)
        case (
            RoleEntity()
            | ModuleEntity()
            | ActionEntity()
            | FairnessEntity()
            | ProcedureEntity()
            | PropertyEntity()
        ):
            advice = _ADVICE[type(entity)]
        case BrokenEntity():
            return None
        case _:
            assert_never(entity)
    return context.report(
        "F210",
        span,
        f'"{entity.name}" is {kind_of(entity)} and has no value; {advice}',
        entity.note,
    )


_Valueless: TypeAlias = (
    RoleEntity | ModuleEntity | ActionEntity | FairnessEntity | ProcedureEntity | PropertyEntity
)
_ADVICE: Mapping[type[_Valueless], str] = {
    RoleEntity: "name one of its variables after a dot",
    ModuleEntity: "name one of its members after a dot",
    ActionEntity: "`enabled(...)` asks whether it can be taken",
    FairnessEntity: "a check may leave it out: `without fair`",
    ProcedureEntity: "call it as a statement; only a def has a value",
    PropertyEntity: "put the common part of properties into a def",
}


# ---------------------------------------------------------------- state


def _own_variable(context: Context, entity: VariableEntity, span: Span) -> Operand | None:
    """Elaborates a variable that is named without a role. It belongs to the top level or to the
    enclosing role.
    """
    if entity.role is None or entity.role.index_type is None or context.instance is None:
        return _variable(context, entity, None, span)
    return _variable(context, entity, Operand(context.instance), span)


def _variable(
    context: Context, entity: VariableEntity, instance: Operand | None, span: Span
) -> Operand | None:
    """Elaborates a reference to a variable. In a role family, ``instance`` is the process that owns
    the variable.
    """
    if context.position.place == "constant":
        message = f'"{entity.name}" is a variable, but a constant is required here'
        return context.report("F205", span, message, entity.note)
    if entity.index is None or entity.type is None:
        return None
    if context.position.declared is not None and entity.index >= context.position.declared:
        message = (
            f'"{entity.name}" has no value yet: an initial value can use the variables declared '
            "before it"
        )
        return context.report("F208", span, message, entity.note)
    ghost = Ghost(span, f'"{entity.name}" is a ghost variable') if entity.decl.ghost else None
    role = entity.role
    if role is None or role.index_type is None:
        return Operand(
            ir.Variable(entity.type, entity.index, context.position.after, span=span), ghost
        )
    assert instance is not None
    whole = ir.Variable(
        Map(role.index_type, entity.type), entity.index, context.position.after, span=span
    )
    read = ir.Get(entity.type, whole, instance.expr, span=span)
    return Operand(read, ghost or instance.ghost)


def _channel(context: Context, entity: ChannelEntity, span: Span) -> Operand | None:
    """Elaborates the name of a channel to the content of the channel."""
    entity.looked_at = True
    if context.position.place == "constant":
        message = f'"{entity.name}" is a channel, but a constant is required here'
        return context.report("F205", span, message, entity.note)
    if context.position.place == "initial":
        message = f'"{entity.name}" is a channel, and initial values cannot depend on channels'
        return context.report("F205", span, message, entity.note)
    if entity.index is None or entity.type is None:
        return None
    return Operand(ir.Variable(entity.type, entity.index, context.position.after, span=span))


def _quiescent(context: Context, span: Span) -> Operand | None:
    if not in_property(context, "quiescent", span):
        return None
    actions = [index for index, kind in enumerate(context.work.action_kinds) if kind == "ordinary"]
    tests = tuple(ir.Not(ir.Enabled(index, span=span), span=span) for index in actions)
    return Operand(ir.And(tests, span=span))


# ---------------------------------------------------------------- dotted names and brackets


def attribute(context: Context, node: syntax.Attribute) -> Operand | None:
    """Elaborates ``m.x``, ``E.A``, ``R.x``, ``R[i].x`` and field access."""
    entity = module_member(context, node)
    if entity is not None:
        return entity_value(context, entity, node)
    seen = through(context, node)
    if seen is not None:
        return _of_role(context, seen, node)
    base = denoted(context, node.base)
    if isinstance(base, TypeEntity):
        return _type_member(context, base, node)
    if isinstance(base, BrokenEntity):
        return None
    return field_of(context, node)


def _type_member(context: Context, entity: TypeEntity, node: syntax.Attribute) -> Operand | None:
    kind = type_of(context.work, entity)
    if isinstance(kind, Nominal | Union):
        index = index_of(context, node.name, kind)
        return None if index is None else member_value(context, kind, index, node.span)
    if kind is not None:
        context.report(
            "F211",
            node.name.span,
            f'"{entity.name}" is not an enum or union, so it has no members',
            entity.note,
        )
    return None


def _of_role(context: Context, seen: Through, node: syntax.Attribute) -> Operand | None:
    """Elaborates ``R.x`` and ``R[i].x``, where ``x`` is a variable or a def without parameters."""
    entity = member(context, seen.role, node.name)
    match entity:
        case None:
            return None
        case VariableEntity():
            good, instance = process(context, seen, node.name)
            return _variable(context, entity, instance, node.span) if good else None
        case DefEntity():
            return expanded(context, entity, (), node, seen)
        case _:
            return context.report(
                "F210",
                node.name.span,
                "only the variables and defs of a role are visible from outside, and"
                f' "{entity.name}" is {kind_of(entity)}',
                entity.note,
            )


def index(context: Context, node: syntax.Index) -> Operand | None:
    """Elaborates ``q[i]``, a channel in a family, or a type with arguments that is used as a
    set.
    """
    base = node.base
    if isinstance(base, syntax.Name) and base.text in ("set", "seq", "bag", "map", "int"):
        return universe(context, resolve(context, node), node.span)
    entity = denoted(context, base)
    if isinstance(entity, ChannelEntity) and entity.indices:
        return channel_index(context.inner(), entity, node)
    if isinstance(entity, RoleEntity):
        return entity_value(context, entity, node)
    return indexed(context, node)
