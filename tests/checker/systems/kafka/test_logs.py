"""Kafka logs are converted to lines of a recording, without a broker and without Java."""

from __future__ import annotations

import json
import struct

import pytest
from tests.checker.systems.kafka import bytes_by_hand as by_hand
from tests.support.paths import ROOT

from fencepost.checker.systems.kafka.batches import Undecodable, batches
from fencepost.checker.systems.kafka.events import entries

HEAD = {"time": 2_000, "leader_epoch": 3}
LOG = "__transaction_state-0"


def lines(data: bytes, source: str = "t-0") -> list[dict[str, object]]:
    return [
        dict(entry.line) for _, batch_entries in entries(data, source) for entry in batch_entries
    ]


def coordinator(value: bytes | None, name: str = "x") -> bytes:
    return by_hand.batch(5, [by_hand.record(0, by_hand.key(name), value)])


def test_the_checksum_is_castagnolis() -> None:
    assert by_hand.crc32c(b"123456789") == 0xE3069283


def test_headers_of_batches() -> None:
    data = by_hand.data(4, 9, 2, 7, count=3) + by_hand.marker(7, 9, 3, 1, coordinator=6)
    shared = {"source": "t-0", **HEAD, "producer_id": 9, "transactional": True}
    assert lines(data) == [
        {**shared, "offset": 4, "epoch": 2, "kind": "DATA", "sequence": 7, "count": 3},
        {**shared, "offset": 7, "epoch": 3, "kind": "COMMIT", "coordinator_epoch": 6},
    ]
    assert lines(by_hand.marker(0, 9, 3, 0))[0]["kind"] == "ABORT"
    assert [(batch.start, batch.end) for batch in batches(data)] == [(0, 103), (103, 181)]


def test_batches_outside_transactions_yield_no_line() -> None:
    plain = by_hand.batch(0, [by_hand.record(0, None, b"y")], producer=(9, 0, 0))
    assert lines(plain) == []


def test_batches_emptied_by_compaction_yield_no_line() -> None:
    assert lines(by_hand.batch(0, [], by_hand.TRANSACTIONAL, (9, 0, 0), last=0)) == []


def test_payloads_are_not_read() -> None:
    compressed = by_hand.TRANSACTIONAL | by_hand.GZIP
    broken = by_hand.batch(0, [b"no records at all"], compressed, (9, 0, 0), damage=1)
    (line,) = lines(broken)
    assert (line["kind"], line["count"]) == ("DATA", 1)


def test_records_of_the_coordinator() -> None:
    tags = [(0, struct.pack(">q", 7)), (2, struct.pack(">h", 2)), (3, b"\0\5"), (44, b"\1\2")]
    value = by_hand.value_1(8, 1, 2, {"u": [1], "t": [0, 3]}, tags)
    assert lines(coordinator(value, "zäh"), LOG) == [
        {
            "source": LOG,
            "offset": 5,
            **HEAD,
            "id": "zäh",
            "version": 1,
            "producer_id": 8,
            "epoch": 1,
            "timeout": 60_000,
            "state": "PrepareCommit",
            "partitions": ["t-0", "t-3", "u-1"],
            "updated": 11,
            "started": 12,
            "previous_producer_id": 7,
            "client_transaction_version": 2,
            "next_epoch": 5,
            "tag44": "0102",
        }
    ]


@pytest.mark.parametrize("partitions", [{}, {"t": [0]}])
def test_both_versions_give_the_same_line(partitions: dict[str, list[int]]) -> None:
    (old,) = lines(coordinator(by_hand.value_0(8, 1, 7, partitions)), LOG)
    (new,) = lines(coordinator(by_hand.value_1(8, 1, 7, partitions)), LOG)
    assert (old.pop("version"), new.pop("version")) == (0, 1)
    assert old == new
    assert new["state"] == "PrepareEpochFence"


def test_a_record_without_a_value_is_an_expired_id() -> None:
    assert lines(coordinator(None), LOG) == [{}]


def test_keys_of_another_kind_are_skipped() -> None:
    record = by_hand.record(0, by_hand.key("x", version=1), b"?", headers=2)
    assert lines(by_hand.batch(0, [record]), LOG) == []


GOOD = by_hand.value_1(8, 1, 2, {"t": [0]})


@pytest.mark.parametrize(
    ("data", "source", "why"),
    [
        (by_hand.batch(0, [], magic=1), "t-0", "the batch at byte 0 has format 1; known is 2"),
        (coordinator(GOOD[:-3]), LOG, "the data ends too early"),
        (coordinator(b"\0\2" + GOOD[2:]), LOG, "TransactionLogValue has version 2"),
        (
            coordinator(by_hand.value_1(8, 1, 9, {})),
            LOG,
            "no state of transactions has the number 9",
        ),
        (
            coordinator(by_hand.value_1(8, 1, 0, {}, [(0, b"\0")])),
            LOG,
            "previous_producer_id has 1",
        ),
        (
            by_hand.batch(6, [by_hand.record(0, by_hand.key("x"), GOOD)], damage=1),
            LOG,
            "the batch of offset 6 has another checksum",
        ),
        (
            by_hand.batch(6, [by_hand.record(0, by_hand.key("x"), GOOD)], by_hand.GZIP),
            LOG,
            "the batch of offset 6 is compressed",
        ),
        (by_hand.marker(3, 0, 0, 5), "t-0", "the control batch of offset 3 is of kind 5"),
        (b"\0" * 8 + b"\0\0\0\1" + b"\0" * 4 + b"\2" + b"\0" * 60, "t-0", "no proper header"),
        (coordinator(b"\0\1" + b"\xff" * 60), LOG, "no state of transactions"),
    ],
)
def test_undecodable_logs(data: bytes, source: str, why: str) -> None:
    with pytest.raises(Undecodable, match=why):
        lines(data, source)


def test_every_prefix_of_a_log_is_read_or_refused() -> None:
    whole = coordinator(GOOD)
    for size in range(len(whole)):
        assert lines(whole[:size], LOG) == []
    assert lines(whole + b"\0" * 100, LOG) == lines(whole, LOG)
    for size in range(len(GOOD)):
        with pytest.raises(Undecodable):
            lines(coordinator(GOOD[:size]), LOG)


@pytest.mark.parametrize("level", [1, 2])
def test_logs_of_a_real_broker(level: int) -> None:
    """The logs contain six transactions in sequence; the second transaction of each producer was
    aborted.
    """
    folder = ROOT / "tests" / "checker" / "systems" / "kafka" / "logs" / f"4.4.0-tv{level}"
    sources: dict[str, list[dict[str, object]]] = {}
    for path in sorted(folder.glob("*/*.log")):
        sources[path.parent.name] = lines(path.read_bytes(), path.parent.name)
    written = [(row["producer_id"], row["kind"], row["epoch"]) for row in sources["t-0"]]
    step = level - 1
    assert written == [
        (number, kind, epoch * step)
        for number in (0, 1)
        for kind, epoch in (("DATA", 0), ("COMMIT", 1), ("DATA", 2), ("COMMIT", 3))
    ]
    assert [row["kind"] for row in sources["t-1"]] == ["DATA", "ABORT"] * 2
    of_a = [row["state"] for row in sources[LOG] if row["id"] == "a"]
    ends = ["Commit", "Abort", "Commit"]
    assert of_a == [
        "Empty",
        *(state for end in ends for state in ("Ongoing", f"Prepare{end}", f"Complete{end}")),
    ]
    assert {row.get("client_transaction_version") for row in sources[LOG][1:10]} <= {2, None}
    text = json.dumps(sources)
    assert "payload" not in text
    assert '"x"' not in text
