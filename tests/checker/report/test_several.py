"""The default report of several checks, and the effect of options on it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import cast

import pytest
from tests.support.command import Ran, run

from fencepost.checker.printing.page import cells, cut

SPEC = """\
var x: 0..3 = 0
fair action up:
    require x < 3
    x += 1
action never:
    require x > 3
    x = 0
terminal: x == 3
invariant Low: x <= 3
invariant Small: x < 2
property Ends: eventually x == 3
check low:
    properties: Low
check small:
    properties: Small
    expect {expected}
check ends:
    properties: Ends
"""
AS_EXPECTED = [
    "s.fence",
    "low    ok, as expected",
    "small  violated Small, as expected",
    "ends   ok, as expected",
    "",
]
SURPRISING = [line.replace("Small, as", "Small, NOT as") for line in AS_EXPECTED]
REMARKS = ["4 remarks", "s.fence: low", "  never taken   never"]
TRACE = ["  0  initial state", "     x = 0", "  1  up", "     x  0 -> 1"]
STEPS = ["  0  initial state", "  1  up             x 0 -> 1", "  2  up             x 1 -> 2"]
FAILING = "s.fence:14: small: expected ok, but invariant Small is violated after 2 steps"
GOOD, BAD = "violated Small", "ok"


def checked(folder: Path, expected: str, *words: str) -> Ran:
    (folder / "s.fence").write_text(SPEC.format(expected=expected), encoding="utf-8")
    return run("check", "s.fence", "--engine", "interpreter", *words, folder=folder)


def lines(ran: Ran) -> list[str]:
    """Returns the printed lines without figures and without the line about the run."""
    printed = [re.sub(r"   +(depth |\d)\S*.* s$", "", line) for line in ran.stdout.splitlines()]
    return [line for line in printed if not line.startswith("fencepost ")]


def has(whole: list[str], part: list[str]) -> bool:
    """Returns whether the lines of ``part`` occur consecutively in ``whole``."""
    return any(whole[at : at + len(part)] == part for at in range(len(whole)))


def test_one_line_per_check_if_all_is_as_expected(tmp_path: Path) -> None:
    ran = checked(tmp_path, GOOD)
    assert lines(ran) == [*AS_EXPECTED, "3 checks, all as expected"]


def test_unexpected_results_are_shown_in_full_and_last(tmp_path: Path) -> None:
    ran = checked(tmp_path, BAD)
    printed = lines(ran)
    assert (ran.code, printed[:5]) == (12, SURPRISING)
    assert has(printed, ["s.fence", "small  violated Small, NOT as expected"])
    assert has(printed, TRACE)
    assert printed[-2:] == ["3 checks, 1 not as expected", FAILING]
    assert ran.stdout.endswith(f"{FAILING}\n")


@pytest.mark.parametrize(
    ("expected", "words", "there", "not_there"),
    [
        (GOOD, ["-v"], TRACE, REMARKS[:1]),
        (GOOD, ["-vv"], TRACE, REMARKS[:1]),
        (GOOD, ["--check", "small"], TRACE, REMARKS[:1]),
        (GOOD, ["--remarks"], REMARKS, TRACE),
        (GOOD, ["--trace-style", "steps", "-v"], STEPS, TRACE),
        (BAD, ["--trace-style", "steps"], STEPS, TRACE),
        (BAD, ["--quiet"], TRACE, SURPRISING[:2]),
        (BAD, ["-q"], ["3 checks, 1 not as expected", FAILING], SURPRISING[:1] + SURPRISING[1:2]),
        (GOOD, [], AS_EXPECTED, ["slowest"]),
        (GOOD, ["--summary"], ["  s.fence: low   2 of 4 actions, guards and branches"], TRACE),
        (GOOD, ["--summary"], ["largest", "  s.fence: low    4 states"], TRACE),
    ],
    ids=lambda value: " ".join(cast("list[str]", value)) if isinstance(value, list) else "",
)
def test_options(
    tmp_path: Path, expected: str, words: list[str], there: list[str], not_there: list[str]
) -> None:
    printed = lines(checked(tmp_path, expected, *words))
    assert has(printed, there)
    assert not has(printed, not_there)


def test_quiet_prints_one_line_if_all_is_as_expected(tmp_path: Path) -> None:
    assert lines(checked(tmp_path, GOOD, "--quiet")) == ["3 checks, all as expected"]


def test_quiet_and_verbose_contradict_each_other(tmp_path: Path) -> None:
    ran = checked(tmp_path, GOOD, "-q", "-v")
    assert (ran.code, ran.stdout) == (151, "")
    assert "--verbose and --quiet contradict each other" in ran.stderr


def test_a_property_that_an_engine_cannot_decide_concerns_its_checks_alone(tmp_path: Path) -> None:
    ran = checked(tmp_path, GOOD, "--engine", "induction")
    assert ran.code == 150
    refused = "ends   not run: the engine induction cannot (F807)"
    assert has(lines(ran), [AS_EXPECTED[1], "small  inconclusive", refused])
    assert ran.stderr.count("F807") == 1
    assert "note: so check ends did not run" in ran.stderr


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("ready", 5, "ready"),
        ("ready", 4, "rea…"),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("x", 0, "…"),
    ],
)
def test_text_is_cut_by_cells(text: str, width: int, shown: str) -> None:
    assert cut(text, width) == shown
    assert cells(shown) <= max(width, 1)
