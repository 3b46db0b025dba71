"""The sequence diagram of a trace as SVG: lifelines, steps below each other, messages across.

A message is a line from the step that sent it down to the one that received it, so that messages
which overtake each other cross. Colours and states come from the page around it, by class.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from fencepost.checker.report.labels import change_labels, closing, cut, message_label, step_label
from fencepost.checker.report.markup import filled, joined
from fencepost.checker.trace.document import SYSTEM, TraceDocument
from fencepost.checker.trace.message_flights import Flight
from fencepost.checker.trace.value_tree import ValueTree, text

# Lengths in pixels. A character of the small type is about 6 wide, of the usual one 7.
LANE = 236
MARGIN = 128
BACK = 16
HEAD = 34
ROW = 60
BOX = 26
NOTE = 14
STUB = 16
MOST_LABEL = 27
MOST_MESSAGE = 36
MOST_NOTE = 33


@dataclass(frozen=True, slots=True)
class _Row:
    """One step: where its box is, and what stands below."""

    x: int
    y: int
    half: int
    label: str
    notes: tuple[str, ...]


def sequence(document: TraceDocument) -> Markup:
    """The diagram, an ``<svg>`` element whose parts are ``.step`` and ``.flight``."""
    lanes = list(document.lanes()) or [SYSTEM]
    flights = [one for one in document.flights() if one.sent or one.ended is not None]
    rows, bottom = _rows(document, lanes, flights)
    # Labels of messages that are still on their way stand on the right of their step.
    room = MOST_MESSAGE * 6 if any(flight.end == "flying" for flight in flights) else 0
    width = 2 * MARGIN + LANE * (len(lanes) - 1) + room
    fitting = (width - 40) * 2 // 15
    end = [line for text in closing(document) for line in textwrap.wrap(text, fitting)]
    height = bottom + (len(end) * 18 + 24 if end else 8)
    parts = [
        filled(
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" width="{}" height="{}"'
            ' role="img" aria-label="sequence diagram: {}">'
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9"'
            ' markerHeight="9" markerUnits="userSpaceOnUse" orient="auto">'
            '<path class="tip" d="M0 0 8 4 0 8z"/></marker><marker id="back" viewBox="0 0 8 8"'
            ' refX="7" refY="4" markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse"'
            ' orient="auto"><path class="tip" d="M0 0 8 4 0 8z"/></marker></defs>',
            *(width, height, width, height),
            document.about,
        )
    ]
    for number, lane in enumerate(lanes):
        x = MARGIN + LANE * number
        parts.append(
            filled(
                '<g class="lane"><line x1="{}" y1="{}" x2="{}" y2="{}"/>'
                '<text x="{}" y="22" text-anchor="middle">{}</text></g>',
                *(x, HEAD, x, bottom - 8, x),
                _line(cut(lane, MOST_LABEL)),
            )
        )
    parts += _flights(document, flights, rows)
    parts += _back(document, rows)
    parts += _steps(document, rows)
    if end:
        rect = '<g class="end"><rect x="8" y="{}" width="{}" height="{}" rx="4"/>'
        parts.append(filled(rect, bottom, width - 16, len(end) * 18 + 12))
        for number, line in enumerate(end):
            y = bottom + 20 + 18 * number
            parts.append(filled('<text x="20" y="{}">{}</text>', y, _line(line)))
        parts.append(Markup("</g>"))
    return joined([*parts, Markup("</svg>")])


def _rows(
    document: TraceDocument, lanes: Sequence[str], flights: Sequence[Flight[ValueTree]]
) -> tuple[dict[int, _Row], int]:
    """A row for each step behind the first, and where the rows end."""
    rows: dict[int, _Row] = {}
    y = HEAD + ROW // 2
    for position, step in enumerate(document.steps):
        if position == 0:
            continue
        label = cut(f"{position + 1} {step_label(step)}", MOST_LABEL)
        notes = change_labels(document, position, MOST_NOTE)
        if step.state is None:
            notes.append("this step fails")
        x = MARGIN + LANE * lanes.index(step.act.lifeline or SYSTEM)
        rows[position] = _Row(x, y, len(label) * 7 // 2 + 10, label, tuple(notes))
        stubs = sum(flight.sent == position and flight.end == "flying" for flight in flights)
        y += ROW + max(NOTE * len(notes), STUB * stubs)
    return rows, y


def _steps(document: TraceDocument, rows: dict[int, _Row]) -> Iterator[Markup]:
    for position, row in rows.items():
        step = document.steps[position]
        classes = ["step", step.act.kind]
        if step.act.spare:
            classes.append("spare")
        if step.state is None:
            classes.append("fails")
        names = " ".join(name for name in classes if name.isalpha())
        yield filled(
            '<g class="{}" data-step="{}"><title>{}</title>', names, position, _line(step.title)
        )
        yield filled(
            '<rect x="{}" y="{}" width="{}" height="{}" rx="5"/>',
            *(row.x - row.half, row.y - BOX // 2, 2 * row.half, BOX),
        )
        template = '<text x="{}" y="{}" text-anchor="middle">{}</text>'
        yield filled(template, row.x, row.y + 5, _line(row.label))
        for number, note in enumerate(row.notes):
            y = row.y + BOX // 2 + NOTE * (number + 1)
            template = '<text class="note" x="{}" y="{}" text-anchor="middle">{}</text>'
            yield filled(template, row.x, y, _line(note))
        yield Markup("</g>")


def _back(document: TraceDocument, rows: dict[int, _Row]) -> Iterator[Markup]:
    """The way from the last step of a trace without end to the one that comes next."""
    last = rows.get(len(document.steps) - 1)
    if document.loop is None or last is None:
        return
    # In a file of another tool the first state may be among those that come again.
    first = rows[max(1, document.loop)]
    end = last.x - last.half
    if not document.goes_round:
        yield filled(
            '<g class="back"><path marker-end="url(#back)" d="M{} {} C{} {} {} {} {} {}"/>'
            '<text x="{}" y="{}" text-anchor="end">for ever</text></g>',
            *(end, last.y - 6, end - 40, last.y - 24, end - 40, last.y + 24, end - 2, last.y + 6),
            *(end - 4, last.y - 18),
        )
        return
    middle = (first.y + last.y) // 2
    yield filled(
        '<g class="back"><path marker-end="url(#back)" d="M{} {} H{} V{} H{}"/>'
        '<text transform="translate({} {}) rotate(-90)" text-anchor="middle">for ever</text></g>',
        *(end, last.y, BACK, first.y, first.x - first.half - 2),
        *(BACK - 4, middle),
    )


def _flights(
    document: TraceDocument, flights: Sequence[Flight[ValueTree]], rows: dict[int, _Row]
) -> Iterator[Markup]:
    stubs: dict[int, int] = {}
    for flight in flights:
        start = None if flight.sent is None else rows.get(flight.sent)
        end = None if flight.ended is None else rows.get(flight.ended)
        classes = ["flight", flight.end, *(["copied"] if flight.copied else [])]
        spare = any(
            at is not None and document.steps[at].act.spare for at in (flight.sent, flight.ended)
        )
        yield filled(
            '<g class="{}" data-from="{}" data-to="{}"><title>{}</title>',
            " ".join([*classes, *(["spare"] if spare else [])]),
            -1 if flight.sent is None else flight.sent,
            -1 if flight.ended is None else flight.ended,
            _line(text(flight.message)),
        )
        label = _line(message_label(flight.message, MOST_MESSAGE))
        if start is not None and end is None:
            number = stubs[flight.sent or 0] = stubs.get(flight.sent or 0, 0) + 1
            yield from _stub(start, number, label)
        elif end is not None and start is not None and start.x == end.x:
            yield from _loop(start, end, label)
        elif end is not None:
            yield from _arrow(start, end, label, flight.end == "lost")
        yield Markup("</g>")


def _stub(start: _Row, number: int, label: str) -> Iterator[Markup]:
    """A message that has not been received yet."""
    x, y = start.x + start.half, start.y + 6 + STUB * number
    yield filled('<path d="M{} {} L{} {} H{}"/>', x, start.y, x + 14, y - 4, x + 24)
    yield filled('<circle cx="{}" cy="{}" r="3"/>', x + 27, y - 4)
    yield filled('<text x="{}" y="{}">{}</text>', x + 35, y, label)


def _loop(start: _Row, end: _Row, label: str) -> Iterator[Markup]:
    """A message from a lifeline to itself."""
    out = max(start.x + start.half, end.x + end.half) + 34
    yield filled(
        '<path marker-end="url(#tip)" d="M{} {} C{} {} {} {} {} {}"/>',
        *(start.x + start.half, start.y),
        *(out, start.y, out, end.y, end.x + end.half + 2, end.y),
    )
    yield filled('<text x="{}" y="{}">{}</text>', end.x + end.half + 8, end.y - 19, label)


def _arrow(start: _Row | None, end: _Row, label: str, lost: bool) -> Iterator[Markup]:
    right = start is None or start.x < end.x
    side = -1 if right else 1
    x1 = end.x - end.half - 60 if start is None else start.x - side * start.half
    y1 = end.y if start is None else start.y
    x2 = end.x + side * (end.half + 2)
    tip = Markup("" if lost else ' marker-end="url(#tip)"')
    yield filled('<path{} d="M{} {} L{} {}"/>', tip, x1, y1, x2, end.y)
    if lost:
        cross = '<path class="cross" d="M{} {} l10 10 m0 -10 l-10 10"/>'
        yield filled(cross, x2 - 5, end.y - 5)
    anchor = "end" if right else "start"
    x = end.x + side * 6
    yield filled('<text x="{}" y="{}" text-anchor="{}">{}</text>', x, end.y - 19, anchor, label)


def _line(label: str) -> str:
    return label.replace("\n", " ")
