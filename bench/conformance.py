"""Compares a synthetic day of brokers (`bench.day`) with the model, using Spark, and a part of the
day also using separate processes.

    python -m bench.conformance --histories 1000
    python -m bench.conformance --histories 100000 --sample 20000 --spark local[2] --write

Prints a Markdown table that has, for each way to compare, the number of histories, the wall time
and processor time in seconds, and the peak memory. It also prints the throughput of Spark relative
to that of the separate processes, which divide the histories among themselves. Exactly the damaged
histories must be rejected, and no verdict may be unknown. On a busy machine, only the processor
seconds are meaningful.

`--write` saves the measurements in `bench/results` and puts the table into docs/conformance.md.
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
from bench.places import filled
from fencepost.checker.cli.atomic_files import replace

SPEC = ROOT / "models" / "kafka" / "conform_kafka.fence"
CHECK = "r4_4_0"
RESULTS = ROOT / "bench" / "results" / "conformance.json"
PAGE = ROOT / "docs" / "conformance.md"
LOOK_SECONDS = 0.5
FOUND = re.compile(r"^  (producer-\d+)(?:  |: )not allowed", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Row:
    """One way to compare histories: the number of histories, wall time and processor time in
    seconds, and the peak memory of each kind of process, in bytes.
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
    """Runs the command once for each list of arguments in ``runs``, all concurrently."""
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
    families = [Family(process.pid) for process in running]
    # The resource use of a process can be read until the process is waited for, so one more sample
    # is taken at the end.
    while any(_is_running(process.pid) for process in running):
        for family in families:
            family.look()
        time.sleep(LOOK_SECONDS)
    wall = time.monotonic() - began
    for family, process in zip(families, running, strict=True):
        family.look()
        assert process.wait() in (0, 15), f"{way}: exit code {process.returncode}"
    allowed, rejected = 0, set[str]()
    for number in range(len(runs)):
        report = (folder / f"{number}.txt").read_text(encoding="utf-8")
        count = re.search(r"  ([\d,]+) allowed(.*?)   ", report)
        assert count, report[:1000]
        assert "unknown" not in count[2], count[0]
        allowed += int(count[1].replace(",", ""))
        rejected |= set(FOUND.findall(report))
    damaged = {key for portion in day.portions for key in portion.hurt}
    assert rejected == damaged, f"{sorted(rejected ^ damaged)} are not as they were made"
    histories = sum(portion.histories for portion in day.portions)
    assert allowed == histories - len(damaged), (allowed, histories)
    peaks: dict[str, int] = {}
    for family in families:
        for kind, size in family.peaks.items():
            peaks[kind] = max(peaks.get(kind, 0), size)
    return Row(way, histories, wall, sum(family.seconds for family in families), peaks)


@dataclass(frozen=True, slots=True)
class Measurements:
    """The measurements, with their date and machine. ``load`` is the load average before the
    runs.
    """

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
        """The results in Markdown."""
        lines = [
            f"{self.histories:,} histories, {self.events:,} events.",
            f"The {self.damaged} damaged histories are not allowed; all others are allowed.",
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
            summary = f"Spark has {wall:.2f} times the throughput of the {self.processes} commands"
            lines += ["", f"{summary}, and {used:.2f} times per second of processor time."]
        return "\n".join(lines) + "\n"


HEAD = """\
| | histories | wall clock, s | processor time, s | ms per history | histories per second \
| peak memory of a process, MiB |
| --- | --- | --- | --- | --- | --- | --- |"""


def kept() -> Measurements:
    """Returns the last saved measurements."""
    values = json.loads(RESULTS.read_text(encoding="utf-8"))
    machine, rows = Machine(**values.pop("machine")), [Row(**row) for row in values.pop("rows")]
    return Measurements(machine=machine, rows=rows, **values)


def page(text: str, measurements: Measurements) -> str:
    """Returns the page with the measurements in the marked section."""
    return filled(text, "python -m bench.conformance --write", measurements.text)


def _is_running(process: int) -> bool:
    return os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def named(day: Day) -> list[str]:
    """Returns the files of a day as command-line arguments."""
    return [str(path) for portion in day.portions for path in portion.paths]


def main() -> None:
    parser = argparse.ArgumentParser("python -m bench.conformance", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--histories", type=int, default=1000, metavar="N")
    parser.add_argument(
        "--sample", type=int, metavar="N", help="histories without Spark (default: all)"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--spark", metavar="MASTER", help="also on Spark, for instance local[2]")
    parser.add_argument("--write", action="store_true", help="save the results and write the page")
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
            f"made in {time.monotonic() - began:.0f} s, {day.seconds:.0f} s of processor time; "
            f"load {os.getloadavg()[0]:.1f}",
            file=sys.stderr,
        )
        portions = max(1, (options.sample or options.histories) // PORTION)
        sample = Day(day.portions[:portions], 0)
        parts = [Day(sample.portions[part::count], 0) for part in range(count)]
        alone = ("--workers", "1")
        rows = [
            compared(
                f"{count} commands, one part each", folder, sample,
                *([*named(part), *alone] for part in parts if part.portions),
            ),
        ]  # fmt: skip
        if options.spark:
            words = ["day", "--engine", "spark", "--master", options.spark, "--results", "verdicts"]
            rows.append(compared(f"Spark, {options.spark}", folder, day, words))
    measurements = Measurements(
        machine=this_machine(),
        when=when,
        load=load,
        histories=sum(portion.histories for portion in day.portions),
        events=day.events,
        damaged=len(day.hurt),
        processes=count,
        rows=rows,
    )
    print(measurements.text, end="")
    if options.write:
        replace(RESULTS, json.dumps(asdict(measurements), indent=1) + "\n")
        replace(PAGE, page(PAGE.read_text(encoding="utf-8"), measurements))


if __name__ == "__main__":
    main()
