"""Notes about declarations that nothing uses and invariants that are always true."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.command import run
from tests.support.text_tables import tables

from fencepost.checker.lsp.diagnostics import SEVERITIES
from fencepost.checker.lsp.marks import of_every_check
from fencepost.checker.report.whole_run import warnings_of
from fencepost.checker.request import Unsupported
from fencepost.checker.run.check import not_supported
from fencepost.checker.run.session import plan
from fencepost.checker.run.settings import Request
from fencepost.spec.text.problem import Problem

TABLES = tables(Path(__file__))

STATE = """\
var x: 0..3 = 0
action step: x = 3 - x
check c:
    expect ok
"""
WIDER = """\
const N: int = 3
const Off: bool = true
enum Color: Red, Green
var x: 0..3 = 0
var q: seq[0..3, 2] = []
var f: map[bool, 0..3] = [0 for b in bool]
var c: Color = Red
action step: x = 3 - x
"""


def notes(folder: Path, specs: dict[str, str]) -> list[Problem]:
    """Returns the notes about the specs in a folder."""
    for name, text in specs.items():
        (folder / f"{name}.fence").write_text(text, encoding="utf-8")
    planned = plan(Request((folder,)))
    assert all(problem.warning for problem in planned.problems), planned.problems
    every = dict.fromkeys(warning for spec in planned.specs for warning in warnings_of(spec))
    assert all(problem.span is not None for problem in every)
    return [problem for problem in every if problem.minor]


@pytest.mark.parametrize(("text", "names"), TABLES["unused_declarations"])
def test_unused_declarations(text: str, names: str, tmp_path: Path) -> None:
    reported = notes(tmp_path, {"a": f"{STATE}{text}\n"})
    assert {note.code for note in reported} <= {"F421"}
    found = [note.message.partition(" the ")[2] for note in reported]
    assert found == ([] if names == "nothing" else names.split(", "))


@pytest.mark.parametrize(("text", "names"), TABLES["unused_messages"])
def test_unused_messages(text: str, names: str, tmp_path: Path) -> None:
    reported = notes(tmp_path, {"a": f"{STATE}union M: Ping, Pong\n{text}\n"})
    messages = [note for note in reported if note.code == "F422"]
    assert [note.message.split()[2] for note in messages] == names.replace("nothing", "").split()


@pytest.mark.parametrize(("text", "always"), TABLES["tautologies"])
def test_tautologies(text: str, always: str, tmp_path: Path) -> None:
    spec = f"{WIDER}{text}\ncheck c:\n    expect ok\n"
    reported = [note for note in notes(tmp_path, {"a": spec}) if note.code == "F423"]
    assert bool(reported) == (always == "true")


def test_an_invariant_must_be_true_in_every_check(tmp_path: Path) -> None:
    spec = f"{WIDER}invariant I: x <= N\ncheck c:\n    expect ok\ncheck d:\n    const N = 2\n"
    spec += "    expect violated I\n"
    assert "F423" not in [note.code for note in notes(tmp_path, {"a": spec})]


SPARE = f"const Spare: int = 1\n{STATE}"


@pytest.mark.parametrize(
    ("specs", "count"),
    [
        ({"a": SPARE}, 1),
        # Other specs of the run use it, qualified or not.
        ({"a": SPARE, "b": f"import a\n{STATE}invariant I: x != a.Spare + 4\n"}, 0),
        ({"a": SPARE, "b": f"from a import Spare\n{STATE}invariant I: x != Spare + 4\n"}, 0),
        ({"a": SPARE, "b": f"import a\n{STATE}invariant I: x != 4 - a.x\n"}, 1),
        # A library has no checks of its own, and notes are not about imported files.
        ({"a": "const Spare: int = 1\n", "b": f"import a\n{STATE}"}, 0),
    ],
)
def test_uses_in_other_specs(specs: dict[str, str], count: int, tmp_path: Path) -> None:
    assert [note.code for note in notes(tmp_path, specs)].count("F421") == count


def test_a_mistake_is_reported_without_notes(tmp_path: Path) -> None:
    (tmp_path / "a.fence").write_text(f"{SPARE}    const Wrong = 1\n", encoding="utf-8")
    ran = run("check", "a.fence", folder=tmp_path)
    assert ran.code == 150
    assert "F421" not in ran.stderr


def test_every_format_has_notes(tmp_path: Path) -> None:
    (tmp_path / "a.fence").write_text(SPARE, encoding="utf-8")
    message = "nothing uses the constant Spare"
    forms = [f"--format={form}=out.{form}" for form in ("json", "sarif", "github")]
    ran = run("check", "a.fence", *forms, "--strict", folder=tmp_path)
    assert (ran.code, ran.stderr) == (0, f"note[F421]: {message} (a.fence:1:7)\n")
    (check,) = json.loads((tmp_path / "out.json").read_text("utf-8"))["checks"]
    assert f"note: F421 at a.fence:1:7: {message}" in check["notes"]
    (result,) = json.loads((tmp_path / "out.sarif").read_text("utf-8"))["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("F421", "note")
    assert (tmp_path / "out.github").read_text("utf-8").startswith("::notice file=a.fence,line=1,")
    assert run("check", "a.fence", "-q", folder=tmp_path).stderr == ""
    (mark,) = of_every_check(tmp_path / "a.fence", ())
    assert SEVERITIES[mark.severity].name == "Hint"


@pytest.mark.parametrize(
    ("engine", "note"),
    [
        ("local", '"--engine interpreter" runs it'),
        ("bmc", '"--engine interpreter" runs it; "--engine local" may run it too, and is faster'),
    ],
)
def test_a_refusal_names_other_engines(engine: str, note: str) -> None:
    assert not_supported(engine, Unsupported("it does not")).notes == ((None, note),)
    refusal = Unsupported("it does not", instead="wait")
    assert not_supported(engine, refusal).notes == ((None, "wait"),)
