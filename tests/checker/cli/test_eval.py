"""`fencepost eval`: values in initial states and in states of traces, and rejected arguments."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.command import Ran, run

SPEC = """\
enum Colour: Red, Green
record Point: x: 0..9, y: 0..9
const N: int = 2
var digits: seq[0..9, 3] = []
var point: Point = Point(1, 2)
var start: 0..2 in {0, 1, 2}
action push(n in {4, 7}):
    require len(digits) < N and start == 1
    digits.append(n)
invariant Low: len(digits) < 2
terminal: true
check low:
    expect violated Low
"""


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    (tmp_path / "s.fence").write_text(SPEC, encoding="utf-8")
    words = ("check", "s.fence", "--engine", "interpreter", "--trace", "t.itf.json")
    assert run(*words, folder=tmp_path).code == 0
    return tmp_path


def evaluated(folder: Path, expression: str, *words: str) -> Ran:
    return run("eval", "s.fence", expression, *words, folder=folder)


@pytest.mark.parametrize(
    ("expression", "words", "value"),
    [
        ("digits", "", "[]"),
        ("point with x: 5", "", "Point(x: 5, y: 2)"),
        ("N + 1", "--const N=7", "8"),
        ("Green", "", "Green"),
        ("{n + 1 for n in 0..2}", "", "{1, 2, 3}"),
        ("start", "", "0   in 1 of 3 states\n1   in 1 of 3 states\n2   in 1 of 3 states"),
        ("digits", "--trace t.itf.json", "[4, 4]"),
        ("digits", "--trace t.itf.json --step 0", "[]"),
        ("digits[0] + start", "--trace t.itf.json --step 1", "5"),
        ("forall d in digits: d == 4", "--trace t.itf.json --check low", "true"),
    ],
)
def test_values(folder: Path, expression: str, words: str, value: str) -> None:
    ran = evaluated(folder, expression, *words.split())
    assert (ran.code, ran.stdout) == (0, f"{value}\n"), ran.stderr
