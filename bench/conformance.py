"""A synthetic day of brokers (`bench.day`), compared with the model: by Spark, and some of it by
processes of their own.

    python -m bench.conformance --histories 1000
    python -m bench.conformance --histories 100000 --sample 10000 --spark local[2]

Prints a table in Markdown: for each way to compare them the histories, seconds of wall time and of
processors, and the most memory; and how near Spark comes to what separate processes reach that have
a part of the histories each. The damaged histories, and no others, must be found, and none may be
unknown. An idle machine is wanted, or nothing but the seconds of processors counts.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.day import PORTION, Day, make
from bench.family import Family
from bench.machine import ROOT, this_machine

SPEC = ROOT / "models" / "kafka" / "conform_v2.fence"
CHECK = "r4_4_0"
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
    parser.add_argument("--processes", type=int, default=2, metavar="N")
    options = parser.parse_args()
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
    machine = this_machine()
    print(f"{options.histories:,} histories, {day.events:,} events.")
    print(f"Of {len(day.hurt)} damaged ones all are not allowed; all others are, none is unknown.")
    print(f"{machine.cores} cores of {machine.processor}; load {os.getloadavg()[0]:.1f}\n")
    print(
        "| | histories | seconds | of processors | ms for a history | histories a second "
        "| most memory of a process, MiB |\n| --- | --- | --- | --- | --- | --- | --- |"
    )
    for row in rows:
        print(row.cells)
    if options.spark:
        apart, spark = rows[0], rows[-1]
        wall = spark.histories / spark.wall / (apart.histories / apart.wall)
        used = apart.processors / apart.histories / (spark.processors / spark.histories)
        print(f"\nSpark reaches {wall:.2f} of the {count} commands; by processors {used:.2f}.")


if __name__ == "__main__":
    main()
