"""The effect of --strict on remarks in every format, and on specs without checks in a folder."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.support.command import run

from fencepost.checker import api

COUNTER = """\
var x: 0..3 = 0
action up:
    require x < 3
    x += 1
terminal: x == 3
"""
CHECK = "check c:\n    expect ok\n"

STRICT = [
    # Each row has a spec and the remark that --strict names, or an empty string if it names none.
    (COUNTER + CHECK, ""),
    (COUNTER, "the spec declares no checks"),
    (COUNTER + "action never:\n    require x > 3\n    x = 0\n" + CHECK, "never taken: never"),
    (COUNTER + "invariant P: x > 3 implies x == 5\n" + CHECK, "vacuous: invariant P"),
    (
        COUNTER + "action back:\n    require x == 2\n    if x == 1:\n        x = 0\n" + CHECK,
        "never entered: back",
    ),
    (
        "var x: 0..1 in {n for n in 0..1 if n > 1}\naction a: x = 1 - x\n" + CHECK,
        "no initial state",
    ),
    # Remarks that the spec itself causes.
    (COUNTER + "constraint Few: x < 2\n" + CHECK, ""),
    (COUNTER + "check c:\n    expect ok within 1\n", ""),
    (
        "channel c: bool capacity 1 or block\naction put: send true to c\nterminal: true\n" + CHECK,
        "",
    ),
    (
        COUNTER + "invariant Small: x < 2\nproperty Done: eventually x == 3\n"
        "check c:\n    expect violated Small\n",
        "",
    ),
    # Remarks about how the search ran.
    (
        "symmetric type T = {a, b, c, d, e, f}\nvar s: set[T] = {}\n"
        "action put(t in T):\n    require t not in s\n    s.add(t)\nterminal: s == T\n" + CHECK,
        "",
    ),
]


@pytest.mark.parametrize(("text", "reason"), STRICT)
@pytest.mark.parametrize("engine", ["local", "interpreter"])
def test_remarks_that_fail_a_strict_run(
    text: str, reason: str, engine: str, tmp_path: Path
) -> None:
    (tmp_path / "s.fence").write_text(text, "utf-8")
    lenient = run("check", "s.fence", "--engine", engine, folder=tmp_path)
    assert (lenient.code, lenient.stderr) == (0, "")
    strict = run("check", "s.fence", "--engine", engine, "--strict", folder=tmp_path)
    assert strict.code == (4 if reason else 0), strict.stdout + strict.stderr
    printed = " ".join(strict.stdout.split())
    assert ("--strict allows no remarks" in printed) == bool(reason)
    assert reason in printed


def test_strict_changes_no_other_code(tmp_path: Path) -> None:
    never = "action never:\n    require x > 3\n    x = 0\n"
    checks = "check early:\n    properties: Q\n    expect ok\ncheck late:\n    expect ok\n"
    text = f"{COUNTER}{never}invariant P: x < 2\ninvariant Q: true\n{checks}"
    (tmp_path / "s.fence").write_text(text, "utf-8")
    # The first check has a remark, and the second one a violation.
    assert run("check", "s.fence", folder=tmp_path).code == 12
    assert run("check", "s.fence", "--strict", folder=tmp_path).code == 12


def test_python(tmp_path: Path) -> None:
    (tmp_path / "s.fence").write_text(COUNTER, "utf-8")
    assert api.check(tmp_path / "s.fence").exit_code == 0
    strict = api.check(tmp_path / "s.fence", strict=True)
    assert (strict.exit_code, strict.as_expected) == (4, False)
    assert "the spec declares no checks" in str(strict)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a spec with a check, the module that it imports, and a spec without checks."""
    (tmp_path / "a.fence").write_text("import lib\n" + COUNTER + CHECK, "utf-8")
    (tmp_path / "lib.fence").write_text("def two: int = 2\n", "utf-8")
    (tmp_path / "alone.fence").write_text(COUNTER, "utf-8")
    return tmp_path


MISSED = "1 spec has no check, and no other spec imports it: alone.fence"


@pytest.mark.parametrize(
    ("options", "kind", "code"), [((), "warning", 0), (("--strict",), "error", 4)]
)
def test_a_folder_with_a_spec_without_checks(
    options: tuple[str, ...], kind: str, code: int, folder: Path
) -> None:
    text = run("check", ".", *options, folder=folder)
    assert (text.code, text.stderr) == (code, f"{kind}[F049]: {MISSED}\n")
    ran = {
        form: run("check", ".", *options, "--format", form, folder=folder)
        for form in ("json", "junit", "sarif", "github", "html")
    }
    assert {entry.code for entry in ran.values()} == {code}
    objects = json.loads(ran["json"].stdout)
    assert [entry.get("unchecked", False) for entry in objects] == [False, True]
    assert (objects[1]["spec"], objects[1]["checks"]) == ("alone.fence", [])
    errors = ElementTree.fromstring(ran["junit"].stdout).findall(".//error")
    assert [entry.get("message") for entry in errors] == ([MISSED] if code else [])
    (result,) = json.loads(ran["sarif"].stdout)["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("F049", kind)
    assert f"::{kind} title=fencepost F049::{MISSED}" in ran["github"].stdout
    assert MISSED in ran["html"].stdout


def test_a_file_keeps_its_report_although_a_spec_has_no_checks(folder: Path) -> None:
    ran = run("check", ".", "--format", "json=out.json", folder=folder)
    assert ran.code == 0
    assert len(json.loads((folder / "out.json").read_text("utf-8"))) == 2
