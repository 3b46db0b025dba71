"""Hand-written recordings of a lock server, the expected verdicts on them, and unreadable lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.command import Ran, run
from tests.support.paths import spec_text

LEASE = spec_text("lease")

MAPPING = spec_text("lease_mapping")

GRANT = {"source": "server", "event": "granted", "client": "a", "token": 1}
STALL = {"source": "server", "event": "stalled", "client": "a"}
AGAIN = {"source": "server", "event": "granted", "client": "b", "token": 2}
WRITE = {"source": "store", "event": "written", "client": "a", "token": 1}
LATER = {"source": "store", "event": "written", "client": "b", "token": 2}

Event = dict[str, Any]

HISTORIES: dict[str, tuple[list[Event], str, int]] = {
    "nothing": ([], "allowed", 0),
    "granted": ([GRANT], "allowed", 1),
    "written": ([GRANT, WRITE], "allowed", 2),
    "both": ([GRANT, STALL, AGAIN, WRITE, LATER], "allowed", 5),
    "the other way round": ([GRANT, STALL, AGAIN, LATER, WRITE], "allowed", 5),
    "sources in no order": ([WRITE, GRANT], "allowed", 2),
    "no such order in a source": ([GRANT, AGAIN, STALL], "not allowed", 1),
    "another client writes": ([GRANT, {**WRITE, "client": "b"}], "not allowed", 1),
    "another token": ([GRANT, {**WRITE, "token": 2}], "not allowed", 1),
    "twice": ([GRANT, WRITE, WRITE], "not allowed", 2),
    "granted twice": ([GRANT, GRANT], "not allowed", 1),
    "one client is two": ([GRANT, STALL, {**AGAIN, "client": "a"}], "not allowed", 2),
    "more clients than values": (
        [GRANT, STALL, AGAIN, {**STALL, "client": "c"}], "unknown", 3,
    ),
    "a third grant": (
        [GRANT, STALL, AGAIN, STALL, {**AGAIN, "token": 3}], "not allowed", 4,
    ),
    "": ([GRANT], "allowed", 1),
    "\u2028": ([GRANT], "allowed", 1),
    "a huge number": ([{**GRANT, "token": 10**30}], "unknown", 0),
}  # fmt: skip


def folder_with(tmp_path: Path, mapping: str = MAPPING) -> Path:
    (tmp_path / "lease.fence").write_text(LEASE, encoding="utf-8")
    (tmp_path / "map.fence").write_text(mapping, encoding="utf-8")
    return tmp_path


def written(histories: dict[str, list[Event]]) -> str:
    return "".join(
        json.dumps({"file": key, **event}) + "\n"
        for key, events in histories.items()
        for event in events
    )


def conform(folder: Path, text: str | bytes, *words: str) -> Ran:
    path = folder / "r.jsonl"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return run("conform", "map.fence", "r.jsonl", *words, folder=folder)


def verdicts(ran: Ran) -> dict[str, tuple[str, int]]:
    return {
        history["key"]: (history["verdict"], history["read"])
        for history in json.loads(ran.stdout)["histories"]
    }


DAMAGE: dict[str, tuple[bytes, str]] = {
    "not JSON": (b"granted a 1\n", "the line is not JSON: Expecting value at column 1"),
    "half a line": (b'{"file": "x", "sour', "the line is not JSON: Unterminated string"),
    "no object": (b"[1, 2]\n", "the line is not a JSON object"),
    "no UTF-8": (b'{"file": "\xff"}\n', "the line is not UTF-8 text"),
    "nested": (b"[" * 100_000 + b"\n", "nested too deep"),
    "deep": (b'{"source": "server", "x": ' + b"[" * 70 + b"]" * 70 + b"}\n", "nested too deep"),
    "digits": (b'{"file": 1' + b"0" * 5000 + b"}\n", "the line is not JSON: Exceeds the limit"),
    "NaN": (b'{"file": NaN}\n', "NaN is not a JSON value"),
    "long": (b'{"file": "' + b"x" * (1 << 20) + b'"}\n', "the line is longer than 1,048,576 bytes"),
    "no key": (b'{"source": "server"}\n', 'no field "file" tells which history'),
    "a list for a key": (b'{"file": [1]}\n', 'the field "file" names a history'),
    "half a character": (b'{"file": "\\ud800"}\n', 'the field "file" names a history'),
    "no source": (b'{"file": "x"}\n', 'there is no field "source"'),
    "another source": (
        b'{"file": "x", "source": "servr"}\n', '"servr" is not a source of the recording; did',
    ),
    "no event": (b'{"file": "x", "source": "server"}\n', 'no field "event" names the event'),
    "another event": (
        b'{"file": "x", "source": "server", "event": "grant"}\n', 'did you mean "granted"?',
    ),
    "a field missing": (
        b'{"file": "x", "source": "server", "event": "granted", "client": "a"}\n',
        'granted has no field "token"',
    ),
    "a field of another type": (
        b'{"file": "x", "source": "server", "event": "granted", "client": "a", "token": "1"}\n',
        'the field "token" of granted: an integer is required here',
    ),
    "a key twice": (
        b'{"file": "x", "source": "server", "file": "f"}\n',
        'the line has the field "file" twice in one object',
    ),
    "a key twice inside": (
        b'{"file": "x", "source": "server", "client": {"a": 1, "a": 2}}\n',
        'the line has the field "a" twice in one object',
    ),
    "no name": (
        b'{"file": "x", "source": "server", "event": "granted", "client": [], "token": 1}\n',
        'the field "client" of granted: a name is a text or a number',
    ),
}  # fmt: skip
