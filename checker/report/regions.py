"""Shows the regions of a symbolic constant in the text report."""

from __future__ import annotations

from fencepost.checker.outcome import Finding, Region
from fencepost.checker.printing.page import Page
from fencepost.checker.run.judge import CheckResult
from fencepost.checker.run.words import found, plural
from fencepost.spec.core import types
from fencepost.spec.core.spelling import show
from fencepost.spec.core.types import Type, values

MAX_ROWS = 24
"""Maximum number of regions that are shown. Further regions are only counted."""
MAX_COLUMN = 40
"""Maximum width of the column of values. A longer text gets a line of its own."""


def shown_ranges(region: Region, kind: Type) -> str:
    """Formats the values of a region as ``0..4, 6``. Values of a bool or an enum are listed by
    name.
    """
    if isinstance(kind, types.Integer):
        return ", ".join(str(a) if a == b else f"{a}..{b}" for a, b in region.ranges) or "no value"
    every = tuple(values(kind))
    shown = [show(every[n], kind) for a, b in region.ranges for n in range(a, b + 1)]
    return ", ".join(shown)


def alike(result: CheckResult, finding: Finding) -> str:
    """Returns ``, and the same for every other value of 5..9``, or "" if the region has only one
    value.
    """
    kind = result.job.model.symbols[0].type
    value = finding.constants[0].value
    for region in result.outcome.regions:
        if region.value == value and _size(region) > 1:
            return f", and the same for every other value of {shown_ranges(region, kind)}"
    return ""


def write_regions(page: Page, result: CheckResult) -> None:
    """Writes a row for each region."""
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
    shown = outcome.regions[:MAX_ROWS]
    texts = [shown_ranges(region, symbol.type) for region in shown]
    verdicts = [found(result.job.model, region.outcome) for region in shown]
    column = max((len(text) for text in texts if len(text) <= MAX_COLUMN), default=8)
    width = max(len(verdict) for verdict in verdicts)
    for region, text, verdict in zip(shown, texts, verdicts, strict=True):
        if len(text) > MAX_COLUMN:
            page.words("    ", text, 4, by=", ")
            text = ""
        counts = region.outcome.statistics
        figures = (
            f"{plural(counts.distinct, 'state')}, {counts.generated:,} generated, "
            f"depth {counts.depth:,}"
        )
        example = "" if _size(region) == 1 else f", with {show(region.value, symbol.type)}"
        page.line(f"    {text:<{column}}  {verdict:<{width}}  ", (f"{figures}{example}", "dim"))
    if len(outcome.regions) > MAX_ROWS:
        more = plural(len(outcome.regions) - MAX_ROWS, "more region")
        page.line(f"    and {more} (--format json shows all)")
    page.blank()


def _size(region: Region) -> int:
    return sum(high - low + 1 for low, high in region.ranges)
