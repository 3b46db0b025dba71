"""The server of the explorer: it answers its own page, on this machine, and nothing else.

Python's own server, with a handler that reads no path but the three of `RESOURCES` and opens
no file.
"""

from __future__ import annotations

import hmac
import os
import secrets
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import field
from email.message import Message
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any
from typing import Literal as OneOf

from fencepost.checker.web.words import Desk, Malformed
from fencepost.spec.records import dataclass

ADDRESS = "127.0.0.1"
MOST_BYTES = 64 * 1024
"""A request is a word and an expression."""
Resource = OneOf["page", "trace", "do"]
RESOURCES: dict[Resource, tuple[str, str]] = {
    "page": ("GET", ""),
    "trace": ("GET", "trace.itf.json"),
    "do": ("POST", "do"),
}
"""All that there is: with its method, and its name behind the token."""
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Every answer has these: nobody keeps it, frames it, or reads it from elsewhere, and where a link
leads it does not say from where. The page has a policy for its contents besides.
"""

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


def new_token() -> str:
    """Returns 256 random bits as text."""
    return secrets.token_urlsafe(32)


@dataclass(frozen=True, slots=True)
class Gate:
    """Decides which requests the server at ``port`` answers: only those of its own page.

    Every process of this machine and every page in the user's browser can reach the server. A
    request must contain the secret token in its path, must not come from another origin (browsers
    send it), and must name this host, so a foreign name that resolves to this machine is refused.
    """

    port: int
    token: str = field(repr=False, default_factory=new_token)

    @property
    def host(self) -> str:
        return f"{ADDRESS}:{self.port}"

    @property
    def origin(self) -> str:
        return f"http://{self.host}"

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"{self.origin}/{self.token}/"

    def judge(self, method: str, path: str, headers: Message) -> Resource | HTTPStatus:
        """What a request may have, or why it is refused. Without the token all paths are alike."""
        if _only(headers, "Host") != self.host:
            return HTTPStatus.MISDIRECTED_REQUEST
        found: Resource | None = None
        for resource, (_, name) in RESOURCES.items():
            if hmac.compare_digest(path.encode(), f"/{self.token}/{name}".encode()):
                found = resource
        if found is None:
            return HTTPStatus.NOT_FOUND
        if RESOURCES[found][0] != method:
            return HTTPStatus.METHOD_NOT_ALLOWED
        if not self._ours(found, headers):
            return HTTPStatus.FORBIDDEN
        if found == "do":
            return self._body(headers) or found
        return found

    def _ours(self, resource: Resource, headers: Message) -> bool:
        """Whether a request comes from our own page, or, for the page itself, from the user."""
        site = headers.get_all("Sec-Fetch-Site", [])
        allowed = ("same-origin", "none") if resource == "page" else ("same-origin",)
        if any(one not in allowed for one in site):
            return False
        origins = headers.get_all("Origin", [])
        # A browser names the origin of whatever is not a plain GET.
        return origins == [self.origin] or (not origins and resource != "do")

    def _body(self, headers: Message) -> HTTPStatus | None:
        """Why the body of a request is not read; None where it is."""
        if _only(headers, "Content-Type") != "application/json":
            # No form can send this, and no script of another origin without being asked about it.
            return HTTPStatus.UNSUPPORTED_MEDIA_TYPE
        length = _only(headers, "Content-Length")
        if "Transfer-Encoding" in headers or length is None:
            return HTTPStatus.LENGTH_REQUIRED
        if not (length.isascii() and length.isdigit() and len(length) < 9):
            return HTTPStatus.BAD_REQUEST
        return HTTPStatus.REQUEST_ENTITY_TOO_LARGE if int(length) > MOST_BYTES else None


def _only(headers: Message, name: str) -> str | None:
    """The value of a header that is there once."""
    values: Sequence[str] = headers.get_all(name, [])
    return values[0] if len(values) == 1 else None
