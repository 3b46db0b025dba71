"""A check that expects inconclusive: only a constraint satisfies it, never a limit or a signal."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args
from xml.etree import ElementTree

import pytest
from tests.support.command import Ran, run
from tests.support.sample_results import check, job, outcome

from fencepost.checker import api
from fencepost.checker.outcome import Limit, LimitKind, Verdict
from fencepost.checker.run.judge import Exit, judge, judge_runs

SPEC = """\
var x: 0..9 = 0
fair action up: x += 1
constraint Small: x < 5
property P: eventually x == 3
check a:
    expect ok
check b:
    expect inconclusive
    expect states == 5
"""
OPEN = "property P depends on behaviours that leave constraint Small"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "incon.fence").write_text(SPEC, encoding="utf-8")
    return tmp_path


def said(ran: Ran) -> str:
    """Returns the output of a run in one line."""
    return " ".join((ran.stdout + ran.stderr).split())


@pytest.mark.parametrize("kind", get_args(LimitKind))
def test_a_constraint_is_the_only_cause_that_counts(kind: LimitKind) -> None:
    cut = outcome(Verdict.INCONCLUSIVE, limit=Limit(kind, 5))
    wanted = job(check("inconclusive"))
    for judged in (judge(wanted, cut), judge_runs(wanted, cut)):
        assert judged.as_expected is (kind == "outside")
    stopped = replace(cut, interrupted=True)
    assert judge(wanted, stopped).exit is Exit.INCONCLUSIVE
    assert judge(wanted, outcome()).exit is Exit.NOT_FOUND


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        ("", 0, "inconclusive, as expected (within constraint Small: 1 state lies outside)"),
        ("--engine interpreter --strict", 0, f"not decided {OPEN}; `property P within"),
        ("--engine bmc --depth 9", 0, "(within constraint Small: states lie outside)"),
        ("--cross-check", 0, "interpreter agrees, with the same counts"),
        ("--engine bmc --depth 3", 3, "because of a constraint, but the search was cut by --depth"),
        ("--depth 3", 3, "because of a constraint, but the search was cut by --depth 3"),
        ("--max-states 3", 3, "because of a constraint, but the search was cut by --max-states 3"),
        ("--timeout 0.000001", 3, "--timeout 1e-06"),
        ("--const N=1", 151, ""),
        ("--engine induction", 150, ""),
    ],
)
def test_runs(folder: Path, words: str, code: int, text: str) -> None:
    ran = run("check", "incon.fence", "--check", "b", *words.split(), folder=folder)
    assert (ran.code, text in said(ran)) == (code, True), said(ran)


def test_without_the_expectation(folder: Path) -> None:
    ran = run("check", "incon.fence", folder=folder)
    assert ran.code == 3
    assert f"incon.fence:5: a: expected ok, but {OPEN}" in said(ran)
    spec = SPEC.replace("P:", "P within constraint:").replace("x == 3", "x == 3 or x < 9")
    (folder / "incon.fence").write_text(spec, encoding="utf-8")
    ran = run("check", "incon.fence", folder=folder)
    reason = "no property depends on behaviours that leave one: 5 states searched"
    assert ran.code == 4
    assert f"expected inconclusive because of a constraint, but {reason}" in said(ran)


def test_counts_are_compared(folder: Path) -> None:
    (folder / "incon.fence").write_text(SPEC.replace("states == 5", "states == 6"))
    words = ("check", "incon.fence", "--check", "b", "--format", "junit")
    ran = run(*words, folder=folder)
    failure = ElementTree.fromstring(ran.stdout).find("testsuite/testcase/failure")
    assert failure is not None
    assert (ran.code, failure.get("type")) == (4, "counts")


def test_formats(folder: Path) -> None:
    def written(form: str) -> str:
        ran = run("check", "incon.fence", "--format", form, folder=folder)
        assert ran.code == 3
        return ran.stdout

    spec = json.loads(written("json"))
    rows: list[Any] = [
        (row["expected"], row["verdict"], row["as_expected"], len(row["within"]))
        for row in spec["checks"]
    ]
    assert rows == [("ok", "inconclusive", False, 1), ("inconclusive", "inconclusive", True, 1)]
    first, second = ElementTree.fromstring(written("junit")).iter("testcase")
    assert [part.tag for part in first] == ["system-out", "error"]
    assert [part.tag for part in second] == ["system-out"]
    (result,) = json.loads(written("sarif"))["runs"][0]["results"]
    assert (result["ruleId"], OPEN in result["message"]["text"]) == ("inconclusive", True)
    assert written("github").count("::error ") == 1


def test_python(folder: Path) -> None:
    every = api.check(folder / "incon.fence")
    assert (every.as_expected, every.verdict) == (False, Verdict.INCONCLUSIVE)
    assert api.check(folder / "incon.fence", checks=["b"]).as_expected
    assert not api.check(folder / "incon.fence", checks=["b"], depth=3).as_expected


def test_simulate(folder: Path) -> None:
    ran = run("simulate", "incon.fence", "--check", "b", "--runs", "3", folder=folder)
    assert ran.code == 3
    assert "but no run has a problem" in ran.stdout


def test_mutate(folder: Path) -> None:
    """A mutant survives if the check stays inconclusive because of the constraint."""
    text = SPEC.replace("up: x += 1", "up:\n    require x < 9\n    x += 1")
    text = text.replace("check a:\n    expect ok\n", "").replace("    expect states == 5\n", "")
    (folder / "incon.fence").write_text(text, encoding="utf-8")
    report = json.loads(run("mutate", "incon.fence", "--format", "json", folder=folder).stdout)
    fates = {row["change"]: row["fate"] for row in report["mutants"]}
    assert fates["drop `fair`"] == "killed"
    assert set(fates.values()) == {"killed", "survived"}
