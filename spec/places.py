"""What an assignment changes: a variable, or a path into it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from fencepost.spec import ir, syntax
from fencepost.spec.defined import coerced, in_bounds, is_simple
from fencepost.spec.elaboration import Context
from fencepost.spec.entities import (
    BrokenEntity,
    ChannelEntity,
    ConstEntity,
    Entity,
    Operand,
    RoleEntity,
    VariableEntity,
)
from fencepost.spec.problem import Note, suggestion
from fencepost.spec.resolve import module_member
from fencepost.spec.types import Int, Map, Record, Seq, Type, describe

Prelude: TypeAlias = "tuple[int, ir.Expr] | ir.Statement"
"""What runs before the assignment: a value bound to a slot, or a check."""


@dataclass(frozen=True, slots=True)
class Place:
    """A variable and a path into it; ``read`` is its value before the assignment.

    ``ghost``: it may depend on ghosts. ``holder`` and ``note`` name it in messages.
    """

    variable: int
    path: tuple[ir.Step, ...]
    read: ir.Expr
    ghost: bool
    holder: str
    note: Note
    prelude: tuple[Prelude, ...] = ()

    @property
    def type(self) -> Type:
        return self.read.type


def place(context: Context, node: syntax.Expr) -> Place | None:
    """The place that ``node`` names; None when it cannot be assigned, which is reported."""
    match node:
        case syntax.Name():
            return _name(context, node)
        case syntax.Attribute():
            return _attribute(context, node)
        case syntax.Index():
            return _index(context, node)
        case _:
            context.report("F401", node.span, "this cannot be assigned: a variable can be")
            return None


def _name(context: Context, node: syntax.Name) -> Place | None:
    text = node.text
    if text in context.locals:
        local = context.locals[text]
        context.report(
            "F402",
            node.span,
            f'"{text}" is a local and keeps its value; a variable can be assigned',
            (local.span, f'"{text}" is bound here'),
        )
        return None
    entity = context.find(text)
    if entity is None:
        if context.members(text):
            context.report("F401", node.span, f'"{text}" is a member of a type, not a variable')
        else:
            context.unknown(node, "variable")
        return None
    return _entity(context, entity, node)


def _entity(context: Context, entity: Entity, node: syntax.Expr) -> Place | None:
    if isinstance(entity, VariableEntity):
        return _variable(context, entity, node)
    if isinstance(entity, BrokenEntity):
        return None
    note: Note = (entity.span, f'"{entity.name}" is declared here')
    if isinstance(entity, ConstEntity):
        context.report("F403", node.span, f'"{entity.name}" is a constant; a var can change', note)
    elif isinstance(entity, ChannelEntity):
        context.report(
            "F404", node.span, f'"{entity.name}" is a channel: `send ... to {entity.name}`', note
        )
    else:
        context.report("F401", node.span, f'"{entity.name}" is not a variable', note)
    return None


def _variable(context: Context, entity: VariableEntity, node: syntax.Expr) -> Place | None:
    note: Note = (entity.span, f"{entity.name} is declared here")
    role = entity.role
    if role is not None and role is not context.role:
        context.report(
            "F405",
            node.span,
            f'"{entity.name}" belongs to role {role.name}, and only its own actions assign it',
            note,
        )
        return None
    if entity.index is None or entity.type is None:
        return None
    if role is None or role.index_type is None:
        read: ir.Expr = ir.Variable(entity.type, entity.index, span=node.span)
        return Place(entity.index, (), read, entity.decl.ghost, entity.name, note)
    assert context.instance is not None
    whole = ir.Variable(Map(role.index_type, entity.type), entity.index, span=node.span)
    read = ir.Get(entity.type, whole, context.instance, span=node.span)
    path = (ir.KeyStep(context.instance),)
    return Place(entity.index, path, read, entity.decl.ghost, entity.name, note)


def _attribute(context: Context, node: syntax.Attribute) -> Place | None:
    entity = module_member(context, node)
    if entity is not None:
        return _entity(context, entity, node)
    base = node.base.base if isinstance(node.base, syntax.Index) else node.base
    named = None
    if isinstance(base, syntax.Name) and base.text not in context.locals:
        named = context.find(base.text)
    elif isinstance(base, syntax.Attribute):
        named = module_member(context, base)
    if isinstance(named, RoleEntity):
        return _of_role(context, named, node)
    outer = place(context, node.base)
    if outer is None:
        return None
    if not isinstance(outer.type, Record):
        context.report(
            "F406",
            node.span,
            f"only a record's fields are assigned one by one, and this is"
            f" {describe(outer.type)}; assign a whole value",
        )
        return None
    names = [field.name for field in outer.type.fields]
    if node.name.text not in names:
        hint = suggestion(node.name.text, names)
        context.report(
            "F314", node.name.span, f'{describe(outer.type)} has no field "{node.name.text}"{hint}'
        )
        return None
    index = names.index(node.name.text)
    field = outer.type.fields[index]
    return replace(
        outer,
        path=(*outer.path, ir.FieldStep(index)),
        read=ir.GetField(field.type, outer.read, index, span=node.span),
        ghost=outer.ghost or field.ghost,
        holder=field.name,
    )


def _of_role(context: Context, role: RoleEntity, node: syntax.Attribute) -> Place | None:
    entity = role.names.get(node.name.text)
    if isinstance(entity, VariableEntity):
        if context.role is role and not isinstance(node.base, syntax.Index):
            return _variable(context, entity, node)
        hint = f"; write {entity.name} for its own" if context.role is role else ""
        context.report(
            "F405",
            node.span,
            f"a role assigns only its own variables, and this is one of {role.name}"
            f" seen from outside{hint}",
            (entity.span, f"{entity.name} is declared here"),
        )
    elif not isinstance(entity, BrokenEntity):
        hint = suggestion(node.name.text, role.names)
        context.report(
            "F201", node.name.span, f'role {role.name} has no variable "{node.name.text}"{hint}'
        )
    return None


def _index(context: Context, node: syntax.Index) -> Place | None:
    result = place(context, node.base)
    for written in node.arguments:
        key = result.type.key if result and isinstance(result.type, Map) else None
        operand = context.expression(written, key)
        if result is None or operand is None:
            result = None
            continue
        result = _into(context, result, operand, written)
    return result


def _into(context: Context, outer: Place, operand: Operand, written: syntax.Expr) -> Place | None:
    kind = outer.type
    if isinstance(kind, Map):
        converted = coerced(context, operand, kind.key, written.span, "the key")
        if converted is None:
            return None
        operand = converted
    elif not isinstance(kind, Seq):
        context.report(
            "F313", written.span, f"a sequence or map is indexed, and this is {describe(kind)}"
        )
        return None
    elif not isinstance(operand.type, Int):
        context.report(
            "F301", written.span, f"an index is an integer, and this is {describe(operand.type)}"
        )
        return None
    if not outer.ghost:
        ordinary(context, operand, written.span, "which element is assigned")
    prelude = list(outer.prelude)
    expr = operand.expr
    if not isinstance(expr, ir.Literal | ir.Local):
        slot = context.work.slot()
        prelude.append((slot, expr))
        expr = ir.Local(expr.type, slot, span=written.span)
    span = outer.read.span.to(written.span) if outer.read.span else written.span
    if isinstance(kind, Map):
        read: ir.Expr = ir.Get(kind.value, outer.read, expr, span=span)
        step: ir.Step = ir.KeyStep(expr)
    else:
        site = context.site("F903", written.span, "the index lies outside the sequence")
        prelude.append(ir.Ensure(in_bounds(outer.read, expr), site, span=written.span))
        read = ir.At(kind.element, outer.read, expr, span=span)
        step = ir.IndexStep(expr)
    return replace(
        outer,
        path=(*outer.path, step),
        read=read,
        prelude=tuple(prelude),
        holder=f"{outer.holder}[...]",
    )


def ordinary(context: Context, operand: Operand, what_span: object, what: str) -> None:
    """Reports (F501) when ``what``, which is ordinary, would depend on a ghost."""
    if operand.ghost is None:
        return
    span = operand.expr.span or operand.ghost.span
    context.report(
        "F501",
        span,
        f"{what} must not depend on a ghost",
        (operand.ghost.span, operand.ghost.reason),
    )


__all__ = ["Place", "Prelude", "is_simple", "ordinary", "place"]
