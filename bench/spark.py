"""The engine spark beside the engine local, and where its time goes.

    python -m bench.spark            two-phase commit, N = 8, 9, 10 on 2, 8, 32 partitions
    python -m bench.spark --sizes 9 --partitions 2 --master local[4]

Prints a table in Markdown. Seconds of processors are counted by the tasks themselves, so they are
hardly disturbed by what else the machine does; the wall time is.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.machine import ROOT
from fencepost.checker.engine import Cluster, Engine, Limits, Progress
from fencepost.checker.native.search import Local
from fencepost.checker.process import resident_bytes
from fencepost.checker.spark import session
from fencepost.checker.spark.records import Merged
from fencepost.checker.spark.search import Spark
from fencepost.spec import program

SPEC = ROOT / "models" / "classics" / "two_phase_commit.fence"
CHECKS = {6: "six", 7: "seven", 8: "eight", 9: "nine", 10: "ten"}
HEAD = (
    "N", "partitions", "local, s", "spark, s", "ratio", "jobs", "s per job", "expand, CPU s",
    "merge, CPU s", "other Python, CPU s", "outside Python, s", "sent, bytes per successor", "skew",
    "driver, MB",
)  # fmt: skip


@dataclass(slots=True)
class Costs:
    """What the tasks of a run have told."""

    jobs: int = 0
    transitions: int = 0
    sent: int = 0
    expand: float = 0.0
    merge: float = 0.0
    other: float = 0.0
    skew: float = 1.0

    def add(self, found: Sequence[Merged]) -> None:
        """Takes in a level."""
        expanded = [one.expanded for one in found]
        self.jobs += 1
        self.transitions += sum(one.transitions for one in expanded)
        self.sent += sum(one.sent for one in expanded)
        native = sum(one.native for one in expanded), sum(one.native for one in found)
        self.expand += native[0]
        self.merge += native[1]
        tasks = sum(one.seconds for one in expanded) + sum(one.seconds for one in found)
        self.other += tasks - sum(native)
        kept = [one.kept for one in found]
        if sum(kept) > 100_000:
            self.skew = max(self.skew, max(kept) * len(kept) / sum(kept))


@dataclass(frozen=True, slots=True)
class Run:
    """One run of an engine: seconds of wall time, and the most memory of this process."""

    seconds: float
    memory: int


def measured(engine: Engine, size: int) -> Run:
    """Runs a check, which must come out as expected."""
    read = program.load(Path(SPEC))
    (check,) = (one for one in read.checks if one.name == CHECKS[size])
    model = program.build(read, check)
    memory = [resident_bytes()]
    began = time.monotonic()

    def progress(_: Progress) -> None:
        memory.append(resident_bytes())

    outcome = engine.run(
        model,
        properties=program.select(model, check),
        deadlock=True,
        limits=Limits(),
        keep_going=False,
        progress=progress,
    )
    statistics = outcome.statistics
    found = (statistics.distinct, statistics.generated, statistics.depth)
    assert found == tuple(count for _, count in check.counts), found
    return Run(time.monotonic() - began, max(memory))


def rows(options: argparse.Namespace) -> Iterator[Sequence[str]]:
    """The lines of the table, as they are measured."""
    for size in options.sizes:
        alone = measured(Local(), size)
        for partitions in options.partitions:
            cluster = Cluster(options.master, partitions)
            cores = session.connect(cluster).defaultParallelism
            costs = Costs()
            run = measured(Spark(cluster, watch=costs.add), size)
            python = (costs.expand + costs.merge + costs.other) / cores
            # States of this model take one word.
            sent = 8 * costs.sent / max(costs.transitions, 1)
            yield (
                f"{size}",
                f"{partitions}",
                f"{alone.seconds:.1f}",
                f"{run.seconds:.1f}",
                f"{run.seconds / alone.seconds:.1f}",
                f"{costs.jobs}",
                f"{run.seconds / max(costs.jobs, 1):.2f}",
                f"{costs.expand:.1f}",
                f"{costs.merge:.1f}",
                f"{costs.other:.1f}",
                f"{run.seconds - python:.1f}",
                f"{sent:.2f}",
                f"{costs.skew:.2f}",
                f"{run.memory >> 20}",
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        "python -m bench.spark", description="Measures the engine spark beside the engine local."
    )
    parser.add_argument("--sizes", type=_numbers, default=[8, 9, 10], metavar="8,9,10")
    parser.add_argument("--partitions", type=_numbers, default=[2, 8, 32], metavar="2,8,32")
    parser.add_argument("--master", default="local[2]", metavar="URL")
    options = parser.parse_args()
    print("load before:", *(f"{load:.1f}" for load in os.getloadavg()))
    print(_line(HEAD))
    print(_line(["---"] * len(HEAD)))
    for row in rows(options):
        print(_line(row), flush=True)
    print("load after:", *(f"{load:.1f}" for load in os.getloadavg()))


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


if __name__ == "__main__":
    main()
