"""Draws a trace as a Graphviz graph. Each lifeline has a column of steps, and messages connect the
columns.

Labels are quoted strings. Characters that could end or change a string are escaped.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from fencepost.checker.report.labels import change_labels, closing, cut, message_label, step_label
from fencepost.checker.trace.document import SYSTEM, TraceDocument
from fencepost.spec.text.problem import printable

MAX_LINE = 60
"""Maximum number of characters per line of a label."""


def dot(document: TraceDocument) -> str:
    """Returns the trace as DOT source text."""
    lanes = list(document.lanes()) or [SYSTEM]
    lines = [
        f"digraph {quoted(['trace of ' + document.source if document.source else 'trace'])} {{",
        '  node [shape=box, style=rounded, fontname="sans-serif", fontsize=11];',
        '  edge [fontname="sans-serif", fontsize=10];',
        "  { rank=same;",
    ]
    for number, lane in enumerate(lanes):
        lines.append(f"    l{number} [label={quoted([lane])}, shape=plaintext, group=g{number}];")
    lines.append("  }")
    if len(lanes) > 1:
        lines.append(f"  {' -> '.join(f'l{n}' for n in range(len(lanes)))} [style=invis];")
    columns: dict[int, list[str]] = {n: [f"l{n}"] for n in range(len(lanes))}
    steps = document.steps
    for position, step in enumerate(steps):
        if position == 0:
            continue
        column = lanes.index(step.act.lifeline or SYSTEM)
        columns[column].append(f"s{position}")
        texts = [f"{position} {step_label(step)}", *change_labels(document, position, MAX_LINE)]
        if step.state is None:
            texts.append("this step fails")
        style = ', color=gray, fontcolor=gray, tooltip="not needed"' if step.act.spare else ""
        lines.append(f"  s{position} [label={quoted(texts)}, group=g{column}{style}];")
    order = [f"s{position}" for position in range(1, len(steps))]
    if len(order) > 1:
        lines.append(f"  {' -> '.join(order)} [style=invis];")
    for chain in columns.values():
        if len(chain) > 1:
            line = "style=dashed, color=gray, arrowhead=none, weight=20"
            lines.append(f"  {' -> '.join(chain)} [{line}];")
    lines += _messages(document)
    if document.loop is not None and order:
        # With a constraint, an edge back would reverse the ranks.
        back = f"s{len(steps) - 1} -> s{max(1, document.loop)}"
        look = "color=red, penwidth=2, constraint=false"
        lines.append(f"  {back} [label={quoted([' forever'])}, fontcolor=red, {look}];")
    end = closing(document)
    if end:
        lines.append(
            f"  end [label={quoted(end)}, shape=octagon, style=filled, color=red,"
            " fillcolor=mistyrose, fontcolor=black];"
        )
        lines.append(f"  {order[-1] if order else 'l0'} -> end [color=red];")
    lines.append("}")
    return "\n".join(lines) + "\n"


def _messages(document: TraceDocument) -> Iterable[str]:
    flights = document.flights()
    if any(flight.sent == 0 and flight.ended is not None for flight in flights):
        yield f"  s0 [label={quoted(['initially in the channel'])}, shape=plaintext];"
    for number, flight in enumerate(flights):
        if flight.sent == 0 and flight.ended is None:
            continue
        label = quoted([message_label(flight.message, MAX_LINE // 2)])
        copied = ", style=dashed" if flight.copied else ""
        match flight.end:
            case "flying":
                yield f"  m{number} [shape=point, xlabel={quoted(['still on its way'])}];"
                yield f"  s{flight.sent} -> m{number} [label={label}, style=dotted, color=blue];"
            case "lost":
                look = "color=red, arrowhead=box"
                yield f"  s{flight.sent} -> s{flight.ended} [label={label}, {look}];"
            case "received":
                start = flight.ended if flight.sent is None else flight.sent
                yield f"  s{start} -> s{flight.ended} [label={label}, color=blue{copied}];"
            case _:
                assert_never(flight.end)


def quoted(lines: Iterable[str]) -> str:
    """Returns a DOT string that shows the lines centred."""
    safe = [cut(printable(line).replace("\n", " "), 4 * MAX_LINE) for line in lines]
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in safe)
    return '"' + "\\n".join(escaped) + '"'
