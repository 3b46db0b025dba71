"""Draws the sequence diagram of a trace as SVG.

Every step has a row of its own. The label of a message is above the box of the step that receives
it, in the column of that step. Its line leaves the sender sideways, runs down a track
between two columns, and enters the receiver sideways. So a line crosses other lines, but neither
boxes nor labels. Colours and the looks of states are defined by class in the surrounding page.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence

from markupsafe import Markup

from fencepost.checker.report.labels import change_labels, closing, cut, message_label, step_label
from fencepost.checker.report.markup import filled, joined
from fencepost.checker.trace.document import INITIAL, SYSTEM, TraceDocument
from fencepost.checker.trace.message_flights import Flight
from fencepost.checker.trace.value_tree import ValueTree, text
from fencepost.spec.records import dataclass

# Lengths in pixels, and widths of a character in a box, in a note, in a label and in a name.
BOX, NOTE, LABEL, NAME = 7.25, 6.4, 6.7, 8.0
LINE = 16
SMALL = 14
GAP = 24
PADDING = 10
TRACK = 10
CORNER = 6
BACK = 14
MIN_WIDTH = 300
WRAP = (60, 40, 30, 22)
"""The maximum number of characters per line in a column, by the number of columns."""
MAX_LINES = 3
"""Maximum number of lines of the label of a box or a message."""
WORD = re.compile(r"[A-Z](?=[a-z])|(?<=[a-z])[A-Z]|(?<=[_. ])\w|\[")
"""Matches where a word of a name begins."""
MESSAGE = Flight[ValueTree]
LEGEND = {
    "environment": "a step that the environment may take",
    "flying": "a message that is not received",
    "lost": "a lost message",
    "copied": "a copy of a message",
    "spare": "not needed for the problem",
}
"""The entries of the legend, by the class of what they explain."""


@dataclass(frozen=True, slots=True)
class _Row:
    """The texts of a step. ``above`` are the lines of the messages that it receives, and ``beside``
    are the messages that it sends and that are still in flight at the end. ``full`` is the text of
    a shortened label.
    """

    lane: int
    y: int
    above: tuple[tuple[str, ...], ...]
    label: tuple[str, ...]
    notes: tuple[str, ...]
    beside: tuple[str, ...]
    full: str

    @property
    def half(self) -> int:
        """Half the width of the box."""
        return round(max(map(len, self.label)) * BOX / 2) + 9

    @property
    def tall(self) -> int:
        """The height of the box."""
        return LINE * len(self.label) + 10

    @property
    def top(self) -> int:
        """The upper edge of the box."""
        return self.y + SMALL * sum(map(len, self.above)) + (4 if self.above else 0)

    @property
    def middle(self) -> int:
        return self.top + self.tall // 2

    @property
    def bottom(self) -> int:
        """The lower edge of the last text."""
        return self.top + self.tall + SMALL * (len(self.notes) + len(self.beside)) + 6

    @property
    def column(self) -> int:
        """Half the width of the column that the step needs."""
        wide = [len(line) * LABEL for lines in self.above for line in lines]
        wide += [len(note) * NOTE for note in self.notes]
        wide += [len(label) * LABEL + 24 for label in self.beside]
        return round(max([2 * self.half, *wide]) / 2)


@dataclass(frozen=True, slots=True)
class _Plan:
    """The positions of everything. ``xs`` are the lifelines, and ``tracks`` has the horizontal
    position of the line of each flight, by the flight's number.
    """

    lanes: tuple[str, ...]
    flights: tuple[MESSAGE, ...]
    rows: dict[int, _Row]
    xs: tuple[int, ...]
    tracks: dict[int, int]
    width: int
    bottom: int

    def x(self, row: _Row) -> int:
        return self.xs[row.lane]


def sequence(document: TraceDocument) -> Markup:
    """Returns the diagram. It has a sticky ``<svg>`` with the names of the lifelines, another with
    parts of the classes ``.step`` and ``.flight``, and a legend. A part with a shortened label can
    receive the focus, and has its full text in ``data-full``.
    """
    plan = _plan(document)
    fitting = (plan.width - 40) * 2 // 15
    end = [line for text in closing(document) for line in textwrap.wrap(text, fitting)]
    height = plan.bottom + (len(end) * 18 + 24 if end else 8)
    parts = [_names(plan)]
    parts.append(
        filled(
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" width="{}" height="{}"'
            ' role="img" aria-label="sequence diagram: {}">'
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9"'
            ' markerHeight="9" markerUnits="userSpaceOnUse" orient="auto">'
            '<path class="tip" d="M0 0 8 4 0 8z"/></marker><marker id="cycle" viewBox="0 0 8 8"'
            ' refX="7" refY="4" markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse"'
            ' orient="auto"><path class="tip" d="M0 0 8 4 0 8z"/></marker></defs>',
            *(plan.width, height, plan.width, height),
            document.about,
        )
    )
    for x in plan.xs:
        parts.append(filled('<path class="lane" d="M{} 0 V{}"/>', x, plan.bottom - 8))
    parts += _flights(document, plan)
    parts += _back(document, plan)
    parts += _steps(document, plan)
    if end:
        rect = '<g class="end"><rect x="8" y="{}" width="{}" height="{}" rx="4"/>'
        parts.append(filled(rect, plan.bottom, plan.width - 16, len(end) * 18 + 12))
        for number, line in enumerate(end):
            y = plan.bottom + 20 + 18 * number
            parts.append(filled('<text x="20" y="{}">{}</text>', y, _line(line)))
        parts.append(Markup("</g>"))
    return joined([*parts, Markup("</svg>"), _legend(document, plan)])


# ---------------------------------------------------------------- the plan


def _plan(document: TraceDocument) -> _Plan:
    lanes = document.lanes() or (SYSTEM,)
    flights = tuple(f for f in document.flights() if f.sent or f.ended is not None)
    rows, bottom = _rows(document, lanes, flights)
    halves = [round(min(len(lane), 2 * NAMED) * NAME / 2) for lane in lanes]
    for row in rows.values():
        halves[row.lane] = max(halves[row.lane], row.column)
    slots: dict[int, tuple[int, int]] = {}
    taken: list[list[int]] = [[] for _ in range(len(lanes) + 1)]
    for number, flight in enumerate(flights):
        if flight.sent in rows and flight.ended is not None:
            start, end = rows[flight.sent].lane, rows[flight.ended].lane
            gutter = start if end < start else start + 1
            free = (n for n, until in enumerate(taken[gutter]) if until <= flight.sent)
            slot = next(free, len(taken[gutter]))
            taken[gutter][slot : slot + 1] = [flight.ended]
            slots[number] = gutter, slot
    left = 44 if document.loop is not None else PADDING
    xs: list[int] = []
    lefts: list[int] = []
    for half, gutter_tracks in zip([*halves, 0], taken, strict=True):
        lefts.append(left)
        left += TRACK * (len(gutter_tracks) + 1) + PADDING
        xs.append(left + half)
        left += 2 * half
    tracks = {n: lefts[g] + PADDING // 2 + TRACK * (slot + 1) for n, (g, slot) in slots.items()}
    spread = max(0, MIN_WIDTH - left) // 2 if len(lanes) == 1 else 0
    return _Plan(
        lanes, flights, rows, tuple(x + spread for x in xs[:-1]),
        {n: x + spread for n, x in tracks.items()}, left + 2 * spread, bottom,
    )  # fmt: skip


def _rows(
    document: TraceDocument, lanes: Sequence[str], flights: Sequence[MESSAGE]
) -> tuple[dict[int, _Row], int]:
    """Returns the rows of all steps except the first, and the vertical position of their lower
    end.
    """
    rows: dict[int, _Row] = {}
    most = WRAP[min(len(lanes), len(WRAP)) - 1]
    y = LINE * 3
    for position, step in enumerate(document.steps):
        if position == 0:
            continue
        label = f"{position} {step_label(step)}"
        changed = change_labels(document, position, None)
        notes = change_labels(document, position, most + 4)
        if step.state is None:
            notes.append("this step fails")
            changed.append("this step fails")
        lines = _wrapped(label, most)
        short = ("".join(lines), changed) != (label, notes)
        row = _Row(
            lanes.index(step.act.lifeline or SYSTEM),
            y,
            tuple(
                _message(flight, most)
                for flight in flights
                if flight.ended == position and flight.end == "received"
            ),
            lines,
            tuple(notes),
            tuple(
                message_label(flight.message, most)
                for flight in flights
                if flight.sent == position and flight.end == "flying"
            ),
            full="\n".join(map(_line, [step.title, *changed])) if short else "",
        )
        rows[position] = row
        y = row.bottom + GAP
    return rows, y


def _wrapped(label: str, most: int) -> tuple[str, ...]:
    """Breaks a label into at most `MAX_LINES` lines, after blanks and opening brackets. The lines
    together are the label, unless it is too long.
    """
    lines = [""]
    for part in re.split(r"(?<=[ (])", _line(label)):
        while len(lines[-1]) + len(part.rstrip()) > most:
            if lines[-1]:
                lines.append("")
            else:
                lines[-1:], part = [part[:most], ""], part[most:]
        lines[-1] += part
    lines = [line for line in lines if line] or [""]
    if len(lines) > MAX_LINES:
        lines[MAX_LINES - 1 :] = [cut("".join(lines[MAX_LINES - 1 :]), most)]
    return tuple(lines)


def _message(flight: MESSAGE, most: int) -> tuple[str, ...]:
    """Returns the lines of the label of a message: with all values if they fit."""
    whole = text(flight.message)
    fits = len(whole) <= most * 5 // 2
    return _wrapped(whole if fits else message_label(flight.message, most * 2), most)


# ---------------------------------------------------------------- drawing

NAMED = 18
"""Maximum number of characters per line in the name of a lifeline."""


def _names(plan: _Plan) -> Markup:
    """Draws the names of the lifelines. A long name takes two lines."""
    names = [_broken(_line(lane), NAMED) for lane in plan.lanes]
    height = 24 + LINE * (max(map(len, names)) - 1)
    parts = [
        filled(
            '<svg xmlns="http://www.w3.org/2000/svg" class="names" viewBox="0 0 {} {}" width="{}"'
            ' height="{}" role="img" aria-label="lifelines: {}">',
            *(plan.width, height, plan.width, height),
            ", ".join(map(_line, plan.lanes)),
        )
    ]
    for x, lane, lines in zip(plan.xs, plan.lanes, names, strict=True):
        cut_off = "".join(lines) != _line(lane)
        parts.append(filled("<g{}>", _full(_line(lane)) if cut_off else ""))
        for row, line in enumerate(lines):
            y = height - 8 - LINE * (len(lines) - 1 - row)
            parts.append(_text(x, y, line))
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


def _text(x: int, y: int, label: str, name: str = "") -> Markup:
    classes = Markup(f' class="{name}"' if name else "")
    template = '<text{} x="{}" y="{}" text-anchor="middle">{}</text>'
    return filled(template, classes, x, y, _line(label))


def _plate(x: int, y: int, chars: int, wide: float) -> Markup:
    """Draws the background of a label on a lifeline."""
    half = round(chars * wide / 2) + 3
    template = '<rect class="plate" x="{}" y="{}" width="{}" height="{}"/>'
    return filled(template, x - half, y - 11, 2 * half, SMALL)


def _steps(document: TraceDocument, plan: _Plan) -> Iterator[Markup]:
    if document.steps:
        yield filled(
            '<g class="step initial" data-step="0" role="img" aria-label="{}">'
            '<rect class="box" x="8" y="8" width="{}" height="{}" rx="5"/>{}</g>',
            *(INITIAL, plan.width - 16, 22),
            _text(plan.width // 2, 23, f"0 {document.steps[0].title}"),
        )
    for position, row in plan.rows.items():
        step = document.steps[position]
        classes = ["step", step.act.kind]
        if step.act.spare:
            classes.append("spare")
        if step.state is None:
            classes.append("fails")
        names = " ".join(name for name in classes if name.isalpha())
        x = plan.x(row)
        yield filled(
            '<g class="{}" data-step="{}" role="img" aria-label="{}"{}>'
            '<rect class="box" x="{}" y="{}" width="{}" height="{}" rx="5"/>',
            *(names, position, _line(step.title), _full(row.full) if row.full else ""),
            *(x - row.half, row.top, 2 * row.half, row.tall),
        )
        for number, line in enumerate(row.label):
            yield _text(x, row.top + LINE * (number + 1), line)
        for number, note in enumerate(row.notes):
            y = row.top + row.tall + SMALL * (number + 1)
            yield _plate(x, y, len(note), NOTE)
            yield _text(x, y, note, "note")
        yield Markup("</g>")


def _back(document: TraceDocument, plan: _Plan) -> Iterator[Markup]:
    """Draws the edge from the last step of an infinite trace back to its cycle."""
    last = plan.rows.get(len(document.steps) - 1)
    if document.loop is None or last is None:
        return
    # In a file written by another tool, the cycle may include the first state.
    first = plan.rows[max(1, document.loop)]
    end, y = plan.x(last) - last.half, last.middle
    if not document.goes_round:
        yield filled(
            '<g class="back"><path marker-end="url(#cycle)" d="M{} {} C{} {} {} {} {} {}"/>'
            '<text x="{}" y="{}" text-anchor="end">forever</text></g>',
            *(end, y - 6, end - 40, y - 24, end - 40, y + 24, end - 2, y + 6),
            *(end - 4, y - 18),
        )
        return
    yield filled(
        '<g class="back"><path marker-end="url(#cycle)" d="M{} {} H{} V{} H{}"/>'
        '<text transform="translate({} {}) rotate(-90)" text-anchor="middle">forever</text></g>',
        *(end, y, BACK + 6, first.middle, plan.x(first) - first.half - 2),
        *(BACK, (first.middle + y) // 2),
    )


def _flights(document: TraceDocument, plan: _Plan) -> Iterator[Markup]:
    pending: dict[int, int] = {}
    received: dict[int, int] = {}
    for number, flight in enumerate(plan.flights):
        start = None if flight.sent is None else plan.rows.get(flight.sent)
        end = None if flight.ended is None else plan.rows.get(flight.ended)
        classes = ["flight", flight.end, *(["copied"] if flight.copied else [])]
        spare = any(
            at is not None and document.steps[at].act.spare for at in (flight.sent, flight.ended)
        )
        whole = _line(text(flight.message))
        lines: tuple[str, ...] = ()
        y = 0
        if end is not None and flight.end == "received":
            order = received[flight.ended or 0] = received.get(flight.ended or 0, -1) + 1
            lines = end.above[order]
            y = end.y + SMALL * sum(map(len, end.above[:order]))
        elif end is None and start is not None:
            order = pending[flight.sent or 0] = pending.get(flight.sent or 0, -1) + 1
            lines = (start.beside[order],)
            y = start.top + start.tall + SMALL * (len(start.notes) + order) + 2
        yield filled(
            '<g class="{}" data-from="{}" data-to="{}" role="img" aria-label="{}"{}>',
            " ".join([*classes, *(["spare"] if spare else [])]),
            -1 if flight.sent is None else flight.sent,
            -1 if flight.ended is None else flight.ended,
            whole,
            "" if whole == "".join(lines) else _full(whole),
        )
        if end is not None:
            yield _arrow(plan, start, end, plan.tracks.get(number), flight.end == "lost")
        x = 0 if not lines else plan.x(end or start or plan.rows[1])
        for line in lines:
            y += SMALL
            if end is None:
                # The circle is the message on its way.
                edge = x - round(len(line) * LABEL / 2) - 10
                x += 10
                yield _plate(x - 10, y - 2, len(line) + 3, LABEL)
                yield filled('<path d="M{} {} h16"/>', edge - 2, y - 5)
                yield filled('<circle cx="{}" cy="{}" r="3"/>', edge + 14, y - 5)
                yield _text(x + 4, y - 1, line)
            else:
                yield _plate(x, y - 2, len(line), LABEL)
                yield _text(x, y - 2, line)
        yield Markup("</g>")


def _arrow(plan: _Plan, start: _Row | None, end: _Row, track: int | None, lost: bool) -> Markup:
    """Draws the line of a message. A message that was there at the start comes from the left."""
    forward = start is None or start.lane < end.lane
    side = -1 if forward else 1
    y2 = end.middle - 4
    x2 = plan.x(end) + side * (end.half + 2)
    if start is None or track is None:
        way = filled("M{} {} H{}", x2 - 24, y2, x2)
    else:
        out = -1 if end.lane < start.lane else 1
        x1, y1 = plan.x(start) + out * start.half, start.middle + 4
        way = filled(
            "M{} {} H{} Q{} {} {} {} V{} Q{} {} {} {} H{}",
            *(x1, y1, track - out * CORNER, track, y1, track, y1 + CORNER, y2 - CORNER),
            *(track, y2, track - side * CORNER, y2, x2),
        )
    tip = Markup("" if lost else ' marker-end="url(#tip)"')
    drawn = filled('<path{} d="{}"/>', tip, way)
    if lost:
        cross = '<path class="cross" d="M{} {} l10 10 m0 -10 l-10 10"/>'
        drawn += filled(cross, x2 - 5, y2 - 5)
    return drawn


def _legend(document: TraceDocument, plan: _Plan) -> Markup:
    """Explains the looks that occur in the diagram."""
    classes = {step.act.kind for step in document.steps} | {f.end for f in plan.flights}
    classes |= {"copied" for flight in plan.flights if flight.copied}
    classes |= {"spare" for step in document.steps if step.act.spare}
    shown = [name for name in LEGEND if name in classes]
    if not shown:
        return Markup("")
    box = '<rect class="box" x="1" y="2" width="26" height="12" rx="3"/>'
    looks = {
        "environment": f'<g class="look environment">{box}</g>',
        "flying": '<g class="look flying"><path d="M1 8 h22"/><circle cx="24" cy="8" r="3"/></g>',
        "lost": '<g class="look lost"><path d="M1 8 h24"/>'
        '<path class="cross" d="M18 3 l10 10 m0 -10 l-10 10"/></g>',
        "copied": '<g class="look copied"><path d="M1 8 h26"/></g>',
        "spare": f'<g class="look spare">{box}</g>',
    }
    items = [
        filled(
            '<li><svg viewBox="0 0 30 16" width="30" height="16" aria-hidden="true">{}</svg>'
            " {}</li>",
            *(Markup(looks[name]), LEGEND[name]),
        )
        for name in shown
    ]
    return filled('<ul class="legend" aria-label="legend">{}</ul>', joined(items))


def _line(label: str) -> str:
    return label.replace("\n", " ")
