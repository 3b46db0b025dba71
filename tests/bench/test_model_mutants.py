"""The mutation of several models: how a campaign is resumed, and its table."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from bench import model_mutants, model_mutants_page
from bench.model_mutants_page import Results, class_of, left, noticed_by, survivors, table

LIB = """\
def may_open(shut: bool, times: int): bool = shut and times < 3
"""
DOOR = """\
from lib import may_open
var shut: bool = true
var times: 0..3 = 0
var lamp: bool = false
action push:
    require may_open(shut, times)
    times += 1
    shut = false
    lamp = true
action fall:
    require not shut
    shut = true
    if times > 3: lamp = false
terminal: times == 3 and shut
reachable Thrice: times == 3
check c:
    expect ok
"""
GATE = """\
from lib import may_open
var times: 0..3 = 0
var on: bool = true
action push:
    require may_open(on, times)
    times += 1
terminal: times == 3
check c:
    expect ok
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in (("lib", LIB), ("door", DOOR), ("gate", GATE)):
        (tmp_path / f"{name}.fence").write_text(text, encoding="utf-8")
    monkeypatch.setattr(model_mutants, "MODELS", tmp_path)
    monkeypatch.setattr(model_mutants, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(model_mutants_page, "PAGE", tmp_path / "mutants.md")
    return tmp_path


def rows(folder: Path, model: str) -> dict[str, dict[str, Any]]:
    return model_mutants_page.rows_of(folder / "results" / f"{model}.jsonl")[1]


def test_a_campaign_is_resumed_and_has_a_row_for_each_change(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_mutants, "FIRST", 4)
    assert model_mutants.main(["door", "gate", "--first"]) == 0
    begun = rows(folder, "door")
    assert len(begun) == 4
    path = folder / "results" / "door.jsonl"
    # The campaign was interrupted while it wrote a line.
    path.write_text(path.read_text(encoding="utf-8") + '{"key":', encoding="utf-8")
    assert model_mutants.main(["door", "gate"]) == 0
    every = rows(folder, "door")
    assert {key: every[key] for key in begun} == begun
    results = model_mutants_page.read(folder / "results", ["door", "gate"])
    assert [
        (result.model, result.changes, len(result.rows), result.earlier) for result in results
    ] == [
        ("door", len(every), len(every), 0),
        ("gate", results[1].changes, results[1].changes, 0),
    ]
    noticed = noticed_by(results)
    classes = {row.get("change"): class_of(row, noticed) for row in every.values()}
    assert classes["remove `lamp = true`"] == "unseen"
    assert classes["drop `shut` from `shut and times < 3`"] == "different"
    # `times > 3` is never true, so its effect is never executed.
    assert sum(row["fate"] == "idle" for row in every.values()) == 2
    assert {row["file"] for row in every.values() if "file" in row} == {"door.fence", "lib.fence"}
    text = model_mutants_page.PAGE.read_text(encoding="utf-8")
    assert "| door, `push` | remove `lamp = true` | `lamp` | door |" in text
    assert "| drop `shut` from `shut and times < 3` | door | `door` `c`, after 1 step" in text
    before = path.read_text(encoding="utf-8")
    model_mutants.main(["door"])
    assert path.read_text(encoding="utf-8") == before


def test_trials_of_an_earlier_text_are_counted_and_can_be_repeated(folder: Path) -> None:
    model_mutants.main(["gate"])
    path = folder / "gate.fence"
    path.write_text(path.read_text(encoding="utf-8") + "# A comment.\n\n", encoding="utf-8")
    (same,) = model_mutants_page.read(folder / "results", ["gate"], folder)
    assert same.earlier == 0
    text = path.read_text(encoding="utf-8").replace("terminal: times", "terminal: 1 == 1 and times")
    path.write_text(text, encoding="utf-8")
    model_mutants.main(["gate"])
    (result,) = model_mutants_page.read(folder / "results", ["gate"])
    # Nothing was tried again, and the trials belong to an earlier version of the text.
    assert result.earlier == 0
    (now,) = model_mutants_page.read(folder / "results", ["gate"], folder)
    assert now.earlier == len(now.rows)
    remark = f"Tried with an earlier text of the model: {now.earlier} of gate."
    assert remark in model_mutants_page.PAGE.read_text(encoding="utf-8")
    assert {row["text"] for row in result.rows.values()} == {
        next(iter(result.rows.values()))["text"]
    }
    old = {row["text"] for row in result.rows.values()}
    model_mutants.main(["gate", "--anew"])
    (result,) = model_mutants_page.read(folder / "results", ["gate"])
    assert {row["text"] for row in result.rows.values()}.isdisjoint(old)
    (now,) = model_mutants_page.read(folder / "results", ["gate"], folder)
    assert now.earlier == 0


LOOP = """\
var x: bool = false
fair action flip:
    x = not x
property Flips: x == false leads to x == true
reachable Lit: x
check c:
    properties: Lit
    expect ok
check live:
    properties: Flips
    expect ok
"""


def test_fairness_is_judged_by_temporal_checks(folder: Path) -> None:
    (folder / "loop.fence").write_text(LOOP, encoding="utf-8")
    model_mutants.main(["loop"])
    checks = {row["check"] for row in rows(folder, "loop").values() if row["fate"] == "killed"}
    assert checks == {"c", "live"}


TOWER = """\
var x: 0..2 = 0
var y: 0..2 = 0
action up:
    require x < 2
    x += 1
    y = x
terminal: x == 2
invariant Same: y == x
reachable Top: x == 2
check c:
    properties: Top
    expect ok
check long slow:
    properties: Same
    expect ok
"""


def test_survivors_are_tried_with_the_other_checks(folder: Path) -> None:
    (folder / "tower.fence").write_text(TOWER, encoding="utf-8")
    model_mutants.main(["tower"])
    before = rows(folder, "tower")
    (left,) = (row for row in before.values() if row["fate"] == "survived")
    assert left["change"] == "remove `y = x`"
    model_mutants.main(["tower", "--more"])
    after = rows(folder, "tower")[left["key"]]
    assert (after["fate"], after["check"], after["more"]) == ("killed", "long", True)
    text = (folder / "results" / "tower.jsonl").read_text(encoding="utf-8")
    model_mutants.main(["tower", "--more"])
    model_mutants.main(["tower"])
    assert len(rows(folder, "tower")) == len(before)
    assert rows(folder, "tower")[left["key"]] == after
    assert len(text.splitlines()) == len(before) + 2


def test_unnoticed_changes_are_tried_with_a_new_text(folder: Path) -> None:
    path = folder / "tower.fence"
    path.write_text(TOWER, encoding="utf-8")
    model_mutants.main(["tower"])
    before = rows(folder, "tower")
    (left,) = (row for row in before.values() if row["fate"] == "survived")
    del before[left["key"]]
    # With the same text, nothing is tried again.
    model_mutants.main(["tower", "--open"])
    assert rows(folder, "tower")[left["key"]] == left
    # The check does not notice the change in another text either, so the earlier result is kept.
    path.write_text(f"{TOWER}def unused: int = 1\n", encoding="utf-8")
    model_mutants.main(["tower", "--open"])
    still = rows(folder, "tower")[left["key"]]
    assert (still["text"], still["fate"]) == (left["text"], "survived")
    assert still["met"] != left["text"]
    assert still == left | {"met": still["met"], "asked": 1}
    path.write_text(TOWER.replace("properties: Top", "properties: Top, Same"), encoding="utf-8")
    model_mutants.main(["tower", "--open"])
    after = rows(folder, "tower")
    assert (after[left["key"]]["fate"], after[left["key"]]["check"]) == ("killed", "c")
    del after[left["key"]]
    assert after == before


def test_undecided_changes_are_tried_again_by_all_checks(folder: Path) -> None:
    (folder / "tower.fence").write_text(TOWER, encoding="utf-8")
    model_mutants.main(["tower"])
    key = next(key for key, row in rows(folder, "tower").items() if row["fate"] == "survived")
    left = rows(folder, "tower")[key] | {"fate": "undecided", "parting": None}
    with (folder / "results" / "tower.jsonl").open("a", encoding="utf-8") as file:
        file.write(f"{json.dumps(left)}\n")
    model_mutants.main(["tower", "--open"])
    assert rows(folder, "tower")[key]["fate"] == "undecided"
    model_mutants.main(["tower", "--open", "--whole"])
    assert rows(folder, "tower")[key]["fate"] == "survived"


def test_unnoticed_changes_are_tried_in_models_that_share_them(folder: Path) -> None:
    model_mutants.main(["door"])
    results = model_mutants_page.read(folder / "results", ["door"])
    noticed = noticed_by(results)
    (left,) = (
        row
        for row in rows(folder, "door").values()
        if class_of(row, noticed) == "different" and row["file"] == "lib.fence"
    )
    # The gate is never off, so the change can only be noticed if the gate is switched.
    text = GATE.replace("times += 1", "times += 1\n    on = times < 2")
    text = text.replace("terminal: times == 3", "terminal: times == 2\ninvariant Off: times < 3")
    (folder / "gate.fence").write_text(text, encoding="utf-8")
    model_mutants.main(["gate", "--shared"])
    assert {key: row["fate"] for key, row in rows(folder, "gate").items()} == {
        left["key"]: "killed"
    }
    both = model_mutants_page.read(folder / "results", ["door", "gate"])
    assert class_of(left, noticed_by(both)) == "elsewhere"
    model_mutants.main(["door", "--shared"])
    assert len(rows(folder, "door")) == len(results[0].rows)


def row(key: str, fate: str, **more: Any) -> dict[str, Any]:
    return {"key": key, "text": "t", "fate": fate, "check": None, **more}


DIFFERENT = {
    "file": "lib.fence",
    "line": 1,
    "where": "may_open",
    "kind": "condition",
    "change": "drop `shut` from `shut | x`",
    "same_counts": False,
    "parting": {
        "check": "c", "way": ["a", "b"], "gone": ["a", "x"], "new": ["a"], "changed": ["v"],
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("trial", "expected"),
    [
        (row("k", "killed"), "noticed"),
        (row("k", "same"), "same model"),
        (row("k", "refused"), "same model"),
        (row("k", "idle"), "never matters"),
        (row("k", "undecided"), "not decided"),
        (row("k", "equivalent", same_counts=True, parting=None), "same graph"),
        (row("k", "survived", same_counts=True, parting=None, kind="update"), "same graph"),
        (row("k", "survived", same_counts=True, parting=None, kind="fairness"), "different"),
        (row("k", "survived", **DIFFERENT, hidden=["lamp"]), "unseen"),
        (row("other", "survived", **DIFFERENT, hidden=["lamp"]), "elsewhere"),
        (row("k", "survived", same_counts=False, parting=None, kind="guard"), "different"),
        (row("k", "survived", **(DIFFERENT | {"same_counts": True})), "different"),
        (row("other", "survived", **DIFFERENT), "elsewhere"),
    ],
)
def test_classes(trial: dict[str, Any], expected: str) -> None:
    assert class_of(trial, {"other": "gate c"}) == expected


def test_changes_noticed_by_another_model_are_not_listed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    change = "drop `shut` from `shut | x`"
    monkeypatch.setattr(model_mutants_page, "REASONS", {("may_open", change): "why not"})
    first = Results("one", 3, {"k": row("k", "survived", **DIFFERENT), "i": row("i", "idle")})
    same = Results("two", 1, {"k": row("k", "survived", **DIFFERENT)})
    lines = [*left([first, same])]
    assert lines[0] == "### lib.fence"
    assert lines[4] == (
        r"| `may_open` | drop `shut` from `shut \| x` | one, two | `one` `c`, after 2 steps,"
        " the last `b`: `a` leads to another `v`, `x` cannot be taken | why not |"
    )
    kills = Results("three", 1, {"k": row("k", "killed")})
    assert [*left([first, same, kills])] == []
    counts = [*table([first, kills])][2:]
    assert counts[0] == "| [one](one.md) | `t` | 3 | 2 | 0 | 0 | 1 | 0 | 0 | 0 | 1 | 0 |"
    assert counts[-1] == "| all |  | 4 | 3 | 1 | 0 | 1 | 0 | 0 | 0 | 1 | 0 |"
    listed = survivors([first, kills])
    assert r"| lib, `may_open` | drop `shut` from `shut \| x` | elsewhere |" in listed
    assert "## three" not in listed


def test_the_page_has_the_models_that_were_tried() -> None:
    """The page may be older than a running campaign, but not newer."""
    names = model_mutants_page.names(model_mutants.MODELS)
    results = model_mutants_page.read(model_mutants.RESULTS, names)
    text = model_mutants_page.PAGE.read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[(\w+)\]\(\1\.md\) \|[^|]*\| ([\d,]+) \| ([\d,]+) \|", text, re.M)
    by_model = {result.model: result for result in results}
    assert listed
    for model, _, tried in listed:
        assert int(tried.replace(",", "")) <= len(by_model[model].rows)


def test_results_name_no_place_of_a_machine() -> None:
    for path in model_mutants.RESULTS.glob("*.jsonl"):
        head, _, rest = path.read_text(encoding="utf-8").partition("\n")
        assert json.loads(head).keys() == {"changes", "seed"}
        assert '"file":"/' not in rest
