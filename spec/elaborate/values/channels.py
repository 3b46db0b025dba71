"""Elaborates channel declarations, references to channels, and sending and receiving."""

from __future__ import annotations

from typing import Literal, TypeAlias

from fencepost.spec.core import ir
from fencepost.spec.core.open_ranges import is_open
from fencepost.spec.core.size_limits import MAX_CAPACITY, countable
from fencepost.spec.core.traverse import walk
from fencepost.spec.core.types import (
    SMALL_SET,
    Bag,
    Map,
    Nominal,
    Seq,
    Set,
    Type,
    Union,
    as_collection,
    cardinality,
    describe,
    has_ghost,
)
from fencepost.spec.elaborate.base.context import Context, Reported
from fencepost.spec.elaborate.base.ghosts import ordinary
from fencepost.spec.elaborate.base.size_checks import bounded, map_type, without_bounds
from fencepost.spec.elaborate.base.symbols import (
    BrokenEntity,
    ChannelEntity,
    Opening,
    Operand,
    kind_of,
)
from fencepost.spec.elaborate.types.bidirectional import open_ended
from fencepost.spec.elaborate.types.constants import integer
from fencepost.spec.elaborate.types.members import member_of
from fencepost.spec.elaborate.types.narrowing import when
from fencepost.spec.elaborate.types.partiality import converted_value, number, size
from fencepost.spec.elaborate.values.boolean import truth
from fencepost.spec.elaborate.values.patterns import matched
from fencepost.spec.elaborate.values.roles import denoted
from fencepost.spec.records import dataclass
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.problem import Note
from fencepost.spec.text.source import Span

Kind: TypeAlias = Literal["unordered", "ordered", "persistent", "distinct"]


@dataclass(frozen=True, slots=True)
class Fault:
    """A ``lossy`` or ``duplicating`` option. ``tags`` are the tags of the affected messages (None
    for all messages), and ``budget`` limits the number of faults (None for no limit).
    """

    kind: Literal["lossy", "duplicating"]
    tags: frozenset[int] | None
    budget: int | None
    span: Span


# ---------------------------------------------------------------- declaration


def declare(context: Context, entity: ChannelEntity) -> tuple[Fault, ...]:
    """Resolves the types and options of a channel. The entity's `type` remains None if they are
    wrong.
    """
    decl = entity.decl
    indices = [context.resolve(index.type) for index in decl.indices]
    message = context.resolve(decl.message)
    disciplines = [option for option in decl.options if isinstance(option, syntax.Discipline)]
    capacities = [option for option in decl.options if isinstance(option, syntax.Capacity)]
    for word, options in (("discipline", disciplines), ("capacity", capacities)):
        for extra in options[1:]:
            first: Note = (options[0].span, "first given here")
            message_text = f"a channel has only one {word}, but this is another"
            context.report("F411", extra.span, message_text, first)
    kind = discipline(decl)
    capacity = _capacity(context, capacities[0]) if capacities else None
    if message is None or None in indices or (capacities and capacity is None):
        return ()
    entity.message = message
    entity.capacity = capacity
    content = _container(context, entity, kind, message, capacity)
    faults = _faults(context, entity, kind, message)
    for written, index in zip(reversed(decl.indices), reversed(indices), strict=True):
        if content is not None and index is not None:
            content = map_type(context, index, content, written.span)
    entity.indices = tuple(index for index in indices if index is not None)
    entity.type = content
    return faults


def discipline(decl: syntax.ChannelDecl) -> Kind:
    """Returns the discipline of a channel."""
    for option in decl.options:
        if isinstance(option, syntax.Discipline):
            return option.kind
    return "unordered"


def _capacity(context: Context, option: syntax.Capacity) -> int | None:
    size = integer(context, option.size)
    if size is None or 1 <= size <= MAX_CAPACITY:
        return size
    message = f"a channel's capacity is 1 to {MAX_CAPACITY}, but this is {size}"
    return context.report("F705", option.size.span, message)


def _container(
    context: Context, entity: ChannelEntity, kind: Kind, message: Type, capacity: int | None
) -> Type | None:
    span = entity.decl.message.span
    if kind in ("persistent", "distinct"):
        if has_ghost(message):
            return context.report(
                "F503",
                span,
                f"{describe(message)} has ghost fields, and a {kind} channel is a set of messages:"
                " it would depend on them",
            )
        small = countable(message, SMALL_SET) and (capacity is not None or not is_open(message))
        if small and (capacity is None or capacity >= cardinality(message)):
            return bounded(context, Set(message), span)
        if capacity is None:
            many = f"{describe(message)} has more than {SMALL_SET} values"
            return context.report(
                "F412",
                entity.span,
                f"{without_bounds(message) if is_open(message) else many}, so {entity.name} needs a"
                " capacity: `capacity n`",
            )
        return bounded(context, Set(message, capacity), span)
    if capacity is None:
        return context.report(
            "F412",
            entity.span,
            f"{entity.name} needs a capacity, because everything is finite: `capacity n`, or"
            " `capacity n or block`",
        )
    held = Seq(message, capacity) if kind == "ordered" else Bag(message, capacity)
    return bounded(context, held, span)


def _faults(
    context: Context, entity: ChannelEntity, kind: Kind, message: Type
) -> tuple[Fault, ...]:
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
        if kind == "distinct" and option.kind == "duplicating":
            context.report(
                "F411",
                option.span,
                "a distinct channel holds each message once, so it is not duplicating; in an "
                "unordered one, a message may have copies",
            )
            continue
        tags: frozenset[int] | None = None
        if option.variants is not None:
            members = [member_of(context, variant, message) for variant in option.variants]
            tags = frozenset(tag for tag in members if tag is not None)
        budget = None if option.budget is None else integer(context, option.budget)
        if option.budget is not None and budget is None:
            continue
        if option.budget is not None and budget is not None and not 0 <= budget <= MAX_CAPACITY:
            context.report(
                "F705",
                option.budget.span,
                f"a budget is 0 to {MAX_CAPACITY}, but this is {budget}",
            )
            continue
        faults.append(Fault(option.kind, tags, budget, option.span))
    return tuple(faults)


# ---------------------------------------------------------------- naming a channel


@dataclass(frozen=True, slots=True)
class Line:
    """A single channel, or the channel of a family at ``path``. ``bindings`` are the slots of its
    indices, with their values.
    """

    entity: ChannelEntity
    path: tuple[ir.Step, ...]
    read: ir.Expr
    bindings: tuple[tuple[int, ir.Expr], ...]

    def assign(self, value: ir.Expr, span: Span) -> ir.Statement:
        """Returns a statement that sets the channel's content to ``value``."""
        assert self.entity.index is not None
        return ir.Assign(self.entity.index, self.path, value, span=span)

    def opened(self, body: ir.Statement) -> ir.Statement:
        """Binds the indices of the channel around ``body``."""
        for slot, value in reversed(self.bindings):
            body = ir.Bind(slot, value, body)
        return body


def line(context: Context, node: syntax.Expr) -> Line | None:
    """Returns the channel that ``send`` or ``on`` names, or None if a mistake was reported."""
    base = node.base if isinstance(node, syntax.Index) else node
    arguments = node.arguments if isinstance(node, syntax.Index) else ()
    entity = denoted(context, base)
    if not isinstance(entity, ChannelEntity):
        return _no_channel(context, base)
    if entity.index is None or entity.type is None:
        return None
    keys = _keys(context, entity, arguments, node.span)
    if keys is None:
        return None
    read: ir.Expr = ir.Variable(entity.type, entity.index, span=node.span)
    path: list[ir.Step] = []
    bindings: list[tuple[int, ir.Expr]] = []
    for key in keys:
        ordinary(context, key, "which channel is used", node.span)
        expr = key.expr
        if not isinstance(expr, ir.Literal | ir.Local):
            slot = context.work.slot()
            bindings.append((slot, expr))
            expr = ir.Local(expr.type, slot, span=expr.span)
        assert isinstance(read.type, Map)
        read = ir.Get(read.type.value, read, expr, span=node.span)
        path.append(ir.KeyStep(expr))
    return Line(entity, tuple(path), read, tuple(bindings))


def _no_channel(context: Context, node: syntax.Expr) -> Reported:
    """Reports that ``node`` does not denote a channel (F413, or F201 for an unknown name)."""
    if isinstance(node, syntax.Name):
        local = context.local(node)
        if local is not None:
            note: Note = (local.span, f'"{node.text}" is bound here')
            message = f'a channel is required here, but "{node.text}" is a local'
            return context.report("F413", node.span, message, note)
        entity = context.look_up(node) or next(iter(context.members(node.text)), None)
        if entity is None:
            return context.unknown(node, "channel", kinds=(ChannelEntity,))
    else:
        entity = denoted(context, node)
    if isinstance(entity, BrokenEntity):
        return None
    if entity is None:
        return context.report("F413", node.span, "a channel is required here")
    return context.report(
        "F413",
        node.span,
        f'a channel is required here, but "{entity.name}" is {kind_of(entity)}',
        entity.note,
    )


def _keys(
    context: Context, entity: ChannelEntity, arguments: tuple[syntax.Expr, ...], span: Span
) -> list[Operand] | None:
    """Elaborates the indices of a channel in a family and converts them to the index types."""
    note: Note = (entity.span, f"{entity.name} is declared here")
    if len(arguments) != len(entity.indices):
        names = ", ".join(index.name.text for index in entity.decl.indices)
        form = f"{entity.name}[{names}]" if names else f"{entity.name}, without an index"
        kind = "a family of channels" if names else "a single channel"
        return context.report("F413", span, f"{entity.name} is {kind}: write {form}", note)
    keys = [
        converted_value(context, argument, kind, f"an index of {entity.name}", note)
        for argument, kind in zip(arguments, entity.indices, strict=True)
    ]
    good = [key for key in keys if key is not None]
    return good if len(good) == len(keys) else None


def channel_index(context: Context, entity: ChannelEntity, node: syntax.Index) -> Operand | None:
    """Elaborates ``net[a, b]`` in an expression: the content of that channel."""
    entity.looked_at = True
    keys = _keys(context, entity, node.arguments, node.span)
    if keys is None or entity.index is None or entity.type is None:
        return None
    read: ir.Expr = ir.Variable(entity.type, entity.index, context.position.after, span=node.span)
    ghost = None
    for key in keys:
        assert isinstance(read.type, Map)
        read = ir.Get(read.type.value, read, key.expr, span=node.span)
        ghost = ghost or key.ghost
    return Operand(read, ghost)


# ---------------------------------------------------------------- sending and receiving


def send(context: Context, node: syntax.Send) -> ir.Statement | None:
    """Elaborates ``send e to c``."""
    target = line(context, node.channel)
    kind = target.entity.message if target else None
    if kind is None and open_ended(context, node.message):
        return None
    if target is None or kind is None:
        context.expression(node.message, kind)
        return None
    note: Note = (target.entity.span, f"{target.entity.name} is declared here")
    message = converted_value(
        context, node.message, kind, f"a message of {target.entity.name}", note
    )
    if message is None:
        return None
    ordinary(context, message, "a message", node.message.span)
    tag = _tag(message.expr)
    if tag is not None:
        context.work.sent.setdefault((target.entity, tag), node.message.span)
    slot = context.work.slot()
    local = ir.Local(kind, slot, span=node.message.span)
    sent = target.assign(ir.Add(target.read.type, target.read, local, span=node.span), node.span)
    room = _room(context, target, local, node)
    body = sent if room is None else ir.Sequence((room, sent), span=node.span)
    return target.opened(ir.Bind(slot, message.expr, body, span=node.span))


def _tag(message: ir.Expr) -> int | None:
    """Returns the index of a literal message's variant or enum member, or None if it is unknown."""
    match message:
        case ir.MakeVariant(tag=tag):
            return tag
        case ir.Literal(type=Nominal(), value=int(tag)):
            return tag
        case ir.Literal(type=Union(), value=(int(tag), *_)):
            return tag
        case _:
            return None


def noted(context: Context, entity: ChannelEntity, content: ir.Expr, span: Span) -> None:
    """Records the initial messages of a channel as sent if their variants or enum members are
    known.
    """
    inside: list[ir.Expr] = []
    for node in walk(content):
        match node:
            case ir.Literal(type=Set(element) | Seq(element) | Bag(element), value=tuple(values)):
                inside += [ir.Literal(element, value) for value in values]
            case ir.MakeVariant() | ir.Literal():
                inside.append(node)
            case _:
                pass
    for message in inside:
        tag = _tag(message)
        if tag is not None and message.type == entity.message:
            context.work.sent.setdefault((entity, tag), span)


def _room(
    context: Context, target: Line, message: ir.Expr, node: syntax.Send
) -> ir.Statement | None:
    kind = as_collection(target.read.type)
    if kind.capacity is None:
        return None
    condition: ir.Expr = ir.Less(size(target.read), number(kind.capacity), span=node.span)
    if isinstance(kind, Set):
        condition = ir.Or((ir.Contains(target.read, message), condition), span=node.span)
    option = next(o for o in target.entity.decl.options if isinstance(o, syntax.Capacity))
    if option.block:
        return ir.Require(condition, context.guard("capacity", node.span), span=node.span)
    site = context.site(
        "F907", node.span, f"channel {target.entity.name} is full: its capacity is {kind.capacity}"
    )
    return ir.Ensure(condition, site, span=node.span)


@dataclass(frozen=True, slots=True)
class Received:
    """The result of elaborating ``on``: the context with the names that the pattern binds, a
    function that wraps the rest of the action in the choice of the message, and the number of the
    channel. ``opening`` is None if something is wrong.
    """

    context: Context
    opening: Opening | None
    channel: int | None


def receive(context: Context, node: syntax.Receive) -> Received:
    """Elaborates ``on PATTERN from c where p`` to the choice of a message. The message is removed
    from the channel unless the channel is persistent.
    """
    source = line(context, node.channel)
    kind = source.entity.message if source else None
    if source is None or kind is None:
        return Received(matched(context, node.pattern, None)[1], None, None)
    slot = context.work.slot()
    message = ir.Local(kind, slot, span=node.pattern.span)
    match, context = matched(context, node.pattern, Operand(message))
    condition = None if node.condition is None else truth(context, node.condition)
    if match is None or (node.condition is not None and condition is None):
        return Received(context, None, source.entity.index)
    test = match.test
    if node.condition is not None and condition is not None:
        ordinary(context, condition, "which message is received", node.condition.span)
        context = context.learn(when(condition.expr, True))
        # The names that the pattern binds may be read only if the pattern matches, so its test
        # comes first.
        test = condition.expr if test is None else ir.And((test, condition.expr), span=node.span)
    if match.ghost is not None:
        ordinary(context, Operand(message, match.ghost), "which message is received", node.span)
    every = range(len(kind.variants)) if isinstance(kind, Union) else range(SMALL_SET)
    tags = every if match.members is None else match.members
    context.work.received.update((source.entity, tag) for tag in tags)
    content = source.read.type
    domain: ir.Expr = source.read
    removal: ir.Statement | None = None
    if isinstance(content, Bag) or discipline(source.entity.decl) == "distinct":
        removal = source.assign(ir.Remove(content, source.read, message), node.span)
    elif isinstance(content, Seq):
        head = Seq(kind, 1)
        domain = ir.Conditional(
            head,
            ir.Less(number(0), size(source.read)),
            ir.Build(head, (ir.At(kind, source.read, number(0)),)),
            ir.Literal(head, ()),
            span=node.span,
        )
        removal = source.assign(ir.RemoveAt(content, source.read, number(0)), node.span)
    guard = context.guard("message", node.span)

    def opening(rest: ir.Statement) -> ir.Statement:
        body = rest if removal is None else ir.Sequence((removal, rest))
        pick = ir.Pick(slot, domain, test, guard, "on", body, span=node.span)
        return source.opened(pick)

    return Received(context, opening, source.entity.index)
