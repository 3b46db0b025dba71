"""Resolves references to roles from outside, such as ``R.x`` and ``R[i].x``, and the processes that
they denote.
"""

from __future__ import annotations

from fencepost.spec.core import ir
from fencepost.spec.core.types import Record, describe
from fencepost.spec.elaborate.base.context import Context
from fencepost.spec.elaborate.base.symbols import (
    BrokenEntity,
    Entity,
    Operand,
    RoleEntity,
    VariableEntity,
)
from fencepost.spec.elaborate.types.partiality import converted_value
from fencepost.spec.elaborate.types.type_expressions import module_member
from fencepost.spec.records import dataclass
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.problem import Note, suggestion, suggestion_or_all


@dataclass(frozen=True, slots=True)
class Through:
    """The role before a dot, with its index if one is written."""

    role: RoleEntity
    index: syntax.Index | None


def denoted(context: Context, node: syntax.Expr) -> Entity | None:
    """Returns the entity that a name or dotted name denotes by itself, or None for any other
    expression.
    """
    if isinstance(node, syntax.Name):
        return None if node.text in context.locals else context.look_up(node)
    if isinstance(node, syntax.Attribute):
        return module_member(context, node)
    return None


def is_broken(context: Context, node: syntax.Expr) -> bool:
    """Returns whether an expression such as ``R[i].x`` begins with a name whose declaration is
    wrong.
    """
    while not isinstance(denoted(context, node), BrokenEntity):
        if not isinstance(node, syntax.Attribute | syntax.Index):
            return False
        node = node.base
    return True


def through(context: Context, node: syntax.Attribute) -> Through | None:
    """Returns the role through which ``R.x``, ``m.R.x`` or ``R[i].x`` reads, or None for other
    forms.
    """
    index = node.base if isinstance(node.base, syntax.Index) else None
    entity = denoted(context, index.base if index else node.base)
    return Through(entity, index) if isinstance(entity, RoleEntity) else None


def process(context: Context, seen: Through, name: syntax.Name) -> tuple[bool, Operand | None]:
    """Returns whether the index is correct, and the process that it denotes. The process is None if
    the role is not a family.
    """
    role, index = seen.role, seen.index
    note: Note = (role.span, f"{role.name} is declared here")
    if role.index_type is None:
        if index is not None:
            message = f"{role.name} is a single process: write {role.name}.{name.text}"
            context.report("F212", index.span, message, note)
        return index is None, None
    if index is None:
        if context.role is role and context.instance is not None:
            return True, Operand(context.instance)
        context.report(
            "F212",
            name.span,
            f"{role.name} has one {name.text} for each of {describe(role.index_type)}: write"
            f" {role.name}[...].{name.text}",
            note,
        )
        return False, None
    if role.placeholder:
        return False, None
    if len(index.arguments) != 1:
        hint = ""
        if isinstance(role.index_type, Record) and role.index_type.is_tuple:
            arguments = ", ".join(argument.span.text for argument in index.arguments)
            hint = f", a tuple: write {role.name}[({arguments})]"
        context.report("F212", index.span, f"{role.name} takes one index{hint}", note)
        return False, None
    holder = f"the index of {role.name}"
    operand = converted_value(context.inner(), index.arguments[0], role.index_type, holder, note)
    return operand is not None, operand


def member(context: Context, role: RoleEntity, name: syntax.Name) -> Entity | None:
    """Returns the entity with this name in a role. Reports F201 if there is none."""
    entity = role.names.get(name.text)
    if entity is None and not role.module.unreadable(name):
        variables = [item.name for item in role.names.values() if isinstance(item, VariableEntity)]
        hint = (
            suggestion(name.text, variables)
            or suggestion(name.text, role.names)
            or suggestion_or_all(name.text, variables)
        )
        message = f'role {role.name} has no variable "{name.text}"{hint}'
        context.report("F201", name.span, message, (role.span, f"{role.name} is declared here"))
    context.meant(name, entity)
    return None if isinstance(entity, BrokenEntity) else entity


def instance_of(operand: Operand | None) -> ir.Expr | None:
    """Returns the core expression of a role's index, or None if the role has no index."""
    return None if operand is None else operand.expr
