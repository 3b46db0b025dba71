"""Recordings of random runs are all allowed; recordings with lost lines are not."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from tests.support.command import run
from tests.support.lease import LEASE, MAPPING
from tests.support.paths import ROOT
from tests.support.shop import FOUR, LOGS, SHOP

ANSWERS = "answers asked when net == [] on Done(==answer) from net: send Ask(shelf) to net\n"


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    (tmp_path / "lease.fence").write_text(LEASE, encoding="utf-8")
    (tmp_path / "map.fence").write_text(MAPPING, encoding="utf-8")
    (tmp_path / "shop.fence").write_text(SHOP, encoding="utf-8")
    (tmp_path / "logs.fence").write_text(LOGS.replace(ANSWERS, ""), encoding="utf-8")
    (tmp_path / "answers.fence").write_text(LOGS, encoding="utf-8")
    (tmp_path / "four.fence").write_text(FOUR, encoding="utf-8")
    return tmp_path


def recorded(folder: Path, *words: str) -> str:
    ran = run("simulate", *words, "--record", "r.jsonl", folder=folder)
    assert ran.code == 0, ran.stderr
    return (folder / "r.jsonl").read_text(encoding="utf-8")


def verdicts(folder: Path, *words: str) -> Counter[str]:
    ran = run("conform", *words, "r.jsonl", "--format", "json", folder=folder)
    return Counter(history["verdict"] for history in json.loads(ran.stdout)["histories"])


@pytest.mark.parametrize(
    ("words", "more", "events"),
    [
        (("map.fence",), (), "granted stalled written"),
        (("map.fence",), ("--choose", "steps", "--weight", "m.Store=1"), "granted stalled written"),
        (("logs.fence", "--check", "one"), (), "swapped filled closed stocktaking"),
        (("answers.fence", "--check", "one"), (), "swapped filled closed stocktaking asked"),
        (
            (str(ROOT / "models" / "kafka" / "conform_kafka.fence"), "--check", "r4_4_0"),
            ("--runs", "20", "--depth", "200", "--seed", "3"),
            "record start BEFORE",
        ),
        (
            (str(ROOT / "models" / "kafka" / "conform_answers_v2.fence"), "--check", "r4_4_0"),
            ("--runs", "3", "--depth", "60"),
            "",
        ),
    ],
    ids=["lease", "any step", "ahead", "answers", "kafka", "kafka's answers"],
)
def test_every_run_is_allowed(
    words: tuple[str, ...], more: tuple[str, ...], events: str, folder: Path
) -> None:
    lines = [json.loads(line) for line in recorded(folder, *words, *more).splitlines()]
    shown = {line.get("event", line.get("kind")) for line in lines}
    assert shown >= {*events.split()}
    assert len(shown) > 3 or events
    assert {*verdicts(folder, *words)} == {"allowed"}


def test_recordings_with_lost_lines_are_not_allowed(folder: Path) -> None:
    """Without its "stalled" lines, every run with two grants is rejected."""
    lines = recorded(folder, "map.fence", "--runs", "20").splitlines()
    kept = [line for line in lines if json.loads(line)["event"] != "stalled"]
    (folder / "r.jsonl").write_text("\n".join(kept), encoding="utf-8")
    again = Counter(json.loads(line)["file"] for line in kept if json.loads(line)["token"] == 2)
    counts = verdicts(folder, "map.fence")
    assert counts["not allowed"] >= len(again) > 0


def test_runs_depend_on_their_seed_alone(folder: Path) -> None:
    first = recorded(folder, "logs.fence", "--check", "one", "--runs", "8")
    assert recorded(folder, "logs.fence", "--check", "one", "--runs", "8") == first
    assert recorded(folder, "logs.fence", "--check", "one", "--runs", "8", "--seed", "2") != first


def test_a_weight_of_nothing(folder: Path) -> None:
    text = recorded(folder, "map.fence", "--runs", "5", "--weight", "m.Store=0")
    assert text
    assert "written" not in text


def test_without_a_key_there_is_one_run(folder: Path) -> None:
    assert recorded(folder, "four.fence", "--depth", "200").count("\n") > 5
    assert verdicts(folder, "four.fence") == {"allowed": 1}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("four.fence", "--runs", "2"), "error[F863]: --runs 2: without `key`"),
        (("lease.fence",), "error[F048]"),
        (("map.fence", "--trace", "t.json"), "--trace has no meaning with --record"),
        (("map.fence", "--choose", "rare"), "--choose rare has no meaning with --record"),
        (("map.fence", "--format", "json"), "--format json has no meaning with --record"),
        (("map.fence", "--invariant", "X"), "--invariant has no meaning with --record"),
    ],
)
def test_unrecordable_runs_are_refused(words: tuple[str, ...], message: str, folder: Path) -> None:
    ran = run("simulate", *words, "--record", "r.jsonl", folder=folder)
    assert message in ran.stderr
    assert ran.code in (150, 151)
    assert not (folder / "r.jsonl").exists()
    assert not (folder / "t.json").exists()


def test_a_field_that_contradicts_the_line(folder: Path) -> None:
    mapping = MAPPING.replace("written(client: client,", "written(file: client,")
    (folder / "map.fence").write_text(mapping, encoding="utf-8")
    ran = run("simulate", "map.fence", "--record", "r.jsonl", folder=folder)
    assert (
        'error[F863]: the field "file" of written also says something else about the line'
        in ran.stderr
    )
