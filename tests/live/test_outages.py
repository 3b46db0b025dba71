"""Faults of brokers while they are driven: kills, stops, and starts from states that were written
into their log; also the last epochs, reached by real requests.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.live.brokers import RELEASE, Broker, accepted, running
from tests.live.producers import driven, led_by_a_check

from fencepost.checker.systems.kafka import requests

NOBODY_SAID = {"error": "NONE", "id": -1, "answered": -1}


def lines(saved: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in saved.read_text(encoding="utf-8").splitlines()]


def put(state: str, epoch: int, partitions: list[int], successor: bool) -> dict[str, Any]:
    where = {"pid": 0, "epoch": epoch, "partitions": partitions, "previous": 0}
    return {"kind": "put", "state": state, "of": "V2", "successor": successor, **where}


def end(pid: int, epoch: int, commit: bool = True) -> dict[str, Any]:
    return {"kind": "end", "pid": pid, "epoch": epoch, "commit": commit, **NOBODY_SAID}


def produce(sequence: int) -> dict[str, Any]:
    who = {"pid": 0, "epoch": 0, "p": 0, "seq": sequence}
    return {"kind": "produce", **who, "error": "NONE"}


def init(epoch: int) -> dict[str, Any]:
    return {"kind": "init", "expected": {"producer_id": 0, "epoch": epoch}, **NOBODY_SAID}


HISTORIES = (
    # No record contains the last epoch (KAFKA-20357), but the broker remembers the batches.
    [produce(0), end(0, 0), {"kind": "killed"}, produce(0), end(0, 0), init(0)],
    # The commit at the last epoch takes a new id, which a prepared abort already uses.
    [put("Ongoing", 32766, [0], False), end(0, 32766), end(0, 32766), end(1, 0)],
    [put("PrepareAbort", 32767, [0, 1], True), end(0, 32766, False), end(1, 0, False)],
)
ANSWERS = [
    "NONE", "NONE", "INVALID_PRODUCER_EPOCH", "NONE", "PRODUCER_FENCED",
    "NONE 1", "NONE 1", "INVALID_TXN_STATE",
    "NONE 1", "NONE 1",
]  # fmt: skip


def test_a_broker_continues_from_written_states(tmp_path: Path) -> None:
    wanted, saved = tmp_path / "wanted.jsonl", tmp_path / "saved.jsonl"
    rows = (
        json.dumps({"episode": number, "source": "requests", **line})
        for number, history in enumerate(HISTORIES)
        for line in history
    )
    wanted.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    broker = Broker(RELEASE, tmp_path / "broker", supervised=True)
    with running(broker):
        words = ("--follow", str(wanted), "--record", str(saved))
        assert driven(2, broker, *words, kill=broker.killed_by) == 0
        # Reaches the last epochs once more, by 32,765 real requests.
        last = led_by_a_check("last_epoch", 32765, broker, tmp_path)
    answers = [
        f"{line['error']} {line['id']}" if line.get("id", 0) > 0 else line["error"]
        for line in lines(saved)
        if "error" in line
    ]
    assert answers == ANSWERS
    assert len(lines(saved)) == sum(map(len, HISTORIES))
    assert [(line["kind"], line["error"]) for line in lines(last)] == [
        ("init", "NONE"), ("init", "UNKNOWN_SERVER_ERROR")
    ]  # fmt: skip


def test_a_walk_while_a_leader_is_stopped(tmp_path: Path) -> None:
    patient = {"broker.session.timeout.ms": "60000"}
    first = Broker(RELEASE, tmp_path / "one", settings=patient)
    second = Broker(
        RELEASE, tmp_path / "two", number=2, controller=first.controller, settings=patient
    )
    saved = tmp_path / "walk.jsonl"
    with running(first, second):
        log = "__transaction_state"
        connection = first.connection()
        accepted(connection, lambda: requests.create_topic(log, [[1]], compacted=True))
        words = ("--requests", "200", "--record", str(saved))
        stop, go_on = second.signalled_by("STOP"), second.signalled_by("CONT")
        assert driven(2, first, *words, second="2", pause=stop, resume=go_on) == 0
    asked = [line["kind"] for line in lines(saved)]
    assert asked.count("stopped") > 5
    assert asked.count("continued") > 3
