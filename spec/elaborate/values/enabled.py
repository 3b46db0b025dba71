"""Elaborates ``enabled(...)``, which tests whether an action is enabled for some parameters or for
given ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fencepost.spec.core import ir
from fencepost.spec.core.type_relations import within
from fencepost.spec.core.types import Option, Set, Type, describe
from fencepost.spec.elaborate.base.context import Context, first_ghost
from fencepost.spec.elaborate.base.symbols import (
    ActionEntity,
    BrokenEntity,
    Entity,
    Operand,
    RoleEntity,
    kind_of,
)
from fencepost.spec.elaborate.types.arguments import named, wrong_number
from fencepost.spec.elaborate.types.partiality import bound_all, same_kind, settled, widened
from fencepost.spec.elaborate.values.roles import denoted, is_broken, process, through
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.problem import listing, suggestion_or_all
from fencepost.spec.text.source import Span


def enabled(context: Context, node: syntax.Call) -> Operand | None:
    """Elaborates ``enabled(a)``, ``enabled(R[i].a)`` and ``enabled(R[i].a(x))``."""
    if not in_property(context, "enabled(...)", node.span):
        return None
    written = node.arguments[0].value
    call = written if isinstance(written, syntax.Call) else None
    action = written if call is None else call.function
    entity = action_of(context, action)
    if entity is None:
        return None
    good, instance = instance_named(context, entity, action)
    if not good or entity.index is None:
        return None
    if call is None:
        choices = () if instance is None else (instance.expr,)
        return Operand(ir.Enabled(entity.index, choices, span=node.span), first_ghost(instance))
    arguments = arguments_of(context, entity, call)
    if arguments is None or entity.parameters is None:
        return None
    chosen = [*([] if instance is None else [instance]), *arguments]
    kinds = [*([] if instance is None else [instance.type]), *entity.parameters]
    role_index = None
    if instance is None and entity.role is not None:
        role_index = entity.role.index_type
    expr = _chosen(context, entity.index, chosen, kinds, role_index, node.span)
    return Operand(expr, first_ghost(*chosen))


def in_property(context: Context, form: str, span: Span) -> bool:
    """Whether ``form``, which tests what is enabled, is allowed here. Reports F318 if it is not."""
    if context.position.after:
        message = (
            f"{form} refers to the state before the step, so it is not allowed inside next(...)"
        )
        context.report("F318", span, message)
    elif context.position.place not in ("property", "step"):
        context.report("F318", span, f"{form} is allowed in properties only")
    else:
        return True
    return False


def action_of(context: Context, node: syntax.Expr) -> ActionEntity | None:
    """Returns the action that ``a``, ``R.a``, ``R[i].a`` or ``m.a`` denotes. Reports F322 and
    returns None if it does not denote an action.
    """
    entity = _action(context, node)
    if isinstance(entity, ActionEntity):
        return entity
    if not isinstance(entity, BrokenEntity) and not is_broken(context, node):
        _no_action(context, node, entity)
    return None


def _action(context: Context, node: syntax.Expr) -> Entity | None:
    """Returns the entity that ``a``, ``R.a``, ``R[i].a`` or ``m.a`` denotes."""
    if isinstance(node, syntax.Attribute):
        seen = through(context, node)
        if seen is not None:
            entity = seen.role.names.get(node.name.text)
            context.meant(node.name, entity)
            return entity or seen.role.module.unreadable(node.name)
    return denoted(context, node)


def _no_action(context: Context, node: syntax.Expr, entity: Entity | None) -> None:
    """Reports that ``node``, which denotes ``entity``, is not an action."""
    span, here = node.span, "an action is required here"
    notes = () if entity is None else (entity.note,)
    hint = f", but {node.span.text} is {kind_of(entity)}" if entity is not None else ""
    role = entity if isinstance(entity, RoleEntity) else None
    if isinstance(node, syntax.Attribute):
        family = _family(context, node.base)
        if family:
            here = f"a process is named in brackets: {family}.{node.name.text}"
        elif seen := through(context, node):
            span = node.name.span
            hint = f", but {node.name.text} is {kind_of(entity)}" if entity is not None else ""
            here = f"an action of {seen.role.name} is required here"
            hint += suggestion_or_all(
                node.name.text, _actions_in(seen.role.names), f"{seen.role.name} has"
            )
    elif isinstance(node, syntax.Index):
        inside = denoted(context, node.base)
        role = inside if isinstance(inside, RoleEntity) else None
        if isinstance(inside, ActionEntity):
            hint, notes = f", but {inside.name} has no index", (inside.note,)
    elif isinstance(node, syntax.Name) and entity is None:
        for other in context.module.names.values():
            within_role = other.names.get(node.text) if isinstance(other, RoleEntity) else None
            if isinstance(other, RoleEntity) and isinstance(within_role, ActionEntity):
                written = f"{other.name}{'' if other.index_type is None else '[...]'}.{node.text}"
                here = f"{node.text} is an action of a role: write {written}"
                context.report("F322", span, here, (within_role.span, "declared here"))
                return
        scopes = [context.module.names, context.role.names if context.role else {}]
        names = [name for scope in scopes for name in _actions_in(scope)]
        hint = f": its name, or Role.action{suggestion_or_all(node.text, names, 'there are')}"
    if role is not None:
        actions = [f"{node.span.text}.{name}" for name in _actions_in(role.names)]
        hint += f"; its actions are {listing(actions, 'and')}" if actions else ""
    context.report("F322", span, f"{here}{hint}", *notes)


def _actions_in(scope: Mapping[str, Entity]) -> list[str]:
    return [name for name, entity in scope.items() if isinstance(entity, ActionEntity)]


def _family(context: Context, base: syntax.Expr) -> str:
    """Returns the correct spelling of the process that ``R.i`` or ``R(i)`` probably means, or an
    empty string if ``base`` probably means something else.
    """
    match base:
        case syntax.Attribute(base=role, name=index):
            inside = index.text
        case syntax.Call(function=role, arguments=(argument,)):
            inside = argument.span.text
        case _:
            return ""
    entity = denoted(context, role)
    is_family = isinstance(entity, RoleEntity) and entity.index_type is not None
    return f"{role.span.text}[{inside}]" if is_family else ""


def instance_named(
    context: Context, entity: ActionEntity, written: syntax.Expr
) -> tuple[bool, Operand | None]:
    """Returns whether the role's index is correct, and the process that it denotes. The process is
    None if any process is meant, or if the role has only one.
    """
    if entity.role is not None and entity.role.index_type is not None:
        seen = through(context, written) if isinstance(written, syntax.Attribute) else None
        if seen is not None and seen.index is not None:
            return process(context, seen, entity.decl.name)
        if context.role is entity.role and context.instance is not None:
            return True, Operand(context.instance)
    elif isinstance(written, syntax.Attribute) and isinstance(written.base, syntax.Index):
        message = "this role is a single process; it takes no index"
        context.report("F212", written.base.span, message)
        return False, None
    return True, None


# ---------------------------------------------------------------- arguments


def arguments_of(context: Context, entity: ActionEntity, call: syntax.Call) -> list[Operand] | None:
    """Elaborates the arguments and checks that they have the shapes of their parameters' types.
    Returns None if one of them is wrong.
    """
    if named(context, call.arguments):
        return None
    name = call.function.span.text
    binders = () if entity.decl.choices is None else entity.decl.choices.binders
    if len(call.arguments) != len(binders):
        count = len(binders), len(call.arguments)
        return wrong_number(context, name, *count, call.span, entity.note)
    kinds: Sequence[Type | None] = entity.parameters or [None] * len(binders)
    operands: list[Operand] = []
    for binder, kind, argument in zip(binders, kinds, call.arguments, strict=True):
        operand = context.expression(argument.value, kind)
        if operand is None or kind is None:
            continue
        if isinstance(kind, Option) and not isinstance(operand.type, Option):
            operand = widened(operand, Option(operand.type))
        holds = f"{binder.label} of {name} is one of {describe(kind)}"
        note = (binder.span, f'"{binder.label}" is declared here')
        if same_kind(context, operand.type, kind, argument.span, holds, note):
            operands.append(operand)
    return operands if len(operands) == len(binders) else None


def _chosen(
    context: Context,
    action: int,
    operands: Sequence[Operand],
    kinds: Sequence[Type],
    role_index: Type | None,
    span: Span,
) -> ir.Expr:
    """Builds the condition that the action is enabled with these choices. All values are evaluated.
    The condition is false if a value is outside the type of its parameter, because such a value is
    never chosen. ``role_index`` is the index type of the role if any of its processes may act.
    """

    def built(values: Sequence[ir.Expr]) -> ir.Expr:
        tests: list[ir.Expr] = []
        choices: list[ir.Expr] = []
        for value, kind in zip(values, kinds, strict=True):
            fits: ir.Expr = ir.Literal(ir.BOOL, True)
            if not within(value.type, kind):
                fits = settled(ir.Fits(value, kind, span=value.span), value)
            if isinstance(fits, ir.Literal) and not fits.value:
                return ir.Literal(ir.BOOL, False, span=span)
            if not isinstance(fits, ir.Literal):
                tests.append(fits)
            if isinstance(value, ir.Literal):
                choices.append(ir.Literal(kind, value.value, span=value.span))
            elif value.type == kind:
                choices.append(value)
            else:
                choices.append(ir.Convert(kind, value, span=value.span))
        expr: ir.Expr
        if role_index is None:
            expr = ir.Enabled(action, tuple(choices), span=span)
        else:
            slot = context.work.slot()
            member = ir.Local(role_index, slot, span=span)
            expr = ir.Enabled(action, (member, *choices), span=span)
            expr = ir.Quantified(False, slot, ir.Universe(Set(role_index)), expr, span=span)
        return ir.And((*tests, expr), span=span) if tests else expr

    return bound_all(context, [operand.expr for operand in operands], built)
