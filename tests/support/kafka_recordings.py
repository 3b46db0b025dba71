"""Recordings of real brokers, used as test data and compared with the rules of the models."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.support.damage import Event, is_record
from tests.support.kafka_text import MODELS
from tests.support.paths import ROOT

from fencepost.checker.systems.conform.lines import read
from fencepost.checker.systems.conform.mapping import MappedModel
from fencepost.checker.systems.conform.search import judge
from fencepost.checker.systems.conform.verdicts import Effort, Judgement
from fencepost.spec.elaborate.claims.program import load, mapped

HERE = ROOT / "tests" / "models" / "recordings"
EFFORT = Effort()
Constants = tuple[tuple[str, str], ...]


@cache
def mapping(spec: str, name: str, constants: Constants = ()) -> MappedModel:
    program = load(MODELS / f"{spec}.fence")
    check = next(item for item in program.checks if item.name == name)
    model, recording = mapped(program, check, dict(constants))
    assert recording is not None
    return MappedModel(model, recording)


def judged(
    compared: MappedModel, path: Path, wanted: str | int | None = None
) -> dict[object, Judgement]:
    """Judges all histories of a file, or only the wanted one."""
    recording = read(compared.recording, [path])
    assert not recording.problems
    return {
        history.key: judge(compared, history, EFFORT)
        for history in recording.histories
        if wanted is None or history.key == wanted
    }


def verdicts(compared: MappedModel, path: Path, wanted: str | int | None = None) -> set[str]:
    return {judgement.verdict for judgement in judged(compared, path, wanted).values()}


@dataclass(frozen=True, slots=True)
class Recorded:
    spec: str
    check: str
    file: str
    histories: int

    def __str__(self) -> str:
        return f"{self.file}-{self.check}"


ALLOWED = {("batch_behind_its_marker", 0), ("batch_behind_its_marker", 1)}
"""With V1, the next transaction has the same epoch, so the batch may belong to it if it has the
same partition.
"""


ORDERS = {"offset", "leader_epoch", "coordinator_epoch"}
"""The fields that determine the order of the lines in a log."""


def lines_of(file: str) -> list[Event]:
    with gzip.open(HERE / f"{file}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def damaged(
    damage: Callable[[random.Random, list[Event]], None],
    seed: int,
    version: int,
    folder: Path,
    kind: str = "java",
    ordered: bool = False,
) -> Path:
    """Writes a file that contains only the damaged history.

    Unless ``ordered`` is set, the order of the lines is determined only by their positions.
    """
    events = lines_of(f"{kind}-4.4.0-tv{version}")
    if kind != "java":
        # Several ids wrote concurrently; sorting groups the lines of each id.
        events.sort(key=lambda event: (event["source"], event["producer_id"]))
    if not ordered:
        events = [{name: event[name] for name in event.keys() - ORDERS} for event in events]
    before = by_history(events)
    damage(random.Random(seed), events)
    after = by_history(events)
    [changed] = [key for key, lines in after.items() if lines != before[key]]
    path = folder / "damaged.jsonl"
    path.write_text("".join(f"{line}\n" for line in after[changed]), encoding="utf-8")
    return path


def by_owner(events: list[Event]) -> dict[int, str]:
    return {event["producer_id"]: event["id"] for event in events if is_record(event)}


def by_history(events: list[Event]) -> dict[str, list[str]]:
    owner = by_owner(events)
    lines: dict[str, list[str]] = {key: [] for key in owner.values()}
    for event in events:
        lines[owner[event["producer_id"]]].append(json.dumps(event))
    return lines
