"""Judgements and exit codes for expected and actual outcomes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.sample_results import VIOLATED, check, job, outcome

from fencepost.checker.outcome import INTERRUPTED, Finding, Limit, Outcome, Verdict
from fencepost.checker.run.judge import Exit, counts_compared, exit_code, judge
from fencepost.checker.run.settings import Settings
from fencepost.spec.elaborate.claims.program import Check
from fencepost.spec.text.problem import Problem

STEPS = replace(VIOLATED, property=2)
UNREACHED = Finding(Verdict.UNREACHED, 1, 15, None)
CASES: list[tuple[Check, Outcome, Exit, str | None]] = [
    (check(), outcome(), Exit.OK, None),
    (check(states=180, generated=346, depth=15), outcome(), Exit.OK, None),
    (check(states=181), outcome(), Exit.NOT_FOUND, "expected states == 181, but found 180"),
    (check(depth=9), outcome(), Exit.NOT_FOUND, "expected depth == 9, but found 15"),
    (
        check(generated=1, depth=2),
        outcome(),
        Exit.NOT_FOUND,
        "expected generated == 1, but found 346; expected depth == 2, but found 15",
    ),
    (check("violated", "Short"), outcome(Verdict.VIOLATED, VIOLATED), Exit.OK, None),
    (
        check("violated", "Short"),
        outcome(),
        Exit.NOT_FOUND,
        "expected violated Short, but no state violates it: 180 states searched",
    ),
    (
        check("violated", "Keeps"),
        outcome(),
        Exit.NOT_FOUND,
        "expected violated Keeps, but no step violates it: 180 states searched",
    ),
    (
        check("violated", "Keeps"),
        outcome(Verdict.VIOLATED, VIOLATED),
        Exit.INVARIANT,
        "expected violated Keeps, but invariant Short is violated",
    ),
    (
        check(),
        outcome(Verdict.VIOLATED, STEPS),
        Exit.STEP_INVARIANT,
        "expected ok, but step invariant Keeps is violated",
    ),
    (
        check("deadlock"),
        outcome(),
        Exit.NOT_FOUND,
        "expected deadlock, but every state has a successor or is terminal: 180 states searched",
    ),
    (
        check(),
        outcome(Verdict.DEADLOCK, replace(VIOLATED, verdict=Verdict.DEADLOCK, property=None)),
        Exit.DEADLOCK,
        "expected ok, but the model deadlocks",
    ),
    (
        check("assertion"),
        outcome(),
        Exit.NOT_FOUND,
        "expected assertion, but no assertion fails: 180 states searched",
    ),
    (check(), outcome(Verdict.ASSERTION), Exit.ASSERTION, "expected ok, but an assertion fails"),
    (
        check("error"),
        outcome(distinct=1),
        Exit.NOT_FOUND,
        "expected error, but no evaluation error occurs: 1 state searched",
    ),
    (
        check(),
        outcome(Verdict.ERROR),
        Exit.EVALUATION,
        "expected ok, but an evaluation error occurs",
    ),
    (check("error"), outcome(Verdict.ERROR), Exit.OK, None),
    (
        check("violated", "Short"),
        outcome(Verdict.ASSUMPTION),
        Exit.ASSUMPTION,
        "expected violated Short, but an assumption is false",
    ),
    (
        check(),
        outcome(Verdict.UNREACHED, UNREACHED),
        Exit.NOT_FOUND,
        "expected ok, but reachable Both was never reached",
    ),
    (
        check("violated", "Short"),
        outcome(Verdict.INCONCLUSIVE, limit=Limit("max-states", 180)),
        Exit.INCONCLUSIVE,
        "expected violated Short, but the search was cut by --max-states 180 after 180 states",
    ),
    (
        check(),
        outcome(Verdict.INCONCLUSIVE, limit=INTERRUPTED),
        Exit.INCONCLUSIVE,
        "expected ok, but the search was interrupted after 180 states",
    ),
]


@pytest.mark.parametrize(("wanted", "got", "code", "explanation"), CASES)
def test_judge(wanted: Check, got: Outcome, code: Exit, explanation: str | None) -> None:
    result = judge(job(wanted), got)
    assert (result.exit, result.explanation) == (code, explanation)
    assert result.as_expected == (code is Exit.OK)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (Settings(overrides={"N": "4"}), "constants were given on the command line"),
        (Settings(invariants=("Short",)), "other properties were chosen on the command line"),
        (Settings(keep_going=True), "the search continued after the first problem"),
        (Settings(), None),
    ],
)
def test_counts_are_compared_with_the_run_that_they_describe(
    settings: Settings, reason: str | None
) -> None:
    run = job(check("violated", "Short", states=1), settings)
    got = outcome(Verdict.VIOLATED, VIOLATED)
    assert counts_compared(run, got) == reason
    assert judge(run, got).as_expected == (reason is not None)


def test_the_first_check_that_is_not_as_expected_decides() -> None:
    fine = judge(job(check()), outcome())
    dead = judge(job(check()), outcome(Verdict.DEADLOCK))
    cut = judge(job(check()), outcome(Verdict.INCONCLUSIVE, limit=Limit("depth", 3)))
    assert exit_code([fine]) == 0
    assert exit_code([fine, dead, cut]) == 11
    assert exit_code([cut, dead]) == 3


def test_refusals_win() -> None:
    dead = judge(job(check()), outcome(Verdict.DEADLOCK))
    syntax, option = Problem("F101", None, ""), Problem("F020", None, "")
    assert exit_code([dead], [syntax]) == 150
    assert exit_code([dead], [option]) == 151
    assert exit_code([dead], [syntax, option]) == 151
