"""Recordings of a partition without a leader are compared with the rules of the models.

The tests need Java and Maven; ``.ci/live`` runs them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.live.brokers import Broker, accepted, running, until
from tests.live.producers import Producer, address, conformed, recorded

from fencepost.checker.systems.kafka import requests
from fencepost.checker.systems.kafka.requests import Connection


def without_a_leader(release: str, folder: Path, completes: bool) -> Path:
    """Records two brokers; the leader of t-0 is down while a transaction of that partition ends."""
    first = Broker(release, folder / "one")
    second = Broker(release, folder / "two", number=2, controller=first.controller)
    with running(first, second):
        coordinator, leader = first.connection(), second.connection()
        accepted(coordinator, lambda: requests.create_topic("t", [[2]]))
        log = "__transaction_state"
        accepted(coordinator, lambda: requests.create_topic(log, [[1]], compacted=True))
        producer = Producer("x", coordinator, leader)
        producer.writes(0)
        second.kill()
        until(lambda: leaderless(coordinator, "t"))
        producer.ends()
        if completes:
            until(lambda: producer.state() == "CompleteCommit")
        else:
            assert producer.state() == "PrepareCommit"
        second.start()
        producer.leader = second.connection()
        until(lambda: producer.state() == "CompleteCommit")
        producer.writes(0)
        producer.ends(commit=False)
        until(lambda: producer.state() == "CompleteAbort")
        return recorded(folder / "recording", *address(first), "--topics", "t")


def leaderless(connection: Connection, topic: str) -> bool:
    """Checks whether the broker has no leader for the topic's first partition."""
    answer: Any = connection.ask(requests.metadata(topic))
    partitions = answer.topics[0].partitions
    return bool(partitions and partitions[0].leader_id < 0)


@pytest.mark.parametrize(
    ("release", "completes", "code"), [("4.4.0", True, 15), ("4.2.0", False, 0)]
)
def test_a_marker_without_a_leader(
    release: str, completes: bool, code: int, tmp_path: Path
) -> None:
    """Release 4.4.0 assumes that the marker was written.

    The transaction is complete, and a committed record is aborted with the next transaction. The
    rule of 4.2.0 forbids that.
    """
    recording = without_a_leader(release, tmp_path, completes)
    assert conformed(2, "r4_2_0_outages", recording) == code
    assert conformed(2, f"r{release.replace('.', '_')}_outages", recording) == 0
