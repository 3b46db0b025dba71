"""Verdicts on small recordings, what is said of them, and recordings that are damaged."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import tracemalloc
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from tests.support.command import Ran, run

from fencepost.checker.conform import many
from fencepost.checker.conform.lines import read
from fencepost.checker.conform.mapping import Mapped
from fencepost.checker.conform.search import Effort, judge
from fencepost.spec.elaborate.program import load, mapped

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
        queues: list[list[Event]] = [
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
    assert 'there the model shows instead: written(client: "a", token: 1)' in ran.stdout
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
    "half a character": (b'{"file": "\\ud800"}\n', 'the field "file" names a history'),
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


@pytest.mark.parametrize("packed", [False, True])
def test_a_line_takes_no_more_memory_than_is_allowed(packed: bool, tmp_path: Path) -> None:
    """64 MiB here; the limit for a line is 1 MiB."""
    folder = folder_with(tmp_path)
    path = folder / "r.jsonl"
    whole = written({"f": HISTORIES["both"][0], "g": HISTORIES["twice"][0]}).encode()
    with gzip.open(path, "wb", 1) if packed else path.open("wb") as file:
        file.write(whole)
        for _ in range(64):
            file.write(b"x" * (1 << 20))
        file.write(b"\n" + written({"h": HISTORIES["both"][0]}).encode())
    program = load(folder / "map.fence")
    _, recording = mapped(program, program.checks[0], {})
    assert recording is not None
    tracemalloc.start()
    found = read(recording, [path])
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 8 << 20
    [problem] = found.problems
    assert problem.message == f"{path}:9: the line is longer than 1,048,576 bytes"
    assert [one.key for one in found.histories] == ["f", "g", "h"]


def test_of_a_long_history_no_more_is_kept_than_a_search_comes_to(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    path = folder / "r.jsonl"
    path.write_text(written({n: events for n, (events, _, _) in HISTORIES.items()}), "utf-8")
    program = load(folder / "map.fence")
    model, recording = mapped(program, program.checks[0], {})
    assert recording is not None
    compared = Mapped(model, recording)
    for states in (1, 2, 3, 5, 9):
        effort = Effort(states)
        whole, kept = read(recording, [path]), read(recording, [path], effort.lines(recording))
        assert (whole.events, whole.strays) == (kept.events, kept.strays)
        pairs = zip(whole.histories, kept.histories, strict=True)
        assert all(judge(compared, a, effort) == judge(compared, b, effort) for a, b in pairs)
    # Where one step reads more than one event it may come to what is not kept.
    both = next(one for one in read(recording, [path], 1).histories if one.key == "both")
    found = judge(compared, both, Effort())
    assert (found.verdict, found.read, found.total) == ("unknown", 2, 5)
    assert found.cuts == ("of a source no more than 1 events are read (--max-states)",)
    assert [(one.read, one.total, one.line) for one in found.waiting] == [
        (1, 3, None),
        (1, 2, None),
    ]


TWO_FIELDS = MAPPING.replace("key file", "key file by lock, session")


def test_ids_that_name_each_other(tmp_path: Path) -> None:
    """A line that names no history has that of the first field that one history alone has named,
    and is no reason for anything to be of another one.
    """
    folder = folder_with(tmp_path, TWO_FIELDS)
    lines = [
        {"file": "f", "lock": 1, "session": "x", **GRANT},
        {"file": "g", "lock": 2, "session": "x", **GRANT},
        {"lock": 2, "session": "x", **WRITE},
        {"lock": 3, "session": "x", **WRITE},
        {"lock": 1, "session": "y", **WRITE},
        {"lock": 3, "session": "y", **WRITE},
    ]
    ran = conform(folder, "".join(json.dumps(one) + "\n" for one in lines), "--format", "json")
    assert verdicts(ran) == {"f": ("allowed", 2), "g": ("allowed", 2)}
    assert json.loads(ran.stdout)["strays"] == 2
    assert ran.stderr.splitlines()[0] == (
        'error[F047]: session "x" belongs to the histories f and g: lines that name nothing else'
        " belong to neither"
    )
    assert (ran.code, ran.stderr.count("error[")) == (151, 1)


def test_a_folder_of_recordings(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    (folder / "logs").mkdir()
    text = written({"f": HISTORIES["both"][0]}).splitlines(keepends=True)
    (folder / "logs" / "a.jsonl").write_text("".join(text[:2]), encoding="utf-8")
    (folder / "logs" / "b.jsonl.gz").write_bytes(gzip.compress("".join(text[2:]).encode()))
    (folder / "logs" / "notes.txt").write_text("no event", encoding="utf-8")
    ran = run("conform", "map.fence", "logs", folder=folder)
    assert (ran.code, ran.stderr) == (0, "")
    assert "1 allowed   1 history, 5 events" in ran.stdout
    (folder / "empty").mkdir()
    ran = run("conform", "map.fence", "empty", folder=folder)
    assert (ran.code, "error[F047]: empty has no recording" in ran.stderr) == (151, True)


def test_a_mapping_is_not_imported(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    (folder / "more.fence").write_text("import map as n\nvar x: bool = n.m.Alice == n.m.Alice\n")
    ran = run("check", "more.fence", folder=folder)
    assert (ran.code, "error[F841]" in ran.stderr) == (150, True)


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
    ran = run("conform", "map.fence", "r.jsonl", "--engine", "bmc", folder=folder)
    assert (ran.code, "bmc" in ran.stderr) == (151, True)
    ran = run("conform", "map.fence", "r.jsonl", folder=folder)
    assert (ran.code, "no history" in ran.stdout) == (0, True)


SHOP = '''\
"""A shop that answers requests, and writes to one log for each shelf."""
enum Shelf: Upper, Lower
enum Reply: Yes, No
union Message:
    Put(shelf: Shelf, count: int16)
    Ask(shelf: Shelf)
    Done(reply: Reply)
    Noise
record Entry: shelf: Shelf, count: int16
channel net: Message capacity 3
var stock: map[Shelf, 0..9] = [0 for s in Shelf]
var swaps: 0..3 = 0
role Worker[shelf: Shelf]:
    var closed: bool = false
    action put on Put(==shelf, count) from net:
        if not closed and count > 0:
            stock[shelf] = stock[shelf] + int(count)
        send Noise to net
    action swap on Put(==shelf, count) from net:
        require count == -1 and exists m in net: m is Put and m.shelf != shelf
        swaps += 1
    action ask on Ask(==shelf) from net:
        send Done(if stock[shelf] > 0 then Yes else No) to net
    action close(hard in bool):
        require not closed
        closed = true
'''

LOGS = """\
import shop as m
from shop import Worker, net, stock, Shelf, Reply, Upper, Lower, Yes, No, Put, Ask
const Most: int = 1
recording:
    key day by shelf
    event kind
    source office ordered
    source shelves ordered in "s-*", "t"
    bind shelf: Shelf where "up" = Upper, -1 = Lower
event filled(source as from_: shelf, total: int) from shelves
event closed(shelf: shelf, hard as how: bool?) from office
event asked(shelf: shelf, answer: Reply) from office
event stocktaking(all as those: set[shelf]) from office
event noted(text: int) from office
event swapped from office

shows filled(s, next(stock)[s]) for s in Shelf when next(stock)[s] != stock[s]
input closed: Worker[shelf].close(how == true)
shows stocktaking({s for s in Shelf if Worker[s].closed}) on Worker.close(shelf) when shelf == Lower
shows swapped when next(m.swaps) != m.swaps
ahead swapped:
    pick s in Shelf
    send Put(s, -1) to net
ahead filled when stock[from_] < total: send Put(from_, int16(total - stock[from_])) to net
answers asked when net == [] on Done(==answer) from net: send Ask(shelf) to net
tolerate noted when text > 0
drop Noise from net
at most Most under way
check one: expect ok
check still:
    const Most = 0
terminal: true
"""


def event(kind: str, source: str = "office", **fields: Any) -> Event:
    return {"source": source, "kind": kind, **fields}


TWO = event("filled", "s-a", total=2)
FIVE = event("filled", "s-a", total=5)
UP = event("closed", shelf="up")
LOW = event("closed", shelf=-1, hard=True)
SWAP = event("swapped")

DAYS: dict[str, tuple[list[Event], str, int]] = {
    "put in ahead": ([TWO, FIVE], "allowed", 2),
    "less than before, or a stock of ten": ([FIVE, TWO], "unknown", 1),
    "an order in each source of a kind": ([TWO, FIVE, {**TWO, "source": "t"}], "allowed", 3),
    "a third source is no third shelf": (
        [TWO, {**TWO, "source": "s-b"}, {**TWO, "source": "t"}], "unknown", 2,
    ),
    "beyond the range of the model": ([{**TWO, "total": 10}], "unknown", 0),
    "an event is a step": ([UP], "allowed", 1),
    "that step was taken": ([UP, UP], "not allowed", 1),
    "a step reads its event, and shows one": ([LOW, event("stocktaking", all=[])], "allowed", 2),
    "which is missing": ([LOW], "not allowed", 0),
    "a set of names": ([UP, LOW, event("stocktaking", all=["up"])], "allowed", 3),
    "a set of another name for it": ([UP, LOW, event("stocktaking", all=["x"])], "allowed", 3),
    "a set that is larger": ([UP, LOW, event("stocktaking", all=["x", -1])], "not allowed", 1),
    "an answer": ([event("asked", shelf="up", answer="No")], "allowed", 1),
    "another answer": ([TWO, event("asked", shelf="s-a", answer="Yes")], "allowed", 2),
    "no such answer": ([event("asked", shelf="up", answer="Yes")], "not allowed", 0),
    "passed over": ([event("noted", text=1), UP], "allowed", 2),
    "not to be passed over": ([event("noted", text=0), UP], "not allowed", 0),
    "two under way": ([SWAP], "allowed", 1),
}  # fmt: skip


def shop(tmp_path: Path, mapping: str = LOGS) -> Path:
    (tmp_path / "shop.fence").write_text(SHOP, encoding="utf-8")
    (tmp_path / "map.fence").write_text(mapping, encoding="utf-8")
    return tmp_path


def days(histories: dict[str, list[Event]]) -> str:
    lines = ({"day": key, **event} for key, events in histories.items() for event in events)
    return "".join(json.dumps(line) + "\n" for line in lines)


def test_every_form_of_a_rule(tmp_path: Path) -> None:
    text = days({name: events for name, (events, _, _) in DAYS.items()})
    ran = conform(shop(tmp_path), text, "--check", "one", "--format", "json")
    expected = {name: (verdict, k) for name, (_, verdict, k) in DAYS.items()}
    assert verdicts(ran) == expected, ran.stderr
    told = {one["key"]: one for one in json.loads(ran.stdout)["histories"]}
    assert told["no such answer"]["instead"] == ["Done(reply: No)"]
    assert told["which is missing"]["cuts"] == []
    assert told["passed over"]["tolerated"] == 1
    assert "names" in told["a third source is no third shelf"]["cuts"][0]
    assert "stock" in told["beyond the range of the model"]["cuts"][0]


def test_what_no_run_needed(tmp_path: Path) -> None:
    text = days({"d": [UP, event("asked", shelf="up", answer="No")]})
    ran = conform(shop(tmp_path), text, "--check", "one")
    told = [" ".join(line.split()) for line in ran.stdout.splitlines()]
    assert "never taken Worker.put, Worker.swap" in told
    assert "never used ahead swapped (map.fence:21), ahead filled (map.fence:24)" in told
    assert "never seen filled, stocktaking, noted, swapped" in told


@pytest.mark.parametrize(
    ("words", "verdict", "code", "layers"),
    [
        (("--check", "one"), "allowed", 0, [0, 1]),
        (("--check", "still"), "not allowed", 15, [0]),
        (("--ahead", "0"), "unknown", 3, [0]),
        ((), "allowed", 0, [0, 1]),
        (("--max-states", "2"), "unknown", 3, [0, 1, 2]),
    ],
)
def test_layers(
    words: tuple[str, ...], verdict: str, code: int, layers: list[int], tmp_path: Path
) -> None:
    stated = "--check" in words
    mapping = LOGS if stated else LOGS.replace("at most Most under way\n", "")
    extra = () if stated else ("--check", "one")
    ran = conform(shop(tmp_path, mapping), days({"d": [SWAP]}), *words, *extra, "--format", "json")
    (told,) = json.loads(ran.stdout)["histories"]
    assert (told["verdict"], ran.code) == (verdict, code)
    assert [one["under_way"] for one in told["layers"]] == layers


def test_what_a_line_by_another_name_belongs_to(tmp_path: Path) -> None:
    """Lines without the key belong to the history that has named their shelf."""
    events = [{"day": "d", **UP}, event("closed", shelf="up"), event("closed", shelf="y")]
    text = "".join(json.dumps(one) + "\n" for one in events)
    ran = conform(shop(tmp_path), text, "--check", "one", "--format", "json")
    assert verdicts(ran) == {"d": ("not allowed", 1)}
    assert json.loads(ran.stdout)["strays"] == 1


def test_what_two_histories_claim(tmp_path: Path) -> None:
    events = [{"day": "d", **UP}, {"day": "e", **UP}, event("closed", shelf="up")]
    text = "".join(json.dumps(one) + "\n" for one in events)
    ran = conform(shop(tmp_path), text, "--check", "one", "--format", "json")
    assert verdicts(ran) == {"d": ("allowed", 1), "e": ("allowed", 1)}
    assert 'error[F047]: shelf "up" belongs to the histories d and e' in ran.stderr
    assert ran.code == 151


MISTAKES: dict[str, tuple[str, str, str]] = {
    "no recording": ("event e from s", "F841", "no `recording:`"),
    "an unknown source": (
        "recording:\n    source log ordered\nevent e from logs", "F842", 'did you mean "log"?',
    ),
    "no source": ("recording:\n    key k\nevent e from s", "F841", "at least one source"),
    "an unknown event": ("HEAD\nshows other", "F842", 'no event "other" is declared'),
    "too many values": ("HEAD\nshows e(1, 2)", "F844", "e has n; here are 2 values"),
    "a value of another type": ("HEAD\nshows e(true)", "F301", "n of e holds"),
    "a name that the head lacks": ("HEAD\nshows e(1) on act(z)", "F844", 'has no "z"'),
    "an unknown action": ("HEAD\nshows e(1) on acts", "F322", 'did you mean "act"?'),
    "a condition": ("HEAD\nshows e(1) when 1", "F301", "a condition is wanted"),
    "an answer to an input": (
        "HEAD\ninput e on A from c: send A to c", "F844", 'only "answers" waits',
    ),
    "no answer": ("HEAD\nanswers e: send A to c", "F844", "says which message is the answer"),
    "ahead of a step": ("HEAD\nahead e: act(1)", "F844", 'only of an "input"'),
    "next outside shows": ("HEAD\ninput e when next(x) == 1: skip", "F318", "next"),
    "twice at most": ("HEAD\nat most 1 under way\nat most 1 under way", "F841", "said twice"),
    "a type that lines lack": ("HEAD\nevent f(m: U) from log", "F843", "a line cannot give U"),
    "twice an event": ("HEAD\nevent e from log", "F842", 'event "e" is declared twice'),
    "a large type of names": (
        "recording:\n    source log ordered\n    bind b: int16", "F843", "at most",
    ),
}  # fmt: skip

HEAD = "recording:\n    source log ordered\nevent e(n: int) from log"
SPEC = """\
enum M: A, B
union U: C(x: bool), D
channel c: M capacity 2
var x: 0..2 = 0
action act(k in {1, 2}): x = k
action take on A from c: skip
action give: send A to c
"""


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str, tmp_path: Path) -> None:
    lines, code, part = MISTAKES[name]
    text = f"{SPEC}{lines.replace('HEAD', HEAD)}\n"
    (tmp_path / "m.fence").write_text(text, encoding="utf-8")
    ran = run("check", "m.fence", folder=tmp_path)
    assert ran.code == 150
    assert f"error[{code}]" in ran.stderr
    assert part in ran.stderr


FOUR = """\
union Message: Put(k: 0..4, round: 0..40)
channel net: Message capacity 6
var round: 0..40 = 0
action together on Put(k, r) from net:
    require k == 0 and r == round and (forall j in 1..4: Put(j, r) in net)
    round += 1
action take on Put(k, r) from net:
    require k != 0 and r < round
recording:
    source log ordered
    source other ordered
event done(n: int) from log
event noise(n: int) from other
shows done(next(round)) when next(round) != round
ahead done:
    pick k in 0..4
    require Put(k, round) not in net
    send Put(k, round) to net
input noise: skip
terminal: true
"""


def test_four_under_way(tmp_path: Path) -> None:
    """Each of thirty events needs four messages under way when a fifth is put in."""
    (tmp_path / "map.fence").write_text(FOUR, encoding="utf-8")
    lines = [{"source": "log", "event": "done", "n": n} for n in range(1, 31)]
    lines += [{"source": "other", "event": "noise", "n": n} for n in range(30)]
    text = "".join(json.dumps(one) + "\n" for one in lines)
    ran = conform(tmp_path, text, "--ahead", "4", "--max-states", "60000", "--format", "json")
    (told,) = json.loads(ran.stdout)["histories"]
    assert (told["verdict"], told["layers"][-1]["under_way"]) == ("allowed", 4)


def count_of(processes: int) -> Callable[[int | None, int], int]:
    def most(workers: int | None, events: int) -> int:
        return processes

    return most


def test_several_processes_find_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_with(tmp_path)
    events = {f"{n} {name}": one for n in range(9) for name, (one, _, _) in HISTORIES.items()}
    path = folder / "r.jsonl"
    path.write_text(written(events), encoding="utf-8")
    program = load(folder / "map.fence")
    model, recording = mapped(program, program.checks[0], {})
    assert recording is not None
    histories = read(recording, [path]).histories
    alone, together = Mapped(model, recording), Mapped(model, recording)
    found = list(many.every(alone, histories, Effort(), 1))
    assert list(many.every(together, histories, Effort(), 3)) == found
    assert len(found) == len([one for one in events.values() if one])
    monkeypatch.setattr(many, "most", count_of(2))
    ran = run("conform", "map.fence", "r.jsonl", folder=folder)
    monkeypatch.setattr(many, "most", count_of(1))
    assert run("conform", "map.fence", "r.jsonl", "--workers", "7", folder=folder) == ran
    assert ran.code == 15


def test_a_process_that_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_with(tmp_path)
    (folder / "r.jsonl").write_text(written({"f": [GRANT]}), encoding="utf-8")

    def ended(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(many, "most", count_of(2))
    monkeypatch.setattr(many, "judge", ended)
    ran = run("conform", "map.fence", "r.jsonl", folder=folder)
    assert (ran.code, "memory" in ran.stderr) == (3, True)
