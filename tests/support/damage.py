"""Eight ways in which the log of brokers may be damaged so that no run of the model shows it."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

Event = dict[str, Any]


def is_record(event: Event) -> bool:
    return "state" in event


def is_marker(event: Event) -> bool:
    return event.get("kind") in ("COMMIT", "ABORT")


def some(rng: random.Random, events: list[Event], fits: Callable[[Event], bool]) -> int:
    return rng.choice([n for n, event in enumerate(events) if fits(event)])


def marker_missing(rng: random.Random, events: list[Event]) -> None:
    del events[some(rng, events, is_marker)]


def marker_turned(rng: random.Random, events: list[Event]) -> None:
    event = events[some(rng, events, is_marker)]
    event["kind"] = "ABORT" if event["kind"] == "COMMIT" else "COMMIT"


def marker_twice(rng: random.Random, events: list[Event]) -> None:
    number = some(rng, events, is_marker)
    events.insert(number, dict(events[number]))


def batch_behind_its_marker(rng: random.Random, events: list[Event]) -> None:
    pairs = [
        number
        for number, (event, after) in enumerate(pairwise(events))
        if event.get("kind") == "DATA" and is_marker(after)
        and all(event[name] == after[name] for name in ("source", "producer_id"))
    ]  # fmt: skip
    number = rng.choice(pairs)
    events[number], events[number + 1] = events[number + 1], events[number]


def epoch_off_by_one(rng: random.Random, events: list[Event]) -> None:
    events[some(rng, events, lambda event: event.get("kind") == "DATA")]["epoch"] += 1


def partition_not_added(rng: random.Random, events: list[Event]) -> None:
    """It is in no record of the transaction."""
    number = some(rng, events, lambda e: e.get("state") == "PrepareCommit" and e["partitions"])
    key, partition = events[number]["id"], events[number]["partitions"][0]
    while events[number].get("id") != key or events[number]["state"] in (
        "Ongoing",
        "PrepareCommit",
    ):
        if events[number].get("id") == key:
            events[number]["partitions"] = [
                one for one in events[number]["partitions"] if one != partition
            ]
        number -= 1


def record_missing(rng: random.Random, events: list[Event]) -> None:
    prepared = ("PrepareCommit", "PrepareAbort")
    del events[some(rng, events, lambda event: event.get("state") in prepared)]


def commit_recorded_as_abort(rng: random.Random, events: list[Event]) -> None:
    number = some(rng, events, lambda event: event.get("state") == "PrepareCommit")
    events[number]["state"] = "PrepareAbort"


DAMAGE = (
    marker_missing, marker_turned, marker_twice, batch_behind_its_marker, epoch_off_by_one,
    partition_not_added, record_missing, commit_recorded_as_abort,
)  # fmt: skip
