"""Events that mean different things in different sources, events shared by several sources, and
fields that order the lines.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.command import run
from tests.support.lease import conform, verdicts

STORE = """\
type Shelf = 0..1
var sold: set[Shelf] = {}
var given: set[Shelf] = {}
action sell(shelf in Shelf):
    require shelf not in sold | given
    sold.add(shelf)
action give(shelf in Shelf):
    require shelf not in sold
    given.add(shelf)
action close(shelf in Shelf):
    require shelf in sold | given
    sold.remove(shelf)
    given.remove(shelf)
"""
MAPPING = """\
recording:
    key day
    event kind
    source back ordered in "back-*"
    source front ordered in "*"
    rising number
    not falling shift by till
    bind shelf: Shelf
event taken as sold(source: shelf) from front
event taken as given(source: shelf) from back
event closed(source: shelf) from front, back
shows sold(shelf) on sell(shelf)
shows given(shelf) on give(shelf)
shows closed(shelf) on close(shelf)
"""


def line(source: str, kind: str = "taken", **more: Any) -> dict[str, Any]:
    return {"source": source, "kind": kind, **more}


SOLD, GIVEN = line("window"), line("back-1")
DAYS: dict[str, tuple[list[dict[str, Any]], str, int]] = {
    "sold once": ([SOLD], "allowed", 1),
    "sold twice": ([SOLD, SOLD], "not allowed", 1),
    "given twice": ([GIVEN, GIVEN], "allowed", 2),
    "both closed": (
        [SOLD, GIVEN, line("window", "closed"), line("back-1", "closed"), SOLD], "allowed", 5,
    ),
    "closed where nothing was": ([GIVEN, line("window", "closed")], "not allowed", 1),
    "one source of each kind, two shelves": ([SOLD, GIVEN, GIVEN], "allowed", 3),
    "the number rises": ([GIVEN | {"number": 3}, GIVEN | {"number": 7}], "allowed", 2),
    "the number stays": ([GIVEN | {"number": 3}, GIVEN | {"number": 3}], "not allowed", 1),
    "the number falls": ([GIVEN | {"number": 3}, GIVEN | {"number": 2}], "not allowed", 1),
    "the number falls behind a line without": (
        [GIVEN | {"number": 3}, GIVEN, GIVEN | {"number": 2}, GIVEN], "not allowed", 2,
    ),
    "each source has its numbers": ([SOLD | {"number": 3}, GIVEN | {"number": 2}], "allowed", 2),
    "the shift stays": ([GIVEN | {"shift": 1}, GIVEN | {"shift": 1}], "allowed", 2),
    "the shift falls": ([GIVEN | {"shift": 1}, GIVEN | {"shift": 0}], "not allowed", 1),
    "each till has its shifts": (
        [GIVEN | {"shift": 1, "till": 1}, GIVEN | {"shift": 0, "till": 2}], "allowed", 2,
    ),
    "of one till the shift falls": (
        [
            GIVEN | {"shift": 1, "till": 1}, GIVEN | {"shift": 0, "till": 2},
            GIVEN | {"shift": 0, "till": 1},
        ], "not allowed", 2,
    ),
}  # fmt: skip


def recorded() -> str:
    return "".join(
        json.dumps({**line, "day": day}) + "\n"
        for day, (rows, _, _) in DAYS.items()
        for line in rows
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "map.fence").write_text(STORE + MAPPING, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("engine", ["interpreter", "local"])
def test_verdicts(engine: str, folder: Path) -> None:
    ran = conform(folder, recorded(), "--engine", engine, "--format", "json")
    expected = {day: (verdict, k) for day, (_, verdict, k) in DAYS.items()}
    assert verdicts(ran) == expected, ran.stderr


def test_the_report_says_why_a_line_is_misplaced(folder: Path) -> None:
    """The report gives the reason, and uses the event names of the recording."""
    ran = conform(folder, recorded())
    report = " ".join(ran.stdout.split())
    assert 'taken(source: "back-1"), which is out of order: number 3 after 3' in report
    assert 'taken(source: "back-1"), which is out of order: shift 0 after 1' in report
    assert "never seen" not in report


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"number": "x"}, 'the field "number" orders lines, so it is a whole number'),
        ({"number": True}, 'the field "number" orders lines, so it is a whole number'),
        ({"shift": 1, "till": []}, 'the field "till" says which lines are in order'),
    ],
    ids=str,
)
def test_an_order_that_cannot_be_read(more: dict[str, Any], why: str, folder: Path) -> None:
    ran = conform(folder, json.dumps({**GIVEN, **more, "day": "d"}) + "\n")
    assert ran.code == 151
    assert f"error[F047]: r.jsonl:1: {why}" in ran.stderr


def test_random_runs_have_sources_of_both_kinds(folder: Path) -> None:
    words = ("--runs", "30", "--depth", "12", "--seed", "5", "--record", "r.jsonl")
    ran = run("simulate", "map.fence", *words, folder=folder)
    assert ran.code == 0, ran.stderr
    text = (folder / "r.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(row) for row in text.splitlines()]
    kinds = {(row["source"].startswith("back-"), row["kind"]) for row in lines}
    assert kinds == {
        (back, event_kind) for back in (True, False) for event_kind in ("taken", "closed")
    }
    ran = conform(folder, text, "--format", "json")
    assert {verdict for verdict, _ in verdicts(ran).values()} == {"allowed"}


def test_random_runs_keep_the_order_that_their_lines_say(folder: Path) -> None:
    """A step whose event would be misplaced is not taken."""
    text = (STORE + MAPPING).replace("as given(", "as given(number: int, ")
    text = text.replace("given(shelf) on give", "given(count(given), shelf) on give")
    (folder / "map.fence").write_text(text, encoding="utf-8")
    words = ("--runs", "30", "--depth", "12", "--seed", "5", "--record", "r.jsonl")
    ran = run("simulate", "map.fence", *words, folder=folder)
    assert ran.code == 0, ran.stderr
    text = (folder / "r.jsonl").read_text(encoding="utf-8")
    numbers = [json.loads(row).get("number") for row in text.splitlines()]
    assert {0, 1} <= {*numbers}
    ran = conform(folder, text, "--format", "json")
    assert {verdict for verdict, _ in verdicts(ran).values()} == {"allowed"}
