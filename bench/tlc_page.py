"""Generates the tables of the shipped checks in Fencepost and TLC: one row for each search in
bench/results/tlc.md, and one for each model in docs/export.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from bench.places import line, table
from bench.tlc_agree import WHOLE, Comparison, Side

HEAD = ("model", "check", "verdict", "distinct", "generated", "depth", "TLC", "agree")

Compared: TypeAlias = tuple[str, str, Comparison]
"""The model, the check, and its comparison."""


def summary(results: Sequence[Compared], most: int) -> str:
    """Returns the numbers of shipped checks and searches, and of those that agree, in Markdown."""
    compared = [result for result in results if result[2].refused is None]
    same = [result for result in compared if result[2].difference is None]
    refused = [result for result in results if result[2].refused not in (None, _large(most))]
    large = len(results) - len(compared) - len(refused)
    checks = Counter(model for model, _, _ in compared)
    agree = Counter(model for model, _, _ in same)
    searches: Counter[str] = Counter()
    for model, _, comparison in compared:
        searches[model] += len(comparison.runs)
    lines = [
        f"Of {len(results)} shipped checks, {large} have more than {most:,} distinct states, "
        f"and {len(refused)} are not exported.",
        f"TLC agrees on {len(same)} of the other {len(compared)}.",
        "",
        line(["model", "checks", "searches", "checks that agree"]),
        line(["---", "---:", "---:", "---:"]),
        *(
            line([model, str(number), str(searches[model]), str(agree[model])])
            for model, number in checks.items()
        ),
    ]
    return "\n".join(lines) + "\n"


def listing(results: Sequence[Compared]) -> str:
    """Returns the page of all searches, in Markdown."""
    compared = [result for result in results if result[2].refused is None]
    title = "# Shipped checks in Fencepost and TLC\n\n"
    return f"{title}{table(HEAD, (row for result in compared for row in _rows(result)))}\n"


def _large(most: int) -> str:
    return f"more than {most:,} states"


def _rows(result: Compared) -> Iterator[list[str]]:
    """Yields one row for a check, and one for each further search."""
    model, check, comparison = result
    for run in comparison.runs:
        title = run.ours.verdict if run.subject == "the check" else run.subject
        yield [
            model if run is comparison.runs[0] else "",
            check if run is comparison.runs[0] else "",
            title if run.subject in ("the check", WHOLE) else f"{title}: {run.ours.verdict}",
            *_cells(run.ours),
            _theirs(run.theirs),
            "no" if run.difference else "yes",
        ]


def _cells(side: Side) -> list[str]:
    counts = side.counts
    if counts is None:
        return ["", "", ""]
    return [f"{counts.distinct:,}", f"{counts.generated:,}", f"{counts.depth}"]


def _theirs(side: Side) -> str:
    counts = side.counts
    if counts is None:
        return side.verdict
    return f"{side.verdict}: {counts.distinct:,} / {counts.generated:,} / {counts.depth}"
