"""The measurements as plain data, and the files that store them.

Measuring a case again replaces its earlier results and nothing else.
"""

from __future__ import annotations

import csv
import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from io import StringIO
from pathlib import Path
from typing import Any

from bench.machine import Machine

FIXED_BYTES = 32 << 20
"""Memory that a search may take independently of the number of its states."""
SPILLED = "expanded states on disk"
"""The note of searches with ``--spill``."""
MANY_STATES = 4_000_000
"""From this number of states, there is a bound on the bytes per state of every level."""


@dataclass(frozen=True, slots=True)
class Row:
    """One program on one case: medians over ``runs`` runs of the whole process.

    ``faster`` is the ratio of SPIN's time with its best table to the time of this program, or 0 if
    they are not compared. ``others`` is the maximum number of processors that other programs kept
    busy.
    """

    part: str
    case: str
    tool: str
    workers: int
    runs: int
    wall: float
    wall_least: float
    wall_most: float
    user: float
    system: float
    peak: int
    distinct: int
    generated: int
    faster: float
    others: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class Search:
    """One instrumented search; see `bench.probe` for phases, kernels and levels. ``note`` describes
    unusual conditions.
    """

    case: str
    workers: int
    words: int
    distinct: int
    generated: int
    seconds: float
    phases: Mapping[str, float]
    kernels: Mapping[str, float]
    levels: Sequence[Mapping[str, float]]
    others: float
    note: str = ""

    @property
    def per_successor(self) -> float:
        """Nanoseconds of search time per generated state."""
        return 1e9 * self.seconds / self.generated

    @property
    def most(self) -> float:
        """The maximum of bytes per state at any moment after a million states. It is never below 0,
        although the initial memory, which is subtracted, includes memory of the compiler that has
        been released by then.
        """
        return max((level["most"] for level in self.levels), default=0.0)

    @property
    def long(self) -> bool:
        """Whether the search had enough states for memory per state to be meaningful."""
        return self.distinct >= 1_000_000

    @property
    def last(self) -> float:
        """Bytes per state at the end."""
        return self.levels[-1]["resident"] / self.distinct

    @property
    def growing(self) -> float:
        """Bytes per state at the end, without the fixed amount `FIXED_BYTES`."""
        return max(0.0, self.levels[-1]["resident"] - FIXED_BYTES) / self.distinct

    @property
    def growing_most(self) -> float:
        """The maximum of `growing` at any moment of a level that ends with many states. It may be
        slightly too high, since the fixed amount is divided by the number of states at the end of
        the level.
        """
        return max(
            (
                max(0.0, level["most"] - FIXED_BYTES / level["distinct"])
                for level in self.levels
                if level["distinct"] >= MANY_STATES
            ),
            default=0.0,
        )


@dataclass(frozen=True, slots=True)
class Session:
    """The date and duration of the measurement of a part, and the load before it."""

    part: str
    when: str
    load: float
    seconds: float


@dataclass(slots=True)
class Results:
    """All measurements on one machine."""

    machine: Machine
    made: list[Session] = field(default_factory=list[Session])
    rows: list[Row] = field(default_factory=list[Row])
    searches: list[Search] = field(default_factory=list[Search])

    def row(self, part: str, case: str, tool: str, workers: int) -> Row | None:
        """Returns the row with this key, or None if it was not measured."""
        wanted = part, case, tool, workers
        matches = (r for r in self.rows if (r.part, r.case, r.tool, r.workers) == wanted)
        return next(matches, None)

    def search(self, case: str, workers: int, note: str = "") -> Search | None:
        """Returns the search with this key, or None if it was not measured."""
        wanted = case, workers, note
        matches = (s for s in self.searches if (s.case, s.workers, s.note) == wanted)
        return next(matches, None)

    def replace(self, session: Session, rows: Sequence[Row], searches: Sequence[Search]) -> None:
        """Replaces the results of the cases that were measured again."""
        cases = {(row.part, row.case) for row in rows}
        names = {(search.case, search.workers, search.note) for search in searches}
        kept = [row for row in self.rows if (row.part, row.case) not in cases]
        self.made = [*(other for other in self.made if other.part != session.part), session]
        self.rows = sorted([*kept, *rows], key=lambda row: (row.part, _size(row.case)))
        others = [
            other for other in self.searches if (other.case, other.workers, other.note) not in names
        ]
        self.searches = sorted([*others, *searches], key=lambda search: _size(search.case))


def _size(case: str) -> int:
    """Returns the size of two-phase commit. Other models sort after it, in the order of
    measuring.
    """
    name, _, size = case.partition(",")[0].partition(" = ")
    return int(size) if name == "N" else 99


def median(values: Iterable[float]) -> float:
    """Returns the median, or 0 if there are no values."""
    numbers = list(values)
    return statistics.median(numbers) if numbers else 0.0


def save(results: Results, folder: Path) -> None:
    """Writes ``results.json``, and the rows and levels as CSV."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(asdict(results), indent=1)
    (folder / "results.json").write_text(text + "\n", encoding="utf-8")
    rows = [list(asdict(row).values()) for row in results.rows]
    _write_csv(folder / "runs.csv", [item.name for item in fields(Row)], rows)
    # Searches under unusual conditions are in ``results.json`` only.
    usual = [search for search in results.searches if not search.note]
    names = ["level", "distinct", "generated", "seconds", "resident", "most"]
    levels = [
        [search.case, search.workers, *(level[name] for name in names)]
        for search in usual
        for level in search.levels
    ]
    _write_csv(folder / "levels.csv", ["case", "workers", *names], levels)


def load(folder: Path, machine: Machine, anywhere: bool = False) -> Results:
    """Returns the results that `save` wrote. They are empty if there are none, or if they come from
    another machine and ``anywhere`` is not set.
    """
    try:
        values: dict[str, Any] = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Results(machine)
    before = Machine(**values["machine"])
    here = (before.processor, before.cores) == (machine.processor, machine.cores)
    if not here and not anywhere:
        return Results(machine)
    return Results(
        before if anywhere else machine,
        [Session(**fields) for fields in values["made"]],
        [Row(**fields) for fields in values["rows"]],
        [Search(**fields) for fields in values["searches"]],
    )


def _write_csv(path: Path, names: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    path.write_text(text.getvalue(), encoding="utf-8")
