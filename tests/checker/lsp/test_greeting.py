"""The answer that is sent before the server is loaded is the answer that the server would send."""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any

import pytest
from lsprotocol import types as lsp
from lsprotocol.converters import get_converter

from fencepost.checker.lsp import greeting
from fencepost.checker.lsp.server import Service

CLIENTS: dict[str, dict[str, Any]] = {
    "bare": {},
    "null": {"general": None, "textDocument": None},
    "vscode": {
        "general": {"positionEncodings": ["utf-16"]},
        "textDocument": {
            "rename": {"prepareSupport": True},
            "synchronization": {"willSave": True, "willSaveWaitUntil": True, "didSave": True},
        },
        "workspace": {"workspaceFolders": True, "fileOperations": {"didCreate": True}},
    },
    "helix": {"general": {"positionEncodings": ["utf-7", "utf-32", "utf-8"]}},
    "plain rename": {"textDocument": {"rename": {"prepareSupport": False}}},
}


def result_of(steps: Generator[Any, Any, Any]) -> Any:
    """Runs a generator to its end, and returns its result."""
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            return ended.value


@pytest.mark.parametrize("client", CLIENTS)
def test_the_answer_is_the_servers(client: str) -> None:
    request = {"id": 7, "method": "initialize", "params": {"capabilities": CLIENTS[client]}}
    early, number = greeting.answer(json.dumps(request).encode())
    converter = get_converter()
    known = converter.structure(CLIENTS[client], lsp.ClientCapabilities)
    server = Service().server
    steps = server.protocol.lsp_initialize(lsp.InitializeParams(capabilities=known))
    late = converter.unstructure(result_of(steps))
    changes = late["capabilities"]["textDocumentSync"]
    # An event without support is either absent or false.
    late["capabilities"]["textDocumentSync"] = {k: v for k, v in changes.items() if v is not False}
    assert (early, number) == (late, 7)


@pytest.mark.parametrize(
    "body",
    [b"", b"[" * 100_000, b"[]", b'{"id": 1}', b'{"id": 1, "method": "shutdown", "params": {}}',
     b'{"id": 1, "method": "shutdown", "params": {"capabilities": {}}}',
     b'{"method": "initialize", "params": {"capabilities": {}}}',
     b'{"id": [], "method": "initialize", "params": {"capabilities": {}}}'],
)  # fmt: skip
def test_other_messages_are_left_to_the_server(body: bytes) -> None:
    assert greeting.answer(body) == (None, None)


def test_the_server_reads_the_message_again() -> None:
    stream = greeting.Greeted(b"Content-Length", 1)
    assert (stream.read(3), stream.read(100)) == (b"Con", b"tent-Length")
