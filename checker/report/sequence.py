"""Draws the sequence diagram of a trace as SVG.

The line of a message leads from the step that sent it to the step that received it, so the lines of
messages that overtake each other cross. Colours and the looks of states are defined by class in the
surrounding page.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence

from markupsafe import Markup

from fencepost.checker.report.labels import change_labels, closing, cut, message_label, step_label
from fencepost.checker.report.markup import filled, joined
from fencepost.checker.trace.document import SYSTEM, TraceDocument
from fencepost.checker.trace.message_flights import Flight
from fencepost.checker.trace.value_tree import ValueTree, text
from fencepost.spec.records import dataclass

# Lengths in pixels. A character is about 6 pixels wide in small type, 7 in normal type, and 8 in
# names.
BACK = 16
NAMES = 24
LINE = 16
ROW = 60
BOX = 26
NOTE = 14
STUB = 16
STUB_ROOM = 110
WORD = re.compile(r"[A-Z](?=[a-z])|(?<=[a-z])[A-Z]|(?<=[_. ])\w|\[")
"""Matches where a word of a name begins."""


@dataclass(frozen=True, slots=True)
class _Scale:
    """The distances of lifelines from each other and from the edges, and the maximum lengths of
    labels.
    """

    lane: int
    margin: int
    label: int
    message: int
    note: int

    def x(self, number: int) -> int:
        """Returns the horizontal position of a lifeline."""
        return self.margin + self.lane * number

    def width(self, lanes: int) -> int:
        """Returns the width that a number of lifelines takes."""
        return self.x(lanes - 1) + self.margin

    @property
    def name(self) -> int:
        return self.lane // 8 - 1


WIDE = _Scale(lane=236, margin=128, label=27, message=36, note=33)
MAX_WIDE = 3
"""Maximum number of lifelines that are drawn at the wide distance."""
FITTING = 750
"""The width of a diagram that fits a page of 800 pixels."""
CLOSEST = 140


def _scale(lanes: int) -> _Scale:
    """Returns the distances for a number of lifelines. Up to five lifelines fit a page of 800
    pixels; with more, the diagram becomes wider.
    """
    if lanes <= MAX_WIDE:
        return WIDE
    margin = 92
    lane = max(CLOSEST, (FITTING - 2 * margin) // (lanes - 1))
    return _Scale(lane, margin, label=23, message=32, note=28)


@dataclass(frozen=True, slots=True)
class _Row:
    """The position of the box of a step, and its texts. If ``left`` is set, pending messages are
    drawn on the left of the box.
    """

    x: int
    y: int
    half: int
    label: str
    notes: tuple[str, ...]
    left: bool
    full: str


def sequence(document: TraceDocument) -> Markup:
    """Returns the diagram. It has a sticky ``<svg>`` with the names of the lifelines, and another
    with parts of the classes ``.step`` and ``.flight``. A part with a shortened label can receive
    the focus, and has its full text in ``data-full``.
    """
    lanes = list(document.lanes()) or [SYSTEM]
    scale = _scale(len(lanes))
    flights = [flight for flight in document.flights() if flight.sent or flight.ended is not None]
    rows, bottom = _rows(document, lanes, flights, scale)
    # On a single lifeline, labels of pending messages need extra width.
    flying = len(lanes) == 1 and any(flight.end == "flying" for flight in flights)
    width = scale.width(len(lanes)) + (scale.message * 6 if flying else 0)
    fitting = (width - 40) * 2 // 15
    end = [line for text in closing(document) for line in textwrap.wrap(text, fitting)]
    height = bottom + (len(end) * 18 + 24 if end else 8)
    parts = [_names(lanes, width, scale)]
    parts.append(
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
    )
    for number in range(len(lanes)):
        x = scale.x(number)
        line = '<path class="lane" d="M{} 0 V{}"/>'
        parts.append(filled(line, x, bottom - 8))
    parts += _flights(document, flights, rows, scale)
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


def _names(lanes: Sequence[str], width: int, scale: _Scale) -> Markup:
    """Draws the names of the lifelines. A long name takes two lines."""
    names = [_broken(_line(lane), scale.name) for lane in lanes]
    height = NAMES + LINE * (max(map(len, names)) - 1)
    parts = [
        filled(
            '<svg xmlns="http://www.w3.org/2000/svg" class="names" viewBox="0 0 {} {}" width="{}"'
            ' height="{}" role="img" aria-label="lifelines: {}">',
            *(width, height, width, height),
            ", ".join(map(_line, lanes)),
        )
    ]
    for number, (lane, lines) in enumerate(zip(lanes, names, strict=True)):
        cut_off = "".join(lines) != _line(lane)
        parts.append(filled("<g{}>", _full(_line(lane)) if cut_off else ""))
        for row, line in enumerate(lines):
            y = height - 8 - LINE * (len(lines) - 1 - row)
            template = '<text x="{}" y="{}" text-anchor="middle">{}</text>'
            parts.append(filled(template, scale.x(number), y, line))
        parts.append(Markup("</g>"))
    return joined([*parts, Markup("</svg>")])


def _broken(name: str, most: int) -> list[str]:
    """Splits a long name into two lines, at the start of a word if possible."""
    if len(name) <= most:
        return [name]
    begins = [match.start() for match in WORD.finditer(name) if 0 < match.start() <= most]
    at = begins[-1] if begins else most
    return [name[:at], cut(name[at:], most)]


def _full(text: str) -> Markup:
    """Returns the attributes of a part whose label is shortened."""
    return filled(' tabindex="0" data-full="{}"', text)


def _rows(
    document: TraceDocument,
    lanes: Sequence[str],
    flights: Sequence[Flight[ValueTree]],
    scale: _Scale,
) -> tuple[dict[int, _Row], int]:
    """Returns the rows of all steps except the first, and the vertical position of their lower
    end.
    """
    rows: dict[int, _Row] = {}
    y = ROW // 2
    for position, step in enumerate(document.steps):
        if position == 0:
            continue
        whole = f"{position} {step_label(step)}"
        label = cut(whole, scale.label)
        changed = change_labels(document, position, None)
        notes = change_labels(document, position, scale.note)
        if step.state is None:
            notes.append("this step fails")
            changed.append("this step fails")
        x = scale.x(lanes.index(step.act.lifeline or SYSTEM))
        rows[position] = _Row(
            x,
            y,
            len(label) * 7 // 2 + 10,
            label,
            tuple(notes),
            left=scale.width(len(lanes)) - x < min(x, STUB_ROOM + scale.message * 7),
            full=""
            if (whole, changed) == (label, notes)
            else "\n".join(map(_line, [step.title, *changed])),
        )
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
            '<g class="{}" data-step="{}" role="img" aria-label="{}"{}>',
            *(names, position, _line(step.title)),
            _full(row.full) if row.full else "",
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
    """Draws the edge from the last step of an infinite trace back to its cycle."""
    last = rows.get(len(document.steps) - 1)
    if document.loop is None or last is None:
        return
    # In a file written by another tool, the cycle may include the first state.
    first = rows[max(1, document.loop)]
    end = last.x - last.half
    if not document.goes_round:
        yield filled(
            '<g class="back"><path marker-end="url(#back)" d="M{} {} C{} {} {} {} {} {}"/>'
            '<text x="{}" y="{}" text-anchor="end">forever</text></g>',
            *(end, last.y - 6, end - 40, last.y - 24, end - 40, last.y + 24, end - 2, last.y + 6),
            *(end - 4, last.y - 18),
        )
        return
    middle = (first.y + last.y) // 2
    yield filled(
        '<g class="back"><path marker-end="url(#back)" d="M{} {} H{} V{} H{}"/>'
        '<text transform="translate({} {}) rotate(-90)" text-anchor="middle">forever</text></g>',
        *(end, last.y, BACK, first.y, first.x - first.half - 2),
        *(BACK - 4, middle),
    )


def _flights(
    document: TraceDocument,
    flights: Sequence[Flight[ValueTree]],
    rows: dict[int, _Row],
    scale: _Scale,
) -> Iterator[Markup]:
    stubs: dict[int, int] = {}
    for flight in flights:
        start = None if flight.sent is None else rows.get(flight.sent)
        end = None if flight.ended is None else rows.get(flight.ended)
        classes = ["flight", flight.end, *(["copied"] if flight.copied else [])]
        spare = any(
            at is not None and document.steps[at].act.spare for at in (flight.sent, flight.ended)
        )
        whole = text(flight.message)
        label = message_label(flight.message, scale.message)
        yield filled(
            '<g class="{}" data-from="{}" data-to="{}" role="img" aria-label="{}"{}>',
            " ".join([*classes, *(["spare"] if spare else [])]),
            -1 if flight.sent is None else flight.sent,
            -1 if flight.ended is None else flight.ended,
            _line(whole),
            "" if whole == label else _full(_line(whole)),
        )
        label = _line(label)
        if start is not None and end is None:
            number = stubs[flight.sent or 0] = stubs.get(flight.sent or 0, 0) + 1
            yield from _stub(start, number, label)
        elif end is not None and start is not None and start.x == end.x:
            yield from _loop(start, end, label)
        elif end is not None:
            yield from _arrow(start, end, label, flight.end == "lost")
        yield Markup("</g>")


def _stub(start: _Row, number: int, label: str) -> Iterator[Markup]:
    """Draws a pending message next to the notes of the step that sent it."""
    side = -1 if start.left else 1
    edge, y = start.x + side * start.half, start.y + 6 + STUB * number
    below = max((len(note) * 13 // 4 for note in start.notes), default=0)
    end = start.x + side * max(start.half + 27, below + 12)
    path = '<path d="M{} {} L{} {} H{}"/>'
    yield filled(path, edge, start.y, edge + side * 14, y - 4, end - side * 3)
    yield filled('<circle cx="{}" cy="{}" r="3"/>', end, y - 4)
    anchor = "end" if start.left else "start"
    template = '<text x="{}" y="{}" text-anchor="{}">{}</text>'
    yield filled(template, end + side * 8, y, anchor, label)


def _loop(start: _Row, end: _Row, label: str) -> Iterator[Markup]:
    """Draws a message that a lifeline sends to itself."""
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
