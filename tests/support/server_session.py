"""A client of the language server that sends plain JSON and detects missing answers."""

from __future__ import annotations

import json
import logging
import os
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from time import monotonic
from typing import Any, BinaryIO

from pygls.exceptions import JsonRpcException, JsonRpcInternalError
from pygls.uris import from_fs_path

from fencepost.checker.lsp.server import Service

Message = dict[str, Any]
PATIENCE = 45.0
"""The number of seconds to wait for answers; the server ends every survey after 20 seconds."""


class _Errors(logging.Handler):
    """Collects the exceptions that the server logs, except when it refuses a request as the
    protocol allows.
    """

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.details: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info is None or record.exc_info[1] is None:
            return
        error = record.exc_info[1]
        refused = isinstance(error, JsonRpcException) and not isinstance(
            error, JsonRpcInternalError
        )
        if not refused:
            self.details.append("".join(traceback.format_exception(error)))


@dataclass(slots=True)
class Session:
    """A connection to a server. `unanswered` lists the methods of requests that got no answer."""

    requests: BinaryIO
    answers: BinaryIO
    answered: dict[int, Message] = field(default_factory=dict[int, Message])
    _received: Queue[Message] = field(default_factory=Queue[Message])
    _sent: int = 0
    _receiving: Thread = field(init=False)

    def __post_init__(self) -> None:
        self._receiving = Thread(target=self._receive, daemon=True)
        self._receiving.start()

    def close(self) -> None:
        """Closes the connection after the server has closed it."""
        self.requests.close()
        self._receiving.join(PATIENCE)
        self.answers.close()

    def _receive(self) -> None:
        while head := self.answers.readline():
            length = 0
            while head.strip():
                name, _, value = head.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
                head = self.answers.readline()
            self._received.put(json.loads(self.answers.read(length)))

    def _send(self, message: Message) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.requests.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.requests.flush()

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        self._send({"method": method, "params": params})

    def ask(self, method: str, params: Mapping[str, Any]) -> int:
        """Sends a request and returns its number."""
        self._sent += 1
        self._send({"id": self._sent, "method": method, "params": params})
        return self._sent

    def wait(self, numbers: Sequence[int], patience: float = PATIENCE) -> list[int]:
        """Waits for the answers to requests, and returns the numbers of those that got none."""
        end = monotonic() + patience
        while left := [number for number in numbers if number not in self.answered]:
            try:
                message = self._received.get(timeout=max(0.0, end - monotonic()))
            except Empty:
                return left
            if "method" not in message:
                self.answered[message["id"]] = message
            elif "id" in message:
                self._send({"id": message["id"], "result": None})
        return []

    def begin(self, folder: Path, options: Mapping[str, Any]) -> None:
        """Opens the folder in the session."""
        uri = from_fs_path(str(folder))
        number = self.ask(
            "initialize",
            {
                "processId": None,
                "rootUri": uri,
                "capabilities": {},
                "initializationOptions": options,
                "workspaceFolders": [{"uri": uri, "name": folder.name}],
            },
        )
        assert not self.wait([number])
        self.notify("initialized", {})


@dataclass(slots=True)
class LocalServer:
    """A server in a thread of this process, and the session with it."""

    session: Session
    thread: Thread
    errors: _Errors

    def end(self) -> None:
        """Ends the session as an editor does."""
        left = self.session.wait([self.session.ask("shutdown", {})])
        self.session.notify("exit", {})
        logging.getLogger().removeHandler(self.errors)
        assert not left
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()
        self.session.close()


def local_server(folder: Path, options: Mapping[str, Any]) -> LocalServer:
    """Starts a server in this process and opens a folder."""
    errors = _Errors()
    logging.getLogger().addHandler(errors)
    asked, requests = os.pipe()
    answers, answered = os.pipe()
    service = Service()

    def serve() -> None:
        with os.fdopen(asked, "rb") as read, os.fdopen(answered, "wb") as write:
            service.server.start_io(read, write)

    thread = Thread(target=serve, daemon=True)
    thread.start()
    session = Session(os.fdopen(requests, "wb"), os.fdopen(answers, "rb"))
    session.begin(folder, options)
    return LocalServer(session, thread, errors)
