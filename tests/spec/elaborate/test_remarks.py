"""Comments that swallow an operand, as in `done # true`, which is just `done`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.checked_specs import problems
from tests.support.text_tables import tables

TABLES = tables(Path(__file__))

STATE = """\
enum Phase: Idle, Busy
var done: bool = false
var ready: bool = true
var x: 0..3 = 0
var phase: Phase = Idle
var s: set[0..3] = {}
def low(n: int): bool = n < 2
"""


@pytest.mark.parametrize(("text", "operand"), TABLES["a_comment_that_is_an_operand"])
def test_a_comment_that_is_an_operand(text: str, operand: str) -> None:
    reported = problems(f"{STATE}{text}\n")
    assert [(warning.code, warning.warning) for warning in reported] == [("F126", True)] * (
        operand != "nothing"
    )
    for warning in reported:
        assert warning.message.endswith(f"this does not compare with {operand}")
        assert warning.span is not None
        assert warning.span.text == "#"


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        # The error that the mistake causes elsewhere is reported as well.
        ("invariant I: x # 2", ["F126", "F301"]),
        ("invariant I: phase # Idle", ["F126", "F301"]),
        ("invariant I: done # true\ninvariant J: nothing", ["F126", "F201"]),
        ("invariant I: done # true\ninvariant J: = 1", ["F101", "F126"]),
    ],
)
def test_the_warning_accompanies_errors(text: str, codes: list[str]) -> None:
    assert sorted(problem.code for problem in problems(f"{STATE}{text}\n")) == codes


@pytest.mark.parametrize(("text", "code"), TABLES["a_swallowed_operand_is_a_note_of_syntax_errors"])
def test_a_swallowed_operand_is_a_note_of_syntax_errors(text: str, code: str) -> None:
    (problem,) = problems(f"{STATE}{text}\n")
    assert problem.code == code
    assert any('"#" begins a comment; "not equal" is "!="' in text_ for _, text_ in problem.notes)


@pytest.mark.parametrize(
    "text", ["action a:\n    if done  # are we done already?\n        x = 1", "var y: 0..3 =  # ?"]
)
def test_a_remark_is_not_blamed(text: str) -> None:
    (problem,) = problems(f"{STATE}{text}\n")
    assert not any("begins a comment" in text_ for _, text_ in problem.notes)
