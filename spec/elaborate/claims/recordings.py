"""``recording:`` and what stands beside it: which lines there are, and what they mean to the model.

What steps show and what comes from outside is in `recording_rules`.
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
    Named,
    Order,
    Perhaps,
    Plain,
    Recording,
    Several,
    Shape,
    Source,
)
from fencepost.spec.core.size_limits import MOST_KEYS, countable
from fencepost.spec.core.types import (
    Bag,
    Bool,
    Field,
    Int,
    Map,
    Option,
    Record,
    Scalar,
    Seq,
    Set,
    Type,
    Union,
    Value,
    describe,
    fields_of,
)
from fencepost.spec.elaborate.base.context import Context, Elaboration
from fencepost.spec.elaborate.base.symbols import ChannelEntity, Instance, VariableEntity
from fencepost.spec.elaborate.claims.module_state import every_instance
from fencepost.spec.elaborate.claims.recording_rules import Rules
from fencepost.spec.elaborate.types.partiality import coerced
from fencepost.spec.elaborate.values.channels import discipline
from fencepost.spec.records import replace
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.text.problem import Note, listing, suggestion
from fencepost.spec.text.source import Span

INTEGER = Int(-(2**53), 2**53)
"""What ``int`` is in an event: the numbers on which all JSON libraries agree, and small enough that
rules can add and subtract them.
"""
_PARTS = (
    syntax.RecordingDecl, syntax.EventDecl, syntax.ShowsDecl, syntax.InputDecl, syntax.DropDecl,
    syntax.HiddenDecl, syntax.TolerateDecl, syntax.UnderWayDecl,
)  # fmt: skip


def recording(
    work: Elaboration,
    root: Instance,
    actions: Sequence[ir.Action],
    entities: Sequence[VariableEntity | ChannelEntity | None],
) -> Recording | None:
    """What a module says of recordings; None where it says nothing, or something wrong, which is
    reported. ``entities`` are those of the variables of the model.
    """
    parts = [one for one in root.file.declarations if isinstance(one, _PARTS)]
    heads = [one for one in parts if isinstance(one, syntax.RecordingDecl)]
    for other in every_instance(root)[:-1]:
        imported = next((one for one in other.file.declarations if isinstance(one, _PARTS)), None)
        if imported is not None:
            what = "a recording is read by the spec that declares it; this module is imported"
            work.report("F841", imported.span, what)
    if not parts:
        return None
    if not heads:
        what = "this belongs to a recording, and the spec has no `recording:` with its sources"
        work.report("F841", parts[0].span, what)
        return None
    if len(heads) > 1:
        note = (heads[0].span, "the first one")
        work.report("F841", heads[1].span, "a spec has one recording", note)
        return None
    inner = work.scratch(muted=False)
    reported = len(work.problems)
    made = _Declared(Context(inner, root, "property"), heads[0])
    made.items()
    for part in parts:
        if isinstance(part, syntax.EventDecl):
            made.event(part.name, part.head)
        elif isinstance(part, syntax.InputDecl) and part.head is not None:
            made.event(part.event, part.head)
    rules = Rules(Context(inner, root, "property"), made.events, actions)
    for part in parts:
        rules.part(part)
    # What is received here counts as received: no action need do it.
    work.received |= inner.received
    if any(not problem.warning for problem in work.problems[reported:]):
        return None
    return Recording(
        key=made.key,
        by=made.by,
        event_field=made.event_field,
        sources=tuple(made.sources),
        orders=tuple(made.orders),
        bindings=tuple(made.bindings),
        events=tuple(made.events.values()),
        shows=tuple(rules.shows),
        inputs=tuple(rules.inputs),
        tolerated=tuple(rules.tolerated),
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
    """The lines of ``recording:``, and the events."""

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
                    self.key, self.by = name.text, tuple(one.text for one in by)
                case syntax.RecordingEvent(name=name):
                    self._once("the field that names the event", item.span)
                    self.event_field = name.text
                case syntax.RecordingSource(name=name):
                    if self._once(f'source "{name.text}"', name.span):
                        patterns = item.patterns or (name.text,)
                        self.sources.append(Source(name.text, patterns, name.span))
                case syntax.RecordingOrder(name=name, by=by, strict=strict):
                    if self._once(f'the order of "{name.text}"', name.span):
                        fields = tuple(one.text for one in by)
                        self.orders.append(Order(name.text, fields, strict, name.span))
                case syntax.RecordingBind():
                    self._bind(item)
                case _:
                    assert_never(item)
        if not self.sources:
            self.context.report("F841", self.node.span, "a recording has at least one source")

    def _once(self, what: str, span: Span) -> bool:
        if what in self.given:
            note = (self.given[what], "first given here")
            self.context.report("F841", span, f"{what} is given twice", note)
            return False
        self.given[what] = span
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
        if not countable(kind, MOST_KEYS):
            what = f"names stand for at most {MOST_KEYS} values, and {describe(kind)} has more"
            self.context.report("F843", item.type.span, what)
        fixed: list[tuple[str | int, Value]] = []
        for one in item.fixed:
            operand = replace(self.context, place="constant").expression(one.value, kind)
            made = coerced(self.context, operand, kind, one.value.span, f'"{one.text}"')
            if made is not None and isinstance(made.expr, ir.Literal):
                fixed.append((one.text, made.expr.value))
            elif made is not None:
                what = "what a name always stands for is a constant"
                self.context.report("F841", one.value.span, what)
        self.bindings.append(Binding(name, kind, tuple(fixed)))

    # ------------------------------------------------------------ events

    def event(self, said: syntax.Name, head: syntax.EventHead) -> None:
        """Declares an event, which lines call ``said``."""
        name = head.alias or said
        known = self.events.get(name.text)
        if known is not None:
            note = (known.span, "first declared here")
            hint = "" if head.alias else ": for another source, `as` gives it another name in rules"
            what = f'event "{name.text}" is declared twice{hint}'
            self.context.report("F842", name.span, what, note)
            return
        numbers = self._sources_of(said, head)
        fields: list[EventField] = []
        seen: dict[str, Span] = {}
        for decl in head.fields:
            local = decl.alias or decl.name
            if local.text in seen:
                first: Note = (seen[local.text], "first declared here")
                what = f'"{local.text}" is declared twice'
                self.context.report("F202", local.span, what, first)
                continue
            seen[local.text] = local.span
            made = self._shape(decl.type)
            if made is not None:
                fields.append(EventField(decl.name.text, local.text, *made, local.span))
        record = Record(name.text, tuple(Field(one.local, one.type) for one in fields))
        self.events[name.text] = Event(
            name.text, said.text, numbers, tuple(fields), record, name.span
        )

    def _sources_of(self, said: syntax.Name, head: syntax.EventHead) -> tuple[int, ...]:
        """The numbers of the sources of an event."""
        names = [source.name for source in self.sources]
        numbers: list[int] = []
        for one in head.sources:
            if one.text not in names:
                hint = suggestion(one.text, names) or (
                    f"; there is {listing(names, 'and')}" if names else ""
                )
                what = f'the recording has no source "{one.text}"{hint}'
                self.context.report("F842", one.span, what)
                continue
            number = names.index(one.text)
            self.context.stands_for(one, self.sources[number].span)
            if number in numbers:
                self.context.report("F842", one.span, f'the source "{one.text}" is given twice')
                continue
            numbers.append(number)
            for other in self.events.values():
                if other.said == said.text and number in other.sources:
                    note = (other.span, "first declared here")
                    what = f'the source "{one.text}" has two events that lines call "{said.text}"'
                    self.context.report("F842", one.span, what, note)
        return tuple(numbers)

    def _shape(self, node: syntax.Expr) -> tuple[Type, Shape] | None:
        """The type of a field, and how its value is written in a line."""
        match node:
            case syntax.Name(text="int"):
                return INTEGER, Plain(INTEGER)
            case syntax.Name(text=text) if text in self.types:
                self.context.stands_for(node, self.given[f'the binding "{text}"'])
                number = [one.name for one in self.bindings].index(text)
                kind = self.bindings[number].type
                return kind, Named(number, kind)
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
            what = (
                f"a line cannot give {describe(unfit)}; an event has numbers, truth values, enums,"
            )
            what += " records, options, sets and sequences"
            self.context.report("F843", node.span, what)
            return None
        return kind, Plain(kind)

    def _substituted(self, node: syntax.Expr) -> syntax.Expr:
        """A type with what the names that are bound stand for."""
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
    """The part of a type whose values no line gives; None if there is none."""
    match kind:
        case Scalar():
            return None
        case Record():
            return next(
                (one for one in map(_unfit, (f.type for f in fields_of(kind))) if one), None
            )
        case Option(element) | Set(element) | Seq(element):
            return _unfit(element)
        case Union() | Bag() | Map():
            return kind
        case _:
            assert_never(kind)
