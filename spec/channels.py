"""Channels: their declaration, sending, receiving, and the faults that they may have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from fencepost.spec import ir, syntax
from fencepost.spec.defined import coerced, size
from fencepost.spec.elaboration import Context
from fencepost.spec.entities import BrokenEntity, ChannelEntity, Operand
from fencepost.spec.expressions import member_of, universe
from fencepost.spec.patterns import matched
from fencepost.spec.places import ordinary
from fencepost.spec.resolve import MOST_CAPACITY, countable, integer, module_member
from fencepost.spec.source import Span
from fencepost.spec.types import (
    SMALL_SET,
    Bag,
    Int,
    Map,
    Seq,
    Set,
    Type,
    Union,
    cardinality,
    describe,
    has_ghost,
)

Opening = Callable[[ir.Statement], ir.Statement]
"""A statement that is still to be given what runs after it."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One ``lossy`` or ``duplicating``: the tags that it concerns (None: all), the budget."""

    kind: Literal["lossy", "duplicating"]
    tags: frozenset[int] | None
    budget: int | None
    span: Span


def declare(context: Context, entity: ChannelEntity) -> tuple[Fault, ...]:
    """Resolves a channel's types and options; its `type` stays None when they are wrong."""
    decl = entity.decl
    indices = [context.resolve(index.type) for index in decl.indices]
    message = context.resolve(decl.message)
    disciplines = [option for option in decl.options if isinstance(option, syntax.Discipline)]
    capacities = [option for option in decl.options if isinstance(option, syntax.Capacity)]
    for extra in (*disciplines[1:], *capacities[1:]):
        context.report("F411", extra.span, "a channel has one discipline and one capacity")
    kind = disciplines[0].kind if disciplines else "unordered"
    capacity: int | None = None
    if capacities:
        capacity = integer(context, capacities[0].size)
        if capacity is not None and not 1 <= capacity <= MOST_CAPACITY:
            context.report(
                "F705",
                capacities[0].size.span,
                f"a capacity is 1 to {MOST_CAPACITY}, and this is {capacity}",
            )
            return ()
        if capacity is None:
            return ()
    if message is None or None in indices:
        return ()
    entity.message = message
    entity.capacity = capacity
    element = _container(context, entity, kind, message, capacity)
    faults = _faults(context, entity, kind, message)
    for index in reversed(indices):
        if element is not None and index is not None:
            element = Map(index, element)
    entity.indices = tuple(index for index in indices if index is not None)
    entity.type = element
    return faults


def _container(
    context: Context, entity: ChannelEntity, kind: str, message: Type, capacity: int | None
) -> Type | None:
    if kind == "persistent":
        if has_ghost(message):
            context.report(
                "F503",
                entity.decl.message.span,
                f"{describe(message)} has ghost fields, and a persistent channel is a set of"
                " messages: it would depend on them",
            )
            return None
        if countable(message, SMALL_SET):
            small = capacity is None or capacity >= cardinality(message)
            return Set(message, None if small else capacity)
        if capacity is None:
            context.report(
                "F412",
                entity.span,
                f"{describe(message)} has more than {SMALL_SET} values, so {entity.name} needs a"
                " capacity: `capacity n`",
            )
            return None
        return Set(message, capacity)
    if capacity is None:
        context.report(
            "F412",
            entity.span,
            f"{entity.name} needs a capacity (everything is finite): `capacity n`, perhaps"
            " `or block`",
        )
        return None
    return Seq(message, capacity) if kind == "ordered" else Bag(message, capacity)


def _faults(context: Context, entity: ChannelEntity, kind: str, message: Type) -> tuple[Fault, ...]:
    faults: list[Fault] = []
    for option in entity.decl.options:
        if not isinstance(option, syntax.Fault):
            continue
        if kind == "persistent":
            context.report(
                "F411",
                option.span,
                "a persistent channel keeps every message: it is neither lossy nor duplicating",
            )
            continue
        tags: frozenset[int] | None = None
        if option.variants is not None:
            found = [member_of(context, variant, message) for variant in option.variants]
            tags = frozenset(tag for tag in found if tag is not None)
        budget = None if option.budget is None else integer(context, option.budget)
        if budget is not None and not 0 <= budget <= MOST_CAPACITY:
            assert option.budget is not None
            context.report(
                "F705",
                option.budget.span,
                f"a budget is 0 to {MOST_CAPACITY}, and this is {budget}",
            )
            continue
        faults.append(Fault(option.kind, tags, budget, option.span))
    return tuple(faults)


# ---------------------------------------------------------------- naming a channel


@dataclass(frozen=True, slots=True)
class Line:
    """One channel: of a family, the one at ``path``; ``bindings`` are its indices' slots."""

    entity: ChannelEntity
    path: tuple[ir.Step, ...]
    read: ir.Expr
    bindings: tuple[tuple[int, ir.Expr], ...]

    def assign(self, value: ir.Expr, span: Span) -> ir.Statement:
        """The channel's content becomes ``value``."""
        assert self.entity.index is not None
        return ir.Assign(self.entity.index, self.path, value, span=span)

    def opened(self, body: ir.Statement) -> ir.Statement:
        """``body`` with the indices bound."""
        for slot, value in reversed(self.bindings):
            body = ir.Bind(slot, value, body)
        return body


def named_channel(context: Context, node: syntax.Expr) -> ChannelEntity | None:
    """The channel that a name or dotted name denotes, if it does."""
    found = None
    if isinstance(node, syntax.Name) and node.text not in context.locals:
        found = context.find(node.text)
    elif isinstance(node, syntax.Attribute):
        found = module_member(context, node)
    return found if isinstance(found, ChannelEntity) else None


def line(context: Context, node: syntax.Expr) -> Line | None:
    """The channel that ``send`` or ``on`` names."""
    base = node.base if isinstance(node, syntax.Index) else node
    arguments = node.arguments if isinstance(node, syntax.Index) else ()
    entity = named_channel(context, base)
    if entity is None:
        known = context.find(base.text) if isinstance(base, syntax.Name) else None
        if isinstance(known, BrokenEntity):
            return None
        if known is None and isinstance(base, syntax.Name):
            context.unknown(base, "channel")
        else:
            context.report("F413", node.span, "a channel is wanted here")
        return None
    if entity.index is None or entity.type is None:
        return None
    keys = keys_of(context, entity, arguments, node.span)
    if keys is None:
        return None
    read: ir.Expr = ir.Variable(entity.type, entity.index, span=node.span)
    path: list[ir.Step] = []
    bindings: list[tuple[int, ir.Expr]] = []
    for key in keys:
        ordinary(context, key, node.span, "which channel is used")
        expr = key.expr
        if not isinstance(expr, ir.Literal | ir.Local):
            slot = context.work.slot()
            bindings.append((slot, expr))
            expr = ir.Local(expr.type, slot, span=expr.span)
        assert isinstance(read.type, Map)
        read = ir.Get(read.type.value, read, expr, span=node.span)
        path.append(ir.KeyStep(expr))
    return Line(entity, tuple(path), read, tuple(bindings))


def keys_of(
    context: Context, entity: ChannelEntity, arguments: tuple[syntax.Expr, ...], span: Span
) -> list[Operand] | None:
    """The indices of one channel of a family, as values of the index types."""
    if len(arguments) != len(entity.indices):
        names = ", ".join(index.name.text for index in entity.decl.indices)
        wanted = f"{entity.name}[{names}]" if names else f"{entity.name}, without an index"
        context.report("F413", span, f"write {wanted}", (entity.span, "declared here"))
        return None
    keys = [
        coerced(
            context,
            context.expression(argument, kind),
            kind,
            argument.span,
            f"an index of {entity.name}",
        )
        for argument, kind in zip(arguments, entity.indices, strict=True)
    ]
    good = [key for key in keys if key is not None]
    return good if len(good) == len(keys) else None


def channel_index(context: Context, entity: ChannelEntity, node: syntax.Index) -> Operand | None:
    """``net[a, b]`` in an expression: what is in that channel."""
    keys = keys_of(context, entity, node.arguments, node.span)
    if keys is None or entity.index is None or entity.type is None:
        return None
    read: ir.Expr = ir.Variable(entity.type, entity.index, context.after, span=node.span)
    ghost = None
    for key in keys:
        assert isinstance(read.type, Map)
        read = ir.Get(read.type.value, read, key.expr, span=node.span)
        ghost = ghost or key.ghost
    return Operand(read, ghost)


# ---------------------------------------------------------------- sending and receiving


def send(context: Context, node: syntax.Send) -> ir.Statement | None:
    """``send e to c``."""
    target = line(context, node.channel)
    kind = target.entity.message if target else None
    message = context.expression(node.message, kind)
    if target is None or kind is None:
        return None
    message = coerced(
        context,
        message,
        kind,
        node.message.span,
        target.entity.name,
        (target.entity.span, f"{target.entity.name} is declared here"),
    )
    if message is None:
        return None
    ordinary(context, message, node.message.span, "a message")
    if isinstance(message.expr, ir.MakeVariant):
        target.entity.sent.setdefault(message.expr.tag, node.message.span)
    elif isinstance(message.expr, ir.Literal) and isinstance(message.expr.value, int):
        target.entity.sent.setdefault(int(message.expr.value), node.message.span)
    slot = context.work.slot()
    local = ir.Local(kind, slot, span=node.message.span)
    sent = target.assign(ir.Add(target.read.type, target.read, local, span=node.span), node.span)
    room = _room(context, target, local, node)
    body = sent if room is None else ir.Sequence((room, sent), span=node.span)
    return target.opened(ir.Bind(slot, message.expr, body, span=node.span))


def _room(
    context: Context, target: Line, message: ir.Expr, node: syntax.Send
) -> ir.Statement | None:
    kind = target.read.type
    assert isinstance(kind, Set | Seq | Bag)
    if kind.capacity is None:
        return None
    capacity = kind.capacity
    condition: ir.Expr = ir.Less(
        size(target.read), ir.Literal(Int(capacity, capacity), capacity), span=node.span
    )
    if isinstance(kind, Set):
        condition = ir.Or((ir.Contains(target.read, message), condition), span=node.span)
    option = next(o for o in target.entity.decl.options if isinstance(o, syntax.Capacity))
    if option.block:
        return ir.Require(condition, context.guard("capacity", node.span), span=node.span)
    site = context.site(
        "F907", node.span, f"{target.entity.name} is full: its capacity is {capacity}"
    )
    return ir.Ensure(condition, site, span=node.span)


def receive(context: Context, node: syntax.Receive) -> tuple[Context, Opening] | None:
    """``on PATTERN from c``: a choice of a message, which is taken out of the channel."""
    source = line(context, node.channel)
    kind = source.entity.message if source else None
    if source is None or kind is None:
        for argument in node.pattern.arguments or ():
            if isinstance(argument, syntax.Bind):
                context = context.bind(argument.name, None)
        return None
    slot = context.work.slot()
    message = ir.Local(kind, slot, span=node.pattern.span)
    match = matched(context, node.pattern, Operand(message))
    if match is None:
        return None
    if match.ghost is not None:
        ordinary(context, Operand(message, match.ghost), node.span, "which message is received")
    if match.members is None:
        every = range(len(kind.variants)) if isinstance(kind, Union) else range(SMALL_SET)
        source.entity.received.update(every)
    else:
        source.entity.received.update(match.members)
    content = source.read.type
    domain: ir.Expr = source.read
    taken: ir.Statement | None = None
    if isinstance(content, Bag):
        taken = source.assign(ir.Remove(content, source.read, message), node.span)
    elif isinstance(content, Seq):
        head = Seq(kind, 1)
        zero = ir.Literal(Int(0, 0), 0)
        domain = ir.Conditional(
            head,
            ir.Less(zero, size(source.read)),
            ir.Build(head, (ir.At(kind, source.read, zero),)),
            ir.Literal(head, ()),
            span=node.span,
        )
        taken = source.assign(ir.RemoveAt(content, source.read, zero), node.span)
    guard = context.guard("message", node.span)

    def opening(rest: ir.Statement) -> ir.Statement:
        body = rest if taken is None else ir.Sequence((taken, rest))
        pick = ir.Pick(slot, domain, match.test, guard, "on", body, span=node.span)
        return source.opened(pick)

    return match.context, opening


# ---------------------------------------------------------------- faults


def fault_action(
    context: Context, entity: ChannelEntity, fault: Fault, counter: int | None, name: str
) -> ir.Action:
    """The action by which a channel loses or duplicates a message.

    In an ordered channel any message may be lost; a duplicate stands right behind its original.
    """
    assert entity.index is not None
    assert entity.type is not None
    assert entity.message is not None
    span = fault.span
    read: ir.Expr = ir.Variable(entity.type, entity.index, span=span)
    path: list[ir.Step] = []
    picks: list[Opening] = []
    for index, kind in zip(entity.decl.indices, entity.indices, strict=True):
        slot = context.work.slot()
        domain = universe(context, kind, index.span)
        assert domain is not None
        picks.append(_pick(slot, domain.expr, None, context, span, index.name.text))
        key = ir.Local(kind, slot, span=span)
        assert isinstance(read.type, Map)
        read = ir.Get(read.type.value, read, key, span=span)
        path.append(ir.KeyStep(key))
    content = read.type
    assert isinstance(content, Seq | Bag)
    before: list[ir.Statement] = []
    after: list[ir.Statement] = []
    if counter is not None and fault.budget is not None:
        before, after = _budget(context, fault, counter)
    if fault.kind == "duplicating":
        limit = ir.Literal(Int(content.capacity, content.capacity), content.capacity)
        room = ir.Less(size(read), limit, span=span)
        before.append(ir.Require(room, context.guard("budget", span), span=span))
    slot = context.work.slot()
    message = ir.Local(entity.message, slot, span=span)
    test: ir.Expr | None = None
    if fault.tags is not None:
        tests = tuple(_is_member(message, tag) for tag in sorted(fault.tags))
        test = ir.Or(tests, span=span)
    changed: ir.Expr
    if isinstance(content, Bag):
        picks.append(_pick(slot, read, test, context, span, "message"))
        if fault.kind == "lossy":
            changed = ir.Remove(content, read, message, span=span)
        else:
            changed = ir.Add(content, read, message, span=span)
    else:
        position = context.work.slot()
        last = content.capacity - 1
        where = ir.Local(Int(0, max(last, 0)), position, span=span)
        one = ir.Literal(Int(1, 1), 1)
        end = ir.Arithmetic(Int(-1, last), ir.Operator.SUBTRACT, size(read), one)
        positions = ir.Interval(Set(Int(0, max(last, 0))), ir.Literal(Int(0, 0), 0), end)
        picks.append(_pick(position, positions, None, context, span, None))
        here = Seq(entity.message, 1)
        at = ir.Build(here, (ir.At(entity.message, read, where),), span=span)
        picks.append(_pick(slot, at, test, context, span, "message"))
        if fault.kind == "lossy":
            changed = ir.RemoveAt(content, read, where, span=span)
        else:
            changed = ir.InsertAt(content, read, where, message, span=span)
    body: ir.Statement = ir.Sequence(
        (ir.Assign(entity.index, tuple(path), changed, span=span), *after), span=span
    )
    family = picks[: len(entity.indices)]
    for opening in reversed(picks[len(family) :]):
        body = opening(body)
    body = ir.Sequence((*before, body), span=span)
    for opening in reversed(family):
        body = opening(body)
    kind_name: Literal["lose", "duplicate"] = "lose" if fault.kind == "lossy" else "duplicate"
    return ir.Action(name, "", kind_name, body, span, entity.index)


def _budget(
    context: Context, fault: Fault, counter: int
) -> tuple[list[ir.Statement], list[ir.Statement]]:
    assert fault.budget is not None
    span = fault.span
    used = ir.Variable(Int(0, fault.budget), counter, span=span)
    limit = ir.Literal(Int(fault.budget, fault.budget), fault.budget)
    one = ir.Literal(Int(1, 1), 1)
    left = ir.Require(ir.Less(used, limit), context.guard("budget", span), span=span)
    more = ir.Arithmetic(Int(1, fault.budget + 1), ir.Operator.ADD, used, one)
    kind = Int(0, fault.budget)
    return [left], [ir.Assign(counter, (), ir.Convert(kind, more), span=span)]


def _pick(
    slot: int,
    domain: ir.Expr,
    test: ir.Expr | None,
    context: Context,
    span: Span,
    label: str | None,
) -> Opening:
    guard = context.guard("message" if label == "message" else "choice", span)
    return lambda rest: ir.Pick(slot, domain, test, guard, label, rest, span=span)


def _is_member(message: ir.Expr, tag: int) -> ir.Expr:
    if isinstance(message.type, Union):
        return ir.HasTag(message, tag)
    return ir.Equal(message, ir.Literal(message.type, tag))
