"""The choice of the reported problem and of its trace (docs/language.md section 10)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.support.core_builders import (
    BOOL,
    FALSE,
    LINE,
    TRUE,
    among,
    do,
    less,
    lit,
    local,
    model,
    pick,
    put,
    search,
    shown,
)  # fmt: skip
from tests.support.counters import (
    AFTER,
    ASSERTION,
    ERROR,
    FAN,
    START,
    STATE,
    STEP,
    STUCK_AT_1,
    N,
    below,
    counter,
    counts,
    equals,
    jump,
)

from fencepost.checker.outcome import Verdict
from fencepost.spec.core import ir

# ---------------------------------------------------------------- choice of the problem


@pytest.mark.parametrize(
    ("actions", "properties", "verdict", "property"),
    [
        ([STUCK_AT_1, ASSERTION, ERROR], [STATE, STEP], Verdict.ERROR, None),
        ([STUCK_AT_1, ASSERTION], [STATE, STEP], Verdict.ASSERTION, None),
        ([STUCK_AT_1], [STATE, STEP], Verdict.VIOLATED, 1),
        ([STUCK_AT_1], [STATE], Verdict.VIOLATED, 0),
        ([STUCK_AT_1], [("lemma", STATE[1])], Verdict.VIOLATED, 0),
        ([STUCK_AT_1], [("invariant", TRUE)], Verdict.DEADLOCK, None),
        # Of two problems of one kind, the first declared.
        ([STUCK_AT_1], [STATE, STATE], Verdict.VIOLATED, 0),
    ],
)
def test_order_of_problems_at_one_depth(
    actions: Sequence[ir.Statement],
    properties: Sequence[tuple[str, ir.Expr]],
    verdict: Verdict,
    property: int | None,
) -> None:
    outcome = search(model(START, actions, properties))
    assert (outcome.verdict, outcome.findings[0].property) == (verdict, property)
    assert (len(outcome.findings), outcome.findings[0].depth) == (1, 2)


def test_a_deadlock_comes_before_problems_one_step_deeper() -> None:
    # Level 2 is {1, 2}: 2 is a deadlock, the step from 1 fails at depth 3.
    fails = do(ir.Require(equals(1), 0), ERROR)
    outcome = search(model(START, [jump((0, 1)), jump((0, 2)), fails]))
    assert (outcome.verdict, counts(outcome)) == (Verdict.DEADLOCK, (3, 3, 2))


def test_of_two_failing_actions_the_first_declared_then_the_least_state() -> None:
    # Level 2 is {1, 2}. The second action fails in 1, the first one only in 2.
    first = do(ir.Require(equals(2), 0), ir.Ensure(FALSE, 0))
    second = do(ir.Require(less(lit(0), N), 0), ir.Ensure(FALSE, 1))
    spread = pick(0, lit((2, 1), LINE), do(ir.Require(equals(0), 0), put(0, local(0))))
    outcome = search(model(START, [first, second, spread]))
    assert shown(outcome.findings[0].trace)[1:] == [(2, (2,), (2,)), (0, (), None)]
    outcome = search(model(START, [second, first, spread]))
    assert shown(outcome.findings[0].trace)[1:] == [(2, (1,), (1,)), (0, (), None)]


def test_of_failing_choices_the_first() -> None:
    fails = pick(0, among(1, 2, 3), ir.Ensure(less(local(0), lit(2)), 0))
    outcome = search(model(START, [fails]))
    assert shown(outcome.findings[0].trace)[1:] == [(0, (2,), None)]


def test_an_error_is_shown_though_an_assertion_fails_before_it() -> None:
    both = pick(0, among(1, 2), do(ir.Assert(less(lit(1), local(0)), 0), ir.Ensure(FALSE, 1)))
    outcome = search(model(START, [both]))
    assert outcome.verdict is Verdict.ERROR
    assert shown(outcome.findings[0].trace)[1:] == [(0, (2,), None)]


def test_actions_fail_before_properties() -> None:
    undefined = ir.Demand(BOOL, ir.Not(equals(1)), 2, TRUE)
    both = model(START, [STUCK_AT_1, ERROR], [("invariant", undefined)])
    finding = search(both).findings[0]
    assert finding.site == both.sites[0]
    only = model(START, [STUCK_AT_1], [("invariant", undefined)])
    finding = search(only).findings[0]
    assert (finding.verdict, finding.site, finding.depth) == (Verdict.ERROR, only.sites[2], 2)
    assert shown(finding.trace) == [(None, (), (0,)), (0, (), (1,))]


@pytest.mark.parametrize("kind", ["invariant", "reachable", "constraint", "lemma"])
def test_properties_of_states_without_a_value(kind: str) -> None:
    undefined = ir.Demand(BOOL, ir.Not(equals(2)), 2, lit(kind != "reachable", BOOL))
    outcome = search(model(START, [counter(5)], [(kind, undefined)]))
    assert (outcome.verdict, counts(outcome)) == (Verdict.ERROR, (3, 3, 3))


def test_a_step_invariant_without_a_value() -> None:
    undefined = ir.Demand(BOOL, ir.Not(ir.Equal(AFTER, lit(2))), 2, TRUE)
    outcome = search(model(START, [counter(5)], [("step invariant", undefined)]))
    assert (outcome.verdict, counts(outcome)) == (Verdict.ERROR, (3, 3, 3))
    assert shown(outcome.findings[0].trace)[-1] == (0, (), (2,))


def test_a_terminal_without_a_value_is_an_error_where_nothing_else_moves() -> None:
    undefined = ir.Demand(BOOL, equals(7), 2, TRUE)
    outcome = search(model(START, [counter(2)], [("terminal", undefined)]))
    assert (outcome.verdict, counts(outcome)) == (Verdict.ERROR, (3, 3, 3))


# ---------------------------------------------------------------- choice of the trace


def test_the_trace_ends_in_the_least_violating_state() -> None:
    outcome = search(model(START, [FAN], [("invariant", below(3))]))
    assert shown(outcome.findings[0].trace)[-1] == (0, (3,), (3,))


def test_the_predecessor_is_the_least() -> None:
    # 4 leads to 9 by the first action, 2 by the last.
    branching = model(START, [jump((4, 9)), FAN, jump((2, 9))], [("invariant", below(9))])
    outcome = search(branching, deadlock=False)
    assert shown(outcome.findings[0].trace) == [(None, (), (0,)), (1, (2,), (2,)), (2, (), (9,))]


def test_the_action_is_the_first_declared_then_the_first_chosen() -> None:
    either = pick(1, among(5, 6), jump((0, 9)))
    outcome = search(model(START, [jump((1, 9)), either, jump((0, 9))], [("invariant", below(9))]))
    assert shown(outcome.findings[0].trace)[1:] == [(1, (5,), (9,))]


def test_a_broken_step_ends_in_the_least_state_from_the_least_predecessor() -> None:
    # Level 2 is {2, 3, 4}; 4 -> 1, 3 -> 1 and 2 -> 9 break the step invariant.
    to_2 = jump((2, 9), (3, 1), (4, 1))
    unbroken = ir.Or((equals(0), FALSE))
    outcome = search(model(START, [FAN, to_2], [("step invariant", unbroken)]))
    assert shown(outcome.findings[0].trace)[1:] == [(0, (3,), (3,)), (1, (), (1,))]
    assert counts(outcome) == (6, 7, 3)


def test_a_step_to_a_state_seen_before_may_break_a_step_invariant() -> None:
    forward = ir.Or((less(N, AFTER), FALSE))
    outcome = search(model(START, [jump((0, 1), (1, 0))], [("step invariant", forward)]))
    assert (outcome.findings[0].depth, counts(outcome)) == (3, (2, 3, 3))
    assert shown(outcome.findings[0].trace)[-1] == (0, (), (0,))
