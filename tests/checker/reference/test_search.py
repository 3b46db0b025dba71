"""The rules of docs/language.md section 10 that go beyond the examples that every engine runs, each
tested on a model small enough to count by hand.
"""

from __future__ import annotations

import signal

import pytest
from tests.support.core_builders import (
    BOOL,
    DIGIT,
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
from tests.support.counters import (
    AFTER,
    ERROR,
    FAN,
    START,
    STATE,
    N,
    below,
    counter,
    counts,
    equals,
    jump,
)

from fencepost.checker.engines import ENGINES, load
from fencepost.checker.outcome import Limit, Step, Trace, Verdict
from fencepost.checker.request import Limits, Progress, Request
from fencepost.checker.search.explain import first_impossible
from fencepost.spec.core import ir
from fencepost.spec.core.types import Set
from fencepost.spec.semantics.stepper import BlockedAction, Runner


def test_the_table_of_engines() -> None:
    assert [load(name).name for name in ENGINES] == list(ENGINES)


# ---------------------------------------------------------------- deadlocks and initial states


def test_a_deadlock_is_explained() -> None:
    blocked = pick(0, among(1, 2), do(ir.Require(less(N, local(0)), 1), counter(0)), "k")
    outcome = search(model(put(0, lit(1)), [counter(1), blocked]))
    assert outcome.findings[0].blocked == (BlockedAction(0, (0,)), BlockedAction(1, (0, 1)))


def test_initial_states_come_from_choices() -> None:
    initial = pick(
        0, lit((3, 1), LINE), do(ir.Require(less(local(0), lit(9)), 0), put(0, local(0)))
    )
    twice = pick(1, ir.Universe(Set(BOOL)), initial, "b")
    outcome = search(model(twice, [SKIP], [("invariant", below(3))]))
    # The smallest state comes first, but only state 3 violates the invariant. Choices of an initial
    # state are not shown.
    assert outcome.verdict is Verdict.VIOLATED
    assert counts(outcome) == (2, 4, 1)
    assert shown(outcome.findings[0].trace) == [(None, (), (3,))]


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


# ---------------------------------------------------------------- constraint, terminal, reachable


def test_all_constraints_must_hold_also_at_the_start() -> None:
    initial = pick(0, among(0, 1, 2), put(0, local(0)))
    limits = [("constraint", below(2)), ("constraint", ir.Not(equals(1)))]
    outcome = search(model(initial, [SKIP], limits))
    assert (counts(outcome), outcome.coverage.cut) == ((1, 4, 1), 2)


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
    ("limits", "text", "expected"),
    [
        (Limits(depth=0), "--depth 0", (1, 1, 1)),
        (Limits(depth=3), "--depth 3", (4, 4, 4)),
        (Limits(max_states=3), "--max-states 3", (4, 4, 4)),
        (Limits(timeout=0), "--timeout 0", (0, 0, 0)),
    ],
)
def test_limits(limits: Limits, text: str, expected: tuple[int, int, int]) -> None:
    outcome = search(model(START, [counter(9)], [("invariant", TRUE)]), limits=limits)
    assert (outcome.verdict, str(outcome.limit)) == (Verdict.INCONCLUSIVE, text)
    assert counts(outcome) == expected


def test_limits_that_are_just_enough() -> None:
    loop = model(START, [jump((0, 1), (1, 2), (2, 2))])
    assert search(loop, limits=Limits(max_states=3)).verdict is Verdict.OK
    # After three steps the search is complete; after two, state 2 is not expanded.
    assert search(loop, limits=Limits(depth=2)).verdict is Verdict.INCONCLUSIVE
    assert search(loop, limits=Limits(depth=3)).verdict is Verdict.OK


def test_a_level_with_too_many_states_counts_whole() -> None:
    spread = pick(0, among(1, 2, 3), put(0, local(0)))
    spreading = model(START, [spread], [("invariant", ir.Not(equals(9)))])
    for limit in (1, 2, 3, 4):
        outcome = search(spreading, limits=Limits(max_states=limit))
        assert outcome.cut == (None if limit == 4 else Limit("max-states", limit))
        assert outcome.verdict is (Verdict.OK if limit == 4 else Verdict.INCONCLUSIVE)
        assert outcome.statistics.levels == (1, 3)
    # If there are too many initial states, only the first ones are counted.
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


# ---------------------------------------------------------------- searches that continue


def test_going_on_reports_each_property_once_at_its_least_depth() -> None:
    properties = [
        ("invariant", below(3)),
        ("invariant", ir.Not(equals(1))),
        ("step invariant", ir.Not(ir.Equal(AFTER, lit(2)))),
        ("invariant", TRUE),
    ]
    outcome = search(model(START, [counter(5)], properties), keep_going=True)
    assert outcome.verdict is Verdict.VIOLATED
    problems = [(finding.property, finding.depth) for finding in outcome.findings]
    assert problems == [(1, 2), (2, 3), (0, 4), (None, 6)]
    assert outcome.findings[-1].verdict is Verdict.DEADLOCK
    assert counts(outcome) == (6, 6, 6)


def test_going_on_ends_at_an_evaluation_error() -> None:
    fails = do(ir.Ensure(below(2), 0), counter(9))
    outcome = search(model(START, [fails, counter(9)], [STATE]), keep_going=True)
    assert [finding.verdict for finding in outcome.findings] == [Verdict.VIOLATED, Verdict.ERROR]
    assert counts(outcome) == (4, 6, 4)


def test_going_on_continues_after_deadlocks() -> None:
    # States 5 and 7 are deadlocks at depths 2 and 3.
    actions = [jump((0, 1), (1, 7)), jump((0, 5), (1, 2)), jump((2, 0))]
    outcome = search(model(START, actions, [("invariant", below(7))]), keep_going=True)
    problems = [(finding.verdict, finding.depth) for finding in outcome.findings]
    assert problems == [(Verdict.DEADLOCK, 2), (Verdict.VIOLATED, 3)]
    assert shown(outcome.findings[0].trace)[-1] == (1, (), (5,))
    assert counts(outcome) == (5, 6, 3)


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


def test_progress_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fencepost.checker.search.limits.PROGRESS_SECONDS", 0.0)
    reports: list[Progress] = []
    load("interpreter").run(
        Request(
            model(START, [counter(4)]),
            properties=frozenset(),
            deadlock=False,
            progress=reports.append,
        )
    )
    assert [(p.level, p.distinct, p.generated, p.queue) for p in reports] == [
        (0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 1), (3, 3, 3, 1), (4, 4, 4, 1), (5, 5, 5, 1),
    ]  # fmt: skip
