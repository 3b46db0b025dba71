"""Coverage of actions, guards and branches, and explanations of failing properties."""

from __future__ import annotations

from dataclasses import replace

from tests.support.core_builders import (
    BOOL,
    DIGIT,
    DIGITS,
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
    put,
    search,
    shown,
    var,
)  # fmt: skip
from tests.support.counters import AFTER, ERROR, START, N, below, counter, equals, jump

from fencepost.checker.outcome import Verdict
from fencepost.spec.core import ir
from fencepost.spec.core.types import Int, Map, Set
from fencepost.spec.semantics.stepper import Choice, Runner
from fencepost.spec.text.source import Source, Span

# ---------------------------------------------------------------- coverage


def test_antecedents_are_marked_by_properties() -> None:
    met = ir.Or((ir.Not(ir.Witness(0, equals(1))), below(9)))
    unmet = ir.Or((ir.Not(ir.Witness(1, equals(7))), below(9)))
    properties = [("invariant", met), ("invariant", unmet)]
    marked = model(START, [counter(2)], properties, marks=["antecedent", "antecedent"])
    assert search(marked, deadlock=False).coverage.marks == {0}


def test_evaluating_enabled_leaves_no_marks() -> None:
    action = do(ir.Mark(0), ir.Mark(1), jump((0, 0)))
    asks = [("invariant", ir.Or((ir.Enabled(1), TRUE)))]
    asking = model(START, [SKIP, action], asks, marks=["branch", "guard"])
    runner = Runner(asking)
    assert runner.holds(0, (0,))
    assert runner.marked == []


def test_stuck_states() -> None:
    def unreliable(kind: str, body: ir.Statement) -> ir.Action:
        lossy = model(START, [body]).actions[0]
        return replace(lossy, kind="lose" if kind == "lose" else "duplicate")

    # 0 -> 1 -> (lost) 2 -> (duplicated) 3 -> itself; an ordinary action leaves 4.
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
    # If 3 is chosen first, evaluation fails before the second choice, so its value does not matter.
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
    # A negated "exists" has instances like a "forall", and a "let" in between does not hide them.
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
