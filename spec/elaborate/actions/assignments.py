"""Statements that change a variable: assignments, and the methods of collections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from fencepost.spec.core import ir
from fencepost.spec.core.analysis import assigned
from fencepost.spec.core.operators import Operator
from fencepost.spec.core.size_limits import most
from fencepost.spec.core.type_relations import join
from fencepost.spec.core.types import Bag, Int, Option, Seq, Set, Type, describe
from fencepost.spec.elaborate.actions.assignment_targets import Place, place
from fencepost.spec.elaborate.base import other_languages
from fencepost.spec.elaborate.base.context import Context
from fencepost.spec.elaborate.base.ghosts import comparing, ordinary
from fencepost.spec.elaborate.base.symbols import Opening, Operand
from fencepost.spec.elaborate.types.arguments import wrong_number
from fencepost.spec.elaborate.types.bidirectional import open_ended
from fencepost.spec.elaborate.types.narrowing import mentions, reading
from fencepost.spec.elaborate.types.partiality import bound, coerced, number, size
from fencepost.spec.elaborate.values import arithmetic
from fencepost.spec.records import replace
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.problem import listing, suggestion
from fencepost.spec.text.source import Span

Result: TypeAlias = tuple[ir.Statement | Opening | None, Context]
"""A checked statement (None: nothing to do, or wrong), and the context behind it."""


# ---------------------------------------------------------------- assignment


def assign(context: Context, node: syntax.Assign) -> Result:
    """``place = e``; ``place += e`` and its kin, as ``place = place + e`` with one place."""
    target = place(context, node.target)
    if target is None and open_ended(context, node.value):
        return None, context
    wanted = target.type if target else None
    operand = context.expression(node.value, wanted)
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
        ordinary(context, value, f"{target.holder}, which is no ghost,", value_span)
    stored = _behind(target, ir.Assign(target.variable, target.path, value.expr, span=span))
    known = context.facts.get(reading(value.expr))
    context = forget(context, [stored])
    if known is not None and not target.prelude:
        context = context.learn({reading(target.read): known})
    return stored, context


def _behind(target: Place, statement: ir.Statement) -> ir.Statement:
    """``statement`` behind what has to be evaluated and checked to reach the place."""
    for part in reversed(target.prelude):
        if isinstance(part, tuple):
            statement = ir.Bind(part[0], part[1], statement)
        else:
            statement = ir.Sequence((part, statement))
    return statement


def forget(context: Context, statements: Sequence[ir.Statement | None]) -> Context:
    """The context after statements ran: what was known of variables they assign is not."""
    if not context.facts:
        return context
    changed = assigned(tuple(statements))
    if not changed:
        return context
    facts = {expr: tags for expr, tags in context.facts.items() if not mentions(expr, changed)}
    return replace(context, facts=facts)


# ---------------------------------------------------------------- methods


def method(context: Context, call: syntax.Call, function: syntax.Attribute) -> Result:
    """``s.add(e)``, ``q.pop_first()`` and their kin."""
    name = function.name.text
    target = place(context, function.base)
    if target is None:
        return None, context
    kind = target.type
    able = _methods(kind)
    if name not in able or not isinstance(kind, Set | Seq | Bag):
        meant, instead = other_languages.METHODS.get(name), other_languages.method(name, kind)
        hint = suggestion(name, able) or (f"; it has {listing(able, 'and')}" if able else "")
        if meant in able:
            hint = f'; it is called "{meant}"'
        elif instead is not None:
            hint = f"; {instead}"
        if isinstance(kind, Option):
            hint = "; it is an option, so take its value out with `!` and assign a new one"
        message = f'{describe(kind)} has no method "{name}"{hint}'
        context.report("F415", function.name.span, message, target.note)
        return None, context
    wanted = 0 if name in ("pop_first", "pop_last", "clear") else 1
    if len(call.arguments) != wanted:
        wrong_number(context, name, wanted, len(call.arguments), call.span)
        return None, context
    if wanted == 0:
        return _shrunk(context, target, kind, name, call.span)
    return _with_element(context, target, kind, name, call)


def _methods(kind: Type) -> list[str]:
    match kind:
        case Set() | Bag():
            return ["add", "remove", "clear"]
        case Seq():
            return ["append", "prepend", "pop_first", "pop_last", "clear"]
        case _:
            return []


def _shrunk(
    context: Context, target: Place, kind: Set | Seq | Bag, name: str, span: Span
) -> Result:
    if name == "clear":
        return _store(context, target, Operand(ir.Literal(kind, (), span=span)), span, span)
    site = context.site("F903", span, "the sequence is empty")
    place: ir.Expr = number(0)
    if name == "pop_last":
        last = Int(-1, most(kind) - 1)
        place = ir.Arithmetic(last, Operator.SUBTRACT, size(target.read), number(1), span=span)
    removed = ir.RemoveAt(kind, target.read, place, span=span)
    nonempty = ir.Less(number(0), size(target.read), span=span)
    expr = ir.Demand(kind, nonempty, site, removed, span=span)
    return _store(context, target, Operand(expr), span, span)


def _with_element(
    context: Context, target: Place, kind: Set | Seq | Bag, name: str, call: syntax.Call
) -> Result:
    written = call.arguments[0].value
    operand = context.expression(written, kind.element)
    if operand is None:
        return None, context
    if name == "remove":
        expr = _removed(context, target, kind, operand, call)
        looked = comparing(kind.element, call.span)
        if expr is None:
            return None, context
        result = Operand(expr, operand.ghost or looked)
        return _store(context, target, result, call.span, call.span)
    holder = f"an element of {target.holder}"
    element = coerced(context, operand, kind.element, written.span, holder, target.note)
    if element is None:
        return None, context
    front = name == "prepend"
    added = bound(
        context, element.expr, lambda e: _added(context, target, kind, e, front, call.span)
    )
    return _store(context, target, Operand(added, element.ghost), call.span, call.span)


def _removed(
    context: Context, target: Place, kind: Set | Seq | Bag, operand: Operand, call: syntax.Call
) -> ir.Expr | None:
    """The collection without an element; one that it cannot hold need not be taken out."""
    span = call.span
    element = kind.element
    if operand.type == element:
        return ir.Remove(kind, target.read, operand.expr, span=span)
    if join(operand.type, element) is None or isinstance(element, Option):
        holder = f"an element of {target.holder}"
        argument = call.arguments[0].value.span
        inside = coerced(context, operand, element, argument, holder, target.note)
        if inside is None:
            return None
        return ir.Remove(kind, target.read, inside.expr, span=span)

    def removed(value: ir.Expr) -> ir.Expr:
        plain = value
        if isinstance(value.type, Option):
            plain = ir.Content(value.type.element, value, span=span)
        fits: ir.Expr = ir.Fits(plain, element, span=span)
        if isinstance(value.type, Option):
            fits = ir.And((ir.IsSome(value, span=span), fits), span=span)
        without = ir.Remove(kind, target.read, ir.Convert(element, plain, span=span), span=span)
        return ir.Conditional(kind, fits, without, target.read, span=span)

    return bound(context, operand.expr, removed)


def _added(
    context: Context,
    target: Place,
    kind: Set | Seq | Bag,
    element: ir.Expr,
    front: bool,
    span: Span,
) -> ir.Expr:
    """The collection with an element more; of a sequence at its end, or (``front``) first."""
    added: ir.Expr = ir.Add(kind, target.read, element, span=span)
    if front:
        added = ir.InsertAt(kind, target.read, number(0), element, span=span)
    if kind.capacity is None:
        return added
    site = context.site("F902", span, f"{target.holder} is full: its capacity is {kind.capacity}")
    room: ir.Expr = ir.Less(size(target.read), number(kind.capacity), span=span)
    if isinstance(kind, Set):
        room = ir.Or((ir.Contains(target.read, element), room), span=span)
    return ir.Demand(kind, room, site, added, span=span)
