"""Elaborates ``recording:`` and the declarations that belong to it. They define the lines of a
recording and their meaning.

`recording_rules` handles the events that steps show and the events that come from outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import assert_never

from fencepost.spec.core import ir
from fencepost.spec.core.recording import (
    Binding,
    Event,
    EventField,
    NameShape,
    Order,
    Perhaps,
    Plain,
    Recording,
    Several,
    Shape,
    Source,
)
from fencepost.spec.core.size_limits import MAX_KEYS, countable
from fencepost.spec.core.types import (
    Bag,
    Bool,
    Field,
    Int,
    Map,
    Option,
    Record,
    Type,
    Union,
    Value,
    components,
    describe,
)
from fencepost.spec.elaborate.base.context import Context, Elaboration, Position, twice
from fencepost.spec.elaborate.base.symbols import ChannelEntity, Instance, VariableEntity
from fencepost.spec.elaborate.claims.module_state import every_instance, mapping_of
from fencepost.spec.elaborate.claims.recording_rules import Rules
from fencepost.spec.elaborate.types.partiality import coerced
from fencepost.spec.elaborate.values.channels import discipline
from fencepost.spec.records import replace
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.problem import suggestion_or_all
from fencepost.spec.text.source import Span

INTEGER = Int(-(2**53), 2**53)
"""The type that ``int`` denotes in an event. Its values are the numbers on which all JSON libraries
agree, and they are small enough for rules to add and subtract.
"""
_PARTS = (
    syntax.RecordingDecl, syntax.EventDecl, syntax.ShowsDecl, syntax.InputDecl, syntax.DropDecl,
    syntax.HiddenDecl, syntax.TolerateDecl, syntax.ExplainDecl, syntax.UnderWayDecl,
)  # fmt: skip


def recording(
    work: Elaboration,
    root: Instance,
    actions: Sequence[ir.Action],
    entities: Sequence[VariableEntity | ChannelEntity | None],
) -> Recording | None:
    """Returns the recording that a module declares. Returns None if it declares no recording, or a
    wrong one, which is reported. ``entities`` correspond to the variables of the model.
    """
    parts = [part for part in root.file.declarations if isinstance(part, _PARTS)]
    mapping = mapping_of(root)
    if not parts and mapping is not root:
        # A spec without a recording of its own uses that of the mapping it imports.
        return recording(work, mapping, actions, entities)
    heads = [part for part in parts if isinstance(part, syntax.RecordingDecl)]
    for other in every_instance(root)[:-1]:
        imported = next(
            (part for part in other.file.declarations if isinstance(part, _PARTS)), None
        )
        if imported is not None:
            message = "a recording is read by the spec that declares it; this module is imported"
            work.report("F841", imported.span, message)
    if not parts:
        return None
    if not heads and root.file.broken.names:
        # The head may be among the declarations that could not be parsed.
        return None
    if not heads:
        message = "this belongs to a recording, and the spec has no `recording:` with its sources"
        return work.report("F841", parts[0].span, message)
    if len(heads) > 1:
        note = (heads[0].span, "the first one")
        return work.report("F841", heads[1].span, "a spec has one recording", note)
    inner = work.scratch(muted=False)
    reported = len(work.problems)
    declared = _Declared(Context(inner, root, Position("property")), heads[0])
    declared.items()
    for part in parts:
        if isinstance(part, syntax.EventDecl):
            declared.event(part.name, part.head)
        elif isinstance(part, syntax.InputDecl) and part.head is not None:
            declared.event(part.event, part.head)
    context = Context(inner, root, Position("property"))
    rules = Rules(context, declared.events, actions, declared.bindings)
    for part in parts:
        rules.part(part)
    # A message that a rule receives counts as received, so no action needs to receive it.
    work.received |= inner.received
    if any(not problem.warning for problem in work.problems[reported:]):
        return None
    return Recording(
        key=declared.key,
        by=declared.by,
        event_field=declared.event_field,
        sources=tuple(declared.sources),
        orders=tuple(declared.orders),
        bindings=tuple(declared.bindings),
        events=tuple(declared.events.values()),
        shows=tuple(rules.shows),
        inputs=tuple(rules.inputs),
        tolerated=tuple(rules.tolerated),
        explained=tuple(rules.explained),
        drops=tuple(rules.drops),
        hidden=frozenset(rules.hidden),
        under_way=rules.under_way,
        carriers=tuple(
            number
            for number, entity in enumerate(entities)
            if isinstance(entity, ChannelEntity) and discipline(entity.decl) != "persistent"
        ),
        sites=tuple(inner.sites),
        guards=tuple(inner.guards),
        marks=tuple(inner.marks),
        span=heads[0].span,
    )


@dataclass(slots=True)
class _Declared:
    """Collects the items of ``recording:`` and the events."""

    context: Context
    node: syntax.RecordingDecl
    key: str | None = None
    by: tuple[str, ...] = ()
    event_field: str = "event"
    sources: list[Source] = field(default_factory=list[Source])
    orders: list[Order] = field(default_factory=list[Order])
    bindings: list[Binding] = field(default_factory=list[Binding])
    types: dict[str, syntax.Expr] = field(default_factory=dict[str, syntax.Expr])
    events: dict[str, Event] = field(default_factory=dict[str, Event])
    given: dict[str, Span] = field(default_factory=dict[str, Span])

    def items(self) -> None:
        for item in self.node.items:
            match item:
                case syntax.RecordingKey(name=name, by=by):
                    self._once("the key", item.span)
                    self.key, self.by = name.text, tuple(field_name.text for field_name in by)
                case syntax.RecordingEvent(name=name):
                    self._once("the field that names the event", item.span)
                    self.event_field = name.text
                case syntax.RecordingSource(name=name):
                    if self._once(f'source "{name.text}"', name.span):
                        patterns = item.patterns or (name.text,)
                        self.sources.append(Source(name.text, patterns, name.span))
                case syntax.RecordingOrder(name=name, by=by, strict=strict):
                    if self._once(f'the order of "{name.text}"', name.span):
                        fields = tuple(field_name.text for field_name in by)
                        self.orders.append(Order(name.text, fields, strict, name.span))
                case syntax.RecordingBind():
                    self._bind(item)
                case _:
                    assert_never(item)
        if not self.sources:
            self.context.report("F841", self.node.span, "a recording has at least one source")

    def _once(self, item: str, span: Span) -> bool:
        if item in self.given:
            note = (self.given[item], "first given here")
            self.context.report("F841", span, f"{item} is given twice", note)
            return False
        self.given[item] = span
        return True

    def _bind(self, item: syntax.RecordingBind) -> None:
        name = item.name.text
        if not self._once(f'the binding "{name}"', item.name.span):
            return
        self.types[name] = item.type
        kind = self.context.resolve(item.type)
        if kind is None:
            self.bindings.append(Binding(name, Bool(), ()))
            return
        if not countable(kind, MAX_KEYS):
            message = f"names are bound to at most {MAX_KEYS} values, but {describe(kind)} has more"
            self.context.report("F843", item.type.span, message)
        fixed: list[tuple[str | int, Value]] = []
        for entry in item.fixed:
            constant = self.context.at(replace(self.context.position, place="constant"))
            operand = constant.expression(entry.value, kind)
            value = coerced(self.context, operand, kind, entry.value.span, f'"{entry.text}"')
            if value is not None and isinstance(value.expr, ir.Literal):
                fixed.append((entry.text, value.expr.value))
            elif value is not None:
                message = "a fixed binding of a name is a constant"
                self.context.report("F841", entry.value.span, message)
        self.bindings.append(Binding(name, kind, tuple(fixed)))

    # ------------------------------------------------------------ events

    def event(self, line_name: syntax.Name, head: syntax.EventHead) -> None:
        """Declares an event. ``line_name`` is the name of the event in the lines of the
        recording.
        """
        name = head.alias or line_name
        other = self.events.get(name.text)
        if other is not None:
            note = (other.span, "first declared here")
            hint = (
                ""
                if head.alias
                else ": if it comes from another source, give it another name in rules with `as`"
            )
            message = f'event "{name.text}" is declared twice{hint}'
            self.context.report("F842", name.span, message, note)
            return
        numbers = self._sources_of(line_name, head)
        fields: list[EventField] = []
        seen: dict[str, Span] = {}
        for decl in head.fields:
            local = decl.alias or decl.name
            if local.text in seen:
                self.context.report("F202", local.span, *twice(local.text, seen[local.text]))
                continue
            seen[local.text] = local.span
            shape = self._shape(decl.type)
            if shape is not None:
                fields.append(EventField(decl.name.text, local.text, *shape, local.span))
        record = Record(name.text, tuple(Field(item.local, item.type) for item in fields))
        self.events[name.text] = Event(
            name.text, line_name.text, numbers, tuple(fields), record, name.span
        )

    def _sources_of(self, line_name: syntax.Name, head: syntax.EventHead) -> tuple[int, ...]:
        """Returns the numbers of the sources of an event."""
        names = [source.name for source in self.sources]
        numbers: list[int] = []
        for source_name in head.sources:
            if source_name.text not in names:
                hint = suggestion_or_all(source_name.text, names, "there is")
                message = f'the recording has no source "{source_name.text}"{hint}'
                self.context.report("F842", source_name.span, message)
                continue
            number = names.index(source_name.text)
            self.context.stands_for(source_name, self.sources[number].span)
            if number in numbers:
                self.context.report(
                    "F842", source_name.span, f'the source "{source_name.text}" is given twice'
                )
                continue
            numbers.append(number)
            for other in self.events.values():
                if other.said == line_name.text and number in other.sources:
                    note = (other.span, "first declared here")
                    message = (
                        f'the source "{source_name.text}" has two events that lines call'
                        f' "{line_name.text}"'
                    )
                    self.context.report("F842", source_name.span, message, note)
        return tuple(numbers)

    def _shape(self, node: syntax.Expr) -> tuple[Type, Shape] | None:
        """Returns the type of a field, and the shape of the field's value in a line. Returns None
        after a problem has been reported.
        """
        match node:
            case syntax.Name(text="int"):
                return INTEGER, Plain(INTEGER)
            case syntax.Name(text=text) if text in self.types:
                self.context.stands_for(node, self.given[f'the binding "{text}"'])
                number = [binding.name for binding in self.bindings].index(text)
                kind = self.bindings[number].type
                return kind, NameShape(number, kind)
            case syntax.Optional(element=element):
                inner = self._shape(element)
                return None if inner is None else (Option(inner[0]), Perhaps(inner[1]))
            case syntax.Index(base=syntax.Name(text="set" | "seq" as word), arguments=arguments):
                inner = self._shape(arguments[0])
                if inner is None:
                    return None
                written = replace(node, arguments=(self._substituted(arguments[0]), *arguments[1:]))
                whole = self.context.resolve(written)
                return None if whole is None else (whole, Several(inner[1], word == "set"))
            case _:
                return self._plain(node)

    def _plain(self, node: syntax.Expr) -> tuple[Type, Shape] | None:
        kind = self.context.resolve(node)
        if kind is None:
            return None
        unfit = _unfit(kind)
        if unfit is not None:
            message = (
                f"a line cannot give {describe(unfit)}; an event has numbers, truth values, enums,"
            )
            message += " records, options, sets and sequences"
            return self.context.report("F843", node.span, message)
        return kind, Plain(kind)

    def _substituted(self, node: syntax.Expr) -> syntax.Expr:
        """Returns a type with bound names replaced by their types."""
        match node:
            case syntax.Name(text=text) if text in self.types:
                return self.types[text]
            case syntax.Optional(element=element):
                return replace(node, element=self._substituted(element))
            case syntax.Index(base=syntax.Name(text="set" | "seq"), arguments=(first, *rest)):
                return replace(node, arguments=(self._substituted(first), *rest))
            case _:
                return node


def _unfit(kind: Type) -> Type | None:
    """Returns the part of a type whose values cannot appear in a line, or None if all values
    can.
    """
    if isinstance(kind, Union | Bag | Map):
        return kind
    return next((part for part in map(_unfit, components(kind)) if part), None)
