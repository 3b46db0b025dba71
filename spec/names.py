"""What a name or a dotted name stands for in an expression."""

from __future__ import annotations

from typing import assert_never

from fencepost.spec import expressions, ir, syntax
from fencepost.spec.calls import expanded
from fencepost.spec.channels import channel_index
from fencepost.spec.defined import coerced
from fencepost.spec.elaboration import Context
from fencepost.spec.entities import (
    ActionEntity,
    BrokenEntity,
    ChannelEntity,
    ConstEntity,
    DefEntity,
    Entity,
    Ghost,
    MemberEntity,
    ModuleEntity,
    Operand,
    ProcedureEntity,
    PropertyEntity,
    RoleEntity,
    TypeEntity,
    VariableEntity,
)
from fencepost.spec.problem import suggestion
from fencepost.spec.resolve import module_member, resolve, type_of, value_of
from fencepost.spec.source import Span
from fencepost.spec.types import Enum, Map, Option, Type, Union, describe

TYPE_WORDS = ("bool", "int8", "int16", "int32", "int64")


def name(context: Context, node: syntax.Name, expected: Type | None) -> Operand | None:
    """A bare name: local, role, module, imports; then a member of an enum or union."""
    text = node.text
    if text in context.locals:
        return context.locals[text].operand
    entity = context.find(text)
    if entity is not None:
        return entity_value(context, entity, node.span)
    if text == "quiescent":
        return _quiescent(context, node.span)
    if text in TYPE_WORDS:
        return expressions.universe(context, resolve(context, node), node.span)
    return _member(context, node, expected)


def _member(context: Context, node: syntax.Name, expected: Type | None) -> Operand | None:
    text = node.text
    while isinstance(expected, Option):
        expected = expected.element
    if isinstance(expected, Enum | Union):
        names = expressions.member_names(expected) or ()
        if text in names:
            return member_value(context, expected, names.index(text), node.span)
    members = context.members(text)
    if len({id(member.owner) for member in members}) == 1:
        kind = type_of(context.work, members[0].owner)
        return kind and member_value(context, kind, members[0].index, node.span)
    if members:
        owners = " and ".join(member.owner.name for member in members)
        context.report(
            "F209",
            node.span,
            f'"{text}" is a member of {owners}: write {members[0].owner.name}.{text}',
            *((member.span, "one is declared here") for member in members),
        )
        return None
    if isinstance(expected, Enum | Union) and text not in context.module.file.broken.names:
        hint = suggestion(text, [*(expressions.member_names(expected) or ()), *context.known()])
        context.report("F201", node.span, f'no name "{text}" is known here{hint}')
        return None
    context.unknown(node)
    return None


def member_value(context: Context, kind: Type, index: int, span: Span) -> Operand | None:
    """Member number ``index`` of an enum, or a variant that carries nothing."""
    if isinstance(kind, Union):
        variant = kind.variants[index]
        if variant.fields:
            fields = ", ".join(f"{item.name}: ..." for item in variant.fields)
            context.report(
                "F317", span, f"{variant.name} carries fields: write {variant.name}({fields})"
            )
            return None
        return Operand(ir.MakeVariant(kind, index, (), span=span))
    return Operand(ir.Literal(kind, index, span=span))


def entity_value(context: Context, entity: Entity, span: Span) -> Operand | None:
    """What an entity is worth where an expression is wanted."""
    match entity:
        case ConstEntity():
            result = value_of(context.work, entity)
            return result and Operand(ir.Literal(result[0], result[1], span=span))
        case VariableEntity():
            return variable(context, entity, context.instance, span)
        case ChannelEntity():
            return channel(context, entity, span)
        case TypeEntity():
            return expressions.universe(context, type_of(context.work, entity), span)
        case MemberEntity():
            kind = type_of(context.work, entity.owner)
            return kind and member_value(context, kind, entity.index, span)
        case DefEntity():
            return expanded(context, entity, (), span)
        case RoleEntity():
            what = "is a role: name one of its variables behind a dot"
        case ModuleEntity():
            what = "is a module: name something of it behind a dot"
        case ActionEntity():
            what = "is an action and has no value; `enabled(...)` asks whether it can be taken"
        case ProcedureEntity():
            what = "is a procedure and has no value; a def has one"
        case PropertyEntity():
            what = "is a property and has no value; put what they share into a def"
        case BrokenEntity():
            return None
        case _:
            assert_never(entity)
    context.report(
        "F210", span, f'"{entity.name}" {what}', (entity.span, f'"{entity.name}" is declared here')
    )
    return None


def variable(
    context: Context, entity: VariableEntity, instance: ir.Expr | None, span: Span
) -> Operand | None:
    """The value of a variable; ``instance`` says whose, in a role family."""
    if context.place == "constant":
        context.report(
            "F205",
            span,
            f'"{entity.name}" is a variable, and a constant is wanted here',
            (entity.span, f'"{entity.name}" is declared here'),
        )
        return None
    if entity.index is None or entity.type is None:
        return None
    if context.declared is not None and entity.index >= context.declared:
        context.report(
            "F208",
            span,
            f'"{entity.name}" has no value yet: an initial value sees the variables above it',
            (entity.span, f'"{entity.name}" is declared here'),
        )
        return None
    ghost = Ghost(span, f'"{entity.name}" is a ghost variable') if entity.decl.ghost else None
    role = entity.role
    if role is None or role.index_type is None:
        return Operand(ir.Variable(entity.type, entity.index, context.after, span=span), ghost)
    if instance is None:
        context.report(
            "F212",
            span,
            f"{role.name} has one {entity.name} for each of {describe(role.index_type)}: write"
            f" {role.name}[...].{entity.name}",
        )
        return None
    whole = ir.Variable(Map(role.index_type, entity.type), entity.index, context.after, span=span)
    return Operand(ir.Get(entity.type, whole, instance, span=span), ghost)


def channel(context: Context, entity: ChannelEntity, span: Span) -> Operand | None:
    """What is in a channel."""
    if context.place in ("constant", "initial"):
        context.report("F205", span, f'"{entity.name}" is a channel, and a constant is wanted here')
        return None
    if entity.index is None or entity.type is None:
        return None
    return Operand(ir.Variable(entity.type, entity.index, context.after, span=span))


def _quiescent(context: Context, span: Span) -> Operand | None:
    if context.place not in ("property", "step") or context.after:
        context.report("F318", span, "quiescent is known in properties only, outside next(...)")
        return None
    actions = [index for index, kind in enumerate(context.work.action_kinds) if kind == "ordinary"]
    tests = tuple(ir.Not(ir.Enabled(index, span=span), span=span) for index in actions)
    return Operand(ir.And(tests, span=span))


# ---------------------------------------------------------------- dotted names and brackets


def denoted(context: Context, node: syntax.Expr) -> Entity | None:
    """The entity that a name or dotted name denotes by itself; None for anything else."""
    if isinstance(node, syntax.Name):
        return None if node.text in context.locals else context.find(node.text)
    if isinstance(node, syntax.Attribute):
        return module_member(context, node)
    return None


def attribute(context: Context, node: syntax.Attribute) -> Operand | None:
    """``m.x``, ``E.A``, ``R.x``, ``R[i].x``, or a field."""
    entity = module_member(context, node)
    if entity is not None:
        return entity_value(context.inner(), entity, node.span)
    base = denoted(context, node.base)
    if isinstance(base, TypeEntity):
        return _type_member(context, base, node)
    if isinstance(base, RoleEntity):
        return role_variable(context, base, None, node)
    if isinstance(base, BrokenEntity):
        return None
    if isinstance(node.base, syntax.Index):
        role = denoted(context, node.base.base)
        if isinstance(role, RoleEntity):
            return role_variable(context, role, node.base, node)
    return expressions.field_of(context, node)


def _type_member(context: Context, entity: TypeEntity, node: syntax.Attribute) -> Operand | None:
    kind = type_of(context.work, entity)
    if kind is None:
        return None
    names = expressions.member_names(kind) or ()
    if node.name.text not in names:
        hint = suggestion(node.name.text, names)
        context.report(
            "F211", node.name.span, f'{entity.name} has no member "{node.name.text}"{hint}'
        )
        return None
    return member_value(context, kind, names.index(node.name.text), node.span)


def role_instance(
    context: Context, role: RoleEntity, index: syntax.Index | None, span: Span
) -> tuple[bool, ir.Expr | None]:
    """Whether ``R`` or ``R[i]`` is well formed, and the instance that it names."""
    if index is None:
        return True, context.instance if context.role is role else None
    if role.index_type is None:
        context.report("F212", index.span, f"{role.name} is a single process; it takes no index")
        return False, None
    if len(index.arguments) != 1:
        context.report("F212", index.span, f"{role.name} takes one index")
        return False, None
    operand = coerced(
        context,
        context.inner().expression(index.arguments[0], role.index_type),
        role.index_type,
        index.arguments[0].span,
        f"the index of {role.name}",
    )
    return operand is not None, operand.expr if operand else None


def role_variable(
    context: Context, role: RoleEntity, index: syntax.Index | None, node: syntax.Attribute
) -> Operand | None:
    """``R.x`` or ``R[i].x``."""
    good, instance = role_instance(context, role, index, node.span)
    entity = role.names.get(node.name.text)
    if isinstance(entity, VariableEntity):
        return variable(context, entity, instance, node.span) if good else None
    if entity is None:
        variables = [item.name for item in role.names.values() if isinstance(item, VariableEntity)]
        hint = suggestion(node.name.text, variables)
        context.report(
            "F201", node.name.span, f'role {role.name} has no variable "{node.name.text}"{hint}'
        )
    elif not isinstance(entity, BrokenEntity):
        context.report(
            "F210",
            node.name.span,
            f'only the variables of a role are read from outside, and "{entity.name}" is none',
            (entity.span, f'"{entity.name}" is declared here'),
        )
    return None


def index(context: Context, node: syntax.Index, expected: Type | None) -> Operand | None:
    """``q[i]``, a channel of a family, or a type with arguments as a set."""
    base = node.base
    if isinstance(base, syntax.Name) and base.text in ("set", "seq", "bag", "map", "int"):
        return expressions.universe(context, resolve(context, node), node.span)
    entity = denoted(context, base)
    if isinstance(entity, ChannelEntity) and entity.indices:
        return channel_index(context.inner(), entity, node)
    if isinstance(entity, RoleEntity):
        context.report(
            "F210", node.span, f'"{entity.name}" is a role: name one of its variables behind a dot'
        )
        return None
    return expressions.indexed(context, node, expected)
