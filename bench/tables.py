"""The tables of what was measured, for a terminal and for Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from bench.results import MANY, SPILLED, Results, Row, Search


@dataclass(frozen=True, slots=True)
class Table:
    """A table; ``foot`` says when and in what company it was measured."""

    name: str
    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    foot: str


NAMES = (
    "two_phase",
    "last_level",
    "models",
    "before",
    "at_once",
    "memory",
    "start",
    "install",
    "search",
    "compressed",
    "phases",
    "shares",
)


def tables(told: Results) -> list[Table]:
    """All tables, without those of which nothing was measured."""
    made = [
        _rows(told, "two-phase", "Two-phase commit beside SPIN and TLC", _beside_spin),
        _rows(told, "last-level", "A violation in the last level", _plain),
        _rows(told, "models", "Other models", _plain),
        _rows(told, "before", "Beside the version before", _beside_before),
        _rows(told, "at-once", "What a second processor gives", _at_once),
        _rows(told, "memory", "Too little memory", _limited),
        _rows(told, "start", "Ten lines, cold start", _plain),
        _rows(told, "install", "The first run of a fresh installation", _plain),
        _searches(told),
        _compressed(told),
        _phases(told),
        _shares(told),
    ]
    return [table for table in made if table.rows]


def terminal(told: Results) -> str:
    """All tables as text."""
    return "\n".join([machine_line(told), "", *map(text, tables(told))])


def markdown(told: Results) -> str:
    """All tables as Markdown."""
    parts = [f"## {table.title}\n\n{as_markdown(table)}" for table in tables(told)]
    return "\n".join([f"{machine_line(told)}\n", *parts])


def as_markdown(table: Table) -> str:
    """One table, with its foot."""
    rule = ["---" if number == 0 else "---:" for number in range(len(table.head))]
    lines = [f"| {' | '.join(row)} |" for row in (table.head, rule, *table.rows)]
    return "\n".join([*lines, "", table.foot, ""])


def text(table: Table) -> str:
    """One table, in columns."""
    every = [table.head, *table.rows]
    widths = [max(len(row[place]) for row in every) for place in range(len(table.head))]
    lines = [
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in every
    ]
    return "\n".join([table.title, *lines, table.foot, ""])


def machine_line(told: Results) -> str:
    """The machine and the versions."""
    m = told.machine
    return (
        f"{m.processor}, {m.cores} cores, {m.memory / 1e9:.0f} GB; {m.system}; "
        f"fencepost {m.fencepost}, Python {m.python}, llvmlite {m.llvmlite}; {m.spin}; {m.gcc}"
    )


def company(told: Results, part: str) -> str:
    """When a part was measured, and what else went on."""
    for made in told.made:
        if made.part == part:
            busy = [row.others for row in told.rows if row.part == part]
            busy += [one.others for one in told.searches] if part == "searches" else []
            when = datetime.fromisoformat(made.when)
            return (
                f"Measured {when:%d %B %Y, %H:%M}; load average {made.load:.1f} before; "
                f"other programs used at most {max(busy, default=0.0):.2f} cores during a run."
            )
    return ""


# ---------------------------------------------------------------------------------------- rows


Cells = Callable[[Results, Row], list[tuple[str, str]]]


def _rows(told: Results, part: str, title: str, cells: Cells) -> Table:
    rows = [cells(told, row) for row in told.rows if row.part == part]
    head = [name for name, _ in rows[0]] if rows else []
    cells_ = [[value for _, value in row] for row in rows]
    return Table(part.replace("-", "_"), title, head, cells_, company(told, part))


def _common(row: Row) -> list[tuple[str, str]]:
    return [
        ("case", row.case),
        ("program", f"{row.tool} {row.note}".strip()),
        ("workers", str(row.workers)),
        ("distinct", f"{row.distinct:,}"),
        ("generated", f"{row.generated:,}"),
        ("runs", str(row.runs)),
        ("wall", seconds(row.wall)),
        ("least to most", f"{seconds(row.wall_least)} to {seconds(row.wall_most)}"),
        ("user", seconds(row.user)),
        ("system", seconds(row.system)),
        ("peak", f"{row.peak / 1e6:,.0f} MB"),
    ]


def _plain(told: Results, row: Row) -> list[tuple[str, str]]:
    return [*_common(row), ("states/s", f"{row.distinct / row.wall:,.0f}")]


def _limited(told: Results, row: Row) -> list[tuple[str, str]]:
    limit = float(row.note.partition("=")[2].rstrip("M")) * (1 << 20)
    return [*_common(row), ("of the limit", f"{row.peak / limit:.1%}")]


def _at_once(told: Results, row: Row) -> list[tuple[str, str]]:
    alone = next(
        one for one in told.rows if (one.part, one.case, one.workers) == (row.part, row.case, 1)
    )
    times = alone.wall / row.wall
    two = row.note != ""
    return [
        *_common(row),
        ("times as fast", "" if two else f"{times:.2f}"),
        ("at most", f"{2 * times:.2f}" if two else ""),
    ]


def _beside_spin(told: Results, row: Row) -> list[tuple[str, str]]:
    faster = f"{row.faster:.1f} x" if row.faster else "-"
    return [*_common(row), ("SPIN's best / this", faster)]


def _beside_before(told: Results, row: Row) -> list[tuple[str, str]]:
    """The row of the other version follows that of this one."""
    one, *others = (
        found for found in told.rows if (found.part, found.case) == (row.part, row.case)
    )
    took = row.user + row.system
    cells = [*_common(row), ("processor", seconds(took))]
    if row is not one or not others:
        return [*cells, ("of the other", "")]
    (other,) = others
    return [*cells, ("of the other", f"{took / (other.user + other.system):.2f}")]


# ------------------------------------------------------------------------------------ searches


def speedup(told: Results, search: Search) -> float:
    """How much faster than with one worker; 0: not known."""
    alone = told.search(search.case, 1)
    return alone.seconds / search.seconds if alone is not None else 0.0


def _searches(told: Results) -> Table:
    head = ["case", "workers", "words", "distinct", "search", "ns/successor", "speed-up"]
    head += ["B/state", "most B/state past 1 M", "the same per word"]
    rows = [
        [
            one.case,
            str(one.workers),
            str(one.words),
            f"{one.distinct:,}",
            seconds(one.seconds),
            f"{one.per_successor:.1f}",
            f"{speedup(told, one):.2f}" if told.search(one.case, 1) else "",
            f"{one.last:.1f}" if one.long else "-",
            f"{one.most:.1f}" if one.long else "-",
            f"{one.most / one.words:.1f}" if one.long else "-",
        ]
        for one in told.searches
        if not one.note
    ]
    return Table("search", "The search alone", head, rows, company(told, "searches"))


def _compressed(told: Results) -> Table:
    head = ["case", "words", "distinct", "B/state", "most", "on disk: B/state", "most"]
    rows: list[list[str]] = []
    for one in told.searches:
        alone = one.workers == max(s.workers for s in told.searches if s.case == one.case)
        if one.note or not alone or one.distinct < MANY:
            continue
        away = told.search(one.case, one.workers, SPILLED)
        rows.append(
            [
                one.case,
                str(one.words),
                f"{one.distinct:,}",
                f"{one.growing:.1f}",
                f"{one.growing_most:.1f}",
                "" if away is None else f"{away.growing:.1f}",
                "" if away is None else f"{away.growing_most:.1f}",
            ]
        )
    return Table("compressed", "Bytes per state", head, rows, company(told, "searches"))


def _phases(told: Results) -> Table:
    names = list(dict.fromkeys(name for one in told.searches for name in one.phases))
    rows = [
        [one.case, str(one.workers), *(milliseconds(one.phases.get(name, 0)) for name in names)]
        for one in told.searches
        if not one.note
    ]
    title = "Phases of a run, in milliseconds"
    return Table("phases", title, ["case", "workers", *names], rows, company(told, "searches"))


def _shares(told: Results) -> Table:
    names = list(dict.fromkeys(name for one in told.searches for name in one.kernels))
    rows: list[list[str]] = []
    for one in told.searches:
        if one.note:
            continue
        whole = one.seconds * one.workers
        shares = [one.kernels.get(name, 0.0) / whole for name in names]
        cells = [f"{share:.0%}" for share in (*shares, max(0.0, 1 - sum(shares)))]
        rows.append([one.case, str(one.workers), *cells])
    head = ["case", "workers", *names, "Python, waiting"]
    title = "Shares of the workers' time"
    return Table("shares", title, head, rows, company(told, "searches"))


def seconds(value: float) -> str:
    """``0.123 s``, ``4.56 s``, ``123 s``."""
    digits = 3 if value < 1 else 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{digits}f} s"


def milliseconds(value: float) -> str:
    """``12``, ``0.3``."""
    return f"{1000 * value:,.0f}" if value >= 0.01 else f"{1000 * value:.1f}"
