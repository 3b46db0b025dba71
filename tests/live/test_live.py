"""The models against brokers that run: what a driver asks them, and what a recorder reads.

``.ci/live`` runs this, and needs Java and Maven.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.live.brokers import (
    HOST,
    Broker,
    accepted,
    prepared,
    running,
    until,
)
from tests.support.paths import ROOT

from fencepost.checker.cli.main import main
from fencepost.checker.kafka import requests
from fencepost.checker.kafka.requests import Connection

MODELS = ROOT / "models" / "kafka"
RELEASE = "4.4.0"


def conformed(level: int, check: str, recording: Path) -> int:
    return main(
        ["conform", str(MODELS / f"conform_v{level}.fence"), "--check", check, str(recording)]
    )


def recorded(out: Path, *where: str) -> Path:
    assert main(["record", "kafka", *where, "--out", str(out)]) == 0
    return out


def same_files(one: Path, other: Path) -> None:
    """Two recordings that are equal, file by file."""
    names = sorted(path.name for path in one.iterdir())
    assert names == sorted(path.name for path in other.iterdir())
    for name in names:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def address(broker: Broker) -> tuple[str, str]:
    return "--bootstrap", f"{HOST}:{broker.port}"


class Producer:
    """A client with ``transaction.version`` 2 that does one thing after the other."""

    def __init__(self, name: str, coordinator: Connection, leader: Connection) -> None:
        self.name = name
        self.coordinator, self.leader = coordinator, leader
        self.began()

    def began(self) -> None:
        given = accepted(self.coordinator, lambda: requests.init_producer_id(self.name))
        self.id, self.epoch = given.producer_id, given.producer_epoch

    def writes(self, partition: int, sequence: int = 0) -> None:
        who = self.id, self.epoch, sequence
        accepted(self.leader, lambda: requests.produce(self.name, *who, "t", partition))

    def ends(self, commit: bool = True) -> None:
        given = self.coordinator.ask(requests.end_txn(self.name, self.id, self.epoch, commit))
        assert self.coordinator.error(given) == "NONE"
        self.epoch = given.producer_epoch

    def is_complete(self) -> bool:
        return self.state().startswith("Complete")

    def is_settled(self) -> bool:
        return not self.state().startswith("Prepare")

    def state(self) -> str:
        answer = accepted(self.coordinator, lambda: requests.describe_transaction(self.name))
        return str(answer.transaction_states[0].transaction_state)


# ---------------------------------------------------------------- walks and traces


@pytest.mark.parametrize("level", [1, 2])
def test_a_walk(level: int, tmp_path: Path) -> None:
    broker = Broker(RELEASE, tmp_path / "broker", level)
    spec, saved = MODELS / f"conform_answers_v{level}.fence", tmp_path / "walk.jsonl"
    with running(broker):
        words = ["drive", str(spec), "--check", "r4_4_0", "--system", "kafka", "--requests", "400"]
        option = ["--option", f"bootstrap={HOST}:{broker.port}", "--record", str(saved)]
        assert main([*words, *option]) == 0
    lines = [json.loads(line) for line in saved.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 400
    assert len({(line["kind"], line["error"]) for line in lines}) > 15


def test_where_a_check_leads(tmp_path: Path) -> None:
    """A check finds the way to an error that no client should see; the broker gives it, too."""
    trace, saved = tmp_path / "found.itf.json", tmp_path / "found.jsonl"
    assert (
        main(["check", str(ROOT / "tests" / "live" / "asked_again.fence"), "--trace", str(trace)])
        == 0
    )
    broker = Broker(RELEASE, tmp_path / "broker")
    with running(broker):
        words = ["drive", str(MODELS / "conform_answers_v2.fence"), "--check", "r4_4_0"]
        first = ["--const", "brokers.FirstEpoch=32765", "--option", "first_epoch=32765"]
        where = ["--system", "kafka", "--option", f"bootstrap={HOST}:{broker.port}"]
        follow = ["--follow", str(trace), "--record", str(saved)]
        assert main([*words, *first, *where, *follow]) == 0
    lines = [json.loads(line) for line in saved.read_text(encoding="utf-8").splitlines()]
    assert [line["kind"] for line in lines] == ["init", "init"]
    assert [line["error"] for line in lines] == ["NONE", "UNKNOWN_SERVER_ERROR"]


# ---------------------------------------------------------------- recordings


def test_a_recording_with_a_kill(tmp_path: Path) -> None:
    broker = Broker(RELEASE, tmp_path / "broker")
    with running(broker):
        connection = prepared(broker)
        producers = [Producer(f"k{n}", connection, connection) for n in range(4)]
        for n, one in enumerate(producers):
            one.writes(0)
            one.writes(1)
            one.ends(commit=n % 2 == 0)
            until(one.is_complete)
            one.writes(n % 2)
        # Two transactions are ended and two are not, when it is killed.
        for one in producers[:2]:
            connection.send(requests.end_txn(one.name, one.id, one.epoch, True))
        broker.kill()
        broker.start()
        again = broker.connection()
        for one in producers:
            one.coordinator = one.leader = again
            until(one.is_settled)
            one.began()
            one.writes(0)
            one.writes(1)
            one.ends()
        for one in producers:
            until(one.is_complete)
        live = recorded(tmp_path / "live", *address(broker), "--topics", "t")
    stopped = recorded(tmp_path / "stopped", "--segments", str(broker.data), "--topics", "t")
    same_files(live, stopped)
    assert "payload" not in "".join(path.read_text() for path in live.iterdir())
    assert conformed(2, "r4_4_0_outages", live) == 0


def without_a_leader(release: str, folder: Path, completes: bool) -> Path:
    """A recording of two brokers; the one that leads t-0 is down while its transaction ends."""
    one = Broker(release, folder / "one")
    two = Broker(release, folder / "two", number=2, controller=one.controller)
    with running(one, two):
        coordinator, leader = one.connection(), two.connection()
        accepted(coordinator, lambda: requests.create_topic("t", [[2]]))
        log = "__transaction_state"
        accepted(coordinator, lambda: requests.create_topic(log, [[1]], compacted=True))
        producer = Producer("x", coordinator, leader)
        producer.writes(0)
        two.kill()
        until(lambda: leaderless(coordinator, "t"))
        producer.ends()
        if completes:
            until(lambda: producer.state() == "CompleteCommit")
        else:
            assert producer.state() == "PrepareCommit"
        two.start()
        producer.leader = two.connection()
        until(lambda: producer.state() == "CompleteCommit")
        producer.writes(0)
        producer.ends(commit=False)
        until(lambda: producer.state() == "CompleteAbort")
        return recorded(folder / "recording", *address(one), "--topics", "t")


def leaderless(connection: Connection, topic: str) -> bool:
    """Whether the broker knows no leader of the topic's first partition."""
    answer: Any = connection.ask(requests.metadata(topic))
    partitions = answer.topics[0].partitions
    return bool(partitions and partitions[0].leader_id < 0)


@pytest.mark.parametrize(
    ("release", "completes", "code"), [("4.4.0", True, 15), ("4.2.0", False, 0)]
)
def test_a_marker_without_a_leader(
    release: str, completes: bool, code: int, tmp_path: Path
) -> None:
    """4.4.0 takes the marker for written: the transaction is complete, and a committed record is
    aborted with the next one. By the rule of 4.2.0 that is not allowed.
    """
    recording = without_a_leader(release, tmp_path, completes)
    assert conformed(2, "r4_2_0_outages", recording) == code
    assert conformed(2, f"r{release.replace('.', '_')}_outages", recording) == 0
