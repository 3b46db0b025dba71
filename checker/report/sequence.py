"""The sequence diagram of a trace as SVG: lifelines, steps below each other, messages across.

A message is a line from the step that sent it down to the one that received it, so that messages
which overtake each other cross. Colours and states come from the page around it, by class.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from fencepost.checker.report.labels import change_labels, closing, cut, message_label, step_label
from fencepost.checker.trace.document import SYSTEM, TraceDocument
from fencepost.checker.trace.message_flights import Flight
from fencepost.checker.trace.value_tree import Shape, text
from fencepost.spec.text.problem import printable

# Lengths in pixels. A character of the small type is about 6 wide, of the usual one 7.
LANE = 236
MARGIN = 128
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


def sequence(document: TraceDocument) -> str:
    """The diagram, an ``<svg>`` element whose parts are ``.step`` and ``.flight``."""
    lanes = list(document.lanes()) or [SYSTEM]
    flights = document.flights()
    rows, bottom = _rows(document, lanes, flights)
    # Labels of messages that are still on their way stand on the right of their step.
    room = MOST_MESSAGE * 6 if any(flight.end == "flying" for flight in flights) else 0
    width = 2 * MARGIN + LANE * (len(lanes) - 1) + room
    end = [line for text in closing(document) for line in textwrap.wrap(text, width // 8)]
    height = bottom + (len(end) * 18 + 24 if end else 8)
    label = escape(f"sequence diagram: {printable(document.about)}", quote=True)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" role="img" aria-label="{label}">'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9"'
        ' markerHeight="9" markerUnits="userSpaceOnUse" orient="auto">'
        '<path class="tip" d="M0 0 8 4 0 8z"/></marker></defs>'
    ]
    for number, lane in enumerate(lanes):
        x = MARGIN + LANE * number
        parts.append(
            f'<g class="lane"><line x1="{x}" y1="{HEAD}" x2="{x}" y2="{bottom - 8}"/>'
            f'<text x="{x}" y="22" text-anchor="middle">{_safe(cut(lane, MOST_LABEL))}</text></g>'
        )
    parts += _flights(document, flights, rows)
    parts += _steps(document, rows)
    if end:
        parts.append(
            f'<g class="end"><rect x="8" y="{bottom}" width="{width - 16}"'
            f' height="{len(end) * 18 + 12}" rx="4"/>'
        )
        for number, line in enumerate(end):
            y = bottom + 20 + 18 * number
            parts.append(f'<text x="20" y="{y}">{_safe(line)}</text>')
        parts.append("</g>")
    return "".join([*parts, "</svg>"])


def _rows(
    document: TraceDocument, lanes: Sequence[str], flights: Sequence[Flight[Shape]]
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


def _steps(document: TraceDocument, rows: dict[int, _Row]) -> Iterator[str]:
    for position, row in rows.items():
        step = document.steps[position]
        classes = ["step", step.act.kind]
        if step.act.spare:
            classes.append("spare")
        if step.state is None:
            classes.append("fails")
        names = " ".join(name for name in classes if name.isalpha())
        yield (
            f'<g class="{names}" data-step="{position}"><title>{_safe(step.title)}</title>'
            f'<rect x="{row.x - row.half}" y="{row.y - BOX // 2}" width="{2 * row.half}"'
            f' height="{BOX}" rx="5"/>'
            f'<text x="{row.x}" y="{row.y + 5}" text-anchor="middle">{_safe(row.label)}</text>'
        )
        for number, note in enumerate(row.notes):
            y = row.y + BOX // 2 + NOTE * (number + 1)
            place = f'x="{row.x}" y="{y}" text-anchor="middle"'
            yield f'<text class="note" {place}>{_safe(note)}</text>'
        yield "</g>"


def _flights(
    document: TraceDocument, flights: Sequence[Flight[Shape]], rows: dict[int, _Row]
) -> Iterator[str]:
    stubs: dict[int, int] = {}
    for flight in flights:
        start = None if flight.sent is None else rows.get(flight.sent)
        end = None if flight.ended is None else rows.get(flight.ended)
        classes = ["flight", flight.end, *(["copied"] if flight.copied else [])]
        spare = any(
            at is not None and document.steps[at].act.spare for at in (flight.sent, flight.ended)
        )
        yield (
            f'<g class="{" ".join([*classes, *(["spare"] if spare else [])])}"'
            f' data-from="{-1 if flight.sent is None else flight.sent}"'
            f' data-to="{-1 if flight.ended is None else flight.ended}">'
            f"<title>{_safe(text(flight.message))}</title>"
        )
        label = _safe(message_label(flight.message, MOST_MESSAGE))
        if start is not None and end is None:
            number = stubs[flight.sent or 0] = stubs.get(flight.sent or 0, 0) + 1
            yield from _stub(start, number, label)
        elif end is not None and start is not None and start.x == end.x:
            yield from _loop(start, end, label)
        elif end is not None:
            yield from _line(start, end, label, flight.end == "lost")
        yield "</g>"


def _stub(start: _Row, number: int, label: str) -> Iterator[str]:
    """A message that nobody has received yet."""
    x, y = start.x + start.half, start.y + 6 + STUB * number
    yield f'<path d="M{x} {start.y} L{x + 14} {y - 4} H{x + 24}"/>'
    yield f'<circle cx="{x + 27}" cy="{y - 4}" r="3"/>'
    yield f'<text x="{x + 35}" y="{y}">{label}</text>'


def _loop(start: _Row, end: _Row, label: str) -> Iterator[str]:
    """A message from a lifeline to itself."""
    out = max(start.x + start.half, end.x + end.half) + 34
    yield (
        f'<path marker-end="url(#tip)" d="M{start.x + start.half} {start.y} C{out} {start.y}'
        f' {out} {end.y} {end.x + end.half + 2} {end.y}"/>'
        f'<text x="{end.x + end.half + 8}" y="{end.y - 19}">{label}</text>'
    )


def _line(start: _Row | None, end: _Row, label: str, lost: bool) -> Iterator[str]:
    right = start is None or start.x < end.x
    side = -1 if right else 1
    x1 = end.x - end.half - 60 if start is None else start.x - side * start.half
    y1 = end.y if start is None else start.y
    x2 = end.x + side * (end.half + 2)
    tip = "" if lost else ' marker-end="url(#tip)"'
    yield f'<path{tip} d="M{x1} {y1} L{x2} {end.y}"/>'
    if lost:
        yield f'<path class="cross" d="M{x2 - 5} {end.y - 5} l10 10 m0 -10 l-10 10"/>'
    anchor = "end" if right else "start"
    x = end.x + side * 6
    yield f'<text x="{x}" y="{end.y - 19}" text-anchor="{anchor}">{label}</text>'


def _safe(label: str) -> str:
    return escape(printable(label).replace("\n", " "))
