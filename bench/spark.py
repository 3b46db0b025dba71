"""Compares the engine spark with the engine local, and profiles its time.

    python -m bench.spark            two-phase commit, N = 8, 9, 10 on 2, 8, 32 partitions; 9 and 10
                                     also as on a cluster, with a task for each partition and
                                     through Spark's shuffle; and the memory of some models
    python -m bench.spark --write    also writes the tables of docs/spark.md
    python -m bench.spark --sizes 9 --partitions 2 --master local[4]

Prints a table in Markdown. The start of the session is not counted. Use an idle machine: all
seconds except those in machine code are wall time.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from bench import spark_page
from bench.machine import ROOT, this_machine
from bench.places import fill, line
from bench.process import family_seconds
from bench.spark_costs import Costs, Events
from bench.spark_page import MemoryRow, Row
from fencepost.checker.layout import Layout
from fencepost.checker.native.search import Local
from fencepost.checker.request import Cluster, Engine, Progress, Request
from fencepost.checker.resources import resident_bytes
from fencepost.checker.spark import session
from fencepost.checker.spark.search import Spark
from fencepost.spec.elaborate.claims import program

MODELS = ROOT / "models"
SPEC = MODELS / "classics" / "two_phase_commit.fence"
CHECKS = {6: "six", 7: "seven", 8: "eight", 9: "nine", 10: "ten"}
WIDE = (("kafka/txn_core_v1", "fixed_more"), ("kafka/txn_failover", "fixed_came_back"))
"""Checks of models whose states have many words."""
Settings: TypeAlias = tuple[tuple[str, str], ...]
FLUSHED_SECONDS = 0.5
"""Seconds after the end of a job until all its events have been written."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of an engine: the number of words in a state, the number of states, wall time and
    processor time in seconds, the starting time, and the peak memory of this process.
    """

    words: int
    states: int
    seconds: float
    processor: float
    began: float
    memory: int


def measured(engine: Engine, spec: Path, name: str) -> Run:
    """Runs a check, and requires the expected counts."""
    read = program.load(spec)
    (check,) = (item for item in read.checks if item.name == name)
    model = program.build(read, check)
    memory = [resident_bytes()]

    def progress(_: Progress) -> None:
        memory.append(resident_bytes())

    before = family_seconds()
    since, began = time.time(), time.monotonic()
    outcome = engine.run(Request(model, properties=program.select(model, check), progress=progress))
    seconds = time.monotonic() - began
    processor = family_seconds() - before
    statistics = outcome.statistics
    counts = (statistics.distinct, statistics.generated, statistics.depth)
    assert counts == tuple(count for _, count in check.counts), counts
    return Run(Layout(model).words, statistics.distinct, seconds, processor, since, max(memory))


def rows(options: argparse.Namespace, events: Events) -> Iterator[Row]:
    """Yields the runs as they are measured. Each size first runs twice on this machine, where the
    faster run counts. Some runs are repeated as on a cluster, with a task for each partition and
    through Spark's shuffle.
    """
    alone = dict[int, Run]()

    def run_of(size: int, partitions: int, settings: Settings = ()) -> Row:
        where = cluster(options, partitions, events, settings)
        spark, name = session.connect(where), CHECKS[size]
        if size not in alone:
            twice = [measured(Local(), SPEC, name) for _ in range(2)]
            alone[size] = min(twice, key=lambda run: run.seconds)
        events.take(Costs())
        costs = Costs()
        run = measured(Spark(where, watch=costs.add), SPEC, name)
        time.sleep(FLUSHED_SECONDS)
        events.take(costs)
        before = max(0.0, costs.first - run.began) if costs.first else run.seconds
        return Row(
            size=size, states=run.states, partitions=partitions,
            tasks=session.tasks(spark, partitions), cores=spark.defaultParallelism,
            local=alone[size].seconds, seconds=run.seconds, before=before, costs=costs,
            memory=run.memory, shuffled=bool(settings), alone=alone[size].processor,
            processor=run.processor,
        )  # fmt: skip

    warm_up(cluster(options, 2, events))
    for size in options.sizes:
        for partitions in options.partitions:
            yield run_of(size, partitions)
    if options.separate:
        separate = ((session.TASKS, str(max(options.partitions))), (session.FILES, "false"))
        warm_up(cluster(options, 2, events, separate))
        for size in options.separate:
            for partitions in options.partitions:
                yield run_of(size, partitions, separate)


def warm_up(where: Cluster) -> None:
    """Starts Java and the Python workers, which are slow at first. The measurements do not include
    this time.
    """
    measured(Spark(where, lambda local: local.level > 3), SPEC, "six")


def wide(options: argparse.Namespace, events: Events) -> Iterator[MemoryRow]:
    """Yields the memory that executors use for models with wide states, on two partitions."""
    for path, name in WIDE:
        spec = MODELS / f"{path}.fence"
        alone = measured(Local(), spec, name)
        events.take(Costs())
        costs = Costs()
        run = measured(Spark(cluster(options, 2, events), watch=costs.add), spec, name)
        time.sleep(FLUSHED_SECONDS)
        events.take(costs)
        title = f"`{path.rpartition('/')[2]}` {name}"
        yield MemoryRow(title, run.words, run.states, alone.seconds, run.seconds, costs)


def cluster(
    options: argparse.Namespace, partitions: int, events: Events, settings: Settings = ()
) -> Cluster:
    """Returns the cluster for a run. Runs with the same settings share a session."""
    asked: list[tuple[str, str]] = [tuple(word.split("=", 1)) for word in options.settings]
    return Cluster(options.master, partitions, (*events.settings, *asked, *settings))


def main() -> None:
    parser = argparse.ArgumentParser(
        "python -m bench.spark", description="Compares the engine spark with the engine local."
    )
    parser.add_argument("--sizes", type=_numbers, default=[8, 9, 10], metavar="8,9,10")
    parser.add_argument("--partitions", type=_numbers, default=[2, 8, 32], metavar="2,8,32")
    parser.add_argument("--separate", type=_numbers, default=[9, 10], metavar="9,10")
    parser.add_argument("--master", default="local[2]", metavar="URL")
    parser.add_argument("--spark-conf", dest="settings", action="append", default=[], metavar="K=V")
    parser.add_argument("--write", action="store_true", help="also the tables of docs/spark.md")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    print(f"load before: {load:.1f}")
    print(line(spark_page.HEAD))
    print(line(["---"] * len(spark_page.HEAD)))
    measurements: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="fencepost-bench-") as folder:
        events = Events(Path(folder))
        for row in rows(options, events):
            measurements.append(row)
            print(line(row.cells), flush=True)
        kept = [*wide(options, events)]
    print(f"load after: {os.getloadavg()[0]:.1f}")
    machine = this_machine()
    where = (
        f"{session.library()}, Python {platform.python_version()}, {options.master} on "
        f"{machine.cores} cores of {machine.processor}; load before {load:.1f}"
    )
    text = spark_page.section(measurements, kept, where)
    print(text)
    if options.write:
        fill(ROOT / "docs" / "spark.md", "python -m bench.spark --write", f"\n{text}\n")


def _numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",") if word]


if __name__ == "__main__":
    main()
