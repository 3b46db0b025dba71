"""Recordings of a partition without a leader, against the rules of the models.

``.ci/live`` runs this, and needs Java and Maven.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.live.brokers import Broker, accepted, running, until
from tests.live.producers import Producer, address, conformed, recorded

from fencepost.checker.kafka import requests
from fencepost.checker.kafka.requests import Connection


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
