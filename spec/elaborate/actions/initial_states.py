"""Builds the initial states from the declarations of variables and from ``initially``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from fencepost.spec.core import ir
from fencepost.spec.core.type_relations import element_of, least
from fencepost.spec.core.types import Bag, Map, Seq, Set, Type, describe
from fencepost.spec.elaborate.actions.statements import assembled
from fencepost.spec.elaborate.base.context import Context, Elaboration, Position, role_locals
from fencepost.spec.elaborate.base.ghosts import ordinary
from fencepost.spec.elaborate.base.symbols import (
    ChannelEntity,
    Instance,
    LocalName,
    Opening,
    Operand,
    VariableEntity,
)
from fencepost.spec.elaborate.types.partiality import coerced, converted_value
from fencepost.spec.elaborate.values import channels
from fencepost.spec.elaborate.values.boolean import truth
from fencepost.spec.elaborate.values.collections import elements, universe
from fencepost.spec.records import replace
from fencepost.spec.syntax import nodes as syntax


def initial(
    work: Elaboration,
    variables: Sequence[ir.StateVariable],
    entities: Sequence[VariableEntity | ChannelEntity | None],
    instances: Sequence[Instance],
) -> ir.Statement:
    """Returns the statement that computes the initial states: each vector of choices that the
    statement allows gives one of them.

    ``entities`` correspond to ``variables``. An entity of None is a fault budget, which starts
    unused.
    """
    parts: list[ir.Statement | Opening] = []
    for index, (variable, entity) in enumerate(zip(variables, entities, strict=True)):
        statement: ir.Statement | None
        if isinstance(entity, VariableEntity):
            statement = _first_value(work, entity, index)
        elif entity is not None and entity.decl.content is not None:
            statement = _first_content(work, entity, entity.decl.content, index)
        else:
            value = ir.Literal(variable.type, least(variable.type))
            statement = ir.Assign(index, (), value, span=variable.span)
        if statement is not None:
            parts.append(statement)
    for instance in instances:
        context = Context(work, instance, Position("initial"))
        for node in instance.file.declarations:
            if isinstance(node, syntax.Initially):
                condition = truth(context, node.condition)
                if condition is not None:
                    subject = "the choice of initial states"
                    ordinary(context, condition, subject, node.condition.span)
                    guard = context.guard("require", node.span)
                    parts.append(ir.Require(condition.expr, guard, span=node.span))
    return assembled(parts)


def _first_value(work: Elaboration, entity: VariableEntity, index: int) -> ir.Statement | None:
    kind = entity.type
    assert kind is not None
    context = Context(work, entity.module, Position("initial", declared=index), role=entity.role)
    role = entity.role
    if role is None or role.index_type is None:
        return _stored(context, entity, kind, index, ())
    slot = work.slot()
    span = entity.decl.span
    instance = ir.Local(role.index_type, slot, span=entity.span)
    context = replace(context, instance=instance, locals=role_locals(role, instance))
    whole = Map(role.index_type, kind)
    if entity.decl.kind == "value":
        value = _value(context, entity, kind)
        if value is None:
            return None
        return ir.Assign(index, (), ir.BuildMap(whole, slot, value, span=span), span=span)
    each = _stored(context, entity, kind, index, (ir.KeyStep(instance),))
    if each is None:
        return None
    empty = ir.Assign(index, (), ir.Literal(whole, least(whole)), span=span)
    processes = ir.Universe(Set(role.index_type))
    return ir.Sequence((empty, ir.ForEach(slot, processes, each, span=span)))


def _first_content(
    work: Elaboration, entity: ChannelEntity, written: syntax.Expr, index: int
) -> ir.Statement | None:
    """Returns the statement that assigns the initial content of a channel. In a channel family, the
    content is a function of the indices.
    """
    context = Context(work, entity.module, Position("initial", declared=index))
    content = entity.type
    slots: list[int] = []
    for name, kind in zip(entity.decl.indices, entity.indices, strict=True):
        assert isinstance(content, Map)
        content = content.value
        slots.append(work.slot())
        context = context.bind(name.name, Operand(ir.Local(kind, slots[-1], span=name.name.span)))
    assert isinstance(content, Set | Seq | Bag)
    if isinstance(content, Set) and isinstance(written, syntax.Collection | syntax.Comprehension):
        # The initial content is always written as a list, so a list denotes a set here.
        written = replace(written, brackets="{}")
    operand = context.expression(written, content)
    sets = isinstance(content, Set)
    if operand is not None and not isinstance(operand.type, Set if sets else Seq | Bag):
        wanted = "set of messages, in braces" if sets else "list of messages, in square brackets"
        return context.report(
            "F301",
            written.span,
            f"the initial content of {entity.name} is a {wanted}, but this is"
            f" {describe(operand.type)}",
        )
    value = coerced(context, operand, content, written.span, entity.name)
    if value is None:
        return None
    ordinary(context, value, f"the initial content of {entity.name}", written.span)
    channels.noted(context, entity, value.expr, written.span)
    expr, whole = value.expr, cast("Type", content)
    for slot, key in zip(reversed(slots), reversed(entity.indices), strict=True):
        whole = Map(key, whole)
        expr = ir.BuildMap(whole, slot, expr, span=written.span)
    return ir.Assign(index, (), expr, span=written.span)


def _value(context: Context, entity: VariableEntity, kind: Type) -> ir.Expr | None:
    decl = entity.decl
    assert decl.value is not None
    value = converted_value(context, decl.value, kind, entity.name)
    if value is None:
        return None
    if not decl.ghost:
        ordinary(context, value, f"{entity.name}, which is not a ghost,", decl.value.span)
    return value.expr


def _stored(
    context: Context, entity: VariableEntity, kind: Type, index: int, path: tuple[ir.Step, ...]
) -> ir.Statement | None:
    """Returns the statement that chooses the initial value of a variable, or of one process's
    variable.
    """
    decl = entity.decl
    if decl.kind == "value":
        value = _value(context, entity, kind)
        return None if value is None else ir.Assign(index, path, value, span=decl.span)
    domain = _domain(context, entity, kind)
    element = element_of(domain.type) if domain else None
    slot = context.work.slot()
    chosen: Operand | None = None
    if element is not None:
        chosen = Operand(ir.Local(element, slot, span=decl.name.span))
    test: Operand | None = None
    if decl.condition is not None:
        # In the condition, the variable's own name denotes the value being chosen.
        own = LocalName(chosen, decl.name.span)
        inner = replace(context, locals={**context.locals, entity.name: own})
        test = truth(inner, decl.condition)
        if test is not None:
            subject = "the choice of initial states"
            ordinary(context, test, subject, decl.condition.span)
    where = decl.span if decl.value is None else decl.value.span
    stored = coerced(context, chosen, kind, where, entity.name)
    if domain is None or stored is None or (decl.condition is not None and test is None):
        return None
    ordinary(context, domain, "the choice of initial states", where)
    assign = ir.Assign(index, path, stored.expr, span=decl.span)
    guard = context.guard("choice", decl.span)
    condition = test.expr if test else None
    return ir.Pick(slot, domain.expr, condition, guard, None, assign, span=decl.span)


def _domain(context: Context, entity: VariableEntity, kind: Type) -> Operand | None:
    """Returns the candidate values of a variable. For ``= any``, they are all values of the
    type.
    """
    decl = entity.decl
    if decl.value is not None:
        return elements(context, decl.value, Set(kind))
    return universe(context, kind, decl.type.span)
