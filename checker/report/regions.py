"""What is said of the values of a symbolic constant: the regions, and the one of a problem."""

from __future__ import annotations

from fencepost.checker.outcome import Finding, Region
from fencepost.checker.printing.page import Page
from fencepost.checker.run.judge import CheckResult
from fencepost.checker.run.words import found, plural
from fencepost.spec.core import types
from fencepost.spec.core.spelling import show
from fencepost.spec.core.types import Type, values

MOST_ROWS = 24
"""At most this many regions are shown; the others are counted."""
MOST_COLUMN = 40
"""The width of the column of values; more are written above the rest of their row."""


def shown_ranges(region: Region, kind: Type) -> str:
    """``0..4, 6``; of a bool or an enum, the values."""
    if isinstance(kind, types.Integer):
        return ", ".join(str(a) if a == b else f"{a}..{b}" for a, b in region.ranges) or "no value"
    every = tuple(values(kind))
    shown = [show(every[n], kind) for a, b in region.ranges for n in range(a, b + 1)]
    return ", ".join(shown)


def alike(result: CheckResult, finding: Finding) -> str:
    """``, and alike with every other value of 5..9``; nothing where it is the only one."""
    kind = result.job.model.symbols[0].type
    value = finding.constants[0].value
    for region in result.outcome.regions:
        if region.value == value and _size(region) > 1:
            return f", and alike with every other value of {shown_ranges(region, kind)}"
    return ""


def write_regions(page: Page, result: CheckResult) -> None:
    """A row for each region."""
    outcome = result.outcome
    if not outcome.regions:
        return
    symbol = result.job.model.symbols[0]
    left = outcome.cut is not None
    every = "values" if left else "every value"
    sums = plural(len(outcome.regions), "region")
    open_end = "; not every value was searched" if left else ""
    page.blank()
    page.line("  ", (f"{every} of {symbol.path}, in {sums}{open_end}", "title"))
    shown = outcome.regions[:MOST_ROWS]
    texts = [shown_ranges(region, symbol.type) for region in shown]
    verdicts = [found(result.job.model, region.outcome) for region in shown]
    column = max((len(text) for text in texts if len(text) <= MOST_COLUMN), default=8)
    width = max(len(verdict) for verdict in verdicts)
    for region, text, verdict in zip(shown, texts, verdicts, strict=True):
        if len(text) > MOST_COLUMN:
            page.words("    ", text, 4, by=", ")
            text = ""
        counts = region.outcome.statistics
        figures = (
            f"{plural(counts.distinct, 'state')}, {counts.generated:,} generated, "
            f"depth {counts.depth:,}"
        )
        one = "" if _size(region) == 1 else f", with {show(region.value, symbol.type)}"
        page.line(f"    {text:<{column}}  {verdict:<{width}}  ", (f"{figures}{one}", "dim"))
    if len(outcome.regions) > MOST_ROWS:
        more = plural(len(outcome.regions) - MOST_ROWS, "more region")
        page.line(f"    and {more} (--format json shows all)")
    page.blank()


def _size(region: Region) -> int:
    return sum(high - low + 1 for low, high in region.ranges)
