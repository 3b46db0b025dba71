"""Brokers as a driven system: requests, connections, answers and outages. The brokers here are
scripted; tests/live uses real ones.
"""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.scripted_brokers import Scripted, begun, described

from fencepost.checker.systems.kafka import brokers, nodes
from fencepost.checker.systems.kafka.batches import batches, records
from fencepost.checker.systems.kafka.brokers import Brokers
from fencepost.checker.systems.kafka.cluster import Unreachable
from fencepost.checker.systems.kafka.groups import STRANGERS
from fencepost.checker.systems.kafka.transaction_log import (
    metadata,
    partition_of,
    transactional_id,
    written,
)
from fencepost.spec.text.problem import Rejected

# ---------------------------------------------------------------- requests


def test_ids_are_numbered_as_they_appear(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted = Scripted()
    system = begun(monkeypatch, scripted)
    rotated = SimpleNamespace(producer_id=812, producer_epoch=0)
    scripted.answers["EndTxn"] = lambda request: rotated
    end = {"pid": 0, "epoch": 3, "commit": True}
    assert system.send("end", end) == {"error": "NONE", "id": 1, "answered": 0}
    sent = scripted.last("EndTxn")
    assert (sent.producer_id, sent.producer_epoch, sent.committed) == (700, 3, True)
    assert system.send("end", {**end, "pid": 1}) is not None
    assert scripted.last("EndTxn").producer_id == 812


def test_an_unknown_producer_id(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted = Scripted()
    system = begun(monkeypatch, scripted)
    refused = SimpleNamespace(error="INVALID_PRODUCER_ID_MAPPING")
    scripted.answers["EndTxn"] = lambda request: refused
    answer = system.send("end", {"pid": 4, "epoch": 0, "commit": False})
    assert answer == {"error": "INVALID_PRODUCER_ID_MAPPING", "id": -1, "answered": -1}
    first = scripted.last("EndTxn").producer_id
    assert first > STRANGERS
    system.reset()
    system.send("end", {"pid": 4, "epoch": 0, "commit": False})
    assert scripted.last("EndTxn").producer_id > first


@pytest.mark.parametrize(
    ("request_", "fields"),
    [
        ("end", {"pid": 2, "epoch": 0, "commit": True}),
        ("produce", {"pid": 0, "epoch": -1, "p": 0, "seq": 0}),
        ("init", {"expected": {"producer_id": 1, "epoch": 0}}),
        # There are no options for killing, stopping and changing the level.
        ("killed", {}),
        ("stopped", {"p": 1}),
        ("level", {"to": "V1"}),
    ],
)
def test_requests_that_are_not_supported(
    request_: str, fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted = Scripted()
    system = begun(monkeypatch, scripted)
    assert system.send(request_, fields) is None
    assert scripted.sent == []


@pytest.mark.parametrize(("level", "produce", "end"), [(1, 10, 4), (2, 12, 5)])
def test_versions_are_those_of_the_level(
    level: int, produce: int, end: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted = Scripted(level)
    system = begun(monkeypatch, scripted)
    system.send("produce", {"pid": 0, "epoch": 0, "p": 1, "seq": 5})
    system.send("end", {"pid": 0, "epoch": 0, "commit": True})
    system.send("addv5", {"pid": 0, "epoch": 0, "p": 1})
    system.send("marker", {"pid": 0, "epoch": 0, "p": 1, "commit": True})
    assert produce == scripted.last("Produce").API_VERSION
    assert end == scripted.last("EndTxn").API_VERSION
    assert scripted.last("AddPartitionsToTxn").transactions[0].verify_only == (level == 1)
    # This broker supports no version of the request whose markers carry the level.
    assert scripted.last("WriteTxnMarkers").API_VERSION == 1
    assert scripted.last("WriteTxnMarkers").markers[0].coordinator_epoch == 7


def test_two_instances_have_separate_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted = Scripted()
    system = begun(monkeypatch, scripted)
    epochs = iter(range(1, 9))
    scripted.answers["InitProducerId"] = lambda request: SimpleNamespace(
        producer_id=700, producer_epoch=next(epochs)
    )

    def over(request: str, **fields: Any) -> int:
        scripted.sent.clear()
        assert system.send(request, fields) is not None
        return scripted.sent[0][1]

    def end(epoch: int) -> int:
        return over("end", pid=0, epoch=epoch, commit=False)

    first = end(0)
    second = over("init", expected=None)
    assert first != second
    assert (end(0), end(1)) == (first, second)
    # The third instance replaces the first; epochs that are unknown use the older connection.
    assert over("init", expected=None) == first
    assert (end(2), end(1), end(5)) == (first, second, second)
    # Requests between brokers use neither connection.
    assert over("addv5", pid=0, epoch=0, p=0) not in (first, second)


def test_a_transaction_that_makes_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client waits for such a transaction only once."""
    scripted = Scripted()
    system = begun(monkeypatch, scripted)
    scripted.answers["DescribeTransactions"] = lambda request: described("PrepareAbort", epoch=1)
    system.send("init", {"expected": None})
    polls = scripted.count("Describe")
    scripted.sent.clear()
    system.send("init", {"expected": None})
    assert polls >= 1
    assert scripted.count("Describe") == 1


@pytest.mark.parametrize(("level", "epoch", "long"), [(2, 0, 1), (2, 1, 0), (1, 1, 1), (1, 2, 0)])
def test_the_wait_for_a_transaction(
    level: int, epoch: int, long: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wait is short if the partition has an epoch that prevents it from taking a marker: a
    larger epoch with V1, a larger or equal one with V2.
    """
    scripted = Scripted(level)
    system = begun(monkeypatch, scripted)
    assert system.send("marker", {"pid": 0, "epoch": epoch, "p": 1, "commit": True}) is not None
    waits = iter([*[described("PrepareAbort", 1, epoch=1)] * 50, *[described("Empty")] * 2])
    scripted.answers["DescribeTransactions"] = lambda request: next(waits)
    monkeypatch.setattr(brokers, "LONG", 1e9)
    system.send("init", {"expected": None})
    assert (scripted.count("Describe") > 50) == bool(long)


# ---------------------------------------------------------------- outages


def test_a_broker_is_killed_and_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    done = tmp_path / "done"
    options = {"kill": f"echo kill >>'{done}'", "start": f"echo start >>'{done}'"}
    scripted = Scripted()
    system = begun(monkeypatch, scripted, **options)
    scripted.dead = True
    before = scripted.connections
    assert system.send("killed", {}) == {}
    assert done.read_text() == "kill\nstart\n"
    # Later requests use a new connection, and reach a broker that has already written.
    assert scripted.sent[0][1] == before + 1
    assert scripted.count("Produce") == 2


@pytest.mark.parametrize(("dead", "started"), [(True, ["start"]), (False, [])])
def test_an_interrupted_kill(
    dead: bool, started: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """If a kill is interrupted, a broker that was killed is restarted, and the level is
    restored.
    """
    done = tmp_path / "done"
    scripted = Scripted()
    start = f"echo start >>'{done}'"
    system = begun(monkeypatch, scripted, kill="true", start=start, levels="yes")
    assert system.send("level", {"to": "V1"}) == {}
    connect = vars(nodes)["Connection"]

    def connection(host: str, port: int, patience: float = 30.0) -> Any:
        if dead and not done.exists():
            raise Unreachable("nobody is there")
        return connect(host, port, patience)

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(nodes, "Connection", connection)
    with monkeypatch.context() as patched:
        patched.setattr(brokers, "until", interrupted)
        with pytest.raises(KeyboardInterrupt):
            system.send("killed", {})
    system.close()
    assert (done.read_text().split() if done.exists() else []) == started
    assert scripted.level == 2


def test_a_record_is_put_into_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted = Scripted()
    system = begun(monkeypatch, scripted, kill="true")
    scripted.dead = True
    before: dict[str, Any] = {
        "state": "PrepareCommit",
        "pid": 0,
        "epoch": 32767,
        "partitions": [0, 1],
        "of": "V2",
    }
    successors = iter([812])
    scripted.answers["InitProducerId"] = lambda request: SimpleNamespace(
        producer_id=next(successors, 700), producer_epoch=0
    )
    assert system.send("put", {**before, "previous": -1, "successor": True}) == {}
    [topic] = scripted.put[0].topic_data
    assert topic.name == "__transaction_state"
    data = topic.partition_data[0].records
    [put] = [entry for batch in batches(data) for entry in records(data, batch)]
    assert put.value is not None
    record = metadata(put.value)
    asked = scripted.last("DescribeTransactions").transactional_ids
    assert [transactional_id(put.key)] == asked
    assert {name: record[name] for name in ("state", "producer_id", "epoch", "partitions")} == {
        "state": "PrepareCommit", "producer_id": 700, "epoch": 32767,
        "partitions": ["fencepost-0", "fencepost-1"],
    }  # fmt: skip
    assert (record["next_producer_id"], record["client_transaction_version"]) == (812, 2)
    assert "previous_producer_id" not in record
    # The written record has made the successor id known.
    system.send("end", {"pid": 1, "epoch": 0, "commit": True})
    assert scripted.last("EndTxn").producer_id == 812


@pytest.mark.parametrize(
    ("state", "partitions", "begun"),
    [("PrepareAbort", [], True), ("Ongoing", [("t", 0)], True), ("CompleteAbort", [], False)],
)
def test_a_record_of_an_ending_transaction_has_its_start_time(
    state: str, partitions: list[tuple[str, int]], begun: bool
) -> None:
    """Brokers would fail to load the log without a start time; an abort of an empty transaction has
    no partitions.
    """
    _, value = written("a", state, 7, 1, partitions, -1, -1, 2, 60_000, 1_000)
    assert metadata(value)["started"] == (1_000 if begun else -1)


def test_a_leader_is_stopped_and_resumed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    done = tmp_path / "done"
    scripted = Scripted(leaders=[1, 2])
    system = begun(
        monkeypatch, scripted, second="2", pause=f"echo stop >>'{done}'",
        resume=f"echo on >>'{done}'",
    )  # fmt: skip
    assert system.send("stopped", {"p": 0}) is None
    assert system.send("stopped", {"p": 1}) == {}
    # The client does not wait for a transaction whose marker waits for partition 1.
    scripted.answers["DescribeTransactions"] = lambda request: described("PrepareCommit", 1)
    monkeypatch.setattr(brokers, "LONG", 1e9)
    assert system.send("end", {"pid": 0, "epoch": 0, "commit": True}) is not None
    scripted.answers["DescribeTransactions"] = lambda request: described("CompleteCommit")
    assert system.send("continued", {"p": 1}) == {}
    assert done.read_text() == "stop\non\n"
    system.send("produce", {"pid": 0, "epoch": 0, "p": 1, "seq": 0})
    assert next(port for port, _, sent in reversed(scripted.sent) if is_produce(sent)) == 9093


def is_produce(request: Any) -> bool:
    return type(request).__name__.startswith("Produce")


def test_a_stopped_leader_that_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Electing a leader other than the stopped broker is an error, not a disagreement with the
    model.
    """
    scripted = Scripted(leaders=[1, 2])
    system = begun(monkeypatch, scripted, second="2", pause="true", resume="true")
    assert system.send("stopped", {"p": 1}) == {}
    scripted.leaders = [1, -1]
    why = "has given up broker 2, which is stopped: it does not lead fencepost-1 any more; a longer"
    with pytest.raises(Rejected, match=why):
        system.send("init", {"expected": None})


def test_a_leader_that_was_not_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another partition without a leader does not mean that the stopped broker was replaced."""
    scripted = Scripted(leaders=[1, 2])
    system = begun(monkeypatch, scripted, second="2", pause="true", resume="true")
    assert system.send("stopped", {"p": 1}) == {}
    scripted.leaders = [-1, 2]
    assert system.send("init", {"expected": None}) is not None


def test_the_level_is_changed_and_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted = Scripted()
    system = begun(monkeypatch, scripted, levels="yes")
    assert system.send("level", {"to": "V1"}) == {}
    sent = scripted.last("UpdateFeatures").feature_updates[0]
    assert (sent.feature, sent.max_version_level, sent.upgrade_type) == (
        "transaction.version",
        1,
        2,
    )
    # Clients continue with the protocol version with which they started.
    system.send("end", {"pid": 0, "epoch": 0, "commit": True})
    assert scripted.last("EndTxn").API_VERSION == 5
    system.reset()
    assert scripted.level == 2


@pytest.mark.parametrize(
    ("options", "weights"),
    [
        ({}, (1.0, 0.0, 0.0, 0.0, 0.0)),
        ({"levels": "yes"}, (1.0, 0.0, 0.0, 0.0, 1.0)),
        ({"kill": "true", "outages": "0.1"}, (1.0, 0.1, 0.4, 0.0, 0.0)),
        ({"second": "2", "pause": "true", "resume": "true"}, (1.0, 0.0, 0.0, 1.0, 0.0)),
    ],
)
def test_weights_of_requests(
    options: dict[str, str], weights: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    leaders = [1, 2] if "second" in options else [1, 1]
    system = begun(monkeypatch, Scripted(leaders=leaders), **options)
    asked = ("init", "killed", "put", "stopped", "level")
    assert tuple(map(system.weight, asked)) == weights


PAUSED = {"second": "2", "pause": "true", "resume": "true"}


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"levels": "maybe"}, "levels=maybe is neither yes nor no"),
        ({"second": "2"}, "second, pause and resume are given together, or none of them"),
        (
            {"kill": "true", **PAUSED},
            "kill requires a cluster of one broker, and second a",
        ),
        ({"start": "true"}, "start requires a broker that was stopped with kill"),
        ({"outages": "2"}, "outages=2 is not a number from 0 to 1"),
        ({"first_epoch": "x"}, "first_epoch=x is not a number"),
        ({"second": "x", "pause": "true", "resume": "true"}, "second=x is not a number"),
        ({**PAUSED, "second": "3"}, "there is no broker 3; known are [1, 2]"),
        ({"kill": "true"}, "kill is for a cluster of one broker; this one has [1, 2]"),
    ],
)
def test_options_that_are_refused(
    options: dict[str, str], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Rejected, match=re.escape(why)):
        begun(monkeypatch, Scripted(leaders=[1, 2]), **options)


def test_a_command_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    system = begun(monkeypatch, Scripted(), kill="echo no such broker >&2; exit 3")
    with pytest.raises(Rejected, match=r"exit 3` ended with 3: no such broker"):
        system.send("killed", {})


def test_a_command_may_leave_a_process_running(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "TIMEOUT_SECONDS", 10.0)
    nodes.run("sleep 15 &")
    with pytest.raises(Unreachable, match="ended with 1: no"):
        nodes.run("sleep 15 & echo no >&2; exit 1")


@pytest.mark.parametrize(
    "address", ["somewhere", "somewhere:x", ":9092", "::1:9092", "[]:1", "here:70000"]
)
def test_malformed_addresses(address: str) -> None:
    with pytest.raises(Rejected, match=re.escape(f"bootstrap={address} is not HOST:PORT")):
        Brokers(address)


def test_another_level_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Rejected, match="is 0; there are mappings"):
        begun(monkeypatch, Scripted(0))


@pytest.mark.parametrize(
    ("name", "number"),
    # The numbers follow from java.lang.String.hashCode; hash codes may be negative, even the
    # minimum.
    [("", 0), ("ab", 5), ("fencepost-1", 43), ("fencepost-warm-9", 35), ("polygenelubricants", 0)],
)
def test_the_partition_of_an_id(name: str, number: int) -> None:
    assert partition_of(name, 50) == number


# ---------------------------------------------------------------- the coordinator moves


def moving(monkeypatch: pytest.MonkeyPatch) -> tuple[Scripted, Brokers]:
    """Returns two brokers; the leader of the transaction log is the coordinator."""
    scripted = Scripted(leaders=[1, 2])
    led = {"by": 1, "epoch": 7}

    def metadata_of(request: Any) -> Any:
        own = request.topics[0].name.startswith("__")
        leaders = [led["by"]] if own else [1, 2]
        return SimpleNamespace(
            brokers=[
                SimpleNamespace(node_id=n, host="somewhere", port=9091 + n) for n in (1, 2)
            ],
            topics=[
                SimpleNamespace(
                    partitions=[
                        SimpleNamespace(
                            partition_index=p, leader_id=n, leader_epoch=led["epoch"],
                            isr_nodes=[1, 2],
                        )
                        for p, n in enumerate(leaders)
                    ]
                )
            ],
        )  # fmt: skip

    def coordinator(request: Any) -> Any:
        broker = SimpleNamespace(node_id=led["by"], host="somewhere", port=9091 + led["by"])
        return SimpleNamespace(coordinators=[broker])

    def elected(request: Any) -> Any:
        [topic] = scripted.last("AlterPartitionReassignments").topics
        led["by"] = topic.partitions[0].replicas[0]
        led["epoch"] += 1
        return SimpleNamespace()

    scripted.answers["Metadata"] = metadata_of
    scripted.answers["FindCoordinator"] = coordinator
    scripted.answers["ElectLeaders"] = elected
    return scripted, begun(monkeypatch, scripted, moves="yes")


def test_a_coordinator_that_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted, system = moving(monkeypatch)
    late = {"pid": 0, "epoch": 0, "p": 0, "commit": True}

    def epochs() -> list[int]:
        numbers: list[int] = []
        for kind in ("marker", "late_marker"):
            system.send(kind, late)
            numbers.append(scripted.last("WriteTxnMarkers").markers[0].coordinator_epoch)
        return numbers

    assert epochs() == [7, 6]
    assert system.send("moved", {}) == {}
    [topic] = scripted.last("AlterPartitionReassignments").topics
    assert (topic.name, topic.partitions[0].replicas) == ("__transaction_state", [2, 1])
    assert epochs() == [8, 7]
    system.send("init", {"expected": None})
    assert (
        next(port for port, _, request in reversed(scripted.sent) if "Init" in str(request)) == 9093
    )
    assert system.send("moved", {}) == {}
    assert scripted.last("AlterPartitionReassignments").topics[0].partitions[0].replicas == [1, 2]


def test_a_coordinator_without_another_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted = Scripted()
    system = begun(monkeypatch, scripted, moves="yes")
    with pytest.raises(Rejected, match="two or more brokers"):
        system.send("moved", {})
    with pytest.raises(Rejected, match="moves requires a cluster"):
        begun(monkeypatch, Scripted(), moves="yes", kill="true")
    with pytest.raises(Rejected, match="moves=often is neither yes nor no"):
        begun(monkeypatch, Scripted(), moves="often")
