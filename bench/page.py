"""`docs/performance.md` and its charts, from what was measured."""

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
"""The page but for its figures."""
LARGEST, SMALLEST = "N = 10", "N = 8"
RACE = OTHERS[0].name
MORE, MOST = (task.name for task in WIDE)


def files(told: Results) -> dict[str, str]:
    """The page and its charts, by their names in the folder of the documentation."""
    made = {"performance.md": _page(told)}
    long = [search for search in told.searches if search.long and not search.note]
    most = max((search.workers for search in long), default=0)
    watched = [search for search in long if search.workers == most]
    if watched:
        made["performance-time.svg"] = curves(
            f"Nanoseconds per generated state, up to each level, {most} workers",
            "distinct states",
            {one.case: _times(one) for one in watched},
        )
        made["performance-memory.svg"] = curves(
            f"Bytes per distinct state and word, the most in each level, {most} workers",
            "distinct states",
            {one.case: _bytes(one) for one in watched},
            limit=30,
        )
    return made


def _page(told: Results) -> str:
    found = {table.name: tables.as_markdown(table).strip() for table in tables.tables(told)}
    values = {
        **dict.fromkeys(tables.NAMES, "Not measured."),
        **found,
        "machine": tables.machine_line(told),
        "aims": _aims(told),
        "remarks": _remarks(told),
    }
    text = Template(TEMPLATE.read_text(encoding="utf-8")).substitute(values)
    return re.sub(r"\n{3,}", "\n\n", text)


# ---------------------------------------------------------------------------------------- aims

Aim: TypeAlias = tuple[str, str, float | None, Callable[[float], bool]]
"""What is aimed at, its bound in words, what was measured, and whether that reaches it."""
BYTES = {
    LARGEST: (15, 18, 7, 12),
    RACE: (16, 18, 8, 12),
    MORE: (16, 18, 8, 12),
    MOST: (22, 0, 14, 0),
}
"""Bytes of a state at the end and the most past 4 million states, then both with `SPILLED`; 0: no
bound.
"""


def _bytes_aims(told: Results) -> Iterator[Aim]:
    for case, (end, most, end_away, most_away) in BYTES.items():
        for note, last, bound in (("", end, most), (SPILLED, end_away, most_away)):
            found = told.search(case, 2, note)
            where = f"{case}, {note}" if note else case
            value = None if found is None else found.growing
            yield f"bytes per state, {where}", f"{last}", value, partial(ge, last)
            if bound:
                value = None if found is None else found.growing_most
                yield (
                    "the same, the most past 4 million states",
                    f"{bound}",
                    value,
                    partial(ge, bound),
                )


def _aims(told: Results) -> str:
    def fast(workers: int) -> float | None:
        row = told.row("two-phase", LARGEST, OURS, workers)
        return row.faster if row is not None and told.row("two-phase", LARGEST, SPIN, 1) else None

    def wall(row: Row | None) -> float | None:
        return row.wall if row is not None else None

    def most(searches: Sequence[Search]) -> float | None:
        return max((one.most / one.words for one in searches), default=None)

    usual = [one for one in told.searches if not one.note]
    largest = [one for one in usual if one.case == LARGEST]
    several = [one for one in usual if one.workers > 1]
    long = [
        tables.speedup(told, one)
        for one in several
        if (alone := told.search(one.case, 1)) is not None and alone.seconds > 5
    ]
    race = told.row("models", RACE, OURS, 2)
    aims: list[Aim] = [
        (f"{LARGEST}, 2 workers: times as fast as SPIN", "12", fast(2), lambda v: v >= 12),
        (f"{LARGEST}, 1 worker: times as fast as SPIN", "8", fast(1), lambda v: v >= 8),
        ("a violation in the last level: times the plain run", "2", _last(told), lambda v: v <= 2),
        (f"most bytes per state, {LARGEST}", "30", most(largest), lambda v: v <= 30),
        ("most bytes per state and word, any search", "30", most(usual), lambda v: v <= 30),
        *_bytes_aims(told),
        (
            "ten lines from cold Python, seconds",
            "0.6",
            wall(told.row("start", "ten lines", OURS, 2)),
            lambda v: v <= 0.6,
        ),
        (
            "first run of a fresh installation, seconds",
            "0.9",
            wall(told.row("install", "first run", OURS, 2)),
            lambda v: v <= 0.9,
        ),
        (
            f"{RACE}, 2 workers: distinct states/s",
            "1,000,000",
            race.distinct / race.wall if race is not None else None,
            lambda v: v >= 1e6,
        ),
        (
            f"ns per successor, {LARGEST} over {SMALLEST}",
            "1.6",
            _growth(told),
            lambda v: v <= 1.6,
        ),
        (
            f"speed-up by the second worker, {LARGEST}",
            "1.8",
            max((tables.speedup(told, one) for one in largest), default=None),
            lambda v: v >= 1.8,
        ),
        (
            "the same, the least of searches of over 5 s",
            "1.6",
            min(long, default=None),
            lambda v: v >= 1.6,
        ),
    ]
    lines = ["| what | aim | measured | |", "| --- | ---: | ---: | --- |"]
    for what, aim, value, reached in aims:
        if value is None:
            lines.append(f"| {what} | {aim} | | not measured |")
        else:
            verdict = "reached" if reached(value) else "missed"
            lines.append(f"| {what} | {aim} | {_number(value)} | {verdict} |")
    return "\n".join(lines)


def _last(told: Results) -> float | None:
    """How many times the plain run the worst run with a violation in the last level took."""
    worst: float | None = None
    rows = [row for row in told.rows if row.part == "last-level"]
    for plain, found in zip(rows[::2], rows[1::2], strict=True):
        worst = max(worst or 0.0, found.wall / plain.wall)
    return worst


def _growth(told: Results) -> float | None:
    """The worst ratio, over the numbers of workers."""
    ratios = [
        one.per_successor / small.per_successor
        for one in told.searches
        if one.case == LARGEST and (small := told.search(SMALLEST, one.workers)) is not None
    ]
    return max(ratios, default=None)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.2f}" if value < 10 else f"{value:.1f}"


# ------------------------------------------------------------------------------------- remarks


def _remarks(told: Results) -> str:
    """In words what the table of shares says of the largest search."""
    one = told.search(LARGEST, 2) or told.search(LARGEST, 1)
    if one is None:
        return ""
    whole = one.seconds * one.workers
    first, second = sorted(one.kernels, key=lambda name: -one.kernels[name])[:2]

    def cost(seconds: float) -> str:
        return f"{1e9 * seconds / one.generated:.1f}"

    rest = max(0.0, whole - sum(one.kernels.values()))
    return (
        f"For {LARGEST} with {one.workers} workers, a generated state costs a worker "
        f"{cost(whole)} ns: "
        f"{cost(one.kernels[first])} in *{first}*, {cost(one.kernels[second])} in *{second}*, "
        f"{cost(rest)} outside of these functions.\n"
        f"One in {one.generated / one.distinct:.1f} generated states is new."
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
