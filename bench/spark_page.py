"""Reports the costs of runs on Spark: a table of the runs, and a cost model fitted to all except
one of them.

This module writes its part of docs/spark.md; `bench.spark` measures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bench.places import line
from bench.spark_costs import Costs

HEAD = (
    "N", "states", "partitions", "tasks", "successors via", "local", "spark", "ratio",
    "processor time", "ratio", "jobs", "expand", "merge", "shuffle", "transfer", "scheduling",
    "driver alone", "successors sent", "skew", "driver",
)  # fmt: skip
HELD_OUT = (10, 8)
"""The size and the number of partitions of a run through the shuffle that is held out from the
fit.
"""
LARGE = (10**9, 10**10, 10**12)
EXECUTORS, CORES = 8, 4
KEPT_BYTES = 12
"""Bytes per state of one word in tables and RDDs together, rounded up."""
FANOUT, SENT = 13.0, 0.5
"""Assumptions about large models: the number of successors per state, and the fraction of
successors that are sent to other tasks.
"""


@dataclass(frozen=True, slots=True)
class Row:
    """A run, with ``tasks`` tasks per stage. ``before`` is the number of seconds until the first
    job, when the driver searches alone. ``local`` is the time of the engine local, in seconds. If
    ``shuffled`` is set, successors passed through Spark's shuffle, as on a cluster, instead of
    files. ``processor`` and ``alone`` are the processor times of the engines spark and local.
    """

    size: int
    states: int
    partitions: int
    tasks: int
    cores: int
    local: float
    seconds: float
    before: float
    costs: Costs
    memory: int
    shuffled: bool
    alone: float
    processor: float

    @property
    def scheduling(self) -> float:
        """Seconds of idle slots, while jobs ran or the driver prepared one."""
        return max(0.0, self.cores * (self.seconds - self.before) - self.costs.running)

    @property
    def cells(self) -> list[str]:
        """The run as a row of the table. The parts of the time are summed over all slots, in
        seconds.
        """
        costs = self.costs
        parts = (costs.expand, costs.merge, costs.shuffle, costs.transfer, self.scheduling)
        on_spark = [f"{part:.1f}" for part in parts] if costs.jobs else [""] * len(parts)
        sent = f"{100 * costs.sent / costs.transitions:.0f} %" if costs.jobs else ""
        return [
            f"{self.size}",
            f"{self.states:,}",
            f"{self.partitions}",
            f"{self.tasks}",
            "shuffle" if self.shuffled else "files",
            f"{self.local:.1f} s",
            f"{self.seconds:.1f} s",
            f"{self.seconds / self.local:.1f}",
            f"{self.processor:.1f} s",
            f"{self.processor / self.alone:.1f}",
            f"{costs.jobs}",
            *on_spark,
            f"{self.cores * self.before:.1f}",
            sent,
            f"{costs.skew:.2f}" if costs.jobs else "",
            f"{self.memory >> 20} MB",
        ]


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """A run of a model with states of ``words`` words, and the memory that it took on executors.
    ``local`` and ``seconds`` are the times of the engines local and spark, in seconds.
    """

    title: str
    words: int
    states: int
    local: float
    seconds: float
    costs: Costs

    @property
    def cells(self) -> list[str]:
        """The run as a row of the table."""
        costs = self.costs
        return [
            self.title,
            f"{self.words}",
            f"{self.states:,}",
            f"{costs.table_bytes / self.states:.1f}",
            f"{sum(costs.blocks.values()) / self.states:.1f}",
            f"{self.local:.1f} s",
            f"{self.seconds:.1f} s",
        ]


@dataclass(frozen=True, slots=True)
class Fit:
    """A fitted cost model: seconds of a slot for each task, successor, new state, and sent
    successor.
    """

    task: float
    successor: float
    state: float
    sent: float

    def seconds(self, row: Row) -> float:
        """Predicts the wall time of a run."""
        costs = row.costs
        slots = (
            self.task * costs.tasks
            + self.successor * costs.transitions
            + self.state * costs.new
            + self.sent * costs.sent
        )
        return row.before + slots / row.cores


def fit(rows: Sequence[Row]) -> Fit | None:
    """Fits the cost model to the runs through the shuffle. Returns None if there are too few runs.
    The time in machine code is measured; the rest is divided between tasks and sent successors,
    with least squares of relative errors.
    """
    rows = [row for row in rows if row.costs.jobs and row.shuffled]
    if len({(row.tasks, row.size) for row in rows}) < 3:
        return None
    expand = sum(row.costs.expand for row in rows) / sum(row.costs.transitions for row in rows)
    merge = sum(row.costs.merge for row in rows) / sum(row.costs.new for row in rows)
    rest = [
        row.cores * (row.seconds - row.before)
        - expand * row.costs.transitions
        - merge * row.costs.new
        for row in rows
    ]
    weights = [1 / (row.cores * row.seconds) for row in rows]
    columns = np.array(
        [[row.costs.tasks * w, row.costs.sent * w] for row, w in zip(rows, weights, strict=True)]
    )
    target = np.array([r * w for r, w in zip(rest, weights, strict=True)])
    task, sent = (float(value) for value in np.linalg.lstsq(columns, target, rcond=None)[0])
    return Fit(task, expand, merge, sent)


def section(rows: Sequence[Row], kept: Sequence[MemoryRow], where: str) -> str:
    """Returns the table, the cost model, and its predictions for larger models, in Markdown."""
    lines = [f"Measured with {where}.", "", line(HEAD), line(["---"] * len(HEAD))]
    lines += [line(row.cells) for row in rows]
    small = [
        MemoryRow(
            f"two-phase commit, N = {row.size}", 1, row.states, row.local, row.seconds, row.costs
        )
        for row in rows
        if row.costs.jobs and row.partitions == 2 and not row.shuffled
    ]
    head = ("on 2 partitions", "words", "states", "bytes per state in tables", "in RDDs")
    lines += ["", line((*head, "local", "spark")), line(["---"] * (len(head) + 2))]
    lines += [line(run.cells) for run in (*small, *kept)]
    model = fit([row for row in rows if (row.size, row.partitions) != HELD_OUT])
    if model is not None:
        lines += ["", *_prediction(model, rows)]
    return "\n".join(lines) + "\n"


def _prediction(model: Fit, rows: Sequence[Row]) -> Iterator[str]:
    yield (
        f"The time of a slot is modelled as {model.task:.3f} s per task, "
        f"{1e9 * model.successor:.0f} ns per successor (expanding), "
        f"{1e9 * model.state:.0f} ns per new state (merging), and "
        f"{1e9 * model.sent:.0f} ns per sent successor."
    )
    for row in rows:
        if (row.size, row.partitions) == HELD_OUT and row.shuffled:
            yield (
                f"For N = {row.size} on {row.partitions} partitions, which is not part of the fit, "
                f"it predicts {model.seconds(row):.0f} s; the measured time was"
                f" {row.seconds:.0f} s."
            )
    a_state = FANOUT * model.successor + model.state + FANOUT * SENT * model.sent
    slots = EXECUTORS * CORES
    yield (
        f"With {FANOUT:.0f} successors per state, {100 * SENT:.0f} % of them sent, each state "
        f"takes {1e6 * a_state:.1f} µs of a slot. With {2 * slots} partitions, each level takes "
        f"{4 * model.task:.1f} s for its two stages, which have one task per partition:"
    )
    yield ""
    head = (
        "states", f"on {EXECUTORS} executors with {CORES} cores",
        "successors sent, per word of a state", f"tables and RDDs, at {KEPT_BYTES} bytes per state",
    )  # fmt: skip
    yield line(head)
    yield line(["---"] * len(head))
    for states in LARGE:
        yield line(
            [
                f"10^{len(str(states)) - 1}",
                _duration(states * a_state / slots),
                _size(8 * FANOUT * SENT * states),
                _size(float(KEPT_BYTES * states)),
            ]
        )


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.0f} h"


def _size(size: float) -> str:
    return f"{size / 1e12:.0f} TB" if size >= 1e12 else f"{size / 1e9:.0f} GB"
