"""Says why a history cannot continue: evaluates the explanations of a mapping where the longest run
ends, and compares the next events with those that the model shows instead.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice

from fencepost.checker.systems.conform.binding import Bound, Names
from fencepost.checker.systems.conform.mapping import MappedModel, ShownEvent
from fencepost.checker.systems.conform.places import Head, Position, Positions
from fencepost.checker.systems.conform.verdicts import Reason
from fencepost.spec.core.recording import Event, NameShape, Perhaps, Plain, Several, Shape
from fencepost.spec.core.spelling import show
from fencepost.spec.core.types import Option, Seq, Set, State, Type, Value

MAX_REASONS = 3
"""Maximum number of reasons that are given."""
MAX_MEANINGS = 20
"""Explanations of an event are evaluated if its names have at most this many meanings."""


def told(value: Value, kind: Type, shape: Shape, names: Names, bound: Bound) -> str:
    """Formats a value of the model. Its parts that are names in lines are shown by these names."""
    match shape, kind, value:
        case NameShape(bind=bind), _, _:
            name = names.shown(bind, value, bound)
            return show(value, kind) if name is None else json.dumps(name)
        case Perhaps(element=element), Option(element=inner), (content,):
            return told(content, inner, element, names, bound)
        case Several(element=element, unordered=unordered), (Set() | Seq()), tuple():
            items = [told(item, kind.element, element, names, bound) for item in value]
            left, right = "{}" if unordered else "[]"
            return f"{left}{', '.join(sorted(items) if unordered else items)}{right}"
        case _:
            return show(value, kind)


def told_event(event: Event, values: Sequence[Value], names: Names, bound: Bound) -> str:
    """Formats an event that the model shows."""
    fields = zip(event.fields, values, strict=True)
    parts = [f"{f.name}: {told(value, f.type, f.shape, names, bound)}" for f, value in fields]
    return f"{event.said}({', '.join(parts)})"


def misplaced(places: Positions, position: Position) -> Iterator[Reason]:
    """Yields a reason for each next event that violates an order."""
    for source, (lines, read) in enumerate(zip(places.lines, position.cursors, strict=True)):
        if read < len(lines) and lines[read].misplaced:
            yield Reason(source, f"it is out of order: {lines[read].misplaced}")


def reasons(
    mapped: MappedModel, places: Positions, position: Position, states: Sequence[State]
) -> list[Reason]:
    """Returns the reasons that the mapping's explanations give for the next events at a position,
    in the order of the explanations, and only the first one for each source. ``states`` are the
    states of the model there.
    """
    heads = [head for head in position.heads if head.line is not None]
    by_source: dict[int, Reason] = {}
    for number, explanation in enumerate(mapped.recording.explained):
        for head in heads:
            if head.event != explanation.event or head.source in by_source:
                continue
            text = _explained(mapped, places, head, states, number)
            if text:
                by_source[head.source] = Reason(head.source, text)
    return [*islice(by_source.values(), MAX_REASONS)]


def _explained(
    mapped: MappedModel, places: Positions, head: Head, states: Sequence[State], number: int
) -> str:
    explanation = mapped.recording.explained[number]
    for values, bound in islice(places.meanings(head), MAX_MEANINGS):
        for state in states:
            parts = mapped.explained(number, state, values)
            if parts is None:
                continue
            texts: list[str] = []
            for part, value in zip(explanation.parts, parts, strict=True):
                if isinstance(part, str):
                    texts.append(part)
                else:
                    assert value is not None
                    kind = part.value.type
                    texts.append(told(value, kind, _shape(kind, part.bind), places.names, bound))
            return "".join(texts)
    return ""


def _shape(kind: Type, bind: int | None) -> Shape:
    """Returns the shape of a value whose innermost elements are names of a binding."""
    match kind:
        case Option(element=element):
            return Perhaps(_shape(element, bind))
        case Set(element=element) | Seq(element=element):
            return Several(_shape(element, bind), isinstance(kind, Set))
        case _:
            return Plain(kind) if bind is None else NameShape(bind, kind)


def nearest(
    mapped: MappedModel,
    places: Positions,
    position: Position,
    shown: Sequence[tuple[ShownEvent, Bound]],
) -> list[Reason]:
    """Returns how the next events of sources differ from events that the model shows instead, the
    smallest difference first.
    """
    ranked: list[tuple[int, Reason]] = []
    for head in position.heads:
        for event, bound in shown:
            if head.event == event.event:
                parts = list(_differences(mapped, places, head, event, bound))
                text = f"the model has {', '.join(parts)}"
                if 0 < len(parts) < len(event.values):
                    ranked.append((len(parts), Reason(head.source, text)))
    ranked.sort()
    return [*islice(dict.fromkeys(reason for _, reason in ranked), MAX_REASONS)]


def _differences(
    mapped: MappedModel, places: Positions, head: Head, event: ShownEvent, bound: Bound
) -> Iterator[str]:
    declared, line, names = mapped.recording.events[event.event], head.line, places.names
    assert line is not None
    for item, read, raw, value in zip(
        declared.fields, line.fields, line.said, event.values, strict=True
    ):
        if next(names.fits(read, value, bound), None) is None:
            text = told(value, item.type, item.shape, names, bound)
            yield f"{item.name} {text}, not {json.dumps(raw)}"
