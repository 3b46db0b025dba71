"""Shows the results of a sweep as a table, as CSV and as JSON."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence

from fencepost.checker.outcome import Verdict
from fencepost.checker.printing.json_values import Json
from fencepost.checker.printing.page import Page, cells, padded
from fencepost.checker.run.judge import CheckResult
from fencepost.checker.run.words import ended, found
from fencepost.checker.trace.excerpts import place, quoted
from fencepost.spec.records import dataclass
from fencepost.spec.text.problem import printable

LONGEST_VERDICT = 24
NUMBER = 15
FIGURES = ("states", "generated", "depth", "seconds", "growth")


@dataclass(frozen=True, slots=True)
class Row:
    """The result for one combination of values of the swept constants. ``values`` contains the
    values as the user wrote them.

    ``growth`` is the number of states divided by that of the previous row. It is None in the first
    row, if a constant other than the last one changed, or if either search is incomplete.
    """

    values: Mapping[str, str]
    result: CheckResult
    growth: float | None

    @property
    def verdict(self) -> str:
        """The verdict and the property that it is about."""
        return found(self.result.job.model, self.result.outcome)

    @property
    def reason(self) -> str:
        """The failure or the limit that led to the verdict; "" if the verdict is complete."""
        outcome, finding = self.result.outcome, self.result.finding
        if outcome.verdict is Verdict.INCONCLUSIVE:
            return ended(outcome.limit) if outcome.limit else self.result.explanation or ""
        if finding is not None and finding.site is not None:
            code = f"{finding.site.code}: " if outcome.verdict is Verdict.ERROR else ""
            return f"{code}{finding.site.message} ({place(finding.site.span)})"
        if finding is not None and outcome.verdict is Verdict.ASSUMPTION and finding.failing:
            return f"`{quoted(finding.failing)}` is false ({place(finding.failing)})"
        return ""

    @property
    def figures(self) -> tuple[int | None, int | None, int, float, float | None]:
        """The values of the columns in `FIGURES`. A value that was not counted is None."""
        counts = self.result.outcome.statistics
        seconds = round(counts.seconds, 3)
        if not counts.counted:
            return None, None, counts.depth, seconds, None
        return counts.distinct, counts.generated, counts.depth, seconds, self.growth


def rows_of(values: Sequence[Mapping[str, str]], results: Sequence[CheckResult]) -> list[Row]:
    """Returns a row for each result. The sweep may have ended before all values have one."""
    rows: list[Row] = []
    for row_values, result in zip(values, results, strict=False):
        before = rows[-1] if rows else None
        rows.append(
            Row(row_values, result, None if before is None else _growth(before, row_values, result))
        )
    return rows


def _growth(before: Row, values: Mapping[str, str], result: CheckResult) -> float | None:
    """Returns None if a constant other than the last one changed, or if either search is
    incomplete.
    """
    *others, _ = values
    if any(before.values[name] != values[name] for name in others):
        return None
    outcomes = (before.result.outcome, result.outcome)
    whole = (Verdict.OK, Verdict.UNREACHED)
    if any(outcome.verdict not in whole or not outcome.statistics.counted for outcome in outcomes):
        return None
    first, second = (outcome.statistics.distinct for outcome in outcomes)
    return round(second / first, 3) if first else None


def write_head(page: Page, values: Sequence[Mapping[str, str]]) -> None:
    """Writes the header of the table."""
    names = [padded(printable(name), width) for name, width in _widths(values).items()]
    figures = [f"{name:>{NUMBER if column < 2 else 9}}" for column, name in enumerate(FIGURES)]
    page.line((f"  {'  '.join([*names, padded('verdict', LONGEST_VERDICT), *figures])}", "dim"))


def write_row(page: Page, values: Sequence[Mapping[str, str]], row: Row) -> None:
    """Writes a row of the table, and the reason for its verdict below. The bar has one mark per
    doubling of the number of states.
    """
    names = [padded(printable(row.values[n]), width) for n, width in _widths(values).items()]
    states, generated, depth, seconds, growth = row.figures
    result = row.result
    style = "good" if result.as_expected else "warn" if result.outcome.cut else "bad"
    numbers = [
        f"{'-' if count is None else f'{count:,}':>{NUMBER}}" for count in (states, generated)
    ]
    numbers += [
        f"{depth:>9,}",
        f"{f'{seconds:.2f} s':>9}",
        f"{'' if growth is None else f'x {growth:.2f}':>9}",
    ]
    bar = "#" * math.ceil(math.log2(states)) if states else ""
    lead = f"  {'  '.join(names)}  "
    page.line(lead, (padded(row.verdict, LONGEST_VERDICT), style), f"  {'  '.join(numbers)}  {bar}")
    if row.reason:
        page.words(" " * len(lead), row.reason, len(lead) + 2, "dim")


def _widths(values: Sequence[Mapping[str, str]]) -> dict[str, int]:
    return {
        name: max(
            cells(printable(text)) for text in (name, *(row_values[name] for row_values in values))
        )
        for name in values[0]
    }


def sweep_csv(rows: Sequence[Row]) -> str:
    """Returns the table as CSV with a header."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = ("verdict", "as_expected", *FIGURES, "reason")
    writer.writerow([*rows[0].values, *columns] if rows else columns)
    for row in rows:
        expected = str(row.result.as_expected).lower()
        writer.writerow([*row.values.values(), row.verdict, expected, *row.figures, row.reason])
    return text.getvalue()


def sweep_object(spec: str, check: str, rows: Sequence[Row], version: str) -> dict[str, Json]:
    """Returns the table as a JSON object."""
    return {
        "spec": spec,
        "version": version,
        "check": check,
        "rows": [
            {
                "constants": dict[str, Json](row.values),
                "verdict": row.verdict,
                "as_expected": row.result.as_expected,
                **dict[str, Json](zip(FIGURES, row.figures, strict=True)),
                "reason": row.reason or None,
            }
            for row in rows
        ],
    }
