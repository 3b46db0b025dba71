"""What an assignment changes: a variable, or a path into it."""

from __future__ import annotations

from typing import TypeAlias

from fencepost.spec.core import ir
from fencepost.spec.core.types import Map, Record, Seq, Type, Union, describe
from fencepost.spec.elaborate.base.context import Context
from fencepost.spec.elaborate.base.ghosts import ordinary
from fencepost.spec.elaborate.base.symbols import (
    BrokenEntity,
    ChannelEntity,
    ConstEntity,
    Entity,
    Operand,
    RoleEntity,
    VariableEntity,
    kind_of,
)
from fencepost.spec.elaborate.types.bidirectional import open_ended
from fencepost.spec.elaborate.types.partiality import coerced, in_bounds
from fencepost.spec.elaborate.types.type_expressions import module_member
from fencepost.spec.elaborate.values.fields import field_index, no_index
from fencepost.spec.elaborate.values.roles import member, through
from fencepost.spec.elaborate.values.sequences import is_index
from fencepost.spec.records import dataclass, replace
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.problem import Note
from fencepost.spec.text.source import Span

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
        case syntax.Part():
            _part(context, node.span)
            return None
        case _:
            message = "this cannot be assigned: a variable can, or a field or element of one"
            context.report("F401", node.span, message)
            return None


def _name(context: Context, node: syntax.Name) -> Place | None:
    text = node.text
    local = context.local(node)
    if local is not None:
        if context.find(text) is not None:
            # A local that hides it, which has been reported.
            return None
        context.report(
            "F402",
            node.span,
            f'"{text}" is a local and keeps its value; only a variable can be assigned',
            (local.span, f'"{text}" is bound here'),
        )
        return None
    entity = context.look_up(node) or next(iter(context.members(text)), None)
    if entity is None:
        context.unknown(node, "variable", kinds=(VariableEntity,))
        return None
    return _entity(context, entity, node)


def _entity(context: Context, entity: Entity, node: syntax.Expr) -> Place | None:
    if isinstance(entity, VariableEntity):
        return _variable(context, entity, node)
    if isinstance(entity, BrokenEntity):
        return None
    note: Note = (entity.span, f'"{entity.name}" is declared here')
    if isinstance(entity, ConstEntity):
        message = f'"{entity.name}" is a constant and keeps its value; declare a var to assign it'
        context.report("F403", node.span, message, note)
    elif isinstance(entity, ChannelEntity):
        message = f'"{entity.name}" is a channel: write `send ... to {entity.name}`'
        context.report("F404", node.span, message, note)
    else:
        message = f'"{entity.name}" is {kind_of(entity)}, and only a variable can be assigned'
        context.report("F401", node.span, message, note)
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
    seen = through(context, node)
    if seen is not None:
        return _of_role(context, seen.role, node)
    outer = place(context, node.base)
    if outer is None:
        return None
    if isinstance(outer.type, Union):
        context.report(
            "F406",
            node.span,
            "only a record's fields are assigned one by one, and this is a"
            f" {describe(outer.type)}, a union; assign a whole value",
            outer.note,
        )
        return None
    index = field_index(context, node.name, outer.type)
    if index is None or not isinstance(outer.type, Record):
        return None
    field = outer.type.fields[index]
    return replace(
        outer,
        path=(*outer.path, ir.FieldStep(index)),
        read=ir.GetField(field.type, outer.read, index, span=node.span),
        ghost=outer.ghost or field.ghost,
        holder=field.name,
    )


def _of_role(context: Context, role: RoleEntity, node: syntax.Attribute) -> Place | None:
    entity = member(context, role, node.name)
    if entity is None:
        return None
    if not isinstance(entity, VariableEntity):
        return _entity(context, entity, node)
    if context.role is role and not isinstance(node.base, syntax.Index):
        return _variable(context, entity, node)
    note: Note = (entity.span, f"{entity.name} is declared here")
    if context.role is role and _names_itself(role, node.base):
        message = f"a role names its own variables as they are: write {entity.name}"
        context.report("F405", node.span, message, note)
        return None
    found = f"a role assigns only its own variables, and this is one of {role.name}"
    if context.role is role:
        found = "a process assigns only its own variables, and this may be another's"
    hint = "send it a message, or share a variable that is declared at the top level"
    context.report("F405", node.span, f"{found}: {hint}", note)
    return None


def _names_itself(role: RoleEntity, node: syntax.Expr) -> bool:
    """Whether ``R[i]`` is the process that is at work."""
    index = role.decl.index
    if index is None or not isinstance(node, syntax.Index):
        return index is None
    match node.arguments:
        case (syntax.Name(text=text),):
            return text == index.name.text
        case _:
            return False


def _index(context: Context, node: syntax.Index) -> Place | None:
    result = place(context, node.base)
    for written in node.arguments:
        key = result.type.key if result and isinstance(result.type, Map) else None
        if result is None and open_ended(context, written):
            continue
        operand = context.expression(written, key)
        if result is None or operand is None:
            result = None
            continue
        result = _into(context, result, operand, written)
    return result


def _part(context: Context, span: Span) -> None:
    """Reports (F401) a part of a sequence where a place is wanted."""
    message = "a part of a sequence cannot be assigned; the whole can: q = q[..i - 1] + r + q[j..]"
    context.report("F401", span, message)


def _into(context: Context, outer: Place, operand: Operand, written: syntax.Expr) -> Place | None:
    kind = outer.type
    if isinstance(kind, Map):
        converted = coerced(context, operand, kind.key, written.span, "the key", outer.note)
        if converted is None:
            return None
        operand = converted
    elif not isinstance(kind, Seq):
        no_index(context, kind, written.span)
        return None
    elif isinstance(written, syntax.Range):
        _part(context, written.span)
        return None
    elif not is_index(context, operand, written.span):
        return None
    if not outer.ghost:
        ordinary(context, operand, "which element is assigned", written.span)
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
