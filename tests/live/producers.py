"""Clients of real brokers, and the command-line arguments for recording those brokers."""

from __future__ import annotations

from pathlib import Path

from tests.live.brokers import HOST, Broker, accepted, until
from tests.support.paths import ROOT

from fencepost.checker.cli.main import main
from fencepost.checker.systems.kafka import group_requests, requests
from fencepost.checker.systems.kafka.requests import Connection

MODELS = ROOT / "models" / "kafka"
CHECKS = ROOT / "tests" / "live" / "asked_again.fence"


def conformed(level: int, check: str, recording: Path) -> int:
    return main(["conform", str(MODELS / "conform_kafka.fence"), "--check", check, str(recording)])


def recorded(out: Path, *where: str) -> Path:
    assert main(["record", "kafka", *where, "--out", str(out)]) == 0
    return out


def address(broker: Broker) -> tuple[str, str]:
    return "--bootstrap", f"{HOST}:{broker.port}"


def driven(level: int, broker: Broker, *words: str, **options: str) -> int:
    """Drives a cluster, reached through this broker, by the rules of its release."""
    options_ = {"bootstrap": f"{HOST}:{broker.port}", **options}
    system = [word for name, value in options_.items() for word in ("--option", f"{name}={value}")]
    spec = str(MODELS / f"conform_answers_v{level}.fence")
    return main(["drive", spec, "--check", "r4_4_0", "--system", "kafka", *system, *words])


def led_by_a_check(check: str, first_epoch: int, broker: Broker, folder: Path) -> Path:
    """Records a broker's answers along the trace of a check, and returns the recording."""
    trace, saved = folder / f"{check}.itf.json", folder / f"{check}.jsonl"
    assert main(["check", str(CHECKS), "--check", check, "--trace", str(trace)]) == 0
    words = ("--const", f"brokers.FirstEpoch={first_epoch}", "--follow", str(trace))
    code = driven(2, broker, *words, "--record", str(saved), first_epoch=str(first_epoch))
    assert code == 0
    return saved


class Producer:
    """A client that performs one operation at a time, using the protocol of a level."""

    def __init__(
        self, name: str, coordinator: Connection, leader: Connection, level: int = 2
    ) -> None:
        self.name = name
        self.coordinator, self.leader = coordinator, leader
        self.old = level < 2
        self.began()

    def began(self) -> None:
        answer = accepted(self.coordinator, lambda: requests.init_producer_id(self.name))
        self.id, self.epoch = answer.producer_id, answer.producer_epoch

    def writes(self, partition: int, sequence: int = 0) -> None:
        who = self.name, self.id, self.epoch
        if self.old:
            accepted(self.coordinator, lambda: requests.add_partition(*who, "t", partition))
        version = 10 if self.old else 12
        accepted(self.leader, lambda: requests.produce(*who, sequence, "t", partition, version))

    def commits(self, group: str, offset: int, leader: Connection | None = None) -> None:
        """Commits an offset for a group without members."""
        who = self.name, self.id, self.epoch
        if self.old:
            accepted(self.coordinator, lambda: group_requests.add_offsets(*who, group))
        version = 3 if self.old else 5
        accepted(
            leader or self.leader,
            lambda: group_requests.commit_offset(*who, group, "", -1, "t", offset, version),
        )

    def ends(self, commit: bool = True) -> None:
        version = 4 if self.old else 5
        who = self.name, self.id, self.epoch
        answer = self.coordinator.ask(requests.end_txn(*who, commit, version))
        assert self.coordinator.error(answer) == "NONE"
        if not self.old:
            self.epoch = answer.producer_epoch

    def is_complete(self) -> bool:
        return self.state().startswith("Complete")

    def is_settled(self) -> bool:
        return not self.state().startswith("Prepare")

    def state(self) -> str:
        answer = accepted(self.coordinator, lambda: requests.describe_transaction(self.name))
        return str(answer.transaction_states[0].transaction_state)


def transactions_with_a_kill(broker: Broker, connection: Connection) -> None:
    """Runs transactions of four producers; the broker is killed while two transactions are being
    ended and two are open.
    """
    producers = [Producer(f"k{n}", connection, connection) for n in range(4)]
    for n, producer in enumerate(producers):
        producer.writes(0)
        producer.writes(1)
        producer.ends(commit=n % 2 == 0)
        until(producer.is_complete)
        producer.writes(n % 2)
    for producer in producers[:2]:
        connection.send(requests.end_txn(producer.name, producer.id, producer.epoch, True))
    broker.kill()
    broker.start()
    again = broker.connection()
    for producer in producers:
        producer.coordinator = producer.leader = again
        until(producer.is_settled)
        producer.began()
        producer.writes(0)
        producer.writes(1)
        producer.ends()
    for producer in producers:
        until(producer.is_complete)
