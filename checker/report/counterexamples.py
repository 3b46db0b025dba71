"""Shows the counterexamples of one property that differ in their causes side by side, as text and
on a page.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from fencepost.checker.printing.page import Page
from fencepost.checker.report.columns import GAP, change_lines, write_side_step
from fencepost.checker.report.markup import filled, joined, safe
from fencepost.checker.run.judge import CheckResult
from fencepost.checker.run.words import plural
from fencepost.checker.trace.document import TraceDocument
from fencepost.checker.trace.of_search import document
from fencepost.spec.core.ir import Model
from fencepost.spec.records import dataclass
from fencepost.spec.text.problem import listing

MIN_COLUMN = 36
"""Minimum width of a column of text. Further counterexamples follow below the first ones."""


@dataclass(frozen=True, slots=True)
class Column:
    """A counterexample. ``own`` are the actions of its cause that are not part of every cause."""

    trace: TraceDocument
    own: tuple[str, ...]

    @property
    def length(self) -> str:
        """The number of steps."""
        return plural(len(self.trace.steps) - 1, "step")


@dataclass(frozen=True, slots=True)
class Columns:
    """Several counterexamples, and the actions that belong to every cause."""

    columns: tuple[Column, ...]
    common: tuple[str, ...]

    @property
    def headline(self) -> str:
        """The heading of the counterexamples."""
        return f"{len(self.columns)} counterexamples with different causes"

    @property
    def positions(self) -> range:
        """The positions of the steps. The initial state is omitted if all traces share it."""
        traces = [column.trace for column in self.columns]
        same = all(trace.steps[0].state == traces[0].steps[0].state for trace in traces)
        return range(int(same), max(len(trace.steps) for trace in traces))


def columns_of(result: CheckResult) -> Columns | None:
    """Returns the counterexamples of a result, or None unless there are several."""
    model, several = result.job.model, result.outcome.counterexamples
    if len(several) < 2:
        return None
    common = several[0].cause.intersection(*(entry.cause for entry in several))
    columns = (
        Column(document(model, trace, entry.finding), names(model, entry.cause - common))
        for entry in several
        if (trace := entry.finding.trace) is not None
    )
    return Columns(tuple(columns), names(model, common))


def names(model: Model, actions: frozenset[int]) -> tuple[str, ...]:
    """Returns the names of actions in the order of declaration."""
    return tuple(model.actions[number].name for number in sorted(actions))


def write_counterexamples(page: Page, result: CheckResult) -> None:
    """Writes the counterexamples side by side, with steps at the same position in one row."""
    several = columns_of(result)
    if several is None:
        return
    page.line("  ", (several.headline, "title"))
    if several.common:
        page.words("    all take ", ", ".join(several.common), 6, by=", ")
    fitting = max(1, (page.width - 2 + GAP) // (MIN_COLUMN + GAP))
    for start in range(0, len(several.columns), fitting):
        page.blank()
        _write_band(page, several, start, several.columns[start : start + fitting])
    page.blank()


def _write_band(page: Page, several: Columns, start: int, shown: Sequence[Column]) -> None:
    """Writes some of the counterexamples. ``start`` is the position of the first of them."""
    width = (page.width - 2 + GAP) // len(shown) - GAP
    cells = [page.column(width) for _ in shown]
    for number, (cell, column) in enumerate(zip(cells, shown, strict=True), start + 1):
        cell.line((f"{number}: {column.length}", "title"))
        cell.words("takes ", ", ".join(column.own), 2, by=", ")
    page.beside(cells, 2, GAP)
    for position in several.positions:
        cells = [page.column(width) for _ in shown]
        for cell, column in zip(cells, shown, strict=True):
            if position < len(column.trace.steps):
                write_side_step(cell, column.trace, position)
        page.beside(cells, 2, GAP)


def counterexamples_markup(result: CheckResult) -> Markup:
    """Returns a section of a page with the counterexamples side by side, or nothing unless there
    are several.
    """
    several = columns_of(result)
    if several is None:
        return Markup("")
    heads = (
        filled("<th>{}: {}<br>takes {}</th>", number, column.length, listing(column.own, "and"))
        for number, column in enumerate(several.columns, 1)
    )
    rows = (
        filled("<tr>{}</tr>", joined(_cell(column.trace, n) for column in several.columns))
        for n in several.positions
    )
    common = filled("<p>All take {}.</p>", listing(several.common, "and"))
    return filled(
        '<section id="counterexamples"><h2>{}</h2>{}'
        "<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></section>",
        several.headline,
        common if several.common else "",
        joined(heads),
        joined(rows),
    )


def _cell(trace: TraceDocument, position: int) -> Markup:
    lines: list[Markup] = []
    if position < len(trace.steps):
        step = trace.steps[position]
        lines = [filled("<b>{} {}</b>", position, step.title)]
        if position:
            lines += map(safe, change_lines(trace, position))
    return filled("<td>{}</td>", joined(lines, "<br>"))
