"""Builds the actions with which unreliable channels lose or duplicate messages."""

from __future__ import annotations

from typing import Literal

from fencepost.spec.core import ir
from fencepost.spec.core.operators import Operator
from fencepost.spec.core.types import Bag, Int, Map, Seq, Set, Union
from fencepost.spec.elaborate.base.context import Context
from fencepost.spec.elaborate.base.symbols import ChannelEntity, Opening
from fencepost.spec.elaborate.types.partiality import number, size
from fencepost.spec.elaborate.values.channels import Fault
from fencepost.spec.text.source import Span


def fault_action(
    context: Context, entity: ChannelEntity, fault: Fault, counter: int | None, name: str
) -> ir.Action:
    """Returns the action that makes a channel lose or duplicate a message.

    An ordered channel may lose any message. A duplicate comes right after its original.
    """
    assert entity.index is not None
    assert entity.type is not None
    span = fault.span
    read: ir.Expr = ir.Variable(entity.type, entity.index, span=span)
    path: list[ir.Step] = []
    family: list[Opening] = []
    for index, kind in zip(entity.decl.indices, entity.indices, strict=True):
        slot = context.work.slot()
        domain = ir.Universe(Set(kind), span=index.span)
        family.append(_pick(context, slot, domain, None, span, index.name.text))
        assert isinstance(read.type, Map)
        read = ir.Get(read.type.value, read, ir.Local(kind, slot, span=span), span=span)
        path.append(ir.KeyStep(ir.Local(kind, slot, span=span)))
    content = read.type
    assert isinstance(content, Seq | Bag | Set)
    allowed: list[ir.Statement] = []
    counted: list[ir.Statement] = []
    if counter is not None and fault.budget is not None:
        allowed, counted = _budget(context, fault, counter, fault.budget)
    if fault.kind == "duplicating":
        assert content.capacity is not None
        room = ir.Less(size(read), number(content.capacity), span=span)
        allowed.append(ir.Require(room, context.guard("budget", span), span=span))
    choices, changed = _change(context, fault, read, content)
    body: ir.Statement = ir.Assign(entity.index, tuple(path), changed, span=span)
    body = ir.Sequence((body, *counted), span=span)
    for opening in reversed(choices):
        body = opening(body)
    body = ir.Sequence((*allowed, body), span=span)
    for opening in reversed(family):
        body = opening(body)
    kind_name: Literal["lose", "duplicate"] = "lose" if fault.kind == "lossy" else "duplicate"
    head = len(entity.indices) + 1
    return ir.Action(name, "", kind_name, body, span, entity.index, head=head)


def _budget(
    context: Context, fault: Fault, counter: int, budget: int
) -> tuple[list[ir.Statement], list[ir.Statement]]:
    """Returns a guard that requires that the budget is not used up, and an assignment that uses one
    unit of it.
    """
    span = fault.span
    kind = Int(0, budget)
    used = ir.Variable(kind, counter, span=span)
    guard = context.guard("budget", span)
    left = ir.Require(ir.Less(used, number(budget)), guard, span=span)
    more = ir.Arithmetic(Int(1, budget + 1), Operator.ADD, used, number(1))
    return [left], [ir.Assign(counter, (), ir.Convert(kind, more), span=span)]


def _change(
    context: Context, fault: Fault, read: ir.Expr, content: Seq | Bag | Set
) -> tuple[list[Opening], ir.Expr]:
    """Returns the choice of a message, and the content of the channel after the message has been
    removed or duplicated.
    """
    span = fault.span
    slot = context.work.slot()
    message = ir.Local(content.element, slot, span=span)
    test: ir.Expr | None = None
    if fault.tags is not None:
        tests = tuple(_is_member(message, tag) for tag in sorted(fault.tags))
        test = ir.Or(tests, span=span)
    lossy = fault.kind == "lossy"
    if not isinstance(content, Seq):
        change = ir.Remove if lossy else ir.Add
        pick = _pick(context, slot, read, test, span, "message")
        return [pick], change(content, read, message, span=span)
    position = context.work.slot()
    last = content.capacity - 1
    positions = Set(Int(0, last))
    position_local = ir.Local(positions.element, position, span=span)
    end = ir.Arithmetic(Int(-1, last), Operator.SUBTRACT, size(read), number(1))
    chosen = ir.At(content.element, read, position_local, span=span)
    picks = [
        _pick(context, position, ir.Interval(positions, number(0), end), None, span, None),
        _pick(
            context,
            slot,
            ir.Build(Seq(content.element, 1), (chosen,), span=span),
            test,
            span,
            "message",
        ),
    ]
    if lossy:
        return picks, ir.RemoveAt(content, read, position_local, span=span)
    return picks, ir.InsertAt(content, read, position_local, message, span=span)


def _pick(
    context: Context,
    slot: int,
    domain: ir.Expr,
    test: ir.Expr | None,
    span: Span,
    label: str | None,
) -> Opening:
    guard = context.guard("message" if label == "message" else "choice", span)
    return lambda rest: ir.Pick(slot, domain, test, guard, label, rest, span=span)


def _is_member(message: ir.Expr, tag: int) -> ir.Expr:
    if isinstance(message.type, Union):
        return ir.HasTag(message, tag)
    return ir.Equal(message, ir.Literal(message.type, tag))
