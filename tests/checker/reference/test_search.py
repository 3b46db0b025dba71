"""The rules of docs/language.md section 10, each on a model small enough to count by hand."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.support.core_builders import (
    BOOL,
    DIGIT,
    DIGITS,
    FALSE,
    LINE,
    SKIP,
    TRUE,
    among,
    do,
    less,
    lit,
    local,
    model,
    pick,
    plus,
    put,
    search,
    shown,
    var,
)  # fmt: skip

from fencepost.checker.engines import ENGINES, load
from fencepost.checker.outcome import Limit, Outcome, Step, Trace, Verdict
from fencepost.checker.request import Limits, Progress, Request
from fencepost.checker.search.reconstruct import first_impossible
from fencepost.spec.core import ir
from fencepost.spec.core.types import Bag, Int, Map, Set
from fencepost.spec.semantics.stepper import BlockedAction, Choice, Runner
from fencepost.spec.text.source import Source, Span

N = var(0)
AFTER = var(0, next=True)
START = put(0, lit(0))


def counter(top: int) -> ir.Statement:
    """Counts up to ``top``, then is not enabled."""
    return do(ir.Require(less(N, lit(top)), 0), put(0, plus(N, 1)))


def below(top: int) -> ir.Expr:
    return less(N, lit(top))


def equals(number: int) -> ir.Expr:
    return ir.Equal(N, lit(number))


def jump(*pairs: tuple[int, int]) -> ir.Statement:
    """From each first number to its second; not enabled elsewhere."""
    body: ir.Statement = ir.Require(FALSE, 0)
    for source, target in reversed(pairs):
        body = ir.If(equals(source), put(0, lit(target)), body)
    return body


def counts(outcome: Outcome) -> tuple[int, int, int]:
    return (
        outcome.statistics.distinct,
        outcome.statistics.generated,
        outcome.statistics.depth,
    )


def test_a_finite_loop_is_ok() -> None:
    outcome = search(model(START, [jump((0, 1), (1, 2), (2, 0))], [("invariant", below(3))]))
    assert outcome.verdict is Verdict.OK
    assert counts(outcome) == (3, 4, 3)
    assert outcome.statistics.levels == (1, 1, 1)
    assert outcome.statistics.transitions == (1, 1, 1)
    assert (outcome.findings, outcome.limit, outcome.exact) == ((), None, True)
    assert outcome.coverage.taken == (3,)


def test_the_table_of_engines() -> None:
    assert [load(name).name for name in ENGINES] == list(ENGINES)


# ---------------------------------------------------------------- counts, per kind of problem


def test_violated_at_depth_d_counts_levels_to_d_and_steps_before() -> None:
    outcome = search(model(START, [counter(9), counter(9)], [("invariant", below(3))]))
    assert (outcome.verdict, outcome.findings[0].property) == (Verdict.VIOLATED, 0)
    assert counts(outcome) == (4, 7, 4)
    assert outcome.findings[0].depth == 4
    assert shown(outcome.findings[0].trace) == [
        (None, (), (0,)),
        *[(0, (), (n,)) for n in (1, 2, 3)],
    ]


def test_a_deadlock_does_not_count_the_expansion_that_found_it() -> None:
    # Level 2 is {1, 5}; 5 has no successor, 1 has one, which is not counted.
    outcome = search(model(START, [jump((0, 1), (1, 2)), jump((0, 5))]))
    assert outcome.verdict is Verdict.DEADLOCK
    assert counts(outcome) == (3, 3, 2)
    assert outcome.coverage.taken == (1, 1)
    assert shown(outcome.findings[0].trace) == [(None, (), (0,)), (1, (), (5,))]


def test_a_deadlock_is_explained() -> None:
    blocked = pick(0, among(1, 2), do(ir.Require(less(N, local(0)), 1), counter(0)), "k")
    outcome = search(model(put(0, lit(1)), [counter(1), blocked]))
    assert outcome.findings[0].blocked == (BlockedAction(0, (0,)), BlockedAction(1, (0, 1)))


def test_deadlock_is_the_callers_to_switch_off() -> None:
    outcome = search(model(START, [counter(2)]), deadlock=False)
    assert (outcome.verdict, counts(outcome)) == (Verdict.OK, (3, 3, 3))


@pytest.mark.parametrize(
    ("failing", "verdict"),
    [
        (ir.Ensure(below(2), 1), Verdict.ERROR),
        (ir.Assert(below(2), 1), Verdict.ASSERTION),
    ],
)
def test_a_failing_step_is_one_deeper_than_its_trace_and_not_generated(
    failing: ir.Statement, verdict: Verdict
) -> None:
    outcome = search(model(START, [do(failing, counter(9)), counter(9)]))
    finding = outcome.findings[0]
    assert (finding.verdict, finding.depth, finding.property) == (verdict, 4, None)
    assert finding.site is not None
    assert finding.site.code == "F901"
    # Levels 1 to 4 are 0, 1, 2, 3; the failing step out of 2 is not counted, the other one is.
    assert counts(outcome) == (4, 6, 4)
    assert shown(finding.trace) == [
        (None, (), (0,)), (0, (), (1,)), (0, (), (2,)), (0, (), None)
    ]  # fmt: skip


def test_a_failing_step_where_the_level_has_no_new_state() -> None:
    outcome = search(model(START, [ir.Ensure(FALSE, 0)]))
    assert counts(outcome) == (1, 1, 2)
    assert outcome.statistics.levels == (1, 0)


def test_equal_results_are_generated_again() -> None:
    same = pick(0, among(1, 2, 3), put(0, lit(1)))
    outcome = search(model(START, [same]))
    assert counts(outcome) == (2, 7, 2)


def test_equal_messages_are_one_choice() -> None:
    bag = Bag(DIGIT, 3)
    receive = pick(0, var(0, bag), put(0, ir.Remove(bag, var(0, bag), local(0))), "on")
    outcome = search(model(put(0, lit((1, 1, 2), bag)), [receive], variables=[bag]), deadlock=False)
    # {1,1,2} -> {1,2}, {1,1} -> {1}, {2} -> {}
    assert counts(outcome) == (6, 8, 4)


def test_initial_states_come_from_choices() -> None:
    initial = pick(
        0, lit((3, 1), LINE), do(ir.Require(less(local(0), lit(9)), 0), put(0, local(0)))
    )
    twice = pick(1, ir.Universe(Set(BOOL)), initial, "b")
    outcome = search(model(twice, [SKIP], [("invariant", below(3))]))
    # Least state first: but 3 is the only one that violates; its first vector is shown.
    assert outcome.verdict is Verdict.VIOLATED
    assert counts(outcome) == (2, 4, 1)
    assert shown(outcome.findings[0].trace) == [(None, (False, 3), (3,))]


def test_an_initial_choice_that_fails() -> None:
    initial = pick(0, among(1, 2), do(ir.Ensure(less(local(0), lit(2)), 2), put(0, local(0))))
    outcome = search(model(initial, [SKIP]))
    finding = outcome.findings[0]
    assert (finding.verdict, finding.depth, counts(outcome)) == (Verdict.ERROR, 1, (1, 1, 1))
    assert shown(finding.trace) == [(None, (2,), None)]


def test_no_initial_state_is_noted() -> None:
    outcome = search(model(do(ir.Require(FALSE, 0), START), [SKIP]))
    assert (outcome.verdict, counts(outcome)) == (Verdict.OK, (0, 0, 0))
    assert outcome.notes


# ---------------------------------------------------------------- which problem

ERROR, ASSERTION = ir.Ensure(FALSE, 0), ir.Assert(FALSE, 1)
STUCK_AT_1 = jump((0, 1))
STEP = ("step invariant", ir.Not(ir.Equal(AFTER, lit(1))))
STATE = ("invariant", ir.Not(equals(1)))


@pytest.mark.parametrize(
    ("actions", "properties", "verdict", "property"),
    [
        ([STUCK_AT_1, ASSERTION, ERROR], [STATE, STEP], Verdict.ERROR, None),
        ([STUCK_AT_1, ASSERTION], [STATE, STEP], Verdict.ASSERTION, None),
        ([STUCK_AT_1], [STATE, STEP], Verdict.VIOLATED, 1),
        ([STUCK_AT_1], [STATE], Verdict.VIOLATED, 0),
        ([STUCK_AT_1], [("lemma", STATE[1])], Verdict.VIOLATED, 0),
        ([STUCK_AT_1], [("invariant", TRUE)], Verdict.DEADLOCK, None),
        # Of two of a kind, the first declared.
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


def test_a_deadlock_comes_before_what_is_found_one_step_deeper() -> None:
    # Level 2 is {1, 2}: 2 is a deadlock, the step out of 1 fails at depth 3.
    fails = do(ir.Require(equals(1), 0), ERROR)
    outcome = search(model(START, [jump((0, 1)), jump((0, 2)), fails]))
    assert (outcome.verdict, counts(outcome)) == (Verdict.DEADLOCK, (3, 3, 2))


def test_of_two_failing_actions_the_first_declared_then_the_least_state() -> None:
    # Level 2 is {1, 2}. The second action fails in 1, the first one in 2 only.
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


# ---------------------------------------------------------------- which trace

FAN = pick(0, lit((4, 3, 2), LINE), do(ir.Require(equals(0), 0), put(0, local(0))))


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
    # Level 2 is {2, 3, 4}; 4 -> 1 and 3 -> 1 and 2 -> 9 break the step invariant.
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


# ---------------------------------------------------------------- constraint, terminal, reachable


def test_states_outside_a_constraint_are_checked_but_not_expanded() -> None:
    inside = ("constraint", below(2))
    outcome = search(model(START, [counter(9), counter(9)], [inside]))
    assert (outcome.verdict, counts(outcome)) == (Verdict.OK, (2, 5, 2))
    assert outcome.coverage.cut == 1
    outcome = search(model(START, [counter(9)], [inside, ("invariant", below(2))]))
    assert (outcome.verdict, counts(outcome)) == (Verdict.VIOLATED, (2, 3, 3))
    assert shown(outcome.findings[0].trace)[-1] == (0, (), (2,))
    outcome = search(model(START, [counter(9)], [inside, ("reachable", equals(2))]))
    assert outcome.verdict is Verdict.OK


def test_all_constraints_must_hold_also_at_the_start() -> None:
    initial = pick(0, among(0, 1, 2), put(0, local(0)))
    limits = [("constraint", below(2)), ("constraint", ir.Not(equals(1)))]
    outcome = search(model(initial, [SKIP], limits))
    assert (counts(outcome), outcome.coverage.cut) == ((1, 4, 1), 2)


def test_one_terminal_suffices() -> None:
    ends = [("terminal", equals(1)), ("terminal", equals(2))]
    assert search(model(START, [counter(2)], ends)).verdict is Verdict.OK
    assert search(model(START, [counter(3)], ends)).verdict is Verdict.DEADLOCK


def test_a_step_that_fails_is_no_deadlock() -> None:
    assert search(model(START, [ERROR])).verdict is Verdict.ERROR


def test_reachables_that_are_not_reached() -> None:
    met, unmet = ("reachable", equals(1)), ("reachable", equals(5))
    loop = jump((0, 1), (1, 0))
    outcome = search(model(START, [loop], [unmet, met, unmet]))
    assert outcome.verdict is Verdict.UNREACHED
    assert [finding.property for finding in outcome.findings] == [0, 2]
    assert outcome.coverage.reached == {1}
    assert search(model(START, [loop], [unmet, met]), properties=[1]).verdict is Verdict.OK


def test_a_search_that_was_cut_does_not_say_unreached() -> None:
    outcome = search(model(START, [counter(9)], [("reachable", equals(9))]), limits=Limits(depth=2))
    assert outcome.verdict is Verdict.INCONCLUSIVE


def test_only_chosen_properties_are_searched_for() -> None:
    checked = model(START, [counter(3)], [("invariant", below(1)), ("invariant", below(2))])
    assert search(checked, properties=[1]).findings[0].property == 1
    assert search(checked, properties=[], deadlock=False).verdict is Verdict.OK


# ---------------------------------------------------------------- assumptions, limits


def test_assumptions_come_first() -> None:
    outcome = search(model(START, [ERROR], assumptions=[TRUE, FALSE, FALSE]))
    assert (outcome.verdict, counts(outcome)) == (Verdict.ASSUMPTION, (0, 0, 0))
    assert len(outcome.findings) == 2
    undefined = ir.Demand(BOOL, FALSE, 1, TRUE)
    outcome = search(model(START, [SKIP], assumptions=[undefined]))
    assert (outcome.verdict, outcome.findings[0].trace) == (Verdict.ERROR, None)


@pytest.mark.parametrize(
    ("limits", "told", "expected"),
    [
        (Limits(depth=0), "--depth 0", (1, 1, 1)),
        (Limits(depth=3), "--depth 3", (4, 4, 4)),
        (Limits(max_states=3), "--max-states 3", (3, 3, 3)),
        (Limits(timeout=0), "--timeout 0", (0, 0, 0)),
    ],
)
def test_limits(limits: Limits, told: str, expected: tuple[int, int, int]) -> None:
    outcome = search(model(START, [counter(9)], [("invariant", TRUE)]), limits=limits)
    assert (outcome.verdict, str(outcome.limit)) == (Verdict.INCONCLUSIVE, told)
    assert counts(outcome) == expected


def test_limits_that_are_just_enough() -> None:
    loop = model(START, [jump((0, 1), (1, 2), (2, 2))])
    assert search(loop, limits=Limits(max_states=3)).verdict is Verdict.OK
    # After three steps everything is known to be seen; after two, state 2 is not expanded.
    assert search(loop, limits=Limits(depth=2)).verdict is Verdict.INCONCLUSIVE
    assert search(loop, limits=Limits(depth=3)).verdict is Verdict.OK


def test_the_first_states_of_a_level_with_too_many_count() -> None:
    spread = pick(0, among(1, 2, 3), put(0, local(0)))
    spreading = model(START, [spread], [("invariant", ir.Not(equals(2)))])
    for most in (1, 2):
        outcome = search(spreading, limits=Limits(max_states=most))
        assert (outcome.verdict, outcome.findings) == (Verdict.INCONCLUSIVE, ())
        assert counts(outcome) == (most, most, most)
    for most in (3, 4):
        outcome = search(spreading, limits=Limits(max_states=most))
        assert outcome.verdict is Verdict.VIOLATED
        assert outcome.cut == (None if most == 4 else Limit("max-states", 3))
        assert counts(outcome) == (most, most, 2)
    # So with initial states.
    several = model(spread, [SKIP], [("invariant", ir.Not(equals(1)))])
    outcome = search(several, limits=Limits(max_states=2))
    assert (outcome.verdict, counts(outcome)) == (Verdict.VIOLATED, (2, 2, 1))
    second = model(START, [spread], [("invariant", ir.Not(equals(0)))])
    outcome = search(second, limits=Limits(max_states=2), keep_going=True)
    assert (outcome.verdict, outcome.limit) == (Verdict.VIOLATED, None)
    assert "--max-states 2" in outcome.notes[0]


def test_an_interrupt_ends_the_search_cleanly() -> None:
    def interrupt(_: Progress) -> None:
        signal.raise_signal(signal.SIGINT)

    big = model(
        do(*[put(index, lit(0)) for index in range(8)]),
        [put(index, ir.Conditional(DIGIT, less(var(index), lit(9)), plus(var(index), 1), lit(0)))
         for index in range(8)],
        variables=[DIGIT] * 8,
    )  # fmt: skip
    outcome = load("interpreter").run(
        Request(big, properties=frozenset(), limits=Limits(timeout=60), progress=interrupt)
    )
    assert (outcome.verdict, str(outcome.limit)) == (Verdict.INCONCLUSIVE, "interrupted")
    assert outcome.statistics.distinct > 1
    assert sum(outcome.coverage.taken) == outcome.statistics.generated - 1


# ---------------------------------------------------------------- going on


def test_going_on_reports_each_property_once_at_its_least_depth() -> None:
    properties = [
        ("invariant", below(3)),
        ("invariant", ir.Not(equals(1))),
        ("step invariant", ir.Not(ir.Equal(AFTER, lit(2)))),
        ("invariant", TRUE),
    ]
    outcome = search(model(START, [counter(5)], properties), keep_going=True)
    assert outcome.verdict is Verdict.VIOLATED
    found = [(finding.property, finding.depth) for finding in outcome.findings]
    assert found == [(1, 2), (2, 3), (0, 4), (None, 6)]
    assert outcome.findings[-1].verdict is Verdict.DEADLOCK
    assert counts(outcome) == (6, 6, 6)


def test_going_on_ends_at_an_evaluation_error() -> None:
    fails = do(ir.Ensure(below(2), 0), counter(9))
    outcome = search(model(START, [fails, counter(9)], [STATE]), keep_going=True)
    assert [finding.verdict for finding in outcome.findings] == [Verdict.VIOLATED, Verdict.ERROR]
    assert counts(outcome) == (4, 6, 4)


def test_going_on_passes_over_deadlocks() -> None:
    # 5 and 7 are deadlocks at depth 2 and 3.
    actions = [jump((0, 1), (1, 7)), jump((0, 5), (1, 2)), jump((2, 0))]
    outcome = search(model(START, actions, [("invariant", below(7))]), keep_going=True)
    found = [(finding.verdict, finding.depth) for finding in outcome.findings]
    assert found == [(Verdict.DEADLOCK, 2), (Verdict.VIOLATED, 3)]
    assert shown(outcome.findings[0].trace)[-1] == (1, (), (5,))
    assert counts(outcome) == (5, 6, 3)


# ---------------------------------------------------------------- coverage


def test_marks_count_when_the_step_is_completed() -> None:
    action = do(ir.Mark(0), ir.Mark(1), ir.Require(less(N, lit(0)), 0))
    other = do(ir.Mark(2), START)
    outcome = search(model(START, [action, other], marks=["branch", "guard", "branch"]))
    assert outcome.coverage.marks == {1, 2}


def test_marks_of_the_expansion_that_found_a_deadlock_do_not_count() -> None:
    marked = do(jump((0, 1), (2, 3)), ir.Mark(0), ir.If(equals(3), ir.Mark(1), SKIP))
    # Level 2 is {1, 2}: 1 is a deadlock, 2 leads on.
    outcome = search(model(START, [marked, jump((0, 2))], marks=["branch", "branch"]))
    assert outcome.verdict is Verdict.DEADLOCK
    assert outcome.coverage.marks == {0}


def test_antecedents_are_marked_by_properties() -> None:
    met = ir.Or((ir.Not(ir.Witness(0, equals(1))), below(9)))
    unmet = ir.Or((ir.Not(ir.Witness(1, equals(7))), below(9)))
    properties = [("invariant", met), ("invariant", unmet)]
    marked = model(START, [counter(2)], properties, marks=["antecedent", "antecedent"])
    assert search(marked, deadlock=False).coverage.marks == {0}


def test_asking_what_is_enabled_leaves_no_marks() -> None:
    action = do(ir.Mark(0), ir.Mark(1), jump((0, 0)))
    asks = [("invariant", ir.Or((ir.Enabled(1), TRUE)))]
    asking = model(START, [SKIP, action], asks, marks=["branch", "guard"])
    runner = Runner(asking)
    assert runner.holds(0, (0,))
    assert runner.marked == []


def test_a_full_channel_is_counted() -> None:
    full = pick(0, among(1, 2), ir.Require(FALSE, 1))
    outcome = search(model(START, [full, jump((0, 1), (1, 0))]))
    assert outcome.coverage.blocked == {1: 4}


def test_stuck_states() -> None:
    def unreliable(kind: str, body: ir.Statement) -> ir.Action:
        lossy = model(START, [body]).actions[0]
        return replace(lossy, kind="lose" if kind == "lose" else "duplicate")

    # 0 -> 1 -> (lost) 2 -> (duplicated) 3 -> itself; 4 is left by an ordinary action.
    actions = [
        jump((0, 1), (4, 4), (3, 3)), unreliable("lose", jump((1, 2))),
        unreliable("duplicate", jump((2, 3))),
    ]  # fmt: skip
    outcome = search(model(START, actions))
    assert outcome.verdict is Verdict.OK
    assert outcome.coverage.stuck.count == 3
    assert shown(outcome.coverage.stuck.trace) == [(None, (), (0,)), (0, (), (1,))]
    both = pick(0, lit((3, 2), LINE), do(ir.Require(equals(0), 0), put(0, local(0))))
    fanned = search(model(START, [both, *actions[1:], jump((3, 3))])).coverage.stuck
    assert (fanned.count, shown(fanned.trace)[-1]) == (2, (0, (2,), (2,)))
    done = search(model(START, actions, [("terminal", less(lit(0), N))]))
    assert (done.coverage.stuck.count, done.coverage.stuck.trace) == (0, None)


# ---------------------------------------------------------------- enabled, explanation


def test_enabled() -> None:
    picky = pick(0, among(1, 2), do(ir.Require(ir.Equal(N, local(0)), 0), START), "")
    fails = do(ir.Require(equals(1), 0), ERROR)
    # With 3 first, evaluation fails before the second is chosen, and so whatever that is to be.
    first = ir.If(ir.Equal(local(1), lit(3)), ERROR, SKIP)
    both = pick(2, among(1), ir.Require(ir.Equal(local(1), lit(2)), 0))
    twice = pick(1, among(1, 2, 3), do(first, both))
    truths = [
        (ir.Enabled(0), 0, False), (ir.Enabled(0), 1, True), (ir.Enabled(0), 2, True),
        (ir.Enabled(0, (lit(1),)), 1, True), (ir.Enabled(0, (lit(2),)), 1, False),
        (ir.Enabled(0, (lit(7),)), 1, False), (ir.Enabled(1), 0, False), (ir.Enabled(1), 1, True),
        (ir.Enabled(2, (lit(1),)), 0, False), (ir.Enabled(2, (lit(2),)), 0, True),
        (ir.Enabled(2, (lit(2), lit(1))), 0, True), (ir.Enabled(2, (lit(1), lit(1))), 0, False),
        (ir.Enabled(2, (lit(2), lit(2))), 0, False), (ir.Enabled(2, (lit(3), lit(7))), 0, True),
    ]  # fmt: skip
    properties = [("invariant", expr) for expr, _, _ in truths]
    runner = Runner(model(START, [picky, fails, twice], properties))
    for number, (_, state, expected) in enumerate(truths):
        assert runner.holds(number, (state,)) is expected


def test_the_failing_instance_and_part() -> None:
    text = "forall i in S, j in S: i < j and (a implies b)"
    source = Source("hand.fence", text)

    def span(part: str) -> Span:
        start = text.index(part)
        return Span(source, start, start + len(part))

    i, j = local(0), local(1)
    implied = ir.Or((ir.Not(TRUE), ir.Not(less(i, j))), span=span("(a implies b)"))
    both = ir.And((TRUE, implied), span=span("i < j and (a implies b)"))
    inner = ir.Quantified(True, 1, among(1, 2), both, "j")
    # A negated "exists" has instances like a "forall", and a "let" on the way is followed.
    negated = ir.Not(ir.Quantified(False, 0, among(1, 2), ir.Not(inner), "i", span=span("forall")))
    body = ir.Let(BOOL, 2, lit(2), negated)
    finding = search(model(START, [SKIP], [("invariant", body)])).findings[0]
    assert finding.instance == (Choice("i", DIGIT, 1), Choice("j", DIGIT, 2))
    assert finding.failing == span("(a implies b)")


def test_nested_instances_without_a_name_are_not_shown() -> None:
    table = Map(Int(0, 2), LINE)
    get = ir.Get(LINE, var(0, table), local(0, Int(0, 2)))
    inner = ir.Quantified(True, 1, get, less(local(1), lit(5)), "e")
    outer = ir.Quantified(True, 0, ir.Universe(Set(Int(0, 2))), inner, "")
    start = put(0, lit(((), (1,), (2, 7, 8)), table))
    finding = search(model(start, [SKIP], [("invariant", outer)], variables=[table])).findings[0]
    assert finding.instance == (Choice("e", DIGIT, 7),)


def test_a_failing_step_is_explained_with_both_states() -> None:
    grows = ir.Quantified(True, 0, ir.Build(DIGITS, (AFTER,)), less(N, local(0)), "n")
    outcome = search(model(put(0, lit(3)), [put(0, lit(2))], [("step invariant", grows)]))
    assert outcome.findings[0].instance == (Choice("n", DIGIT, 2),)


# ---------------------------------------------------------------- replay, progress


def test_replay() -> None:
    branching = model(START, [FAN, jump((2, 9))], [("invariant", below(9))])
    trace = search(branching, deadlock=False).findings[0].trace
    assert trace is not None
    runner = Runner(branching)
    assert first_impossible(runner, trace) is None
    wrong = Trace((*trace.steps[:-1], Step(1, (), (8,))))
    assert first_impossible(runner, wrong) == 2
    assert first_impossible(runner, Trace((Step(None, (), (1,)),))) == 0
    ended = Trace((trace.steps[0], Step(0, (), None), trace.steps[1]))
    assert first_impossible(runner, ended) == 1


def test_a_model_without_variables() -> None:
    outcome = search(model(SKIP, [SKIP], [("invariant", TRUE)], variables=[]))
    assert (outcome.verdict, counts(outcome)) == (Verdict.OK, (1, 2, 1))
    outcome = search(model(SKIP, [SKIP], [("step invariant", FALSE)], variables=[]))
    assert shown(outcome.findings[0].trace) == [(None, (), ()), (0, (), ())]


def test_progress_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fencepost.checker.search.limits.PROGRESS_SECONDS", 0.0)
    told: list[Progress] = []
    load("interpreter").run(
        Request(
            model(START, [counter(4)]), properties=frozenset(), deadlock=False, progress=told.append
        )
    )
    assert [(p.level, p.distinct, p.generated, p.queue) for p in told] == [
        (0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 1), (3, 3, 3, 1), (4, 4, 4, 1), (5, 5, 5, 1),
    ]  # fmt: skip
