"""Recordings of real brokers that are test data, compared with the rules of the models."""

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

from fencepost.checker.conform.lines import read
from fencepost.checker.conform.mapping import Mapped
from fencepost.checker.conform.search import judge
from fencepost.checker.conform.verdicts import Effort, Judged
from fencepost.spec.elaborate.claims.program import load, mapped

HERE = ROOT / "tests" / "models" / "recordings"
EFFORT = Effort()
Constants = tuple[tuple[str, str], ...]


@cache
def mapping(spec: str, name: str, constants: Constants = ()) -> Mapped:
    program = load(MODELS / f"{spec}.fence")
    check = next(one for one in program.checks if one.name == name)
    model, recording = mapped(program, check, dict(constants))
    assert recording is not None
    return Mapped(model, recording)


def judged(compared: Mapped, path: Path, wanted: str | int | None = None) -> dict[object, Judged]:
    """The verdicts on the histories of a file, or on one of them."""
    found = read(compared.recording, [path])
    assert not found.problems
    return {
        one.key: judge(compared, one, EFFORT)
        for one in found.histories
        if wanted is None or one.key == wanted
    }


def verdicts(compared: Mapped, path: Path, wanted: str | int | None = None) -> set[str]:
    return {one.verdict for one in judged(compared, path, wanted).values()}


@dataclass(frozen=True, slots=True)
class Recorded:
    spec: str
    check: str
    file: str
    histories: int

    def __str__(self) -> str:
        return f"{self.file}-{self.check}"


ALLOWED = {("batch_behind_its_marker", 0), ("batch_behind_its_marker", 1)}
"""With V1 the next transaction has the same epoch, and where it has the partition the batch may be
one of it.
"""


ORDERS = {"offset", "leader_epoch", "coordinator_epoch"}
"""The fields that say in which order the lines of a log come."""


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
    """A file with the history that is damaged, and no other. Unless it is ``ordered``, nothing but
    the place of a line says in which order lines came.
    """
    events = lines_of(f"{kind}-4.4.0-tv{version}")
    if kind != "java":
        # Several ids wrote at a time; in this order what one wrote stands together.
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
    found: dict[str, list[str]] = {key: [] for key in owner.values()}
    for event in events:
        found[owner[event["producer_id"]]].append(json.dumps(event))
    return found
