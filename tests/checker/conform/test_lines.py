"""Lines and files: what cannot be read, what is long, and to which history a line belongs."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path

import pytest
from tests.support.command import run
from tests.support.lease import (
    DAMAGE,
    GRANT,
    HISTORIES,
    MAPPING,
    WRITE,
    conform,
    folder_with,
    verdicts,
    written,
)  # fmt: skip
from tests.support.shop import UP, event, shop

from fencepost.checker.conform.lines import read
from fencepost.checker.conform.mapping import Mapped
from fencepost.checker.conform.search import judge
from fencepost.checker.conform.verdicts import Effort
from fencepost.spec.elaborate.claims.program import load, mapped


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
        'error[F047]: r.jsonl:4: session "x" belongs to the histories f and g: lines that name'
        " nothing else belong to neither"
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


def test_a_compressed_file_that_ends_too_early(tmp_path: Path) -> None:
    packed = gzip.compress(written({"f": HISTORIES["both"][0]}).encode())
    ran = conform(folder_with(tmp_path), packed[:-20])
    assert ran.code == 151
    assert "the compressed file ends too early" in ran.stderr


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
    assert 'error[F047]: r.jsonl:3: shelf "up" belongs to the histories d and e' in ran.stderr
    assert ran.code == 151
