"""Explorers of small specs, and a client that sends exact bytes to their server."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any

from fencepost.checker.run.check import load
from fencepost.checker.tools.exploration import MAX_STATES, Exploration
from fencepost.checker.web.server import Server
from fencepost.checker.web.words import Desk
from fencepost.spec.elaborate.claims.program import build


def exploration(folder: Path, spec: str, most: int = MAX_STATES) -> Exploration:
    """Creates an exploration of a spec given as text."""
    path = folder / "spec.fence"
    path.write_text(spec, encoding="utf-8")
    program = load(path, ())
    return Exploration(program, None, {}, build(program, None), most)


@contextmanager
def serving(
    folder: Path, spec: str, prepare: Callable[[Exploration], object] = lambda explored: None
) -> Generator[Server]:
    """Serves an exploration from a thread of this process for the duration of the block.

    ``prepare`` is called first and takes the initial steps.
    """
    explored = exploration(folder, spec)
    prepare(explored)
    with Server(Desk(explored), 0) as server:
        thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join(60)
            assert server.broken is None


@dataclass(frozen=True)
class Answer:
    """An answer of the server."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def answer_to(
    server: Server, head: str, headers: Sequence[tuple[str, str]], body: bytes = b""
) -> Answer:
    """Sends a request with exactly this first line, these headers and this body, and returns the
    answer.
    """
    lines = [head, *(f"{name}: {value}" for name, value in headers), "", ""]
    return raw(server, "\r\n".join(lines).encode() + body)


def raw(server: Server, data: bytes) -> Answer:
    """Sends these bytes and returns the answer."""
    with socket.create_connection(("127.0.0.1", server.gate.port), 60) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        received = b""
        while part := connection.recv(65536):
            received += part
    if not received.startswith(b"HTTP/"):
        # If a request names no version, its answer has no head.
        return Answer(0, {}, received)
    top, _, rest = received.partition(b"\r\n\r\n")
    first, *others = top.decode("ascii").split("\r\n")
    pairs = (line.partition(": ") for line in others)
    return Answer(int(first.split()[1]), {name: value for name, _, value in pairs}, rest)


def answer_to_page(server: Server, **words: Any) -> Answer:
    """Sends a request as the page does, with the headers of a browser, and returns the answer."""
    body = json.dumps(words).encode()
    headers = [
        ("Host", server.gate.host),
        ("Origin", server.gate.origin),
        ("Sec-Fetch-Site", "same-origin"),
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(body))),
    ]
    return answer_to(server, f"POST /{server.gate.token}/do HTTP/1.1", headers, body)
