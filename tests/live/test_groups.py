"""Transactions commit offsets of groups, on one broker with the logs of several coordinators."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from tests.live.brokers import RELEASE, Broker, accepted, prepared, running, until, with_level
from tests.live.producers import Producer, address, conformed, recorded

from fencepost.checker.systems.kafka import group_requests
from fencepost.checker.systems.kafka.requests import Connection, create_topic

LOGS = {"offsets.topic.num.partitions": "3", "transaction.state.log.num.partitions": "3"}
TOPICS = "t,__consumer_offsets"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Generator[Broker]:
    broker_ = Broker(RELEASE, tmp_path_factory.mktemp("groups") / "broker", settings=LOGS)
    with running(broker_):
        connection = prepared(broker_)
        accepted(connection, lambda: group_requests.find_coordinator("any"))
        accepted(connection, lambda: create_topic("u", [[1]]))
        yield broker_


def transactions_with_offsets(connection: Connection, level: int) -> None:
    """Lets four ids commit offsets of three groups; the last transaction of an id contains only
    offsets.
    """
    every = [Producer(f"v{level}-{n}", connection, connection, level) for n in range(4)]
    for turn in range(4):
        for n, producer in enumerate(every):
            if turn < 3:
                producer.writes(n % 2, sequence=turn if producer.old else 0)
            producer.commits("red", turn)
            producer.commits("blue" if n % 2 else "green", turn)
            producer.commits("red", turn + 1)
        for n, producer in enumerate(every):
            producer.ends(commit=(n + turn) % 3 > 0)
        for producer in every:
            until(producer.is_complete)


@pytest.mark.parametrize("level", [1, 2])
def test_a_recording_of_groups(level: int, broker: Broker, tmp_path: Path) -> None:
    """Each history is judged separately: the ids share data partitions, but have different
    coordinators.
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


class Reader:
    """The only member of a group, which asks the coordinator of the group for offsets."""

    def __init__(self, group: str, connection: Connection) -> None:
        self.group, self.connection = group, connection
        accepted(connection, lambda: group_requests.find_coordinator(group))
        until(lambda: self.fetched("t") == ("NONE", -1))
        self.member, self.generation = "", -1

    def joins(self, metadata: bytes = b"") -> None:
        answer = self.connection.ask(group_requests.join(self.group, self.member, metadata))
        if self.connection.error(answer) == "MEMBER_ID_REQUIRED":
            again = group_requests.join(self.group, answer.member_id, metadata)
            answer = self.connection.ask(again)
        self.member, self.generation = answer.member_id, answer.generation_id
        synced = group_requests.sync(self.group, self.member, self.generation)
        assert self.connection.error(self.connection.ask(synced)) == "NONE"

    def fetched(self, topic: str, at: Connection | None = None) -> tuple[str, int]:
        """Returns the error and the stable offset."""
        asked = at or self.connection
        answer = asked.ask(group_requests.fetch_offset(self.group, topic))
        error = asked.error(answer)
        if error in ("NONE", "UNSTABLE_OFFSET_COMMIT"):
            return error, int(answer.groups[0].topics[0].partitions[0].committed_offset)
        return error, -1

    def commit(self, producer: Producer, topic: str, offset: int) -> Callable[[], str]:
        """Prepares a TxnOffsetCommit for the open transaction; calling the result sends the
        request.
        """
        request = group_requests.commit_offset(
            producer.name, producer.id, producer.epoch,
            self.group, self.member, self.generation, topic, offset, 3 if producer.old else 5,
        )  # fmt: skip
        return lambda: self.connection.error(self.connection.ask(request))


@pytest.mark.parametrize(
    ("level", "answered", "offset"), [(1, "NONE", 1), (2, "INVALID_PRODUCER_EPOCH", -1)]
)
def test_a_late_offset_commit_of_an_aborted_transaction(
    level: int, answered: str, offset: int, broker: Broker
) -> None:
    """docs/kafka/findings/late_commit_skips_input.md: with V1, the commit becomes part of the next
    transaction.
    """
    with with_level(broker, level):
        connection = broker.connection()
        reader = Reader(f"late-{level}", connection)
        reader.joins()
        producer = Producer(f"late-{level}", connection, connection, level)

        def begins() -> None:
            if producer.old:
                who = producer.name, producer.id, producer.epoch, reader.group
                accepted(connection, lambda: group_requests.add_offsets(*who))
            else:
                producer.writes(0)

        begins()
        late = reader.commit(producer, "t", 1)
        producer.ends(commit=False)
        until(producer.is_complete)
        begins()
        until(lambda: reader.commit(producer, "u", 1)() == "NONE")
        assert late() == answered
        producer.ends()
        until(producer.is_complete)
        until(lambda: reader.fetched("u") == ("NONE", 1))
        assert reader.fetched("t") == ("NONE", offset)


def lines_of(folder: Path) -> list[dict[str, Any]]:
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.jsonl"))]
    return [json.loads(line) for text in texts for line in text.splitlines()]


def only(folder: Path, names: str, out: Path) -> Path:
    """Writes the histories whose transactional ids have these prefixes to one file."""
    lines = lines_of(folder)
    ids = {line["producer_id"] for line in lines if line.get("id", "").startswith(names)}
    out.with_suffix(".jsonl").write_text(
        "".join(f"{json.dumps(line)}\n" for line in lines if line["producer_id"] in ids),
        encoding="utf-8",
    )
    return out.with_suffix(".jsonl")
