"""Hand-written histories get the right verdicts from the rules of Kafka."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.damage import Event
from tests.support.kafka_recordings import mapping, verdicts


def transactions(kind: str, epoch: int, *partitions: str) -> Event:
    fields = {"state": kind, "producer_id": 7, "epoch": epoch, "partitions": [*partitions]}
    return {"source": "__transaction_state-0", "id": "a", "client_transaction_version": 2, **fields}


def batch(kind: str, epoch: int, partition: str = "t-0", **fields: object) -> Event:
    return {"source": partition, "kind": kind, "producer_id": 7, "epoch": epoch, **fields}


START = {**transactions("CompleteCommit", 5), "source": "start-of-__transaction_state-0"}
BEFORE = batch("BEFORE", 5, in_transaction=False)
INIT = transactions("Empty", 6)
ENDED = [
    transactions("Ongoing", 6, "t-0"),
    batch("DATA", 6, sequence=0, count=1),
    transactions("PrepareCommit", 7, "t-0"),
    batch("COMMIT", 7),
    transactions("CompleteCommit", 7),
]
LATE: dict[str, tuple[list[Event], str]] = {
    "from InitProducerId on": ([START, BEFORE, INIT, *ENDED], "allowed"),
    "nothing was in the partition": ([START, INIT, *ENDED], "allowed"),
    "a marker is missing": ([START, BEFORE, INIT, *ENDED[:3], ENDED[4]], "not allowed"),
    "the epoch is too high": ([START, INIT | {"epoch": 7}], "not allowed"),
    "the partition knows a later epoch": (
        [START, BEFORE | {"epoch": 6}, INIT, *ENDED], "not allowed",
    ),
    "no InitProducerId": ([START | {"epoch": 6}, BEFORE, *ENDED], "unknown"),
    "no start": ([BEFORE, INIT, *ENDED], "not allowed"),
    "a start within a transaction": ([START | {"state": "Ongoing"}, INIT, *ENDED], "not allowed"),
    "two starts": ([START, START, INIT, *ENDED], "not allowed"),
}  # fmt: skip


@pytest.mark.parametrize("name", LATE)
def test_a_history_that_begins_late(name: str, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    lines, verdict = LATE[name]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert verdicts(mapping("conform_kafka", "r4_4_0"), path) == {verdict}


# ---------------------------------------------------------------- further fields of lines


def recorded(record: Event, epoch: int = 0, **ids: int | None) -> Event:
    """Returns a record as brokers of 4.3 and later write it, with this epoch of its coordinator."""
    return record | {"version": 1, "previous_producer_id": 7, "leader_epoch": epoch, **ids}


def marker(epoch: int, of: int) -> Event:
    return batch("COMMIT", epoch, coordinator_epoch=of)


FIRST = recorded(transactions("Empty", 0), client_transaction_version=None)
OPEN = [recorded(transactions("Ongoing", 0, "t-0")), batch("DATA", 0, sequence=0, count=1)]
PREPARED = recorded(transactions("PrepareCommit", 1, "t-0"))
COMPLETE = recorded(transactions("CompleteCommit", 1))
ONE = [FIRST, *OPEN, PREPARED, marker(1, 0), COMPLETE]
LAST_START = START | {"epoch": 32765}
LAST = [
    LAST_START,
    recorded(transactions("Empty", 32766)),
    recorded(transactions("Ongoing", 32766, "t-0")),
    recorded(transactions("PrepareCommit", 32767, "t-0"), next_producer_id=8),
    marker(32767, 0),
    recorded(transactions("CompleteCommit", 0), producer_id=8),
    recorded(transactions("Ongoing", 0, "t-0"), producer_id=8, previous_producer_id=8),
]
"""A client can have no epoch after 32766, so the next transaction has another producer id."""


def changed(lines: list[Event], number: int, **fields: object) -> list[Event]:
    """Replaces fields of a line; a value of None removes the field."""
    line = {**lines[number], **fields}
    other = {name: value for name, value in line.items() if value is not None}
    return [*lines[:number], other, *lines[number + 1 :]]


def bare(lines: list[Event]) -> list[Event]:
    """Returns the records with only the fields that every recording has."""
    names = ("version", "previous_producer_id", "next_producer_id", "leader_epoch")
    return [{name: line[name] for name in line if name not in names} for line in lines]


def of_epochs(prepared: int, marked: int, completed: int) -> list[Event]:
    """Returns a transaction whose coordinators have these epochs."""
    return [
        FIRST, *OPEN, PREPARED | {"leader_epoch": prepared}, marker(1, marked),
        COMPLETE | {"leader_epoch": completed},
    ]  # fmt: skip


NO_VERSION = [{name: line[name] for name in line if name != "version"} for line in ONE]
TWICE = [FIRST, *OPEN, PREPARED, marker(1, 0), marker(1, 2), COMPLETE | {"leader_epoch": 2}]
BOTH = ("t-0", "t-1")
MEANWHILE = [
    FIRST, recorded(transactions("Ongoing", 0, *BOTH)), OPEN[1],
    batch("DATA", 0, "t-1", sequence=0, count=1), recorded(transactions("PrepareCommit", 1, *BOTH)),
    marker(1, 0), batch("COMMIT", 1, "t-1", coordinator_epoch=2), COMPLETE | {"leader_epoch": 2},
]  # fmt: skip
"""The coordinator is replaced when only one of two partitions has its marker."""
BESIDE: dict[str, tuple[str, list[Event], str]] = {
    "as it is": ("r4_4_0", ONE, "allowed"),
    "nothing is said": ("r4_4_0", bare(ONE), "allowed"),
    "the previous id is missing": (
        "r4_4_0", changed(ONE, 1, previous_producer_id=None), "not allowed",
    ),
    "the previous id is another one": (
        "r4_4_0", changed(ONE, 1, previous_producer_id=6), "not allowed",
    ),
    "there is a next id": ("r4_4_0", changed(ONE, 3, next_producer_id=8), "not allowed"),
    "ids by the rules of a release that does not record them": ("r4_2_0", ONE, "allowed"),
    "... and a wrong one": ("r4_2_0", changed(ONE, 1, previous_producer_id=6), "not allowed"),
    "none before 4.3": (
        "r4_2_0",
        [line | {"version": 1} if "state" in line else line for line in bare(ONE)],
        "allowed",
    ),
    "a record does not say its version": ("r4_4_0", changed(ONE, 3, version=None), "not allowed"),
    "no version, but ids": (
        "r4_4_0", NO_VERSION, "allowed",
    ),
    "no version, and a wrong id": (
        "r4_4_0",
        changed(NO_VERSION, 1, previous_producer_id=6),
        "not allowed",
    ),
    "ids in version 0": ("r4_4_0", changed(ONE, 1, version=0), "not allowed"),
    "a version that nobody knows": ("r4_4_0", changed(ONE, 3, version=2), "unknown"),
    "the last epoch": ("r4_4_0", LAST, "allowed"),
    "the last epoch, and nothing is said": ("r4_4_0", bare(LAST), "allowed"),
    "the next id is missing": ("r4_4_0", changed(LAST, 3, next_producer_id=None), "not allowed"),
    "the next id is not the one that comes": (
        "r4_4_0", changed(LAST, 3, next_producer_id=9), "not allowed",
    ),
    "the id before is not the one that was": (
        "r4_4_0", changed(LAST, 5, previous_producer_id=8), "not allowed",
    ),
    "the id before stays": ("r4_4_0", changed(LAST, 6, previous_producer_id=7), "not allowed"),
    "a marker of the coordinator before": ("r4_4_0", of_epochs(1, 0, 1), "not allowed"),
    "... whose epoch was raised in place": ("r4_4_0_outages", of_epochs(1, 0, 1), "allowed"),
    "a marker of the next coordinator": ("r4_4_0", of_epochs(0, 2, 2), "allowed"),
    "a marker of a coordinator to come": ("r4_4_0", of_epochs(0, 2, 0), "not allowed"),
    "... where brokers were down": ("r4_4_0_outages", of_epochs(0, 2, 0), "not allowed"),
    "a record of the coordinator that came": ("r4_4_0", of_epochs(0, 0, 2), "allowed"),
    "only markers say it": ("r4_4_0", bare(of_epochs(0, 5, 0)), "allowed"),
    "only records say it": ("r4_4_0", changed(ONE, 4, coordinator_epoch=None), "allowed"),
    "another coordinator meanwhile": ("r4_4_0_outages", MEANWHILE, "allowed"),
    "... of which no record is": (
        "r4_4_0_outages", [*MEANWHILE[:-1], COMPLETE], "not allowed",
    ),
    "sent again by the next coordinator": ("r4_4_0_outages", TWICE, "allowed"),
    "... which did not record it": (
        "r4_4_0_outages", [*TWICE[:-1], COMPLETE], "not allowed",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BESIDE)
def test_further_fields_of_lines(name: str, tmp_path: Path) -> None:
    """The rules check the previous and next ids in records, and the epochs of coordinators."""
    path = tmp_path / "r.jsonl"
    check, lines, verdict = BESIDE[name]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert verdicts(mapping("conform_kafka", check), path) == {verdict}


def test_a_level_that_is_raised_from_0(tmp_path: Path) -> None:
    """Records of version 0 have no field for producer ids."""
    path = tmp_path / "r.jsonl"
    lines = [recorded(transactions("Empty", epoch)) for epoch in range(4)]
    for number, line in enumerate(lines):
        del line["client_transaction_version"]
        if number < 2:
            line |= {"version": 0}
            del line["previous_producer_id"]
    for expected in ("allowed", "not allowed"):
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        assert verdicts(mapping("conform_kafka", "r4_4_0_changes"), path) == {expected}
        # Without an event that changes the level, the history is not allowed.
        assert verdicts(mapping("conform_kafka", "r4_4_0"), path) == {"not allowed"}
        lines[1]["version"] = 1


def test_an_upgrade_from_before_4_3(tmp_path: Path) -> None:
    """The first records have no ids, since the earlier release does not write them; the rules of
    the later release require ids unless those rules are disabled.
    """
    path = tmp_path / "r.jsonl"
    older = [
        recorded(line, previous_producer_id=None) if "state" in line else line
        for line in (FIRST, *OPEN, PREPARED, marker(1, 0), COMPLETE)
    ]
    lines = [{name: line[name] for name in line if line[name] is not None} for line in older]
    lines.append(recorded(transactions("Ongoing", 1, "t-0")))
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert verdicts(mapping("conform_kafka", "r4_4_0"), path) == {"not allowed"}
    left_out = (("coordinator_rules.PersistPreviousAndNext", "false"),)
    assert verdicts(mapping("conform_kafka", "r4_4_0", left_out), path) == {"allowed"}
