"""The tables of the measurements, as text for a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from bench.results import MANY_STATES, SPILLED, Results, Row, Search


@dataclass(frozen=True, slots=True)
class Table:
    """A table. ``foot`` has the date and the load of the measurement."""

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


def tables(results: Results) -> list[Table]:
    """Returns all tables that have measurements."""
    built = [
        _rows(results, "two-phase", "Two-phase commit with SPIN and TLC", _beside_spin),
        _rows(results, "last-level", "A violation in the last level", _plain),
        _rows(results, "models", "Other models", _plain),
        _rows(results, "before", "Comparison with the earlier version", _beside_before),
        _rows(results, "at-once", "Effect of a second processor", _at_once),
        _rows(results, "memory", "Insufficient memory", _limited),
        _rows(results, "start", "Ten lines, cold start", _plain),
        _rows(results, "install", "The first run after installation", _plain),
        _searches(results),
        _compressed(results),
        _phases(results),
        _shares(results),
    ]
    return [table for table in built if table.rows]


def terminal(results: Results) -> str:
    """Returns all tables as text."""
    return "\n".join([machine_line(results), "", *map(text, tables(results))])


def markdown(results: Results) -> str:
    """Returns all tables as Markdown."""
    parts = [f"## {table.title}\n\n{as_markdown(table)}" for table in tables(results)]
    return "\n".join([f"{machine_line(results)}\n", *parts])


def as_markdown(table: Table) -> str:
    """Returns one table, with its foot, as Markdown."""
    rule = ["---" if number == 0 else "---:" for number in range(len(table.head))]
    lines = [f"| {' | '.join(row)} |" for row in (table.head, rule, *table.rows)]
    return "\n".join([*lines, "", table.foot, ""])


def text(table: Table) -> str:
    """Returns one table as text with aligned columns."""
    every = [table.head, *table.rows]
    widths = [max(len(row[index]) for row in every) for index in range(len(table.head))]
    lines = [
        "  ".join(
            cell.rjust(width) if index else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in every
    ]
    return "\n".join([table.title, *lines, table.foot, ""])


def machine_line(results: Results) -> str:
    """Describes the machine and the versions."""
    m = results.machine
    return (
        f"{m.processor}, {m.cores} cores, {m.memory / 1e9:.0f} GB; {m.system}; "
        f"fencepost {m.fencepost}, Python {m.python}, llvmlite {m.llvmlite}; {m.spin}; {m.gcc}"
    )


def company(results: Results, part: str) -> str:
    """Returns the date of a part's measurement, and the load before and during it."""
    for session in results.made:
        if session.part == part:
            busy = [row.others for row in results.rows if row.part == part]
            busy += [search.others for search in results.searches] if part == "searches" else []
            when = datetime.fromisoformat(session.when)
            return (
                f"Measured {when:%d %B %Y, %H:%M}; load average {session.load:.1f} before; "
                f"other programs used at most {max(busy, default=0.0):.2f} cores during a run."
            )
    return ""


# ---------------------------------------------------------------------------------------- rows


Cells = Callable[[Results, Row], list[tuple[str, str]]]


def _rows(results: Results, part: str, title: str, cells: Cells) -> Table:
    rows = [cells(results, row) for row in results.rows if row.part == part]
    head = [name for name, _ in rows[0]] if rows else []
    cells_ = [[value for _, value in row] for row in rows]
    return Table(part.replace("-", "_"), title, head, cells_, company(results, part))


def _common(row: Row) -> list[tuple[str, str]]:
    return [
        ("case", row.case),
        ("program", f"{row.tool} {row.note}".strip()),
        ("workers", str(row.workers)),
        ("distinct", f"{row.distinct:,}"),
        ("generated", f"{row.generated:,}"),
        ("runs", str(row.runs)),
        ("wall", seconds(row.wall)),
        ("range", f"{seconds(row.wall_least)} to {seconds(row.wall_most)}"),
        ("user", seconds(row.user)),
        ("system", seconds(row.system)),
        ("peak", f"{row.peak / 1e6:,.0f} MB"),
    ]


def _plain(results: Results, row: Row) -> list[tuple[str, str]]:
    return [*_common(row), ("states/s", f"{row.distinct / row.wall:,.0f}")]


def _limited(results: Results, row: Row) -> list[tuple[str, str]]:
    limit = float(row.note.partition("=")[2].rstrip("M")) * (1 << 20)
    return [*_common(row), ("share of limit", f"{row.peak / limit:.1%}")]


def _at_once(results: Results, row: Row) -> list[tuple[str, str]]:
    alone = next(
        other
        for other in results.rows
        if (other.part, other.case, other.workers) == (row.part, row.case, 1)
    )
    times = alone.wall / row.wall
    two = row.note != ""
    return [
        *_common(row),
        ("speed-up", "" if two else f"{times:.2f}"),
        ("at most", f"{2 * times:.2f}" if two else ""),
    ]


def _beside_spin(results: Results, row: Row) -> list[tuple[str, str]]:
    faster = f"{row.faster:.1f} x" if row.faster else "-"
    return [*_common(row), ("SPIN's best / this", faster)]


def _beside_before(results: Results, row: Row) -> list[tuple[str, str]]:
    """Compares this version with the other version, whose row follows."""
    first, *others = (
        candidate
        for candidate in results.rows
        if (candidate.part, candidate.case) == (row.part, row.case)
    )
    took = row.user + row.system
    cells = [*_common(row), ("processor", seconds(took))]
    if row is not first or not others:
        return [*cells, ("relative to other", "")]
    (other,) = others
    return [*cells, ("relative to other", f"{took / (other.user + other.system):.2f}")]


# ------------------------------------------------------------------------------------ searches


def speedup(results: Results, search: Search) -> float:
    """Returns the ratio of the speed to that with one worker, or 0 if unknown."""
    alone = results.search(search.case, 1)
    return alone.seconds / search.seconds if alone is not None else 0.0


def _searches(results: Results) -> Table:
    head = ["case", "workers", "words", "distinct", "search", "ns/successor", "speed-up"]
    head += ["B/state", "max B/state past 1 M", "max per word"]
    rows = [
        [
            search.case,
            str(search.workers),
            str(search.words),
            f"{search.distinct:,}",
            seconds(search.seconds),
            f"{search.per_successor:.1f}",
            f"{speedup(results, search):.2f}" if results.search(search.case, 1) else "",
            f"{search.last:.1f}" if search.long else "-",
            f"{search.most:.1f}" if search.long else "-",
            f"{search.most / search.words:.1f}" if search.long else "-",
        ]
        for search in results.searches
        if not search.note
    ]
    return Table("search", "The search alone", head, rows, company(results, "searches"))


def _compressed(results: Results) -> Table:
    head = ["case", "words", "distinct", "B/state", "max", "on disk: B/state", "max"]
    rows: list[list[str]] = []
    for search in results.searches:
        alone = search.workers == max(s.workers for s in results.searches if s.case == search.case)
        if search.note or not alone or search.distinct < MANY_STATES:
            continue
        away = results.search(search.case, search.workers, SPILLED)
        rows.append(
            [
                search.case,
                str(search.words),
                f"{search.distinct:,}",
                f"{search.growing:.1f}",
                f"{search.growing_most:.1f}",
                "" if away is None else f"{away.growing:.1f}",
                "" if away is None else f"{away.growing_most:.1f}",
            ]
        )
    return Table("compressed", "Bytes per state", head, rows, company(results, "searches"))


def _phases(results: Results) -> Table:
    names = list(dict.fromkeys(name for search in results.searches for name in search.phases))
    rows = [
        [
            search.case,
            str(search.workers),
            *(milliseconds(search.phases.get(name, 0)) for name in names),
        ]
        for search in results.searches
        if not search.note
    ]
    title = "Phases of a run, in milliseconds"
    return Table("phases", title, ["case", "workers", *names], rows, company(results, "searches"))


def _shares(results: Results) -> Table:
    names = list(dict.fromkeys(name for search in results.searches for name in search.kernels))
    rows: list[list[str]] = []
    for search in results.searches:
        if search.note:
            continue
        whole = search.seconds * search.workers
        shares = [search.kernels.get(name, 0.0) / whole for name in names]
        cells = [f"{share:.0%}" for share in (*shares, max(0.0, 1 - sum(shares)))]
        rows.append([search.case, str(search.workers), *cells])
    head = ["case", "workers", *names, "Python, waiting"]
    title = "Shares of the workers' time"
    return Table("shares", title, head, rows, company(results, "searches"))


def seconds(value: float) -> str:
    """Formats seconds: ``0.123 s``, ``4.56 s``, ``123 s``."""
    digits = 3 if value < 1 else 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{digits}f} s"


def milliseconds(value: float) -> str:
    """Formats seconds as milliseconds: ``12``, ``0.3``."""
    return f"{1000 * value:,.0f}" if value >= 0.01 else f"{1000 * value:.1f}"
