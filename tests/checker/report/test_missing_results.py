"""Every format has an entry for each spec that cannot be checked and each check that does not
run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock
from xml.etree import ElementTree

import pytest
from tests.checker.report.test_build_systems import SCHEMA as SARIF
from tests.checker.report.test_build_systems import read_command
from tests.checker.report.test_schema import validator
from tests.support.command import Ran, run

from fencepost.checker.outcome import INTERRUPTED, Verdict
from fencepost.checker.run import session
from fencepost.checker.run.job import Job
from fencepost.checker.run.judge import judge
from fencepost.spec.records import replace

COUNTER = """\
var x: 0..3 = 0
action up:
    require x < 3
    x += 1
terminal: x == 3
"""
CHECK = "check {}:\n    expect ok\n"
GOOD = COUNTER + CHECK.format("c") + CHECK.format("d")
BROKEN = "var x 0..3 = 0\n"
FORMATS = ("text", "json", "junit", "sarif", "github", "html")
REFUSED = {
    "a syntax error": (BROKEN.encode(), 'bad.fence:1:7: error[F101]: expected ":", found "0"'),
    "a wrong name": (f"{COUNTER}invariant I: y > 0\n".encode(), 'bad.fence:6:14: error[F201]: no '),
    "not UTF-8": (b"var x: 0..3 = \xff\n", "bad.fence:1:15: error[F006]: "),
    "too large": (b"#" * (4 << 20) + b"\n", "error[F005]: bad.fence has more than"),
    "a broken module": (b"import lib.broken\n", 'lib/broken.fence:1:7: error[F101]: expected ":"'),
    "a wrong check": (
        f"{COUNTER}{CHECK.format('c')}    const N = 2\n".encode(),
        "bad.fence:8:5: error[F821]: ",
    ),
}  # fmt: skip


def reports(folder: Path, *words: str) -> tuple[Ran, dict[str, str]]:
    """Runs ``check`` once and returns the result and its report in every format."""
    forms = [f"--format={form}=out.{form}" for form in FORMATS]
    ran = run("check", *words, *forms, "--format", "text", folder=folder)
    return ran, {form: (folder / f"out.{form}").read_text("utf-8") for form in FORMATS}


def entries(report: str) -> dict[str | None, Any]:
    """Returns the objects of a JSON report by spec."""
    value: Any = json.loads(report)
    validator().validate(value)
    every: list[Any] = value if report.startswith("[") else [value]
    return {entry["spec"]: entry for entry in every}


def notifications(report: str) -> Iterator[tuple[str, str, list[str]]]:
    """Yields the notifications of a SARIF report: level, text and files."""
    log = json.loads(report)
    import_module("jsonschema").Draft4Validator(json.loads(SARIF.read_text("utf-8"))).validate(log)
    for note in log["runs"][0]["invocations"][0].get("toolExecutionNotifications", []):
        places = [place["physicalLocation"] for place in note.get("locations", [])]
        files = [place["artifactLocation"]["uri"] for place in places]
        yield note["level"], note["message"]["text"], files


def cases(report: str) -> dict[tuple[str | None, str | None], ElementTree.Element]:
    """Returns the test cases of a JUnit report by test suite and name."""
    root = ElementTree.fromstring(report)
    return {(suite.get("name"), case.get("name")): case for suite in root for case in suite}


@pytest.mark.parametrize(("content", "reason"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("beside", [True, False], ids=["with a good spec", "alone"])
def test_a_spec_that_cannot_be_checked(
    content: bytes, reason: str, beside: bool, tmp_path: Path
) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "broken.fence").write_text(BROKEN, "utf-8")
    (tmp_path / "bad.fence").write_bytes(content)
    (tmp_path / "good.fence").write_text(GOOD, "utf-8")
    specs = ["good.fence", "bad.fence"] if beside else ["bad.fence"]
    ran, report = reports(tmp_path, *specs, "--engine", "interpreter")
    sentence = f"bad.fence could not be checked: {reason}"
    assert ran.code in (150, 151)
    lines = ran.stdout.splitlines()
    if beside:
        assert "2 checks as expected, 1 spec could not be checked" in lines
        assert any(line.startswith(sentence) for line in lines)
        assert "2 checks as expected, 1 spec could not be checked\n" in report["text"]
    else:
        assert lines == []
    assert report["text"].startswith("error[F")
    bad = entries(report["json"])["bad.fence"]
    assert (bad["checks"], bad["problems"][0]["code"]) == ([], reason.partition("error[")[2][:4])
    error = cases(report["junit"])["bad.fence", "bad.fence"].find("error")
    assert error is not None
    assert error.get("type") == bad["problems"][0]["code"]
    ((level, text, files),) = notifications(report["sarif"])
    assert (level, text.startswith(sentence), files) == ("error", True, ["bad.fence"])
    commands = [read_command(line) for line in report["github"].splitlines()]
    assert {"error"} == {kind for kind, _, _ in commands}
    assert "bad.fence" in {properties["file"] for _, properties, _ in commands}
    assert error.get("type", "") in report["html"]


def test_an_error_that_belongs_to_no_spec(tmp_path: Path) -> None:
    (tmp_path / "good.fence").write_text(GOOD, "utf-8")
    ran, report = reports(tmp_path, "good.fence", "--check", "e")
    assert ran.code == 151
    (problem,) = entries(report["json"])[None]["problems"]
    assert (problem["code"], problem["notes"]) == ("F023", ["there are c and d"])
    assert cases(report["junit"])["command line", "command line"].find("error") is not None
    assert report["text"].startswith("error[F023]")


UNSUPPORTED = """\
var n: 0..1 = 0
action change: n = 1 - n
def opens(k: 0..1): bool at most 2 = if k == 0 then enabled(change) else opens(k - 1)
invariant Opens: opens(n)
check native:
    expect ok
"""


@pytest.mark.parametrize("everywhere", [False, True], ids=["this check", "every check"])
def test_a_check_that_its_engine_cannot_run(everywhere: bool, tmp_path: Path) -> None:
    (tmp_path / "good.fence").write_text(GOOD, "utf-8")
    (tmp_path / "rows.fence").write_text(UNSUPPORTED + CHECK.format("again"), "utf-8")
    (tmp_path / "more.fence").write_text(UNSUPPORTED, "utf-8")
    performed = session.performed

    def refused(job: Job, progress: Any) -> Any:
        result = performed(job, progress)
        if isinstance(result, session.Refusal):
            return session.Refusal(job, result.problems, everywhere)
        return result

    with mock.patch.object(session, "performed", refused):
        ran, report = reports(
            tmp_path, "good.fence", "rows.fence", "more.fence", "--engine=local", "--jobs=1"
        )
    assert ran.code == 150
    assert "2 checks as expected, 3 checks did not run" in ran.stdout.splitlines()
    assert ran.stderr.count("error[F807]") == (1 if everywhere else 2)
    objects = entries(report["json"])
    for spec, name in (("rows.fence", "native"), ("rows.fence", "again"), ("more.fence", "native")):
        assert (name, "F807") in [(c["name"], c["code"]) for c in objects[spec]["not_run"]]
        error = cases(report["junit"])[spec, name].find("error")
        assert error is not None
        assert error.get("type") == "F807"
    assert "not_run" not in objects["good.fence"]
    assert ("command line", "command line") not in cases(report["junit"])
    assert report["html"].count('<tr class="bad">') == 3


def test_checks_after_an_interrupt(tmp_path: Path) -> None:
    """An interrupt leaves a check of the same spec and a whole spec without results."""
    slow = CHECK.format("late slow")
    (tmp_path / "first.fence").write_text(GOOD + slow, "utf-8")
    (tmp_path / "later.fence").write_text(GOOD, "utf-8")
    performed = session.performed

    def interrupted(job: Job, progress: Any) -> Any:
        result = performed(job, progress)
        assert not isinstance(result, session.Refusal)
        return judge(
            job,
            replace(
                result.outcome, verdict=Verdict.INCONCLUSIVE, cut=INTERRUPTED, interrupted=True
            ),
        )

    with mock.patch.object(session, "performed", interrupted):
        ran, report = reports(
            tmp_path, "first.fence", "later.fence", "--engine=interpreter", "--jobs=1"
        )
    assert ran.code == 3
    assert "1 check, 1 not as expected, 3 checks did not run" in ran.stdout.splitlines()
    objects = entries(report["json"])
    why = "not run: the run was interrupted"
    assert [(c["name"], c["why"]) for c in objects["first.fence"]["not_run"]] == [
        ("d", why),
        ("late", "slow: --slow runs it"),
    ]
    assert [c["name"] for c in objects["later.fence"]["not_run"]] == ["c", "d"]
    skipped = [
        name for name, case in cases(report["junit"]).items() if case.find("skipped") is not None
    ]
    assert [*skipped] == [
        ("first.fence", "d"), ("first.fence", "late"), ("later.fence", "c"), ("later.fence", "d"),
    ]  # fmt: skip
