"""Elaborates statements that change a variable: assignments and the methods of collections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from fencepost.spec.core import ir
from fencepost.spec.core.traverse import assigned
from fencepost.spec.core.types import Map, Option, Record, Seq, Union, describe
from fencepost.spec.elaborate.base import other_languages
from fencepost.spec.elaborate.base.context import Context, Reported
from fencepost.spec.elaborate.base.ghosts import ordinary
from fencepost.spec.elaborate.base.symbols import (
    BrokenEntity,
    ChannelEntity,
    ConstEntity,
    Entity,
    Opening,
    Operand,
    RoleEntity,
    VariableEntity,
    kind_of,
)
from fencepost.spec.elaborate.types.arguments import wrong_number
from fencepost.spec.elaborate.types.bidirectional import open_ended
from fencepost.spec.elaborate.types.narrowing import known_tags, mentions, reading
from fencepost.spec.elaborate.types.partiality import (
    coerced,
    component,
    in_bounds,
)
from fencepost.spec.elaborate.types.type_expressions import module_member
from fencepost.spec.elaborate.values import arithmetic
from fencepost.spec.elaborate.values.fields import field_index, key_notes, no_index
from fencepost.spec.elaborate.values.functions import Target, methods_of
from fencepost.spec.elaborate.values.roles import member, through
from fencepost.spec.elaborate.values.sequences import is_index
from fencepost.spec.records import dataclass, replace
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.problem import Note, suggestion_or_all
from fencepost.spec.text.source import Span

Prelude: TypeAlias = "tuple[int, ir.Expr] | ir.Statement"
"""A step that runs before an assignment. It either binds a value to a slot or performs a check."""

Result: TypeAlias = tuple[ir.Statement | Opening | None, Context]
"""A checked statement and the context after it. The statement is None if it does nothing or is
wrong.
"""


# ---------------------------------------------------------------- assignment


def assign(context: Context, node: syntax.Assign) -> Result:
    """Elaborates ``place = e`` and the compound forms. A compound form such as ``place += e`` means
    ``place = place + e``, but evaluates the place only once.
    """
    target = place(context, node.target)
    if target is None and open_ended(context, node.value):
        return None, context
    expected = target.type if target else None
    operand = context.expression(node.value, expected)
    if target is None or operand is None:
        return None, context
    if node.operator != "=":
        left = Operand(target.read)
        operand = arithmetic.combined(context, node.operator[0], left, operand, node.span)
    return _store(context, target, operand, node.value.span, node.span)


def _store(
    context: Context, target: Place, operand: Operand | None, value_span: Span, span: Span
) -> Result:
    value = coerced(context, operand, target.type, value_span, target.holder, target.note)
    if value is None:
        return None, context
    if not target.ghost:
        ordinary(context, value, f"{target.holder}, which is not a ghost,", value_span)
    stored = _behind(target, ir.Assign(target.variable, target.path, value.expr, span=span))
    tags = known_tags(context.facts, value.expr)
    context = forget(context, [stored])
    if tags and not target.prelude:
        context = context.learn({reading(target.read): tags})
    return stored, context


def _behind(target: Place, statement: ir.Statement) -> ir.Statement:
    """Returns ``statement`` preceded by the evaluations and checks that its target needs."""
    for part in reversed(target.prelude):
        if isinstance(part, tuple):
            statement = ir.Bind(part[0], part[1], statement)
        else:
            statement = ir.Sequence((part, statement))
    return statement


def forget(context: Context, statements: Sequence[ir.Statement | None]) -> Context:
    """Returns the context after the statements. It drops the facts about variables that the
    statements assign.
    """
    if not context.facts:
        return context
    changed = assigned(tuple(statements))
    if not changed:
        return context
    facts = {expr: tags for expr, tags in context.facts.items() if not mentions(expr, changed)}
    return replace(context, facts=facts)


# ---------------------------------------------------------------- methods


def method(context: Context, call: syntax.Call, function: syntax.Attribute) -> Result:
    """Elaborates ``s.add(e)``, ``q.pop_first()`` and the other methods of collections."""
    name = function.name.text
    target = place(context, function.base)
    if target is None:
        return None, context
    kind = target.type
    available = methods_of(kind)
    row = available.get(name)
    if row is None:
        native, advice = other_languages.METHODS.get(name), other_languages.method(name, kind)
        hint = suggestion_or_all(name, list(available))
        if native in available:
            hint = f'; it is called "{native}"'
        elif advice is not None:
            hint = f"; {advice}"
        if isinstance(kind, Option):
            hint = "; it is an option, so take its value out with `!` and assign a new one"
        message = f'{describe(kind)} has no method "{name}"{hint}'
        context.report("F415", function.name.span, message, target.note)
        return None, context
    if len(call.arguments) != row.arity:
        wrong_number(context, name, row.arity, len(call.arguments), call.span)
        return None, context
    return _store(context, target, row.build(context, target, call), call.span, call.span)


@dataclass(frozen=True, slots=True)
class Place(Target):
    """An assignment target: a variable and a path into it. ``ghost`` is set if the target may
    depend on ghosts.
    """

    variable: int
    path: tuple[ir.Step, ...]
    ghost: bool
    prelude: tuple[Prelude, ...] = ()


def place(context: Context, node: syntax.Expr) -> Place | None:
    """Returns the assignment target that ``node`` denotes. If ``node`` cannot be assigned, reports
    a problem and returns None.
    """
    match node:
        case syntax.Name():
            return _name(context, node)
        case syntax.Attribute():
            return _attribute(context, node)
        case syntax.Index():
            return _index(context, node)
        case syntax.Part():
            return _part(context, node.span)
        case _:
            message = "only a variable, or a field or element of one, can be assigned"
            if isinstance(node, syntax.Tuple):
                message += "; name the components first: let (a, b) = e"
            return context.report("F401", node.span, message)


def _name(context: Context, node: syntax.Name) -> Place | None:
    text = node.text
    local = context.local(node)
    if local is not None:
        if context.find(text) is not None:
            # The local hides a variable, which has already been reported.
            return None
        return context.report(
            "F402",
            node.span,
            f'"{text}" is a local, but only a variable can be assigned',
            (local.span, f'"{text}" is bound here'),
        )
    entity = context.look_up(node) or next(iter(context.members(text)), None)
    if entity is None:
        return context.unknown(node, "variable", kinds=(VariableEntity,))
    return _entity(context, entity, node)


def _entity(context: Context, entity: Entity, node: syntax.Expr) -> Place | None:
    if isinstance(entity, VariableEntity):
        return _variable(context, entity, node)
    if isinstance(entity, BrokenEntity):
        return None
    if isinstance(entity, ConstEntity):
        message = f'"{entity.name}" is a constant; declare a var to assign it'
        context.report("F403", node.span, message, entity.note)
    elif isinstance(entity, ChannelEntity):
        message = f'"{entity.name}" is a channel: write `send ... to {entity.name}`'
        context.report("F404", node.span, message, entity.note)
    else:
        message = f'"{entity.name}" is {kind_of(entity)}, but only a variable can be assigned'
        context.report("F401", node.span, message, entity.note)
    return None


def _variable(context: Context, entity: VariableEntity, node: syntax.Expr) -> Place | None:
    note: Note = (entity.span, f"{entity.name} is declared here")
    role = entity.role
    if role is not None and role is not context.role:
        return context.report(
            "F405",
            node.span,
            f'"{entity.name}" belongs to role {role.name}, and only its own actions assign it',
            note,
        )
    if entity.index is None or entity.type is None:
        return None
    if role is None or role.index_type is None:
        read: ir.Expr = ir.Variable(entity.type, entity.index, span=node.span)
        return Place(read, entity.name, note, entity.index, (), entity.decl.ghost)
    assert context.instance is not None
    whole = ir.Variable(Map(role.index_type, entity.type), entity.index, span=node.span)
    read = ir.Get(entity.type, whole, context.instance, span=node.span)
    path = (ir.KeyStep(context.instance),)
    return Place(read, entity.name, note, entity.index, path, entity.decl.ghost)


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
        return context.report(
            "F406",
            node.span,
            "only a record's fields are assigned one by one, but this is a"
            f" {describe(outer.type)}, a union; assign a whole value",
            outer.note,
        )
    index = field_index(context, node.name, outer.type)
    if index is None or not isinstance(outer.type, Record):
        return None
    field = outer.type.fields[index]
    return replace(
        outer,
        path=(*outer.path, ir.FieldStep(index)),
        read=ir.GetField(field.type, outer.read, index, span=node.span),
        ghost=outer.ghost or field.ghost,
        holder=component(index + 1, outer.holder) if outer.type.is_tuple else field.name,
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
        message = f"inside a role, its variables have plain names: write {entity.name}"
        return context.report("F405", node.span, message, note)
    rule = f"a role assigns only its own variables, but this is one of {role.name}"
    if context.role is role:
        rule = "a process assigns only its own variables, but this may be another's"
    hint = "send it a message, or share a variable that is declared at the top level"
    return context.report("F405", node.span, f"{rule}: {hint}", note)


def _names_itself(role: RoleEntity, node: syntax.Expr) -> bool:
    """Returns whether ``R[i]`` is the acting process itself."""
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


def _part(context: Context, span: Span) -> Reported:
    """Reports (F401) that a part of a sequence is used as an assignment target."""
    message = (
        "a part of a sequence cannot be assigned; assign the whole sequence: q = q[..i - 1] + r + "
        "q[j..]"
    )
    return context.report("F401", span, message)


def _into(context: Context, outer: Place, operand: Operand, written: syntax.Expr) -> Place | None:
    kind = outer.type
    if isinstance(kind, Map):
        notes = (outer.note, *key_notes(kind.key, operand.type))
        converted = coerced(context, operand, kind.key, written.span, "the key", *notes)
        if converted is None:
            return None
        operand = converted
    elif not isinstance(kind, Seq):
        return no_index(context, kind, written.span)
    elif isinstance(written, syntax.Range):
        return _part(context, written.span)
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
        site = context.site("F903", written.span, "the index is outside the sequence")
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
