"""Answers the first request of an editor before the server is loaded, which takes a second.

The server reads the request again, and its own answer is not sent. A test checks that both answers
are equal.
"""

from __future__ import annotations

import io
import json
import os
import sys
from importlib.resources import files
from importlib.util import find_spec
from typing import Any, cast

from fencepost import __version__

MAX_BYTES = 1 << 24
"""A larger request is left to the server."""
CLIENT = ("params", "capabilities")
ENCODINGS = ("utf-8", "utf-16", "utf-32")


class Greeted(io.RawIOBase):
    """Standard input, with the bytes that were read from it in front. ``answered`` is the id of the
    request that was answered, or None.
    """

    def __init__(self, data: bytes, answered: object) -> None:
        self._data = data
        self.answered = answered

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data, self._data = self._data[: len(buffer)], self._data[len(buffer) :]
        data = data or os.read(0, len(buffer))
        buffer[: len(data)] = data
        return len(data)


def greet() -> None:
    """Reads the first message from standard input, answers it if it is a valid ``initialize``, and
    replaces ``sys.stdin`` by a `Greeted`. Does nothing if the server cannot be loaded.
    """
    if find_spec("pygls") is None:
        return
    head = b""
    while not head.endswith(b"\r\n\r\n") and len(head) < 1_000 and (char := os.read(0, 1)):
        head += char
    name, _, size = head.strip().partition(b":")
    body = b""
    if name.lower() == b"content-length" and size.strip().isdigit() and int(size) < MAX_BYTES:
        while len(body) < int(size) and (more := os.read(0, int(size) - len(body))):
            body += more
    result, number = answer(body)
    if result is not None:
        message = json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode()
        os.write(1, b"Content-Length: %d\r\n\r\n%s" % (len(message), message))
    stream = io.BufferedReader(Greeted(head + body, number))
    sys.stdin = io.TextIOWrapper(stream, encoding="utf-8")


def answer(body: bytes) -> tuple[dict[str, Any] | None, object]:
    """Returns the result of a request and its id, or None twice unless it is ``initialize``."""
    try:
        request: Any = json.loads(body)
    except (ValueError, RecursionError):
        return None, None
    number, client = _inside(request, "id"), _inside(request, "params", "capabilities")
    method = _inside(request, "method")
    if method != "initialize" or not isinstance(number, int | str) or not isinstance(client, dict):
        return None, None
    text = (files("fencepost.checker.lsp") / "capabilities.json").read_text(encoding="utf-8")
    capabilities = json.loads(text)
    offered: list[str] = _inside(request, *CLIENT, "general", "positionEncodings") or []
    prepares = _inside(request, *CLIENT, "textDocument", "rename", "prepareSupport")
    encodings = (name for name in offered if name in ENCODINGS)
    capabilities["positionEncoding"] = next(encodings, "utf-16")
    capabilities["renameProvider"] = {"prepareProvider": True} if prepares else True
    information = {"name": "fencepost", "version": __version__}
    return {"capabilities": capabilities, "serverInfo": information}, number


def _inside(value: Any, *names: str) -> Any:
    """Returns a part of nested objects, or None if it is absent."""
    for name in names:
        value = cast(dict[str, Any], value).get(name) if isinstance(value, dict) else None
    return value
