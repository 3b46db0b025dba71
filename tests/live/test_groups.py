"""Transactions that commit offsets of groups, on one broker with several coordinators' logs."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from tests.live.brokers import RELEASE, Broker, accepted, prepared, running, until, with_level
from tests.live.producers import Producer, address, conformed, recorded

from fencepost.checker.kafka import group_requests
from fencepost.checker.kafka.requests import Connection

LOGS = {"offsets.topic.num.partitions": "3", "transaction.state.log.num.partitions": "3"}
TOPICS = "t,__consumer_offsets"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Generator[Broker]:
    made = Broker(RELEASE, tmp_path_factory.mktemp("groups") / "broker", settings=LOGS)
    with running(made):
        connection = prepared(made)
        accepted(connection, lambda: group_requests.find_coordinator("any"))
        yield made


def transactions_with_offsets(connection: Connection, level: int) -> None:
    """Four ids at a time, and three groups; the last transaction of an id has offsets only."""
    every = [Producer(f"v{level}-{n}", connection, connection, level) for n in range(4)]
    for turn in range(4):
        for n, one in enumerate(every):
            if turn < 3:
                one.writes(n % 2, sequence=turn if one.old else 0)
            one.commits("red", turn)
            one.commits("blue" if n % 2 else "green", turn)
            one.commits("red", turn + 1)
        for n, one in enumerate(every):
            one.ends(commit=(n + turn) % 3 > 0)
        for one in every:
            until(one.is_complete)


@pytest.mark.parametrize("level", [1, 2])
def test_a_recording_of_groups(level: int, broker: Broker, tmp_path: Path) -> None:
    """Each history is judged by itself: ids share partitions with data, and have coordinators of
    their own.
    """
    with with_level(broker, level):
        connection = broker.connection()
        transactions_with_offsets(connection, level)
    out = recorded(tmp_path / "groups", *address(broker), "--topics", TOPICS)
    assert conformed(level, "r4_4_0", only(out, f"v{level}-", tmp_path / "only")) == 0
    logs = [path.name for path in out.iterdir() if path.name.startswith("__transaction_state")]
    assert len(logs) > 1
    groups = {line.get("group") for line in lines_of(out) if line["source"].startswith("__con")}
    assert groups >= {None, "red", "green", "blue"}


def lines_of(folder: Path) -> list[dict[str, Any]]:
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.jsonl"))]
    return [json.loads(line) for text in texts for line in text.splitlines()]


def only(folder: Path, names: str, out: Path) -> Path:
    """The histories whose transactional ids begin so, as one file."""
    lines = lines_of(folder)
    ids = {one["producer_id"] for one in lines if one.get("id", "").startswith(names)}
    out.with_suffix(".jsonl").write_text(
        "".join(f"{json.dumps(one)}\n" for one in lines if one["producer_id"] in ids),
        encoding="utf-8",
    )
    return out.with_suffix(".jsonl")
