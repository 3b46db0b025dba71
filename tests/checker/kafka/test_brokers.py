"""Brokers as a system to drive: what is sent for a request, and what becomes of the answer. The
brokers are scripted here; tests/live has real ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from fencepost.checker.kafka import brokers
from fencepost.checker.kafka.brokers import STRANGERS, Brokers
from fencepost.checker.kafka.cluster import Unreachable


@dataclass
class Scripted:
    """A connection that answers by the name of the request; ``sent`` has the requests."""

    level: int = 2
    answers: dict[str, Callable[[Any], Any]] = field(default_factory=dict[str, Any])
    sent: list[Any] = field(default_factory=list[Any])

    def ask(self, request: Any) -> Any:
        name = type(request).__name__.removesuffix("Request").split("_")[0]
        self.sent.append(request)
        if name in self.answers:
            return self.answers[name](request)
        match name:
            case "ApiVersions":
                one = SimpleNamespace(name="transaction.version", max_version_level=self.level)
                newest = SimpleNamespace(api_key=27, max_version=1)
                return SimpleNamespace(finalized_features=[one], api_keys=[newest])
            case "InitProducerId":
                return SimpleNamespace(producer_id=700, producer_epoch=0)
            case "DescribeTransactions":
                state = SimpleNamespace(
                    transaction_state="Empty", producer_id=700, producer_epoch=0
                )
                return SimpleNamespace(transaction_states=[state])
            case _:
                return SimpleNamespace()

    def error(self, answer: Any) -> str:
        return str(getattr(answer, "error", "NONE"))

    def last(self, name: str) -> Any:
        return next(one for one in reversed(self.sent) if type(one).__name__.startswith(name))


def begun(monkeypatch: pytest.MonkeyPatch, scripted: Scripted) -> Brokers:
    def connection(host: str, port: int) -> Scripted:
        assert (host, port) == ("somewhere", 9092)
        return scripted

    monkeypatch.setattr(brokers, "Connection", connection)
    monkeypatch.setattr(brokers, "REST", 0.0)
    made = Brokers("somewhere:9092")
    made.reset()
    scripted.sent.clear()
    return made


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


def test_an_id_that_nobody_has(monkeypatch: pytest.MonkeyPatch) -> None:
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
    ],
)
def test_what_no_client_can_say(
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
    # This broker knows no version in which a marker says its level.
    assert scripted.last("WriteTxnMarkers").API_VERSION == 1


def test_a_transaction_that_stays_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is waited for once."""
    scripted = Scripted()
    system = begun(monkeypatch, scripted)
    state = SimpleNamespace(transaction_state="PrepareAbort", producer_id=700, producer_epoch=1)
    answer = SimpleNamespace(transaction_states=[state])
    scripted.answers["DescribeTransactions"] = lambda request: answer
    system.send("init", {"expected": None})
    looked = len([one for one in scripted.sent if type(one).__name__.startswith("Describe")])
    scripted.sent.clear()
    system.send("init", {"expected": None})
    again = len([one for one in scripted.sent if type(one).__name__.startswith("Describe")])
    assert looked >= 1
    assert again == 1


def test_another_level_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Unreachable, match="is 0; there are mappings"):
        begun(monkeypatch, Scripted(0))
