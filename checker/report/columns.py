"""Writes the steps of several traces side by side."""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.checker.printing.page import Page
from fencepost.checker.report.labels import change_text
from fencepost.checker.trace.document import TraceDocument
from fencepost.checker.trace.steps import without_received, write_state

GAP = 3
"""Distance of two columns, in cells."""


def write_side_step(column: Page, side: TraceDocument, position: int) -> None:
    """Writes a step of one of several traces into its column."""
    if position >= len(side.steps):
        if position == len(side.steps):
            column.words("", "the trace ends before this step", 2, "dim")
        return
    step = side.steps[position]
    before = side.steps[position - 1].state if position else None
    column.words(f"{position}  ", step.title, 4, "title")
    if step.state is None:
        column.line("   ", ("this step fails", "bad"))
    elif before is None:
        write_state(column, step.state, side.families, 3)
    else:
        for line in change_lines(side, position):
            column.words("   ", line, 5)


def change_lines(trace: TraceDocument, position: int) -> Iterator[str]:
    """Yields the changes of a step, without the received message, which is part of the title."""
    for change in trace.changes(position):
        if kept := without_received(change, trace.steps[position].title):
            yield f"{kept.path} {change_text(kept)}"
