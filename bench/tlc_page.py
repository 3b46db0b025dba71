"""Generates the table of `docs/export.md`: the shipped checks in Fencepost and TLC."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from bench.places import line
from bench.tlc_agree import WHOLE, Comparison, Side

HEAD = ("model", "check", "verdict", "distinct", "generated", "depth", "TLC", "agree")

Compared: TypeAlias = tuple[str, str, Comparison]
"""The model, the check, and its comparison."""


def table(results: Sequence[Compared], most: int) -> str:
    """Returns the results of the shipped checks, in Markdown."""
    compared = [result for result in results if result[2].refused is None]
    same = [result for result in compared if result[2].difference is None]
    refused = [result for result in results if result[2].refused not in (None, _large(most))]
    large = len(results) - len(compared) - len(refused)
    lines = [
        f"Of {len(results)} shipped checks, {large} have more than {most:,} distinct states, "
        f"and {len(refused)} are not exported.",
        f"TLC agrees on {len(same)} of the other {len(compared)}.",
        "",
        line(HEAD),
        line(["---", "---", "---", "---:", "---:", "---:", "---", "---"]),
        *(line for result in compared for line in _rows(result)),
    ]
    return "\n".join(lines) + "\n"


def _large(most: int) -> str:
    return f"more than {most:,} states"


def _rows(result: Compared) -> Iterator[str]:
    """Yields one line for a check, and one for each further search."""
    model, check, comparison = result
    for run in comparison.runs:
        title = run.ours.verdict if run.subject == "the check" else run.subject
        yield line(
            [
                model if run is comparison.runs[0] else "",
                check if run is comparison.runs[0] else "",
                title if run.subject in ("the check", WHOLE) else f"{title}: {run.ours.verdict}",
                *_cells(run.ours),
                _theirs(run.theirs),
                "no" if run.difference else "yes",
            ]
        )


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
