"""A scripted cluster that answers requests by name and records them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from fencepost.checker.systems.kafka import brokers, nodes
from fencepost.checker.systems.kafka.brokers import Brokers
from fencepost.checker.systems.kafka.cluster import GREETING

Sent = tuple[int, int, Any]
"""The port and the number of a connection, and the request sent over it."""


@dataclass
class Scripted:
    """A cluster that answers each request by its name; ``sent`` records the requests.

    Broker 1, at port 9092, is coordinator and leader. Broker 2, at port 9093, leads the partitions
    assigned to it.
    """

    level: int = 2
    leaders: list[int] = field(default_factory=lambda: [1, 1])
    answers: dict[str, Callable[[Any], Any]] = field(default_factory=dict[str, Any])
    sent: list[Sent] = field(default_factory=list[Sent])
    put: list[Any] = field(default_factory=list[Any])
    connections: int = 0
    dead: bool = False

    def answer(self, request: Any) -> Any:
        name = type(request).__name__.removesuffix("Request").split("_")[0]
        if name in self.answers:
            return self.answers[name](request)
        match name:
            case "ApiVersions":
                answered = SimpleNamespace(name="transaction.version", max_version_level=self.level)
                newest = SimpleNamespace(api_key=27, max_version=1)
                return SimpleNamespace(finalized_features=[answered], api_keys=[newest])
            case "UpdateFeatures":
                self.level = request.feature_updates[0].max_version_level
                return SimpleNamespace()
            case "FindCoordinator":
                answered = SimpleNamespace(node_id=1, host="somewhere", port=9092)
                return SimpleNamespace(coordinators=[answered])
            case "Metadata":
                own = request.topics[0].name.startswith("__")
                return SimpleNamespace(
                    brokers=[
                        SimpleNamespace(node_id=n, host="somewhere", port=9091 + n)
                        for n in sorted({1, *self.leaders} - {-1})
                    ],
                    topics=[
                        SimpleNamespace(
                            partitions=[
                                SimpleNamespace(partition_index=p, leader_id=n, leader_epoch=7)
                                for p, n in enumerate([1] if own else self.leaders)
                            ]
                        )
                    ],
                )
            case "InitProducerId":
                return SimpleNamespace(producer_id=700, producer_epoch=0)
            case "DescribeTransactions":
                return described("Empty")
            case _:
                return SimpleNamespace()

    def last(self, name: str) -> Any:
        return next(
            request
            for *_, request in reversed(self.sent)
            if type(request).__name__.startswith(name)
        )

    def count(self, name: str) -> int:
        return len(
            [request for *_, request in self.sent if type(request).__name__.startswith(name)]
        )


@dataclass
class Line:
    """A connection to a broker of a scripted cluster."""

    cluster: Scripted
    port: int
    number: int

    def ask(self, request: Any, client: str = "fencepost") -> Any:
        if client != "fencepost":
            self.cluster.put.append(request)
        self.cluster.sent.append((self.port, self.number, request))
        return self.cluster.answer(request)

    def error(self, answer: Any) -> str:
        return str(getattr(answer, "error", "NONE"))

    def is_closed(self) -> bool:
        return self.cluster.dead

    def wait(self, patience: float) -> None:
        assert patience >= GREETING

    def close(self) -> None:
        pass


def described(state: str, *partitions: int, epoch: int = 0) -> Any:
    transaction = SimpleNamespace(
        transaction_state=state,
        producer_id=700,
        producer_epoch=epoch,
        topics=[SimpleNamespace(topic="fencepost", partitions=list(partitions))],
    )
    return SimpleNamespace(transaction_states=[transaction])


def begun(monkeypatch: pytest.MonkeyPatch, scripted: Scripted, **options: str) -> Brokers:
    def connection(host: str, port: int, patience: float = 30.0) -> Line:
        assert host == "somewhere"
        scripted.connections += 1
        return Line(scripted, port, scripted.connections)

    monkeypatch.setattr(nodes, "Connection", connection)
    monkeypatch.setattr(brokers, "REST", 0.0)
    monkeypatch.setattr(brokers, "LONG", 0.0)
    system = Brokers("somewhere:9092", **options)
    system.reset()
    scripted.sent.clear()
    return system
