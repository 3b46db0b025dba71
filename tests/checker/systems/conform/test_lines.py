"""Recorded lines and files: unreadable input, long lines, and the assignment of lines to
histories.
"""

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

from fencepost.checker.systems.conform.lines import read
from fencepost.checker.systems.conform.mapping import MappedModel
from fencepost.checker.systems.conform.search import judge
from fencepost.checker.systems.conform.verdicts import Effort
from fencepost.spec.elaborate.claims.program import load, mapped


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_located_and_other_histories_are_judged(name: str, tmp_path: Path) -> None:
    line, message = DAMAGE[name]
    whole = written({"f": HISTORIES["both"][0], "g": HISTORIES["twice"][0]}).encode()
    ran = conform(folder_with(tmp_path), whole + line, "--format", "json")
    results = verdicts(ran)
    assert (results["f"], results["g"]) == (("allowed", 5), ("not allowed", 2))
    assert results.get("x", ("unread", 0)) == ("unread", 0)
    assert f"error[F047]: r.jsonl:9: {message}" in ran.stderr or (
        "error[F047]: r.jsonl:9: " in ran.stderr and message in ran.stderr
    )
    assert (ran.code, ran.stderr.count("error[")) == (151, 1)


@pytest.mark.parametrize("packed", [False, True])
def test_a_line_takes_no_more_memory_than_is_allowed(packed: bool, tmp_path: Path) -> None:
    """The file contains 64 MiB in one line; the limit for a line is 1 MiB."""
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
    contents = read(recording, [path])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 << 20
    [problem] = contents.problems
    assert problem.message == f"{path}:9: the line is longer than 1,048,576 bytes"
    assert [history.key for history in contents.histories] == ["f", "g", "h"]


def test_a_long_history_keeps_only_events_within_reach(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    path = folder / "r.jsonl"
    path.write_text(written({n: events for n, (events, _, _) in HISTORIES.items()}), "utf-8")
    program = load(folder / "map.fence")
    model, recording = mapped(program, program.checks[0], {})
    assert recording is not None
    compared = MappedModel(model, recording)
    for states in (1, 2, 3, 5, 9):
        effort = Effort(states)
        whole, kept = read(recording, [path]), read(recording, [path], effort.lines(recording))
        assert (whole.events, whole.strays) == (kept.events, kept.strays)
        pairs = zip(whole.histories, kept.histories, strict=True)
        assert all(judge(compared, a, effort) == judge(compared, b, effort) for a, b in pairs)
    # A step that reads several events may reach events that were not kept.
    both = next(
        history for history in read(recording, [path], 1).histories if history.key == "both"
    )
    result = judge(compared, both, Effort())
    assert (result.verdict, result.read, result.total) == ("unknown", 2, 5)
    assert result.cuts == ("at most 1 events of a source are read (--max-states)",)
    assert [(history.read, history.total, history.line) for history in result.waiting] == [
        (1, 3, None),
        (1, 2, None),
    ]


TWO_FIELDS = MAPPING.replace("key file", "key file by lock, session")


def test_ids_that_name_each_other(tmp_path: Path) -> None:
    """A line without the primary key belongs to the history whose lines are the only ones that
    contain the first of its other ids.

    Such a line never assigns its remaining ids to a history.
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
    ran = conform(folder, "".join(json.dumps(line) + "\n" for line in lines), "--format", "json")
    assert verdicts(ran) == {"f": ("allowed", 2), "g": ("allowed", 2)}
    assert json.loads(ran.stdout)["strays"] == 2
    assert ran.stderr.splitlines()[0] == (
        'error[F047]: r.jsonl:4: session "x" belongs to the histories f and g: lines'
        " without another hint belong to neither"
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


def test_lines_without_the_key_are_assigned_by_another_field(tmp_path: Path) -> None:
    """Lines without the key belong to the history that names their shelf."""
    events = [{"day": "d", **UP}, event("closed", shelf="up"), event("closed", shelf="y")]
    text = "".join(json.dumps(line) + "\n" for line in events)
    ran = conform(shop(tmp_path), text, "--check", "one", "--format", "json")
    assert verdicts(ran) == {"d": ("not allowed", 1)}
    assert json.loads(ran.stdout)["strays"] == 1


def test_a_line_claimed_by_two_histories(tmp_path: Path) -> None:
    events = [{"day": "d", **UP}, {"day": "e", **UP}, event("closed", shelf="up")]
    text = "".join(json.dumps(line) + "\n" for line in events)
    ran = conform(shop(tmp_path), text, "--check", "one", "--format", "json")
    assert verdicts(ran) == {"d": ("allowed", 1), "e": ("allowed", 1)}
    assert 'error[F047]: r.jsonl:3: shelf "up" belongs to the histories d and e' in ran.stderr
    assert ran.code == 151
