"""Which requests the explorer answers: those of its own page, in the browser of its user.

Everything that runs on this machine can reach the server, and so can every page that the user's
browser has open. A page of another origin cannot read the token, which is part of every path; may
not send a request that says so, since browsers name the origin; and cannot make itself one of ours
by pointing its own name at this machine, since the host is then that name. Each of the three is
enough against it. Other users of the machine lack the token. It knows no sockets.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Sequence
from dataclasses import field
from email.message import Message
from http import HTTPStatus
from typing import Literal as OneOf

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


def new_token() -> str:
    """256 bits that nobody can guess."""
    return secrets.token_urlsafe(32)


@dataclass(frozen=True, slots=True)
class Gate:
    """The server at ``port``, and its token."""

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
