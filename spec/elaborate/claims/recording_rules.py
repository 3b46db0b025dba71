"""Elaborates the rules of recordings, which define the events that steps show and the effects of
events on the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from fencepost.spec.core import ir
from fencepost.spec.core.recording import (
    Answer,
    Binding,
    DroppedMessages,
    Event,
    ExplainedValue,
    Explanation,
    Input,
    Shows,
    Toleration,
)
from fencepost.spec.core.types import Seq, Union
from fencepost.spec.elaborate.actions.statements import blocked, suite
from fencepost.spec.elaborate.base.context import Context, Position, role_locals
from fencepost.spec.elaborate.base.ghosts import ordinary
from fencepost.spec.elaborate.base.symbols import (
    ActionEntity,
    BrokenEntity,
    ChannelEntity,
    Operand,
    RoleEntity,
)
from fencepost.spec.elaborate.types.constants import integer
from fencepost.spec.elaborate.types.members import index_of, member_names
from fencepost.spec.elaborate.types.partiality import converted_value
from fencepost.spec.elaborate.values import channels
from fencepost.spec.elaborate.values.boolean import truth
from fencepost.spec.elaborate.values.collections import drawn, elements
from fencepost.spec.elaborate.values.enabled import action_of, arguments_of, instance_named
from fencepost.spec.elaborate.values.patterns import bind, matched
from fencepost.spec.elaborate.values.roles import denoted
from fencepost.spec.records import replace
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.problem import listing, suggestion, suggestion_or_all

MAX_SHOWN = 4096
"""Maximum number of events of one kind that a step may show."""


@dataclass(slots=True)
class Rules:
    """Collects the rules of a recording in order. ``context`` is the context of a property."""

    context: Context
    events: Mapping[str, Event]
    actions: Sequence[ir.Action]
    bindings: Sequence[Binding]
    shows: list[Shows] = field(default_factory=list[Shows])
    inputs: list[Input] = field(default_factory=list[Input])
    tolerated: list[Toleration] = field(default_factory=list[Toleration])
    explained: list[Explanation] = field(default_factory=list[Explanation])
    drops: list[DroppedMessages] = field(default_factory=list[DroppedMessages])
    hidden: list[int] = field(default_factory=list[int])
    under_way: int | None = None

    def part(self, node: syntax.RecordingPart) -> None:
        """Adds the rules of a declaration."""
        match node:
            case syntax.ShowsDecl():
                self._shows(node)
            case syntax.InputDecl():
                self._input(node)
            case syntax.TolerateDecl():
                self._tolerate(node)
            case syntax.ExplainDecl():
                self._explain(node)
            case syntax.DropDecl():
                self._drop(node)
            case syntax.HiddenDecl(names=names):
                for name in names:
                    self._hide(name)
            case syntax.UnderWayDecl(count=count):
                if self.under_way is not None:
                    self.context.report(
                        "F841", node.span, "the number of messages under way is given twice"
                    )
                self.under_way = integer(
                    self.context.at(replace(self.context.position, place="constant")), count
                )
                if self.under_way is not None and self.under_way < 0:
                    what = "the number of messages under way cannot be negative"
                    self.context.report("F844", count.span, what)
            case syntax.RecordingDecl() | syntax.EventDecl():
                pass
            case _:
                assert_never(node)

    def _event(self, name: syntax.Name) -> tuple[int, Event] | None:
        event = self.events.get(name.text)
        if event is None and self.context.module.unreadable(name):
            return None
        if event is None:
            hint = suggestion(name.text, self.events)
            return self.context.report(
                "F842", name.span, f'no event "{name.text}" is declared{hint}'
            )
        if name.span != event.span:
            self.context.stands_for(name, event.span)
        return list(self.events).index(name.text), event

    def _fields(self, context: Context, event: Event) -> tuple[Context, tuple[int, ...]]:
        """Binds the fields of an event as locals. Returns the new context and the slots of the
        fields.
        """
        slots: list[int] = []
        for item in event.fields:
            slot = context.work.slot()
            slots.append(slot)
            local = Operand(ir.Local(item.type, slot, span=item.span))
            context = context.bind(syntax.Name(item.local, span=item.span), local)
        return context, tuple(slots)

    # ------------------------------------------------------------ what steps show

    def _shows(self, node: syntax.ShowsDecl) -> None:
        numbered_event = self._event(node.event)
        context = self.context.at(replace(self.context.position, place="step"))
        action: int | None = None
        choices: tuple[tuple[str, int], ...] = ()
        if node.action is not None:
            acting = self._acting(context, node.action)
            if acting is None:
                return
            action, choices, context = acting
        domains: list[tuple[int, ir.Expr]] = []
        for binder in node.binders:
            domain = elements(context, binder.domain)
            if domain is None:
                return
            slot, context = drawn(context, binder, domain)
            domains.append((slot, domain.expr))
        condition = None if node.condition is None else truth(context, node.condition)
        if numbered_event is None or (node.condition is not None and condition is None):
            return
        number, event = numbered_event
        if len(node.arguments) != len(event.fields):
            names = listing([item.name for item in event.fields], "and") or "no fields"
            message = f"{event.name} has {names}; here are {len(node.arguments)} values"
            self.context.report("F844", node.span, message, (event.span, "declared here"))
            return
        values: list[ir.Expr] = []
        for written, item in zip(node.arguments, event.fields, strict=True):
            holder = f"{item.name} of {event.name}"
            value = converted_value(context, written, item.type, holder)
            if value is not None:
                values.append(value.expr)
        if len(values) < len(event.fields):
            return
        events = Seq(event.record, MAX_SHOWN)
        record = ir.MakeRecord(event.record, tuple(values), span=node.span)
        body: ir.Expr = ir.Build(events, (record,), span=node.span)
        if condition is not None:
            nothing = ir.Literal(events, ())
            body = ir.Conditional(events, condition.expr, body, nothing, span=node.span)
        for slot, expr in reversed(domains):
            body = ir.Gather(events, slot, expr, body, span=node.span)
        self.shows.append(Shows(number, action, choices, body, node.span))

    def _acting(
        self, context: Context, node: syntax.Expr
    ) -> tuple[int, tuple[tuple[str, int], ...], Context] | None:
        """Returns the action of a rule, the slots of the action's choices, and the context with the
        listed names of the action's head bound. Returns None after a problem has been reported.
        """
        call = node if isinstance(node, syntax.Call) else None
        entity = action_of(context, node if call is None else call.function)
        if entity is None or entity.index is None:
            return None
        if any(isinstance(part, syntax.Index) for part in (getattr(node, "base", None),)):
            message = (
                "the acting process is one of the names in the action's head, in brackets after "
                "the action"
            )
            return context.report("F844", node.span, message)
        inside, choices = _head(context, entity)
        head_locals = inside.locals
        for argument in () if call is None else call.arguments:
            name = argument.value
            if not isinstance(name, syntax.Name) or argument.name is not None:
                message = "a name in the head of the action is required here"
                return context.report("F844", argument.span, message)
            if name.text not in head_locals:
                hint = suggestion_or_all(name.text, list(head_locals))
                message = f'the head of {entity.name} has no "{name.text}"{hint}'
                return context.report("F844", name.span, message, (entity.span, "declared here"))
            meant = head_locals[name.text]
            context = context.bind(name, meant.operand)
            context.stands_for(name, meant.span)
            # Uses of the name denote the declaration in the action's head.
            context = replace(context, locals={**context.locals, name.text: meant})
        return entity.index, choices, context

    # ------------------------------------------------------------ what comes in

    def _input(self, node: syntax.InputDecl) -> None:
        alias = None if node.head is None else node.head.alias
        numbered_event = self._event(alias or node.event)
        if numbered_event is None:
            return
        number, event = numbered_event
        if (node.kind == "answers") != (node.receive is not None):
            message = (
                "`answers` names the message that is the answer: answers e on PATTERN from c: "
                "send ..."
            )
            if node.kind != "answers":
                message = f'only "answers" waits for a message, but this is "{node.kind}"'
            self.context.report("F844", node.span, message)
            return
        plain, slots = self._fields(self.context, event)
        condition = None if node.condition is None else truth(plain, node.condition)
        if node.condition is not None and condition is None:
            return
        body: ir.Statement | None = None
        action: int | None = None
        choices: tuple[ir.Expr, ...] = ()
        acting = plain.at(replace(plain.position, place="action"))
        if isinstance(node.body, tuple):
            label = acting.work.label()
            body = blocked(label, suite(replace(acting, returns=label), node.body))
        else:
            if node.kind != "input":
                message = (
                    f'only the event of an "input" can be a step; "{node.kind}" sends a message'
                )
                self.context.report("F844", node.body.span, message)
                return
            call = node.body if isinstance(node.body, syntax.Call) else None
            written = node.body if call is None else call.function
            entity = action_of(plain, written)
            if entity is None or entity.index is None:
                return
            good, instance = instance_named(plain, entity, written)
            arguments = () if call is None else arguments_of(plain, entity, call)
            if not good or arguments is None:
                return
            if call is not None and instance is None and entity.role and entity.role.index_type:
                message = f"{entity.role.name} has several processes: say which, in brackets"
                self.context.report("F844", written.span, message)
                return
            operands = [*([] if instance is None else [instance]), *arguments]
            for operand in operands:
                ordinary(plain, operand, "a choice")
            action, choices = entity.index, tuple(operand.expr for operand in operands)
        answer = None if node.receive is None else self._answer(acting, node.receive)
        if node.receive is not None and answer is None:
            return
        expr = None if condition is None else condition.expr
        self.inputs.append(
            Input(node.kind, number, slots, expr, body, action, choices, answer, node.span)
        )

    def _answer(self, context: Context, node: syntax.Receive) -> Answer | None:
        received = channels.receive(context, node)
        source = channels.line(context, node.channel)
        if received.opening is None or source is None or source.entity.message is None:
            return None
        kind = source.entity.message
        match, _ = matched(context, node.pattern, Operand(ir.Local(kind, context.work.slot())))
        if match is None:
            return None
        tags = match.members
        if tags is None:
            tags = frozenset(range(len(member_names(kind)) if isinstance(kind, Union) else 0))
        body = received.opening(ir.Sequence(()))
        content = source.read
        for slot, value in reversed(source.bindings):
            content = ir.Let(content.type, slot, value, content)
        return Answer(body, content, kind, tags)

    def _tolerate(self, node: syntax.TolerateDecl) -> None:
        numbered_event = self._event(node.event)
        if numbered_event is None:
            return
        context, slots = self._fields(self.context, numbered_event[1])
        condition = None if node.condition is None else truth(context, node.condition)
        if node.condition is None or condition is not None:
            expr = None if condition is None else condition.expr
            self.tolerated.append(Toleration(numbered_event[0], slots, expr, node.span))

    def _explain(self, node: syntax.ExplainDecl) -> None:
        numbered_event = self._event(node.event)
        if numbered_event is None:
            return
        context, slots = self._fields(self.context, numbered_event[1])
        condition = None if node.condition is None else truth(context, node.condition)
        parts: list[str | ExplainedValue] = []
        for part in node.parts:
            shown = part if isinstance(part, str) else self._explained_value(context, part)
            if shown is not None:
                parts.append(shown)
        if len(parts) == len(node.parts) and (node.condition is None or condition is not None):
            expr = None if condition is None else condition.expr
            event = numbered_event[0]
            self.explained.append(Explanation(event, slots, expr, tuple(parts), node.span))

    def _explained_value(
        self, context: Context, node: syntax.ExplainedValue
    ) -> ExplainedValue | None:
        operand = context.expression(node.value)
        names = [binding.name for binding in self.bindings]
        if operand is None:
            return None
        if node.binding is None:
            return ExplainedValue(operand.expr, None)
        if node.binding.text not in names:
            hint = suggestion_or_all(node.binding.text, names, "there is")
            message = f'the recording binds no names as "{node.binding.text}"{hint}'
            return context.report("F842", node.binding.span, message)
        return ExplainedValue(operand.expr, names.index(node.binding.text))

    def _drop(self, node: syntax.DropDecl) -> None:
        entity = denoted(self.context, node.channel)
        if not isinstance(entity, ChannelEntity):
            if not isinstance(entity, BrokenEntity):
                self.context.report("F844", node.channel.span, "a channel is required here")
            return
        kind = entity.message
        if entity.index is None or not isinstance(kind, Union) or entity.indices:
            message = "messages of one channel, which carries a union, are dropped by their names"
            self.context.report("F844", node.span, message)
            return
        tags: set[int] = set()
        for message_node in node.messages:
            name = message_node
            if isinstance(message_node, syntax.Attribute):
                name = message_node.name
                if isinstance(message_node.base, syntax.Name):
                    self.context.look_up(message_node.base)
            assert isinstance(name, syntax.Name)
            tag = index_of(self.context, name, kind)
            if tag is not None:
                tags.add(tag)
                self.context.work.received.add((entity, tag))
        self.drops.append(DroppedMessages(entity.index, frozenset(tags)))

    def _hide(self, node: syntax.Expr) -> None:
        entity = denoted(self.context, node)
        if isinstance(entity, RoleEntity):
            acting = [
                member for member in entity.names.values() if isinstance(member, ActionEntity)
            ]
            self.hidden += [member.index for member in acting if member.index is not None]
            return
        action = action_of(self.context, node)
        if action is not None and action.index is not None:
            self.hidden.append(action.index)


def _head(context: Context, entity: ActionEntity) -> tuple[Context, tuple[tuple[str, int], ...]]:
    """Returns the context with the names that the head of an action binds, and the slots of the
    action's choices.
    """
    work = context.work
    inside = Context(
        work, entity.module, Position("action"), role=entity.role, action=entity.index or 0
    )
    choices: list[tuple[str, int]] = []
    role = entity.role
    if role is not None and role.index_type is not None:
        slot = work.slot()
        choices.append(("", slot))
        local = ir.Local(role.index_type, slot)
        inside = replace(inside, instance=local, locals=role_locals(role, local))
    binders = () if entity.decl.choices is None else entity.decl.choices.binders
    for binder, kind in zip(binders, entity.parameters or (), strict=False):
        slot = work.slot()
        choices.append((binder.label, slot))
        inside = bind(inside, binder.target, Operand(ir.Local(kind, slot)))
    receive = entity.decl.receive
    if receive is not None:
        source = channels.line(inside, receive.channel)
        if source is not None and source.entity.message is not None:
            slot = work.slot()
            choices.append(("on", slot))
            message = Operand(ir.Local(source.entity.message, slot))
            _, inside = matched(inside, receive.pattern, message)
    return inside, tuple(choices)
