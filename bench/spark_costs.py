"""Profiles a run on Spark, using the reports of tasks and Spark's own event log.

This module depends neither on the program that runs nor on the format of the output.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fencepost.checker.spark.records import MergeResult

SMALL_LEVEL = 100_000
"""Levels with at most this many states do not show how evenly states are distributed."""


@dataclass(slots=True)
class Costs:
    """The costs of a run: jobs, states and successors, and seconds of task slots.

    ``expand`` and ``merge`` are spent in machine code. ``shuffle`` is spent while Spark writes
    successors for other tasks and fetches them. ``collecting`` is the time of Java's garbage
    collector, and ``running`` the total time of tasks. ``first`` is the start of the first job and
    ``last`` the end of the last job, in seconds since the epoch. ``table_bytes`` is the final size
    of all tables. ``blocks`` has the size of each cached block of an RDD.
    """

    jobs: int = 0
    tasks: int = 0
    transitions: int = 0
    new: int = 0
    sent: int = 0
    expand: float = 0.0
    merge: float = 0.0
    shuffle: float = 0.0
    shuffled_bytes: int = 0
    collecting: float = 0.0
    running: float = 0.0
    first: float = 0.0
    last: float = 0.0
    skew: float = 1.0
    table_bytes: int = 0
    blocks: dict[str, int] = field(default_factory=dict[str, int])

    def add(self, partitions: Sequence[MergeResult]) -> None:
        """Adds the costs of a level, as reported by Fencepost's tasks."""
        expanded = [part.expanded for part in partitions if part.expanded is not None]
        self.jobs += 1
        self.transitions += sum(part.transitions for part in expanded)
        self.new += sum(part.seen for part in partitions)
        self.sent += sum(part.sent for part in expanded)
        self.expand += sum(part.native for part in expanded)
        self.merge += sum(part.native for part in partitions)
        self.table_bytes = sum(part.table_bytes for part in partitions)
        kept = [part.kept for part in partitions]
        if sum(kept) > SMALL_LEVEL:
            self.skew = max(self.skew, max(kept) * len(kept) / sum(kept))

    def read(self, event: dict[str, Any]) -> None:
        """Adds the costs of an event in Spark's log."""
        match event["Event"]:
            case "SparkListenerJobStart":
                began = event["Submission Time"] / 1e3
                self.first = min(self.first, began) if self.first else began
            case "SparkListenerJobEnd":
                self.last = max(self.last, event["Completion Time"] / 1e3)
            case "SparkListenerTaskEnd":
                metrics = event["Task Metrics"]
                written, fetched = (
                    metrics["Shuffle Write Metrics"],
                    metrics["Shuffle Read Metrics"],
                )
                self.tasks += 1
                self.running += metrics["Executor Run Time"] / 1e3
                self.collecting += metrics["JVM GC Time"] / 1e3
                self.shuffle += written["Shuffle Write Time"] / 1e9
                self.shuffle += fetched["Fetch Wait Time"] / 1e3
                self.shuffled_bytes += written["Shuffle Bytes Written"]
                for block in metrics.get("Updated Blocks", ()):
                    status, name = block["Status"], block["Block ID"]
                    if name.startswith("rdd_"):
                        self.blocks[name] = status["Memory Size"] + status["Disk Size"]
            case _:
                pass

    @property
    def transfer(self) -> float:
        """The remaining time of tasks: transfer between Java and Python, and Spark's own handling
        of the data.
        """
        return max(0.0, self.running - self.expand - self.merge - self.shuffle)


class Events:
    """Spark's event log in a folder, read while it grows."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[Path, int] = {}

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """The settings that make Spark write the log."""
        return (
            ("spark.eventLog.enabled", "true"),
            ("spark.eventLog.dir", self._folder.as_uri()),
            ("spark.eventLog.compress", "false"),
            ("spark.eventLog.rolling.enabled", "false"),
            ("spark.taskMetrics.trackUpdatedBlockStatuses", "true"),
        )

    def take(self, costs: Costs) -> None:
        """Adds the events since the last call to ``costs``."""
        for path in self._folder.iterdir():
            if path.name.startswith("."):
                continue
            with path.open("rb") as file:
                file.seek(self._read.get(path, 0))
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    self._read[path] = self._read.get(path, 0) + len(line)
                    costs.read(json.loads(line))
