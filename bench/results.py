"""What was measured, as plain data, and its files.

A case that is measured again replaces what was known of it, and nothing else.
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
"""What a search may take however few its states are."""
SPILLED = "expanded states on disk"
"""The note of searches with ``--spill``."""
MANY = 4_000_000
"""The states from which on bytes per state are held against a bound at every level."""


@dataclass(frozen=True, slots=True)
class Row:
    """One program on one case: medians over ``runs`` runs of the whole process.

    ``faster`` is by how much it beats SPIN with its best table (0: nothing to compare with).
    ``others`` is how many processors other programs kept busy, at most.
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
    """One search watched from inside; see `bench.probe` for phases, kernels and levels. ``note`` is
    what was unusual.
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
        """Nanoseconds of search per generated state."""
        return 1e9 * self.seconds / self.generated

    @property
    def most(self) -> float:
        """The most bytes per state at any moment past a million states. Never below 0, though the
        memory of the compiler, which counts among what was held before, is given back by then.
        """
        return max((level["most"] for level in self.levels), default=0.0)

    @property
    def long(self) -> bool:
        """Whether there were so many states that memory per state means something."""
        return self.distinct >= 1_000_000

    @property
    def last(self) -> float:
        """Bytes per state at the end."""
        return self.levels[-1]["resident"] / self.distinct

    @property
    def growing(self) -> float:
        """Bytes per state at the end, without those that do not grow with the states."""
        return max(0.0, self.levels[-1]["resident"] - FIXED_BYTES) / self.distinct

    @property
    def growing_most(self) -> float:
        """In the same way, the most at any moment of a level at whose end there were many, if
        anything a little too much: what does not grow is shared out among those of the end.
        """
        return max(
            (
                max(0.0, level["most"] - FIXED_BYTES / level["distinct"])
                for level in self.levels
                if level["distinct"] >= MANY
            ),
            default=0.0,
        )


@dataclass(frozen=True, slots=True)
class Made:
    """When, and in what company, a part was measured."""

    part: str
    when: str
    load: float
    seconds: float


@dataclass(slots=True)
class Results:
    """Everything measured, of one machine."""

    machine: Machine
    made: list[Made] = field(default_factory=list[Made])
    rows: list[Row] = field(default_factory=list[Row])
    searches: list[Search] = field(default_factory=list[Search])

    def row(self, part: str, case: str, tool: str, workers: int) -> Row | None:
        """The row of this name, if it was measured."""
        wanted = part, case, tool, workers
        found = (r for r in self.rows if (r.part, r.case, r.tool, r.workers) == wanted)
        return next(found, None)

    def search(self, case: str, workers: int, note: str = "") -> Search | None:
        """The search of this name, if it was watched."""
        wanted = case, workers, note
        found = (s for s in self.searches if (s.case, s.workers, s.note) == wanted)
        return next(found, None)

    def replace(self, made: Made, rows: Sequence[Row], searches: Sequence[Search]) -> None:
        """Takes in what was measured of a part, case by case."""
        cases = {(row.part, row.case) for row in rows}
        names = {(search.case, search.workers, search.note) for search in searches}
        kept = [row for row in self.rows if (row.part, row.case) not in cases]
        self.made = [*(one for one in self.made if one.part != made.part), made]
        self.rows = sorted([*kept, *rows], key=lambda row: (row.part, _size(row.case)))
        others = [one for one in self.searches if (one.case, one.workers, one.note) not in names]
        self.searches = sorted([*others, *searches], key=lambda search: _size(search.case))


def _size(case: str) -> int:
    """The size of two-phase commit; other models come behind it, in the order measured."""
    name, _, size = case.partition(",")[0].partition(" = ")
    return int(size) if name == "N" else 99


def median(values: Iterable[float]) -> float:
    """The median; 0 of nothing."""
    numbers = list(values)
    return statistics.median(numbers) if numbers else 0.0


def save(results: Results, folder: Path) -> None:
    """Writes ``results.json``, and rows and levels as CSV."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(asdict(results), indent=1)
    (folder / "results.json").write_text(text + "\n", encoding="utf-8")
    rows = [list(asdict(row).values()) for row in results.rows]
    _write_csv(folder / "runs.csv", [item.name for item in fields(Row)], rows)
    # Those that were watched for what they take in an unusual way are in ``results.json`` only.
    usual = [search for search in results.searches if not search.note]
    names = ["level", "distinct", "generated", "seconds", "resident", "most"]
    levels = [
        [search.case, search.workers, *(level[name] for name in names)]
        for search in usual
        for level in search.levels
    ]
    _write_csv(folder / "levels.csv", ["case", "workers", *names], levels)


def load(folder: Path, machine: Machine, anywhere: bool = False) -> Results:
    """What `save` wrote; nothing, where it did not, or on another machine than this one, unless it
    may be from ``anywhere``.
    """
    try:
        told: dict[str, Any] = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Results(machine)
    before = Machine(**told["machine"])
    here = (before.processor, before.cores) == (machine.processor, machine.cores)
    if not here and not anywhere:
        return Results(machine)
    return Results(
        before if anywhere else machine,
        [Made(**one) for one in told["made"]],
        [Row(**one) for one in told["rows"]],
        [Search(**one) for one in told["searches"]],
    )


def _write_csv(path: Path, names: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    path.write_text(text.getvalue(), encoding="utf-8")
