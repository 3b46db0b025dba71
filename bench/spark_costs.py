"""Where the time of a run on Spark goes: what tasks tell, and Spark's own log of events.

It does not know what is run, nor how the costs are printed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fencepost.checker.spark.records import Merged

FEW = 100_000
"""Levels of fewer states say nothing about how evenly states are spread."""


@dataclass(slots=True)
class Costs:
    """Of a run: jobs, states and successors, and seconds of the slots for tasks.

    ``expand`` and ``merge`` are spent in machine code, ``shuffle`` while Spark writes successors
    for other tasks and fetches them, ``collecting`` by Java's garbage collector, ``running`` is
    all that tasks take. ``first`` is the time of the first job, since the epoch, and ``last`` the
    end of the last one. ``table_bytes`` is the size of all tables in the end, and ``blocks`` that
    of each block of an RDD that is kept.
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

    def add(self, found: Sequence[Merged]) -> None:
        """Takes in a level, as Fencepost's tasks tell of it."""
        expanded = [one.expanded for one in found if one.expanded is not None]
        self.jobs += 1
        self.transitions += sum(one.transitions for one in expanded)
        self.new += sum(one.seen for one in found)
        self.sent += sum(one.sent for one in expanded)
        self.expand += sum(one.native for one in expanded)
        self.merge += sum(one.native for one in found)
        self.table_bytes = sum(one.table_bytes for one in found)
        kept = [one.kept for one in found]
        if sum(kept) > FEW:
            self.skew = max(self.skew, max(kept) * len(kept) / sum(kept))

    def read(self, event: dict[str, Any]) -> None:
        """Takes in an event of Spark's log."""
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
        """What is left of the tasks: bytes on their way between Java and Python, and Spark's work
        with them.
        """
        return max(0.0, self.running - self.expand - self.merge - self.shuffle)


class Events:
    """Spark's log of events in a folder, read as it grows."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[Path, int] = {}

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """What makes Spark write the log."""
        return (
            ("spark.eventLog.enabled", "true"),
            ("spark.eventLog.dir", self._folder.as_uri()),
            ("spark.eventLog.compress", "false"),
            ("spark.eventLog.rolling.enabled", "false"),
            ("spark.taskMetrics.trackUpdatedBlockStatuses", "true"),
        )

    def take(self, costs: Costs) -> None:
        """Adds what has come since the last time."""
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
