"""The server of the explorer. It serves only its own page, and it can be reached only from this
machine.

It is Python's HTTP server with a handler that serves only the three paths of `RESOURCES` and opens
no files.
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
MAX_BYTES = 64 * 1024
"""A request consists of a command and an expression, so larger requests are refused."""
Resource = OneOf["page", "trace", "do"]
RESOURCES: dict[Resource, tuple[str, str]] = {
    "page": ("GET", ""),
    "trace": ("GET", "trace.itf.json"),
    "do": ("POST", "do"),
}
"""The method of each resource, and its path after the token."""
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Headers of every response. They forbid to cache a response, to frame it and to read it from other
origins, and links send no referrer. The page also has a content security policy.
"""

TYPES: dict[Resource, str] = {
    "page": "text/html; charset=utf-8",
    "trace": "application/json",
    "do": "application/json",
}
TIMEOUT_SECONDS = 30.0
"""Seconds after which an idle connection is closed."""


class Server(ThreadingTCPServer):
    """A server on a local port, where 0 selects a free port. Raises `OSError`.

    `serve_forever` returns after another thread calls `shutdown`. It also returns after a bug in a
    handler, and ``broken`` then holds the exception.
    """

    daemon_threads = True
    # On other systems this option would let another process take over the port.
    allow_reuse_address = os.name == "posix"

    def __init__(self, desk: Desk, port: int) -> None:
        super().__init__((ADDRESS, port), _Handler)
        self.desk = desk
        self.gate = Gate(self.server_address[1])
        self.broken: BaseException | None = None

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exception()
        # It is not an error if a browser disconnects or sends nothing.
        if not isinstance(error, OSError):
            self.broken = error
            self.shutdown()


class _Handler(BaseHTTPRequestHandler):
    """Handles a single request."""

    timeout = TIMEOUT_SECONDS
    server_version = "fencepost"
    sys_version = ""

    def do_GET(self) -> None:
        self._answer("GET")

    def do_POST(self) -> None:
        self._answer("POST")

    def _answer(self, method: str) -> None:
        assert isinstance(self.server, Server)
        decision = self.server.gate.judge(method, self.path, self.headers)
        if isinstance(decision, HTTPStatus):
            self._send(decision, "text/plain", decision.phrase)
            return
        desk = self.server.desk
        match decision:
            case "page":
                body: str | None = desk.page()
            case "trace":
                body = desk.trace()
            case "do":
                try:
                    body = desk.answer(self.rfile.read(int(self.headers["Content-Length"])))
                except Malformed:
                    self._send(HTTPStatus.BAD_REQUEST, "text/plain", "malformed")
                    return
        if body is None:
            self._send(HTTPStatus.CONFLICT, "text/plain", "there is nothing to save yet")
            return
        self._send(HTTPStatus.OK, TYPES[decision], body)

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
        """Sends the errors that Python's server reports for other methods and for malformed
        requests.
        """
        with suppress(ValueError):
            status = HTTPStatus(code)
            self._send(status, "text/plain", status.phrase)

    def log_message(self, format: str, *args: Any) -> None:
        """Logs nothing, since every path contains the token."""


def new_token() -> str:
    """Returns 256 random bits as text."""
    return secrets.token_urlsafe(32)


@dataclass(frozen=True, slots=True)
class Gate:
    """Decides which requests the server at ``port`` answers. It accepts only requests of the
    server's own page.

    Every process on this machine and every page in the user's browser can reach the server.
    Therefore a request must contain the secret token in its path. It must not come from another
    origin, which browsers state in the request. It must also name this host, so that a request for
    a foreign name that resolves to this machine is refused.
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
        """The URL of the page."""
        return f"{self.origin}/{self.token}/"

    def judge(self, method: str, path: str, headers: Message) -> Resource | HTTPStatus:
        """Returns the requested resource, or the status with which the request is refused. All
        paths without the token are refused in the same way.
        """
        if _only(headers, "Host") != self.host:
            return HTTPStatus.MISDIRECTED_REQUEST
        requested: Resource | None = None
        for resource, (_, name) in RESOURCES.items():
            if hmac.compare_digest(path.encode(), f"/{self.token}/{name}".encode()):
                requested = resource
        if requested is None:
            return HTTPStatus.NOT_FOUND
        if RESOURCES[requested][0] != method:
            return HTTPStatus.METHOD_NOT_ALLOWED
        if not self._ours(requested, headers):
            return HTTPStatus.FORBIDDEN
        if requested == "do":
            return self._body(headers) or requested
        return requested

    def _ours(self, resource: Resource, headers: Message) -> bool:
        """Returns whether a request comes from our own page. The page itself may also be opened
        directly.
        """
        site = headers.get_all("Sec-Fetch-Site", [])
        allowed = ("same-origin", "none") if resource == "page" else ("same-origin",)
        if any(origin_kind not in allowed for origin_kind in site):
            return False
        origins = headers.get_all("Origin", [])
        # Browsers send the origin with every request except plain GET requests.
        return origins == [self.origin] or (not origins and resource != "do")

    def _body(self, headers: Message) -> HTTPStatus | None:
        """Returns the status with which the body of a request is refused, or None if the body is
        accepted.
        """
        if _only(headers, "Content-Type") != "application/json":
            # Forms cannot send this type. Scripts of other origins can send it only after a
            # preflight request.
            return HTTPStatus.UNSUPPORTED_MEDIA_TYPE
        length = _only(headers, "Content-Length")
        if "Transfer-Encoding" in headers or length is None:
            return HTTPStatus.LENGTH_REQUIRED
        if not (length.isascii() and length.isdigit() and len(length) < 9):
            return HTTPStatus.BAD_REQUEST
        return HTTPStatus.REQUEST_ENTITY_TOO_LARGE if int(length) > MAX_BYTES else None


def _only(headers: Message, name: str) -> str | None:
    """Returns the value of a header that occurs exactly once, otherwise None."""
    values: Sequence[str] = headers.get_all(name, [])
    return values[0] if len(values) == 1 else None
