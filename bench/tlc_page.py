"""The table of `docs/export.md`: the shipped checks, by Fencepost and by TLC."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from bench.places import line
from bench.tlc_agree import WHOLE, Comparison, Side

HEAD = ("model", "check", "verdict", "distinct", "generated", "depth", "TLC", "agree")

Compared: TypeAlias = tuple[str, str, Comparison]
"""The model, the check, and what came of it."""


def table(found: Sequence[Compared], most: int) -> str:
    """What is known of the shipped checks, in Markdown."""
    compared = [one for one in found if one[2].refused is None]
    same = [one for one in compared if one[2].difference is None]
    refused = [one for one in found if one[2].refused not in (None, _large(most))]
    large = len(found) - len(compared) - len(refused)
    lines = [
        f"Of {len(found)} shipped checks, {large} have more than {most:,} distinct states, "
        f"and {len(refused)} are not exported.",
        f"TLC agrees on {len(same)} of the {len(compared)} others.",
        "",
        line(HEAD),
        line(["---", "---", "---", "---:", "---:", "---:", "---", "---"]),
        *(line for one in compared for line in _rows(one)),
    ]
    return "\n".join(lines) + "\n"


def _large(most: int) -> str:
    return f"more than {most:,} states"


def _rows(one: Compared) -> Iterator[str]:
    """One line for a check, and one for each further search."""
    model, check, comparison = one
    for run in comparison.runs:
        told = run.ours.verdict if run.what == "the check" else run.what
        yield line(
            [
                model if run is comparison.runs[0] else "",
                check if run is comparison.runs[0] else "",
                told if run.what in ("the check", WHOLE) else f"{told}: {run.ours.verdict}",
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
