"""A group coordinator is deposed when its broker loses only the connection to the controller."""

from __future__ import annotations

import socket
from contextlib import suppress
from pathlib import Path
from threading import Thread

from tests.live.brokers import CONTROLLER, HOST, RELEASE, Broker, accepted, running, until
from tests.live.producers import Producer
from tests.live.test_groups import Reader

from fencepost.checker.systems.kafka import requests
from fencepost.checker.systems.kafka.requests import Connection

OTHER = "127.0.0.2"
"""The address through which a broker reaches the controller over a `Cable`."""


class Cable:
    """Forwards bytes from a port of `OTHER` to the same port of `HOST`, until it is cut."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._ends: list[socket.socket] = []
        self._listener = socket.create_server((OTHER, port))
        Thread(target=self._carry_all, daemon=True).start()

    def _carry_all(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection((HOST, self._port))
                self._ends += [near, far]
                for source, target in ((near, far), (far, near)):
                    Thread(target=self._carry, args=(source, target), daemon=True).start()

    @staticmethod
    def _carry(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        for end in (self._listener, *self._ends):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


def hosts(folder: Path, address: str) -> Path:
    path = folder / f"{address}.hosts"
    names = {CONTROLLER: address, "localhost": HOST, socket.gethostname(): HOST}
    path.write_text("".join(f"{where} {name}\n" for name, where in names.items()))
    return path


def created(connection: Connection, name: str, brokers: list[int]) -> None:
    accepted(connection, lambda: requests.create_topic(name, [brokers], name != "t"))


def committed(reader: Reader, producer: Producer) -> None:
    until(lambda: reader.commit(producer, "t", 1)() == "NONE")
    producer.ends()
    until(producer.is_complete)


def leader(connection: Connection) -> int | None:
    [*topics] = connection.ask(requests.metadata("__consumer_offsets")).topics
    return topics[0].partitions[0].leader_id if topics and topics[0].partitions else None


def test_a_deposed_coordinator_hands_out_offsets_from_before(tmp_path: Path) -> None:
    """docs/kafka/findings/stale_offset_fetch.md: one record becomes part of two committed
    transactions.
    """
    broker_1 = Broker(RELEASE, tmp_path / "one", hosts=hosts(tmp_path, HOST))
    broker_2 = Broker(
        RELEASE, tmp_path / "two", 2, 2, broker_1.controller, hosts=hosts(tmp_path, OTHER)
    )
    cable = Cable(broker_1.controller)
    with running(broker_1, broker_2):
        first, second = broker_1.connection(), broker_2.connection()
        created(first, "t", [1])
        created(first, "__consumer_offsets", [2, 1])
        created(first, "__transaction_state", [1])
        until(lambda: leader(first) == leader(second) == 2)
        Reader("g", second)
        producers = [Producer(name, first, first) for name in ("a", "b")]

        cable.cut()
        until(lambda: leader(first) == 1)
        assert leader(second) == 2
        reader = Reader("g", first)
        for producer in producers:
            # Each transaction begins at the offset that the old coordinator returns.
            assert reader.fetched("t", second) == ("NONE", -1)
            reader.joins(producer.name.encode())
            committed(reader, producer)
            assert producer.state() == "CompleteCommit"
            assert reader.fetched("t") == ("NONE", 1)
        assert reader.fetched("t", second) == ("NONE", -1)
