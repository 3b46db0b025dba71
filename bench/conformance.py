"""A synthetic day of brokers (`bench.day`), compared with the model: by Spark, and some of it by
processes of their own.

    python -m bench.conformance --histories 1000
    python -m bench.conformance --histories 100000 --sample 20000 --spark local[2] --write

Prints a table in Markdown: for each way to compare them the histories, seconds of wall time and of
processors, and the most memory; and how near Spark comes to what separate processes reach that have
a part of the histories each. The damaged histories, and no others, must be found, and none may be
unknown. An idle machine is wanted, or nothing but the seconds of processors counts.

`--write` keeps what was measured in `bench/results`, and puts the table into docs/conformance.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from bench.day import PORTION, Day, make
from bench.family import Family
from bench.machine import ROOT, Machine, this_machine
from fencepost.checker.cli.atomic_files import replace

SPEC = ROOT / "models" / "kafka" / "conform_v2.fence"
CHECK = "r4_4_0"
RESULTS = ROOT / "bench" / "results" / "conformance.json"
PAGE = ROOT / "docs" / "conformance.md"
BEGIN, END = "<!-- by python -m bench.conformance --write -->", "<!-- end -->"
LOOK_SECONDS = 0.5
FOUND = re.compile(r"^  (producer-\d+)(?:  |: )not allowed", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Row:
    """A way to compare histories: how many, seconds of wall time and of processors, and the most
    memory of a process of each kind, in bytes.
    """

    way: str
    histories: int
    wall: float
    processors: float
    peaks: dict[str, int]

    @property
    def cells(self) -> str:
        memory = ", ".join(f"{kind} {size >> 20:,}" for kind, size in sorted(self.peaks.items()))
        each = 1000 * self.processors / self.histories
        return (
            f"| {self.way} | {self.histories:,} | {self.wall:.1f} | {self.processors:.1f} "
            f"| {each:.1f} | {self.histories / self.wall:.1f} | {memory} |"
        )


def compared(way: str, folder: Path, day: Day, *runs: Sequence[str]) -> Row:
    """Runs the command, once for each row of words, all at a time."""
    began = time.monotonic()
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "fencepost.checker.cli.main", "conform", str(SPEC), "--check",
             CHECK, "--output", f"{number}.txt", *words],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT / ".dev")},
        )
        for number, words in enumerate(runs)
    ]  # fmt: skip
    families = [Family(one.pid) for one in running]
    # A process that has ended and is not waited for says what it took, so the last look is then.
    while any(_goes_on(one.pid) for one in running):
        for family in families:
            family.look()
        time.sleep(LOOK_SECONDS)
    wall = time.monotonic() - began
    for family, one in zip(families, running, strict=True):
        family.look()
        assert one.wait() in (0, 15), f"{way}: exit code {one.returncode}"
    allowed, found = 0, set[str]()
    for number in range(len(runs)):
        report = (folder / f"{number}.txt").read_text(encoding="utf-8")
        count = re.search(r"  ([\d,]+) allowed(.*?)   ", report)
        assert count, report[:1000]
        assert "unknown" not in count[2], count[0]
        allowed += int(count[1].replace(",", ""))
        found |= set(FOUND.findall(report))
    here = {one for portion in day.portions for one in portion.hurt}
    assert found == here, f"{sorted(found ^ here)} are not as they were made"
    histories = sum(one.histories for one in day.portions)
    assert allowed == histories - len(here), (allowed, histories)
    peaks: dict[str, int] = {}
    for family in families:
        for kind, size in family.peaks.items():
            peaks[kind] = max(peaks.get(kind, 0), size)
    return Row(way, histories, wall, sum(one.seconds for one in families), peaks)


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured, when, and on which machine; ``load`` is that of before."""

    machine: Machine
    when: str
    load: float
    histories: int
    events: int
    damaged: int
    processes: int
    rows: list[Row]

    @property
    def text(self) -> str:
        """It, as Markdown."""
        lines = [
            f"{self.histories:,} histories, {self.events:,} events.",
            f"Of {self.damaged} damaged ones all are not allowed; all others are, none is unknown.",
            f"{self.machine.cores} cores of {self.machine.processor}; {self.when}; "
            f"load average {self.load:.1f} before.",
            "",
            HEAD,
            *(row.cells for row in self.rows),
        ]
        apart, last = self.rows[0], self.rows[-1]
        if last is not apart:
            wall = last.histories / last.wall / (apart.histories / apart.wall)
            used = apart.processors / apart.histories / (last.processors / last.histories)
            what = f"Spark reaches {wall:.2f} of the {self.processes} commands"
            lines += ["", f"{what}; by seconds of processors {used:.2f}."]
        return "\n".join(lines) + "\n"


HEAD = """\
| | histories | seconds | of processors | ms for a history | histories a second \
| most memory of a process, MiB |
| --- | --- | --- | --- | --- | --- | --- |"""


def kept() -> Measured:
    """What was measured last and kept."""
    found = json.loads(RESULTS.read_text(encoding="utf-8"))
    machine, rows = Machine(**found.pop("machine")), [Row(**one) for one in found.pop("rows")]
    return Measured(machine=machine, rows=rows, **found)


def page(text: str, measured: Measured) -> str:
    """The page with what was measured in its place."""
    before, _, rest = text.partition(BEGIN)
    _, end, behind = rest.partition(END)
    assert end, f"{PAGE} has no place for it"
    return f"{before}{BEGIN}\n{measured.text}{END}{behind}"


def _goes_on(process: int) -> bool:
    return os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def named(day: Day) -> list[str]:
    """The files of a day, as words."""
    return [str(path) for one in day.portions for path in one.paths]


def main() -> None:
    parser = argparse.ArgumentParser("python -m bench.conformance", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--histories", type=int, default=1000, metavar="N")
    parser.add_argument(
        "--sample", type=int, metavar="N", help="how many of them without Spark (default: all)"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--spark", metavar="MASTER", help="also on Spark, for instance local[2]")
    parser.add_argument("--write", action="store_true", help="keep it, and write the page")
    parser.add_argument("--processes", type=int, default=2, metavar="N")
    options = parser.parse_args()
    load, when = os.getloadavg()[0], f"{datetime.now():%d %B %Y, %H:%M}"
    with tempfile.TemporaryDirectory(prefix="fencepost-bench-") as name:
        folder = Path(name)
        began = time.monotonic()
        (folder / "day").mkdir()
        count = options.processes
        day = make(folder / "day", options.histories, options.seed, count)
        print(
            f"made in {time.monotonic() - began:.0f} s, with {day.seconds:.0f} s of processors; "
            f"load {os.getloadavg()[0]:.1f}",
            file=sys.stderr,
        )
        portions = max(1, (options.sample or options.histories) // PORTION)
        sample = Day(day.portions[:portions], 0)
        parts = [Day(sample.portions[part::count], 0) for part in range(count)]
        alone = ("--workers", "1")
        rows = [
            compared(
                f"{count} commands, a part each", folder, sample,
                *([*named(part), *alone] for part in parts if part.portions),
            ),
        ]  # fmt: skip
        if options.spark:
            words = ["day", "--engine", "spark", "--master", options.spark, "--results", "verdicts"]
            rows.append(compared(f"Spark, {options.spark}", folder, day, words))
    measured = Measured(
        machine=this_machine(),
        when=when,
        load=load,
        histories=sum(one.histories for one in day.portions),
        events=day.events,
        damaged=len(day.hurt),
        processes=count,
        rows=rows,
    )
    print(measured.text, end="")
    if options.write:
        replace(RESULTS, json.dumps(asdict(measured), indent=1) + "\n")
        replace(PAGE, page(PAGE.read_text(encoding="utf-8"), measured))


if __name__ == "__main__":
    main()
