"""Verdicts on small recordings, what is said of them, and recordings that are damaged."""

from __future__ import annotations

import gzip
import json
import random
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from tests.support.command import Ran, run

LEASE = """\
enum Client: Alice, Bob
type Token = 1..2
union Message:
    Granted(client: Client, token: Token)
    Write(client: Client, token: Token)
channel net: Message capacity 4
const Line: seq[Client, 2] = [Alice, Bob]
role Server:
    var line: seq[Client, 2] = Line
    var holder: Client? = none
    var issued: 0..2 = 0
    action grant:
        require holder == none and len(line) > 0
        holder = first(line)
        line.pop_first()
        issued += 1
        send Granted(holder!, issued) to net
    environment action expire:
        require holder != none
        holder = none
role Writer[me: Client]:
    var lease: Token? = none
    action granted on Granted(==me, token) from net:
        lease = token
    action write:
        require lease != none
        send Write(me, lease!) to net
        lease = none
role Store:
    var newest: 0..2 = 0
    action on_write on Write(client, token) from net:
        newest = token
"""

MAPPING = """\
import lease as m
recording:
    key file
    source server ordered
    source store ordered
    bind client: m.Client
event granted(client: client, token: int) from server
event written(client: client, token: int) from store
shows granted(next(m.Server.holder)!, next(m.Server.issued)) on m.Server.grant
shows written(client, token) on m.Store.on_write(client, token)
input stalled(client: client) from server: m.Server.expire
"""

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
        one["key"]: (one["verdict"], one["read"]) for one in json.loads(ran.stdout)["histories"]
    }


def test_verdicts(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    text = written({name: events for name, (events, _, _) in HISTORIES.items()})
    ran = conform(folder, text, "--format", "json")
    expected = {
        name: (verdict, k) for name, (_, verdict, k) in HISTORIES.items() if name != "nothing"
    }
    assert verdicts(ran) == expected
    assert (ran.code, ran.stderr) == (15, "")


@pytest.mark.parametrize(("name", "code"), [("both", 0), ("twice", 15), ("a huge number", 3)])
def test_exit_codes(name: str, code: int, tmp_path: Path) -> None:
    ran = conform(folder_with(tmp_path), written({name: HISTORIES[name][0]}))
    assert ran.code == code, ran.stdout


def test_other_interleavings_and_files_give_the_same_report(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    histories = {name: events for name, (events, _, _) in HISTORIES.items()}
    lines = [{"file": key, **event} for key, events in histories.items() for event in events]
    first = conform(folder, "".join(json.dumps(one) + "\n" for one in lines)).stdout
    chance = random.Random(1)
    for _ in range(5):
        queues = [
            list(rows)
            for _, rows in groupby(
                sorted(lines, key=lambda one: (one["file"], one["source"])),
                key=lambda one: (one["file"], one["source"]),
            )
        ]
        mixed: list[Event] = []
        while queues:
            queue = chance.choice(queues)
            mixed.append(queue.pop(0))
            queues = [one for one in queues if one]
        half = len(mixed) // 2
        text = [
            "".join(json.dumps(one) + "\n" for one in part) for part in (mixed[:half], mixed[half:])
        ]
        (folder / "one.jsonl").write_text(text[0], encoding="utf-8")
        (folder / "two.jsonl.gz").write_bytes(gzip.compress(text[1].encode()))
        again = run("conform", "map.fence", "one.jsonl", "two.jsonl.gz", folder=folder)
        assert again.stdout == first


def test_the_report_says_what_is_next_and_what_the_model_shows(tmp_path: Path) -> None:
    ran = conform(folder_with(tmp_path), written({"f": HISTORIES["another client writes"][0]}))
    assert "f  not allowed   1 of 2 events can be read" in ran.stdout
    assert "server: all of 1 event" in ran.stdout
    assert 'store: next is event 1 of 1, written(client: "b", token: 1)' in ran.stdout
    assert "there the model shows instead: written(client: Alice, token: 1)" in ran.stdout
    assert 'm.Server.grant [server: granted(client: "a", token: 1)]' in ran.stdout
    assert "never taken   m.Server.expire" in ran.stdout


def test_the_trace_is_saved_and_shown(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    conform(folder, written({"f": HISTORIES["twice"][0]}), "--trace", "t.itf.json")
    for form in ("text", "html", "mermaid", "dot", "json"):
        shown = run("trace", "show", "t.itf.json", "--as", form, folder=folder)
        assert (shown.code, shown.stderr) == (0, "")
        assert "granted" in shown.stdout


DAMAGE: dict[str, tuple[bytes, str]] = {
    "not JSON": (b"granted a 1\n", "the line is no JSON: Expecting value at column 1"),
    "half a line": (b'{"file": "x", "sour', "the line is no JSON: Unterminated string"),
    "no object": (b"[1, 2]\n", "the line is no JSON object"),
    "no UTF-8": (b'{"file": "\xff"}\n', "the line is no UTF-8 text"),
    "nested": (b"[" * 100_000 + b"\n", "nested too deep"),
    "digits": (b'{"file": 1' + b"0" * 5000 + b"}\n", "the line is no JSON: Exceeds the limit"),
    "NaN": (b'{"file": NaN}\n', "NaN is no JSON value"),
    "long": (b'{"file": "' + b"x" * (1 << 20) + b'"}\n', "the line is longer than 1,048,576 bytes"),
    "no key": (b'{"source": "server"}\n', 'no field "file" says to which history'),
    "a list for a key": (b'{"file": [1]}\n', 'the field "file" names a history'),
    "no source": (b'{"file": "x"}\n', 'there is no field "source"'),
    "another source": (
        b'{"file": "x", "source": "servr"}\n', '"servr" is no source of the recording; did',
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
        'the field "token" of granted: a whole number is wanted here',
    ),
    "no name": (
        b'{"file": "x", "source": "server", "event": "granted", "client": [], "token": 1}\n',
        'the field "client" of granted: a name is a text or a number',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_told_with_its_place_and_the_rest_is_judged(name: str, tmp_path: Path) -> None:
    line, message = DAMAGE[name]
    whole = written({"f": HISTORIES["both"][0], "g": HISTORIES["twice"][0]}).encode()
    ran = conform(folder_with(tmp_path), whole + line, "--format", "json")
    found = verdicts(ran)
    assert (found["f"], found["g"]) == (("allowed", 5), ("not allowed", 2))
    assert found.get("x", ("unread", 0)) == ("unread", 0)
    assert f"error[F047]: r.jsonl:9: {message}" in ran.stderr or (
        "error[F047]: r.jsonl:9: " in ran.stderr and message in ran.stderr
    )
    assert (ran.code, ran.stderr.count("error[")) == (151, 1)


def test_a_compressed_file_that_ends_too_early(tmp_path: Path) -> None:
    packed = gzip.compress(written({"f": HISTORIES["both"][0]}).encode())
    ran = conform(folder_with(tmp_path), packed[:-20])
    assert ran.code == 151
    assert "the compressed file ends too early" in ran.stderr


def test_a_spec_without_a_recording_and_files_that_are_missing(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    (folder / "r.jsonl").write_text("", encoding="utf-8")
    ran = run("conform", "lease.fence", "r.jsonl", folder=folder)
    assert (ran.code, "error[F048]" in ran.stderr) == (151, True)
    ran = run("conform", "map.fence", "q.jsonl", folder=folder)
    assert (ran.code, "q.jsonl: No such file" in ran.stderr) == (151, True)
    ran = run("conform", "map.fence", "r.jsonl", "--engine", "spark", folder=folder)
    assert (ran.code, "spark" in ran.stderr) == (151, True)
    ran = run("conform", "map.fence", "r.jsonl", folder=folder)
    assert (ran.code, "no history" in ran.stdout) == (0, True)
