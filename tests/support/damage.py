"""Ways to damage the logs of brokers.

No run of the model explains the damaged logs. Some kinds of damage are revealed only by the fields
for the order of lines.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import groupby, pairwise
from typing import Any

Event = dict[str, Any]


def is_record(event: Event) -> bool:
    return "state" in event


def is_marker(event: Event) -> bool:
    return event.get("kind") in ("COMMIT", "ABORT")


def pick(rng: random.Random, events: list[Event], fits: Callable[[Event], bool]) -> int:
    return rng.choice([n for n, event in enumerate(events) if fits(event)])


def marker_missing(rng: random.Random, events: list[Event]) -> None:
    del events[pick(rng, events, is_marker)]


def marker_turned(rng: random.Random, events: list[Event]) -> None:
    event = events[pick(rng, events, is_marker)]
    event["kind"] = "ABORT" if event["kind"] == "COMMIT" else "COMMIT"


def marker_twice(rng: random.Random, events: list[Event]) -> None:
    number = pick(rng, events, is_marker)
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
    events[pick(rng, events, lambda event: event.get("kind") == "DATA")]["epoch"] += 1


def partition_not_added(rng: random.Random, events: list[Event]) -> None:
    """Removes a partition from every record of a transaction."""
    number = pick(rng, events, lambda e: e.get("state") == "PrepareCommit" and e["partitions"])
    key, partition = events[number]["id"], events[number]["partitions"][0]
    while events[number].get("id") != key or events[number]["state"] in (
        "Ongoing",
        "PrepareCommit",
    ):
        if events[number].get("id") == key:
            events[number]["partitions"] = [
                other for other in events[number]["partitions"] if other != partition
            ]
        number -= 1


def record_missing(rng: random.Random, events: list[Event]) -> None:
    prepared = ("PrepareCommit", "PrepareAbort")
    del events[pick(rng, events, lambda event: event.get("state") in prepared)]


def commit_recorded_as_abort(rng: random.Random, events: list[Event]) -> None:
    number = pick(rng, events, lambda event: event.get("state") == "PrepareCommit")
    events[number]["state"] = "PrepareAbort"


def is_batch_of_client(event: Event) -> bool:
    offsets = str(event.get("source", "")).startswith("__consumer_offsets-")
    return event.get("kind") == "DATA" and not offsets


def batch_twice(rng: random.Random, events: list[Event]) -> None:
    """Repeats a batch that a client wrote, since a group coordinator may write the same batch
    twice.
    """
    number = pick(rng, events, is_batch_of_client)
    events.insert(number, dict(events[number]))


def first_batch_twice(rng: random.Random, events: list[Event]) -> None:
    """Repeats a first batch. Only its source distinguishes it from offsets, which all have sequence
    0.
    """
    number = pick(rng, events, lambda event: is_batch_of_client(event) and event["sequence"] == 0)
    events.insert(number, dict(events[number]))


def sequence_restarts(rng: random.Random, events: list[Event]) -> None:
    """Sets a sequence number back to 0 within an epoch."""
    events[pick(rng, events, lambda e: is_batch_of_client(e) and e["sequence"] > 0)]["sequence"] = 0


def id_begun_twice(rng: random.Random, events: list[Event]) -> None:
    """Repeats the first InitProducerId of an id, with an answer that its producer has not seen."""
    number = pick(rng, events, lambda event: event.get("state") == "Empty" and not event["epoch"])
    events.insert(number, dict(events[number]))


DAMAGE = (
    marker_missing, marker_turned, marker_twice, batch_behind_its_marker, epoch_off_by_one,
    partition_not_added, record_missing, commit_recorded_as_abort, batch_twice, first_batch_twice,
    sequence_restarts, id_begun_twice,
)  # fmt: skip


# ---------------------------------------------------------------- order of lines


def line_twice(rng: random.Random, events: list[Event]) -> None:
    number = rng.randrange(len(events))
    events.insert(number, dict(events[number]))


def neighbours_exchanged(rng: random.Random, events: list[Event]) -> None:
    """Exchanges two lines of one producer id in one source."""
    early, late = rng.choice(_neighbours(events, lambda event: True))
    events[early], events[late] = events[late], events[early]


def leader_epoch_falls(rng: random.Random, events: list[Event]) -> None:
    early, _ = rng.choice(_neighbours(events, lambda event: True))
    events[early]["leader_epoch"] += 1 + max(event["leader_epoch"] for event in events)


def coordinator_epoch_falls(rng: random.Random, events: list[Event]) -> None:
    early, _ = rng.choice(_neighbours(events, is_marker))
    last = max(event["coordinator_epoch"] for event in events if is_marker(event))
    events[early]["coordinator_epoch"] += 1 + last


def _neighbours(events: list[Event], fits: Callable[[Event], bool]) -> list[tuple[int, int]]:
    """Returns pairs of consecutive matching events with the same source and producer id, by
    number.
    """

    def queue(number: int) -> tuple[str, int]:
        return events[number]["source"], events[number]["producer_id"]

    numbers = sorted((n for n, event in enumerate(events) if fits(event)), key=queue)
    return [pair for _, group in groupby(numbers, key=queue) for pair in pairwise(group)]


DISORDER = (line_twice, neighbours_exchanged, leader_epoch_falls, coordinator_epoch_falls)
