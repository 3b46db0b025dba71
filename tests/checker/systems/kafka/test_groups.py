"""Consumer groups of driven brokers, with their requests and member ids, and the groups of offset
commits in logs.
"""

from __future__ import annotations

import struct
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
from tests.checker.systems.kafka.bytes_by_hand import GZIP, TRANSACTIONAL, batch, marker, record
from tests.support.scripted_brokers import Scripted, begun, described

from fencepost.checker.systems.kafka.brokers import Brokers
from fencepost.checker.systems.kafka.events import entries
from fencepost.spec.text.problem import Rejected

COMMIT = {"pid": 0, "epoch": 0, "member": -1, "generation": -1, "offset": 1}


def grouped(monkeypatch: pytest.MonkeyPatch, level: int = 2) -> tuple[Scripted, Brokers]:
    """Returns brokers that give each new member an id, and each join a new generation."""
    scripted = Scripted(level)
    ids, generations = count(1), count(7)

    def join(request: Any) -> Any:
        if not request.member_id:
            return SimpleNamespace(error="MEMBER_ID_REQUIRED", member_id=f"m{next(ids)}")
        return SimpleNamespace(member_id=request.member_id, generation_id=next(generations))

    scripted.answers["JoinGroup"] = join
    return scripted, begun(monkeypatch, scripted, groups="yes")


@pytest.mark.parametrize(("level", "version"), [(1, 3), (2, 5)])
def test_committing_an_offset(level: int, version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted, system = grouped(monkeypatch, level)
    scripted.answers["TxnOffsetCommit"] = lambda _: SimpleNamespace(error="ILLEGAL_GENERATION")
    assert system.send("txn_offset_commit", COMMIT) == {"error": "ILLEGAL_GENERATION"}
    sent = scripted.last("TxnOffsetCommit")
    assert version == sent.API_VERSION
    assert (sent.producer_id, sent.producer_epoch, sent.member_id) == (700, 0, "")
    assert sent.generation_id == -1
    [topic] = sent.topics
    assert [partition.committed_offset for partition in topic.partitions] == [1]
    assert system.send("add_offsets", {"pid": 0, "epoch": 3}) == {"error": "NONE"}
    added = scripted.last("AddOffsetsToTxn")
    assert (added.group_id, added.producer_epoch) == (sent.group_id, 3)


def test_members_and_generations_are_numbered(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted, system = grouped(monkeypatch)

    def committed(member: int, generation: int) -> tuple[str, int]:
        system.send("txn_offset_commit", {**COMMIT, "member": member, "generation": generation})
        sent = scripted.last("TxnOffsetCommit")
        return sent.member_id, sent.generation_id

    assert system.send("joined", {"member": 1}) == {}
    assert committed(1, 0) == ("m1", 7)
    # A sole member that rejoins gets a new generation and keeps its id.
    assert system.send("joined", {"member": 1}) == {}
    assert committed(1, 1) == ("m1", 8)
    assert system.send("joined", {"member": 0}) == {}
    assert [request.member_id for request in scripted.last("LeaveGroup").members] == ["m1"]
    assert committed(0, 2) == ("m2", 9)
    # A former member keeps its id; unknown members and generations are sent as unused numbers.
    assert committed(1, 0) == ("m1", 7)
    unknown, unknown_generation = committed(2, 3)
    assert unknown not in ("", "m1", "m2")
    assert unknown_generation > 9
    assert system.send("left", {}) == {}
    assert [request.member_id for request in scripted.last("LeaveGroup").members] == ["m2"]
    # Each join sends new metadata: with equal metadata, a sole member would keep its generation.
    joins = [
        request for *_, request in scripted.sent if type(request).__name__.startswith("JoinGroup")
    ]
    metadata = [request.protocols[0].metadata for request in joins if request.member_id]
    assert len(metadata) == len(set(metadata)) == 3
    system.reset()
    assert committed(1, 0)[0] not in ("m1", "m2")


def test_offsets_that_are_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted, system = grouped(monkeypatch)

    def fetched(request: Any) -> Any:
        assert request.require_stable
        partition = SimpleNamespace(committed_offset=offset)
        topic = SimpleNamespace(partitions=[partition])
        return SimpleNamespace(error=error, groups=[SimpleNamespace(topics=[topic])])

    scripted.answers["OffsetFetch"] = fetched
    offset, error = 1, "NONE"
    assert system.send("fetch_offsets", {}) == {"error": "NONE", "offset": 1}
    error = "UNSTABLE_OFFSET_COMMIT"
    assert system.send("fetch_offsets", {}) == {"error": error, "offset": -1}


@pytest.mark.parametrize(
    ("group", "answer"),
    [
        # Brokers answer with an error of the group, and no partitions.
        ({"error_code": 16, "topics": []}, {"error": "NOT_COORDINATOR", "offset": -1}),
        ({"error_code": 0, "topics": []}, "0 offsets of fencepost.* are in the answer, not 1"),
    ],
)
def test_a_group_without_an_offset_in_the_answer(
    group: dict[str, Any], answer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted, system = grouped(monkeypatch)

    def fetched(_: Any) -> Any:
        error = "NOT_COORDINATOR" if group["error_code"] else "NONE"
        return SimpleNamespace(error=error, groups=[SimpleNamespace(**group)])

    scripted.answers["OffsetFetch"] = fetched
    if isinstance(answer, str):
        with pytest.raises(Rejected, match=answer):
            system.send("fetch_offsets", {})
    else:
        assert system.send("fetch_offsets", {}) == answer


def test_the_partition_of_the_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """Partition 2 of the model is the partition of the group."""
    scripted, system = grouped(monkeypatch)
    system.send("marker", {"pid": 0, "epoch": 0, "p": 2, "commit": True})
    [marked] = scripted.last("WriteTxnMarkers").markers
    assert [topic.name for topic in marked.topics] == ["__consumer_offsets"]
    system.send("addv5", {"pid": 0, "epoch": 0, "p": 2})
    [added] = scripted.last("AddPartitionsToTxn").transactions
    assert [topic.name for topic in added.topics] == ["__consumer_offsets"]
    # A transaction that waits for that partition does not wait for the leader of partition 0.
    answer = described("PrepareCommit", 0)
    answer.transaction_states[0].topics[0].topic = "__consumer_offsets"

    def describe(_: Any) -> Any:
        return answer

    def leads(_: Any) -> None:
        pass

    scripted.answers["DescribeTransactions"] = describe
    monkeypatch.setattr(system, "_stopped", {0})
    monkeypatch.setattr(Brokers, "_check_lead", leads)
    system.send("init", {"expected": None})
    inside: Any = system
    assert inside._stuck == ("PrepareCommit", 700, 0)


@pytest.mark.parametrize(
    ("request_", "fields"),
    [
        ("txn_offset_commit", COMMIT),
        ("add_offsets", {"pid": 0, "epoch": 0}),
        ("fetch_offsets", {}),
        ("joined", {"member": 0}),
        ("left", {}),
        ("addv5", {"pid": 0, "epoch": 0, "p": 2}),
    ],
)
def test_without_groups_no_request_concerns_them(
    request_: str, fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted = Scripted()
    system = begun(monkeypatch, scripted)
    assert system.send(request_, fields) is None
    assert scripted.sent == []
    assert (system.weight(request_) == 0) == (request_ != "addv5")


def test_groups_coordinated_by_the_second_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such groups are rejected, since a group whose coordinator is stopped would not answer."""
    scripted = Scripted(leaders=[1, 2])

    def coordinator(request: Any) -> Any:
        of_group = request.key_type == 0
        node = 2 if of_group else 1
        broker = SimpleNamespace(node_id=node, host="somewhere", port=9091 + node)
        return SimpleNamespace(coordinators=[broker])

    scripted.answers["FindCoordinator"] = coordinator
    with pytest.raises(Rejected) as caught:
        begun(monkeypatch, scripted, groups="yes", second="2", pause="true", resume="true")
    assert "broker 2 coordinates all groups" in caught.value.problems[0].message


# ---------------------------------------------------------------- logs


def offset_of(group: str, version: int = 1) -> bytes:
    """Returns an OffsetCommitKey of this group."""
    head = struct.pack(">hh", version, len(group)) + group.encode()
    return head + struct.pack(">h", 1) + b"t" + struct.pack(">i", 0)


def offsets(*keys: bytes | None, attributes: int = 0) -> bytes:
    written = [record(n, key, b"payload") for n, key in enumerate(keys)]
    return batch(0, written, TRANSACTIONAL | attributes, (7, 1, 0))


@pytest.mark.parametrize(
    ("data", "group"),
    [
        (offsets(offset_of("g"), offset_of("g", 0)), "g"),
        (offsets(offset_of("g"), offset_of("h")), None),
        (offsets(None), None),
        (offsets(struct.pack(">h", 2)), None),
        (offsets(offset_of("g"), attributes=GZIP), None),
        (marker(0, 7, 1, 1), None),
    ],
    ids=["one", "two", "no key", "of a group", "compressed", "marker"],
)
def test_the_group_of_offsets_in_a_log(data: bytes, group: str | None) -> None:
    [(_, [entry])] = entries(data, "__consumer_offsets-3")
    assert entry.line.get("group") == group
    assert "payload" not in str(entry.line)
    [(_, [other])] = entries(data, "offsets-3")
    assert "group" not in other.line
