"""The server of the explorer: it answers its own page, on this machine, and nothing else.

Python's own server, with a handler that reads no path but the three of `gate.RESOURCES` and opens
no file.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any

from fencepost.checker.web.gate import ADDRESS, HEADERS, Gate, Resource
from fencepost.checker.web.words import Desk, Malformed

TYPES: dict[Resource, str] = {
    "page": "text/html; charset=utf-8",
    "trace": "application/json",
    "do": "application/json",
}
PATIENCE = 30.0
"""Seconds that a connection may be silent."""


class Server(ThreadingTCPServer):
    """The server at a port of this machine (0: any that is free); raises `OSError`.

    `serve_forever` returns when another thread calls `shutdown`. A bug of ours in a handler ends
    it: ``broken`` is then what was raised.
    """

    daemon_threads = True
    # Elsewhere it would let another process of this machine take the port over.
    allow_reuse_address = os.name == "posix"

    def __init__(self, desk: Desk, port: int) -> None:
        super().__init__((ADDRESS, port), _Handler)
        self.desk = desk
        self.gate = Gate(self.server_address[1])
        self.broken: BaseException | None = None

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exception()
        # A browser that goes away, or that never says anything, is none.
        if not isinstance(error, OSError):
            self.broken = error
            self.shutdown()


class _Handler(BaseHTTPRequestHandler):
    """One request."""

    timeout = PATIENCE
    server_version = "fencepost"
    sys_version = ""

    def do_GET(self) -> None:
        self._answer("GET")

    def do_POST(self) -> None:
        self._answer("POST")

    def _answer(self, method: str) -> None:
        assert isinstance(self.server, Server)
        judged = self.server.gate.judge(method, self.path, self.headers)
        if isinstance(judged, HTTPStatus):
            self._send(judged, "text/plain", judged.phrase)
            return
        desk = self.server.desk
        match judged:
            case "page":
                made: str | None = desk.page()
            case "trace":
                made = desk.trace()
            case "do":
                try:
                    made = desk.answer(self.rfile.read(int(self.headers["Content-Length"])))
                except Malformed:
                    self._send(HTTPStatus.BAD_REQUEST, "text/plain", "malformed")
                    return
        if made is None:
            self._send(HTTPStatus.CONFLICT, "text/plain", "there is nothing to save yet")
            return
        self._send(HTTPStatus.OK, TYPES[judged], made)

    def _send(self, status: HTTPStatus, kind: str, text: str) -> None:
        body = text.encode("utf-8")
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What Python's server refuses by itself: other methods, and what is no request."""
        with suppress(ValueError):
            status = HTTPStatus(code)
            self._send(status, "text/plain", status.phrase)

    def log_message(self, format: str, *args: Any) -> None:
        """The token is in every path, and belongs in no log."""
