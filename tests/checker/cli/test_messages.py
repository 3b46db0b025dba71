"""Messages must name the real cause: a table of commands with their expected output.

The message of each row once misled a user. Braces in the table have no special meaning. A text with
a leading ``!`` must not occur in the output.
"""

from __future__ import annotations

import io
import shlex
import sys
from pathlib import Path

import pytest
from tests.checker.cli.test_eval import SPEC as POINT
from tests.checker.cli.test_sweep import GRID
from tests.checker.report.test_build_systems import GOOD
from tests.checker.simulate.test_simulate import COUNTER as HAND
from tests.checker.tools.test_mutate import GATE
from tests.support.command import run
from tests.support.paths import spec_text
from tests.support.text_tables import tables

NO_START = """\
var s: 0..1 in 0..1 where s > 5
action a: s = 1
invariant I: s == 0
check one:
    expect ok
"""
UP = """\
const N: 0..50 = 3
var x: 0..50 = 0
action up:
    require x < N
    x += 1
terminal: x == N
invariant Small: x < 2
invariant Tiny: x < 1
"""
FILES = {
    "empty.fence": NO_START,
    "two.fence": NO_START + "check two:\n    expect ok\n",
    "up.fence": UP,
    "missed.fence": "var x: 0..1 = 0\nterminal: true\nreachable R: x == 1\nreachable S: x > 1\n",
    "map.fence": 'import up as m\nrecording:\n    key k\nevent e from "s"\n',
    "abstract.fence": "var y: 0..9 = 1\naction up:\n    y += 1\n",
    "concrete.fence": (
        "import abstract\nvar x: 0..9 = 0\naction up:\n    x += 1\n"
        "refinement R: abstract where y = x\n"
    ),
    "calls.fence": (
        "var x: 0..3 = 0\nprocedure up(limit: 0..3):\n    require x < limit\n    x += 1\n"
        "action go:\n    if x == 3:\n        up(3)\n    else:\n        up(2)\nterminal: true\n"
    ),
    "never.fence": (
        "var x: 0..3 = 0\nprocedure up(limit: 0..3):\n    require x < limit\n    x += 1\n"
        "action go:\n    x = 0\n    if x == 0:\n        up(0)\n    else:\n        up(0)\n"
        "action other:\n    x = 1\n"
    ),
    "t.itf.json": '{"vars": ["x"], "states": [{"x": 0}]}',
    "r.jsonl": '{"k": "a", "event": "e", "source": "s"}\n',
    "list.json": "[1, 2]",
    "gate.fence": GATE,
    "grid.fence": GRID,
    "hand.fence": HAND,
    "point.fence": POINT,
    "good.fence": GOOD,
    "faults.fence": spec_text("faults"),
    "played.fence": (
        "var x: 0..1 = 0\naction a: x = 1\ncheck c:\n    expect ok\nscenario t: a; expect x == 1\n"
    ),
    "symbolic.fence": "const E: int8 = any\nvar x: int8 = E\nterminal: true\n",
}
EMPTY = "there is no initial state"

TABLES = tables(Path(__file__))
ROWS = [
    *TABLES["messages"],
    (f"sweep up.fence --const N=1..{'9' * 5000}", "--const N: the bounds of a range have at most"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `FILES` and a dangling link."""
    path = tmp_path_factory.mktemp("messages")
    for name, text in FILES.items():
        (path / name).write_text(text, encoding="utf-8")
    (path / "dangling.fence").symlink_to("nowhere")
    saving = ("--engine", "interpreter", "--trace", "point.itf.json")
    assert run("check", "point.fence", *saving, folder=path).code == 0
    return path


@pytest.mark.parametrize(("command", "expected"), ROWS)
def test_messages(command: str, expected: str, folder: Path) -> None:
    words = shlex.split(command)
    if words[0] == "check" and "--engine" not in words:
        words += ["--engine", "interpreter"]
    ran = run(*words, folder=folder)
    printed = " ".join((ran.stdout + ran.stderr).split())
    assert "Traceback" not in printed
    absent = expected.startswith("!")
    assert (" ".join(expected.removeprefix("!").split()) in printed) is not absent, printed


@pytest.mark.parametrize(("command", "code", "message"), TABLES["refusals"])
def test_refusals(
    command: str, code: str, message: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    ran = run(*shlex.split(command), folder=folder)
    assert (str(int(ran.code)), ran.stdout) == (code, ""), ran
    assert message in ran.stderr
    assert ran.stderr.count("error[") == 1
    assert "Traceback" not in ran.stderr
    assert not list(folder.glob("*.tla"))
