"""Generates `docs/performance.md` and its charts from the measurements."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import ge
from pathlib import Path
from string import Template
from typing import TypeAlias

from bench import tables
from bench.chart import Points, curves
from bench.results import SPILLED, Results, Row, Search
from bench.suite import OTHERS, OURS, SPIN, WIDE

TEMPLATE = Path(__file__).with_name("page.template.md")
"""The text of the page, without its figures."""
LARGEST, SMALLEST = "N = 10", "N = 8"
RACE = OTHERS[0].name
MORE, MOST = (task.name for task in WIDE)


def files(results: Results) -> dict[str, str]:
    """Returns the page and its charts, by file name."""
    files = {"performance.md": _page(results)}
    long = [search for search in results.searches if search.long and not search.note]
    most = max((search.workers for search in long), default=0)
    watched = [search for search in long if search.workers == most]
    if watched:
        files["performance-time.svg"] = curves(
            f"Nanoseconds per generated state, up to each level, {most} workers",
            "distinct states",
            {search.case: _times(search) for search in watched},
        )
        files["performance-memory.svg"] = curves(
            f"Bytes per distinct state and word, maximum of each level, {most} workers",
            "distinct states",
            {search.case: _bytes(search) for search in watched},
            limit=30,
        )
    return files


def _page(results: Results) -> str:
    texts = {table.name: tables.as_markdown(table).strip() for table in tables.tables(results)}
    values = {
        **dict.fromkeys(tables.NAMES, "Not measured."),
        **texts,
        "machine": tables.machine_line(results),
        "aims": _aims(results),
        "remarks": _remarks(results),
    }
    text = Template(TEMPLATE.read_text(encoding="utf-8")).substitute(values)
    return re.sub(r"\n{3,}", "\n\n", text)


# ---------------------------------------------------------------------------------------- aims

Aim: TypeAlias = tuple[str, str, float | None, Callable[[float], bool]]
"""The title of the target, its bound in words, the measured value, and the test that the value must
pass.
"""
BYTES = {
    LARGEST: (15, 18, 7, 12),
    RACE: (16, 18, 8, 12),
    MORE: (16, 18, 8, 12),
    MOST: (22, 0, 14, 0),
}
"""Targets for the bytes per state at the end, and for their maximum after 4 million states; then
both with `SPILLED`. 0 means no bound.
"""


def _bytes_aims(results: Results) -> Iterator[Aim]:
    for case, (end, most, end_away, most_away) in BYTES.items():
        for note, last, bound in (("", end, most), (SPILLED, end_away, most_away)):
            search = results.search(case, 2, note)
            where = f"{case}, {note}" if note else case
            value = None if search is None else search.growing
            yield f"bytes per state, {where}", f"{last}", value, partial(ge, last)
            if bound:
                value = None if search is None else search.growing_most
                yield (
                    "the same, maximum past 4 million states",
                    f"{bound}",
                    value,
                    partial(ge, bound),
                )


def _aims(results: Results) -> str:
    def fast(workers: int) -> float | None:
        row = results.row("two-phase", LARGEST, OURS, workers)
        return (
            row.faster if row is not None and results.row("two-phase", LARGEST, SPIN, 1) else None
        )

    def wall(row: Row | None) -> float | None:
        return row.wall if row is not None else None

    def most(searches: Sequence[Search]) -> float | None:
        return max((search.most / search.words for search in searches), default=None)

    usual = [search for search in results.searches if not search.note]
    largest = [search for search in usual if search.case == LARGEST]
    several = [search for search in usual if search.workers > 1]
    long = [
        tables.speedup(results, search)
        for search in several
        if (alone := results.search(search.case, 1)) is not None and alone.seconds > 5
    ]
    race = results.row("models", RACE, OURS, 2)
    aims: list[Aim] = [
        (f"{LARGEST}, 2 workers: speed relative to SPIN", "12", fast(2), lambda v: v >= 12),
        (f"{LARGEST}, 1 worker: speed relative to SPIN", "8", fast(1), lambda v: v >= 8),
        (
            "violation in the last level: time relative to the plain run",
            "2",
            _last(results),
            lambda v: v <= 2,
        ),
        (f"maximum bytes per state, {LARGEST}", "30", most(largest), lambda v: v <= 30),
        ("maximum bytes per state and word, all searches", "30", most(usual), lambda v: v <= 30),
        *_bytes_aims(results),
        (
            "ten lines, cold start, seconds",
            "0.6",
            wall(results.row("start", "ten lines", OURS, 2)),
            lambda v: v <= 0.6,
        ),
        (
            "first run after installation, seconds",
            "0.9",
            wall(results.row("install", "first run", OURS, 2)),
            lambda v: v <= 0.9,
        ),
        (
            f"{RACE}, 2 workers: distinct states/s",
            "1,000,000",
            race.distinct / race.wall if race is not None else None,
            lambda v: v >= 1e6,
        ),
        (
            f"ns per successor, ratio of {LARGEST} to {SMALLEST}",
            "1.6",
            _growth(results),
            lambda v: v <= 1.6,
        ),
        (
            f"speed-up with a second worker, {LARGEST}",
            "1.8",
            max((tables.speedup(results, search) for search in largest), default=None),
            lambda v: v >= 1.8,
        ),
        (
            "the same, minimum of searches over 5 s",
            "1.6",
            min(long, default=None),
            lambda v: v >= 1.6,
        ),
    ]
    lines = ["| quantity | target | measured | result |", "| --- | ---: | ---: | --- |"]
    for title, aim, value, reached in aims:
        if value is None:
            lines.append(f"| {title} | {aim} | | not measured |")
        else:
            verdict = "reached" if reached(value) else "missed"
            lines.append(f"| {title} | {aim} | {_number(value)} | {verdict} |")
    return "\n".join(lines)


def _last(results: Results) -> float | None:
    """Returns the worst ratio of a run with a violation in the last level to the plain run."""
    worst: float | None = None
    rows = [row for row in results.rows if row.part == "last-level"]
    for plain, violating in zip(rows[::2], rows[1::2], strict=True):
        worst = max(worst or 0.0, violating.wall / plain.wall)
    return worst


def _growth(results: Results) -> float | None:
    """Returns the worst ratio of the time per successor in the largest search to that in the
    smallest, over all numbers of workers.
    """
    ratios = [
        search.per_successor / small.per_successor
        for search in results.searches
        if search.case == LARGEST
        and (small := results.search(SMALLEST, search.workers)) is not None
    ]
    return max(ratios, default=None)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.2f}" if value < 10 else f"{value:.1f}"


# ------------------------------------------------------------------------------------- remarks


def _remarks(results: Results) -> str:
    """Describes the cost of a generated state in the largest search."""
    search = results.search(LARGEST, 2) or results.search(LARGEST, 1)
    if search is None:
        return ""
    whole = search.seconds * search.workers
    dearest = sorted(search.kernels, key=lambda name: -search.kernels[name])[:2]

    def cost(seconds: float) -> str:
        return f"{1e9 * seconds / search.generated:.1f}"

    costs = ", ".join(f"{cost(search.kernels[name])} in *{name}*" for name in dearest)
    rest = max(0.0, whole - sum(search.kernels.values()))
    return (
        f"For {LARGEST} with {search.workers} workers, a generated state costs a worker "
        f"{cost(whole)} ns: "
        f"{costs}, "
        f"{cost(rest)} outside these functions.\n"
        f"One in {search.generated / search.distinct:.1f} generated states is new."
    )


# -------------------------------------------------------------------------------------- charts


def _times(search: Search) -> Points:
    return [
        (level["distinct"], 1e9 * level["seconds"] / level["generated"])
        for level in search.levels
        if level["distinct"] >= 100_000
    ]


def _bytes(search: Search) -> Points:
    return [
        (level["distinct"], level["most"] / search.words)
        for level in search.levels
        if level["most"]
    ]
