"""Messages that must name the real cause: a table of commands and their output.

Each row once misled a user. Braces have no special meaning; a text with a leading ``!`` must be
absent.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from tests.support.command import run

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
}
EMPTY = "there is no initial state"

ROWS = [
    # A spec without an initial state.
    ("check empty.fence", f"ok, as expected ({EMPTY}, so nothing was checked)"),
    ("check two.fence", f"ok, as expected ({EMPTY}, so nothing was checked)"),
    ("check empty.fence --engine bmc --depth 3", f"({EMPTY}, so nothing was checked)"),
    ("check empty.fence --engine interpreter", f"({EMPTY}, so nothing was checked)"),
    ("check two.fence --format json", f'"{EMPTY}, so nothing was checked"'),
    ("check two.fence --format junit", f"ok {EMPTY}, so nothing was checked"),
    ("explore empty.fence", f"{EMPTY}, so no walk can begin"),
    ("graph empty.fence", f"{EMPTY}, so the graph is empty"),
    ("graph empty.fence", 'label="no initial state: 0 states"'),
    ("graph empty.fence --as html", "no initial state: 0 states"),
    ("info empty.fence", f"no state can be reached: {EMPTY}"),
    ("eval empty.fence s", EMPTY),
    # Swapped arguments, and files of another kind.
    ("trace replay up.fence t.itf.json", "up.fence is a spec and t.itf.json is not"),
    ("trace replay up.fence t.itf.json", "write: fencepost trace replay t.itf.json up.fence"),
    ("conform r.jsonl map.fence", "write: fencepost conform map.fence r.jsonl"),
    ("eval 'x + 1' up.fence", "write: fencepost eval up.fence 'x + 1'"),
    ("conform map.fence up.fence", "F047]: up.fence is a spec, not a recording"),
    ("trace show up.fence", "F028]: up.fence is a spec, not a saved trace"),
    ("trace diff t.itf.json up.fence", "F028]: up.fence is a spec, not a saved trace"),
    ("trace replay up.fence up.fence", "F028]: up.fence is a spec, not a saved trace"),
    ("eval up.fence x --trace up.fence", "F028]: up.fence is a spec, not a saved trace"),
    ("check t.itf.json", "F101]: this file is JSON, not a spec"),
    ("fmt r.jsonl", "fencepost conform SPEC FILE compares a recording"),
    ("explore list.json", "F101]: expected a declaration"),
    # A dangling link, and suggestions equal to the given name.
    ("check dangling.fence", "F001]: dangling.fence is a link to nowhere, which does not exist"),
    ("check dangling.fence", "!did you mean"),
    ("check dangling1.fence", "!did you mean"),
    ("trace show dangling.fence", "F026]: dangling.fence is a link to nowhere"),
    ("trace show dangling.fence", "!did you mean"),
    ("trace show t.itf.jsn", 'F026]: there is no file t.itf.jsn; did you mean "t.itf.json"?'),
    ("check up.fence --path dangling.fence", "!did you mean"),
    # Several values for a constant.
    ("sweep up.fence --const N=1..99999999999999999999", "99,999,999,999,999,999,999 values are"),
    (f"sweep up.fence --const N=1..{'9' * 5000}", "--const N: the bounds of a range have at most"),
    ("sweep up.fence --const N=1..b", "N=1..b: a range has an integer on each side, like 3..8"),
    ("sweep up.fence --const N=1...4", "a range has an integer on each side"),
    ("check up.fence --const N=1..4", '"fencepost sweep" runs a check once for each'),
    ("check up.fence --const N=1,4", '"fencepost sweep" runs a check once for each'),
    ("check up.fence --const N=true", "!fencepost sweep"),
    # All problems of a check, in every format.
    ("check up.fence --continue --format junit", "also, invariant Small is violated after 2 steps"),
    ("check up.fence --continue --format github", "also, invariant Small is violated after 2"),
    ("check up.fence --continue --format sarif", "also, invariant Small is violated after 2"),
    ("check up.fence --continue --format json", '"property": "Small"'),
    ("check missed.fence --format junit", "reachable R was never reached; also, reachable S"),
    ("check missed.fence --format json", '"property": "S"'),
    # A condition in a procedure that holds at only one of its calls.
    ("check calls.fence", "!never true"),
    ("check calls.fence", "never entered go: `if x == 3`"),
    ("check never.fence", "never true go: `x < limit`"),
    # A problem in an initial state.
    ("check concrete.fence", "initial state  the most similar one has y = 1"),
    ("check concrete.fence", "!leads elsewhere"),
    ("check concrete.fence --format github", "is violated in an initial state"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `FILES` and a dangling link."""
    path = tmp_path_factory.mktemp("messages")
    for name, text in FILES.items():
        (path / name).write_text(text, encoding="utf-8")
    (path / "dangling.fence").symlink_to("nowhere")
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
