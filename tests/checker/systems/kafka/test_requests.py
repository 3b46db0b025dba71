"""Requests and answers over a socket. The broker is a thread that sends prepared bytes."""

from __future__ import annotations

import re
import socket
import threading
import tracemalloc
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager, suppress

import pytest

from fencepost.checker.systems.kafka import group_requests, requests
from fencepost.checker.systems.kafka.cluster import MAX_ANSWER, Unreachable
from fencepost.checker.systems.kafka.requests import Connection


def answer(number: int, error: int = 0, id_: int = 7) -> bytes:
    """Returns an InitProducerId response, version 5: no tags, no throttling."""
    header = number.to_bytes(4, "big") + b"\0" + bytes(4) + error.to_bytes(2, "big")
    data = header + id_.to_bytes(8, "big") + bytes(2) + b"\0"
    return len(data).to_bytes(4, "big") + data


@contextmanager
def answering(answers: Sequence[bytes]) -> Generator[Connection]:
    """Yields a connection to a server that sends these answers, one per request."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            # A client that stops reading closes the connection.
            with server.accept()[0] as client, suppress(OSError):
                for data in answers:
                    size = int.from_bytes(client.recv(4, socket.MSG_WAITALL), "big")
                    client.recv(size, socket.MSG_WAITALL)
                    client.sendall(data)
                client.recv(1)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        host, port = server.getsockname()
        with closing(Connection(host, port, 10.0)) as connection:
            yield connection
        thread.join(10)


def test_answers_come_in_the_order_of_requests() -> None:
    with answering([answer(1), answer(2, id_=8), answer(3, error=53)]) as connection:
        connection.send(requests.init_producer_id("a"))
        connection.send(requests.init_producer_id("a"))
        assert [connection.take().producer_id for _ in range(2)] == [7, 8]
        refused = connection.ask(requests.init_producer_id("a"))
        assert connection.error(refused) == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"


@pytest.mark.parametrize("number", [0, 2, 999])
def test_an_answer_to_another_request(number: int) -> None:
    why = f"request {number} is answered, not 1"
    with answering([answer(number)]) as connection, pytest.raises(Unreachable, match=why):
        connection.ask(requests.init_producer_id("a"))


def test_an_answer_that_arrives_late() -> None:
    """An answer to an earlier request is not mistaken for the answer to a later one."""
    with answering([answer(1), answer(2)]) as connection:
        connection.send(requests.init_producer_id("a"))
        with pytest.raises(Unreachable, match="request 1 is answered, not 2"):
            connection.ask(requests.init_producer_id("a"))


def test_a_server_that_is_not_a_broker() -> None:
    why = re.escape("the server there is not a Kafka broker")
    with answering([b"HTTP/1.1 400"]) as connection, pytest.raises(Unreachable, match=why):
        connection.ask(group_requests.find_coordinator("a"))


@pytest.mark.parametrize("size", [MAX_ANSWER + 1, (1 << 31) - 1, (1 << 32) - 1])
def test_an_announced_size_beyond_the_limit_is_refused(size: int) -> None:
    with answering([size.to_bytes(4, "big")]) as connection, pytest.raises(Unreachable):
        connection.ask(requests.init_producer_id("a"))


def test_memory_follows_the_received_and_not_the_announced_size() -> None:
    with answering([MAX_ANSWER.to_bytes(4, "big")]) as connection:
        tracemalloc.start()
        try:
            connection.wait(0.5)
            with pytest.raises(Unreachable):
                connection.ask(requests.init_producer_id("a"))
            assert tracemalloc.get_traced_memory()[1] < MAX_ANSWER // 10
        finally:
            tracemalloc.stop()
