"""Tests with one broker: a walk for each ``transaction.version``, the trace of a check, and a
recording with a kill.

``.ci/live short`` runs these tests.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path

import pytest
from tests.live.brokers import RELEASE, Broker, accepted, prepared, running, with_level
from tests.live.producers import (
    address,
    conformed,
    driven,
    led_by_a_check,
    recorded,
    transactions_with_a_kill,
)

from fencepost.checker.systems.kafka import requests
from fencepost.checker.systems.kafka.levels import METADATA_LOG


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Generator[Broker]:
    broker_ = Broker(RELEASE, tmp_path_factory.mktemp("step") / "broker", supervised=True)
    with running(broker_):
        yield broker_


@pytest.mark.parametrize("level", [1, 2])
def test_a_walk(level: int, broker: Broker, tmp_path: Path) -> None:
    """``transaction.version`` changes while transactions are open, some of them with offsets."""
    saved = tmp_path / "walk.jsonl"
    words = ("--requests", "200", "--record", str(saved))
    with with_level(broker, level):
        assert driven(level, broker, *words, topic=f"walk{level}", levels="yes", groups="yes") == 0
    lines = [json.loads(line) for line in saved.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 200
    assert len({(line["kind"], line.get("error")) for line in lines}) > 12
    assert {line["to"] for line in lines if line["kind"] == "level"} == {"V1", "V2"}
    committed = {line["error"] for line in lines if line["kind"] == "txn_offset_commit"}
    assert len(committed) > 3


def test_where_a_check_leads(broker: Broker, tmp_path: Path) -> None:
    """A check finds a trace to a fenced instance; the broker fences it as well."""
    saved = led_by_a_check("fenced", 0, broker, tmp_path)
    lines = [json.loads(line) for line in saved.read_text(encoding="utf-8").splitlines()]
    assert [(line["kind"], line["error"]) for line in lines] == [
        ("init", "NONE"), ("init", "PRODUCER_FENCED")
    ]  # fmt: skip


def same_files(first: Path, second: Path) -> None:
    """Checks that two recordings are equal, file by file, apart from changes of levels, which only
    the files of a broker show.
    """
    names, others = (sorted(path.name for path in folder.iterdir()) for folder in (first, second))
    assert names == [name for name in others if name != f"{METADATA_LOG}.jsonl"]
    for name in names:
        assert (first / name).read_bytes() == (second / name).read_bytes(), name


def test_a_recording_with_a_kill(broker: Broker, tmp_path: Path) -> None:
    """The broker is recorded while it runs, and from its files after it has ended.

    Its log exceeds the default fetch size of the client library.
    """
    connection = prepared(broker)
    for _ in range(2):
        accepted(connection, lambda: requests.put_record(b"key", bytes(900_000), "t", 0))
    transactions_with_a_kill(broker, connection)
    live = recorded(tmp_path / "live", *address(broker), "--topics", "t")
    broker.stop()
    stopped = recorded(tmp_path / "stopped", "--segments", str(broker.data), "--topics", "t")
    same_files(live, stopped)
    assert "payload" not in "".join(path.read_text() for path in live.iterdir())
    assert conformed(2, "r4_4_0_outages", live) == 0
