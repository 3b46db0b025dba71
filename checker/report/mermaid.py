"""Draws a trace as a Mermaid sequence diagram, for Markdown.

Since Mermaid arrows are horizontal, the arrow of a message is drawn at the step that receives the
message. If the message was not received in the next step, a note at the sending step mentions it.
Arrows of lost messages end in a cross, and arrows of copies are dotted. Characters with a special
meaning in Mermaid are written as numeric entities.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from fencepost.checker.report.labels import (
    TAKING,
    change_labels,
    closing,
    cut,
    fate,
    message_label,
    step_label,
)
from fencepost.checker.trace.document import SYSTEM, TraceDocument, for_ever
from fencepost.checker.trace.message_flights import Flight
from fencepost.checker.trace.value_tree import ValueTree
from fencepost.spec.text.problem import printable

PLAIN = re.compile(r"[^A-Za-z0-9 _.,()\[\]=+\-*/?!'→−✗…]")
MAX_CHARACTERS = 60
"""Maximum number of characters per label."""


def mermaid(document: TraceDocument) -> str:
    """Returns the diagram as Mermaid source text."""
    lanes = list(document.lanes()) or [SYSTEM]
    names = {lane: f"p{number}" for number, lane in enumerate(lanes)}
    flights = document.flights()
    lines = ["sequenceDiagram"]
    if document.caption:
        lines.append(f"    title {escaped(cut(document.caption, 2 * MAX_CHARACTERS))}")
    lines += [f"    participant {name} as {escaped(lane)}" for lane, name in names.items()]
    first = max(1, document.loop or 0) if document.goes_round else None
    for position, step in enumerate(document.steps):
        if position == 0:
            continue
        if position == first:
            again = for_ever(document.loop or 0, len(document.steps))
            lines.append(f"    loop {escaped(again)}, forever")
        lines += _arrows(document, position, flights, names)
        lane = names[step.act.lifeline or SYSTEM]
        texts = [
            f"{position} {step_label(step)}",
            *change_labels(document, position, MAX_CHARACTERS),
        ]
        for flight in flights:
            became = fate(flight, endless=document.loop is not None)
            if flight.sent == position and not flight.copied and became:
                message = message_label(flight.message, MAX_CHARACTERS // 2)
                texts.append(f"sends {message}, {became}")
        if step.state is None:
            texts.append("this step fails")
        if step.act.spare:
            texts.append("the problem does not need this step")
        lines.append(f"    Note over {lane}: {_lines(texts)}")
    if document.goes_round:
        lines.append("    end")
    end = closing(document)
    if end:
        over = names[lanes[0]] if len(lanes) == 1 else f"{names[lanes[0]]},{names[lanes[-1]]}"
        # These light colours are readable on a dark page, too.
        lines += ["    rect rgb(255, 214, 214)", f"    Note over {over}: {_lines(end)}", "    end"]
    return "\n".join(lines) + "\n"


def _arrows(
    document: TraceDocument,
    position: int,
    flights: tuple[Flight[ValueTree], ...],
    names: Mapping[str, str],
) -> Iterator[str]:
    """Yields an arrow for each message that ends in a step."""
    steps = document.steps
    target = names[steps[position].act.lifeline or SYSTEM]
    kinds = {exchange.kind for exchange in steps[position].act.exchanges}
    for flight in flights:
        if flight.ended != position:
            continue
        sent = flight.sent
        source = names[steps[sent].act.lifeline or SYSTEM] if sent else target
        label = message_label(flight.message, MAX_CHARACTERS)
        if sent == 0:
            label += " (initially in the channel)"
        elif sent is not None and sent != position - 1:
            label += f" ({'copied' if flight.copied else 'sent'} in {sent})"
        arrow = "-x" if flight.end == "lost" else "-->>" if flight.copied else "->>"
        assert flight.end == "lost" or kinds.intersection(TAKING)
        yield f"    {source}{arrow}{target}: {escaped(label)}"


def _lines(texts: list[str]) -> str:
    return "<br/>".join(escaped(cut(line, 2 * MAX_CHARACTERS)) for line in texts)


def escaped(label: str) -> str:
    """Escapes ``label`` for Mermaid."""
    safe = PLAIN.sub(lambda match: f"#{ord(match[0])};", printable(label).replace("\n", " "))
    # Mermaid treats a text that begins with "wrap" as a directive.
    return re.sub(r"^(?=\s*(no)?wrap)", "#8203;", safe) or "#8203;"
