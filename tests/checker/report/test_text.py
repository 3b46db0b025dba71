"""The complete text report for a hand-built model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.sample_results import (
    ALL,
    ANSWER_1,
    LOG,
    MESSAGE,
    NET,
    PING,
    TRACE,
    VIOLATED,
    check,
    job,
    outcome,
    span,
)

from fencepost.checker import api
from fencepost.checker.outcome import Coverage, Finding, Limit, Step, Stuck, Trace, Verdict
from fencepost.checker.printing.page import Page, ansi
from fencepost.checker.report.assurance import remarks
from fencepost.checker.report.text import write_check, write_foot
from fencepost.checker.run.judge import CheckResult, judge
from fencepost.checker.run.settings import Settings
from fencepost.checker.trace.value_tree import (
    Atom,
    Change,
    Group,
    ValueTree,
    changes,
    text,
    tree,
    wrapped,
)
from fencepost.spec.core import ir, types
from fencepost.spec.core.spelling import show
from fencepost.spec.semantics.stepper import BlockedAction


def report(result: CheckResult, width: int = 100) -> str:
    page = Page(width)
    write_check(page, result)
    return page.text()


TRACE_TEXT = """\
  0  initial state
     net           = []
     Client.phase  = Ready
     Server[*].log = []
  1  Client.begin
     net           [] -> [Ping]
     Client.phase  Ready -> Busy
  2  Server[2].serve(retry: true) on Ping
     net            + Answer(token: 1, last: true)   now [Ping, Answer(token: 1, last: true)]
     Server[2].log  [] -> [Ping]
"""


def test_a_good_check_takes_three_lines() -> None:
    assert (
        report(judge(job(check(states=180)), outcome()))
        == """\
c  ok, as expected                                     180 distinct, 346 generated, depth 15, 0.50 s
  searched      every reachable state (exact)
  bounds        N = 3, net holds at most 4
"""
    )


@pytest.mark.parametrize(
    ("seconds", "decided", "head", "took"),
    [
        (60.0, 50.0, "60.00 s (searched 10.00, decided 50.00)", "18 states/s, 1 kB of memory"),
        # If the search took less than five seconds, no rate is shown.
        (60.0, 58.0, "60.00 s (searched 2.00, decided 58.00)", "interpreter, 1 kB of memory"),
        (9.0, 0.9, "depth 15, 9.00 s\n", "22 states/s, 1 kB of memory"),
        (9.0, None, "depth 15, 9.00 s\n", "20 states/s, 1 kB of memory"),
    ],
)
def test_the_time_of_the_decision_is_shown_separately(
    seconds: float, decided: float | None, head: str, took: str
) -> None:
    result = judge(job(check()), outcome())
    statistics = replace(result.outcome.statistics, seconds=seconds, decided_seconds=decided)
    shown = report(replace(result, outcome=replace(result.outcome, statistics=statistics)))
    assert head in shown
    assert took in shown


def test_a_counterexample() -> None:
    result = judge(job(check("violated", "Short")), outcome(Verdict.VIOLATED, VIOLATED))
    assert (
        report(result)
        == f"""\
c  violated Short, as expected                         180 distinct, 346 generated, depth 15, 0.50 s

  invariant Short is violated after 2 steps
    it fails for i = 2
    it breaks here:
    sample.fence:15:36
      15 | invariant Short: forall i in 1..2: len(Server[i].log) < 1
                                              ^^^^^^^^^^^^^^^^^^^^^^

{TRACE_TEXT}
  what the property reads there
     Server[1].log = []
     Server[2].log = [Ping]

  searched      15 levels, up to the first problem; later levels were not visited
  bounds        N = 3, net holds at most 4
  not checked   deadlock
"""
    )


def test_a_deadlock_names_the_guards() -> None:
    blocked = (BlockedAction(0, (0, 2)), BlockedAction(1, (1,)))
    finding = Finding(Verdict.DEADLOCK, None, 3, TRACE, blocked=blocked)
    shown = report(judge(job(check()), outcome(Verdict.DEADLOCK, finding)))
    assert (
        shown.split("\n\n", 1)[1]
        == f"""\
  deadlock after 2 steps: no action can be taken, and the spec declares no `terminal`

{TRACE_TEXT}
  why no action is possible there
    Client.begin  false: phase == Ready (sample.fence:7)
                  the channel is full: send Ping to net (sample.fence:9)
    Server.serve  no such message: on Ping from net (sample.fence:12)

  searched      15 levels, up to the first problem; later levels were not visited
  bounds        N = 3, net holds at most 4
"""
    )


def test_an_evaluation_error_shows_place_and_calls() -> None:
    site = ir.Site("F901", span("log.append(Ping)"), "the sequence is full", (span("serve"),))
    trace = Trace((*TRACE.steps[:2], Step(1, (), None)))
    finding = Finding(Verdict.ERROR, None, 3, trace, site=site)
    shown = report(judge(job(check()), outcome(Verdict.ERROR, finding)))
    assert (
        """\
  evaluation error in step 2
    error[F901]: the sequence is full
    sample.fence:13:9
      13 |         log.append(Ping)
                   ^^^^^^^^^^^^^^^^
    called from
    sample.fence:12:12
"""
        in shown
    )
    assert "  2  Server.serve\n     this step fails\n" in shown


def test_remarks_about_coverage() -> None:
    coverage = Coverage((1, 0), frozenset(), {2: 4}, 5, stuck=Stuck(2, TRACE))
    shown = report(judge(job(check("violated", "Short")), outcome(coverage=coverage)))
    assert "NOT as expected" in shown
    for line in (
        "  expected violated Short, but no state violates it: 180 states searched\n",
        "  searched      every reachable state within the constraints (exact)\n",
        "  cut           5 states outside constraint at line 18: checked, not expanded\n",
        "  never taken   Server.serve\n",
        "  vacuous       invariant Short: `len(log) < 1` (line 15) was never true\n",
        "  blocked       Client.begin: disabled 4 times by a full channel (sample.fence:9)\n",
        "  stuck         2 states can only lose, duplicate or repeat, and `terminal`",
        "  the way to a stuck state, in 2 steps\n    0  initial state\n",
    ):
        assert line in shown
    assert "if retry" not in shown  # Branches of actions never taken are not listed.


def test_a_branch_never_entered() -> None:
    coverage = replace(ALL, marks=frozenset({1}))
    shown = report(judge(job(check()), outcome(coverage=coverage)))
    assert "  never entered Server.serve: `if retry` (line 13)\n" in shown
    cut = outcome(Verdict.INCONCLUSIVE, coverage=coverage, limit=Limit("depth", 3))
    shown = report(judge(job(check()), cut))
    assert "  searched      15 levels, then cut by --depth 3: later levels are unknown\n" in shown
    assert "  so far, never entered Server.serve: `if retry` (line 13)\n" in shown


def test_a_search_that_stopped_early_says_nothing_about_coverage() -> None:
    coverage = Coverage((0, 0), frozenset())
    shown = report(judge(job(check()), outcome(Verdict.VIOLATED, VIOLATED, coverage=coverage)))
    assert "never" not in shown


def test_counts_that_were_not_compared() -> None:
    settings = Settings(overrides={"N": "4"})
    shown = report(judge(job(check(states=1), settings), outcome()))
    line = "expected counts were not compared: constants were given on the command line"
    assert f"  counts        {line}\n" in shown


def test_narrow_terminals_get_narrow_lines() -> None:
    result = judge(job(check("violated", "Short")), outcome(Verdict.VIOLATED, VIOLATED))
    shown = report(result, width=60)
    assert max(len(line) for line in shown.split("\n") if "|" not in line and "^" not in line) <= 60


def test_the_foot_sums_up() -> None:
    fine = judge(job(check()), outcome())
    dead = judge(job(check()), outcome(Verdict.DEADLOCK))
    page = Page()
    write_foot(page, [fine, dead], "fencepost check a.fence", "fencepost 1, Python 3")
    assert page.text() == (
        "2 checks, 1 not as expected\n"
        "fencepost 1, Python 3, engine interpreter; again: fencepost check a.fence\n"
        "sample.fence:18: c: expected ok, but the model deadlocks\n"
    )


def test_nothing_from_a_spec_reaches_the_terminal_raw() -> None:
    page = Page(100, ansi)
    page.line(("\x1b]0;owned\x07", "bad"), "a\rb\n")
    assert page.text() == "\x1b[31;1m?]0;owned?\x1b[0ma?b?\n"


VALUES: list[tuple[types.Value, types.Type]] = [
    (True, types.Bool()),
    (-3, types.Machine(8)),
    (1, types.Enum("E", ("A", "B"))),
    ((2, True), types.Record("R", (types.Field("x", types.Int(0, 9)), types.Field("y", ir.BOOL)))),
    (ANSWER_1, MESSAGE),
    (PING, MESSAGE),
    ((), types.Option(types.Bool())),
    ((True,), types.Option(types.Bool())),
    ((1, 2), types.Set(types.Int(0, 3))),
    ((PING, ANSWER_1), NET),
    (((), (PING,)), LOG),
]


@pytest.mark.parametrize(("value", "kind"), VALUES)
def test_values_are_written_as_in_the_language(value: types.Value, kind: types.Type) -> None:
    assert text(tree(value, kind)) == show(value, kind)


def seq(*names: str) -> Group:
    return Group("seq", "", tuple(("", Atom(name)) for name in names))


def meta(pid: str, epoch: ValueTree) -> Group:
    return Group("record", "Meta", (("pid", Atom(pid)), ("epoch", epoch)))


def brief(change: Change) -> str:
    marks = [f"-{text(item)}" for item in change.removed] + [f"+{text(i)}" for i in change.added]
    return f"{change.path}: " + (" ".join(marks) or f"{text(change.before)}->{text(change.after)}")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (Atom("1"), Atom("1"), []),
        (Atom("1"), Atom("2"), ["v: 1->2"]),
        (seq("a"), seq("a", "b"), ["v: +b"]),
        (seq("a", "b"), seq("b"), ["v: -a"]),
        (seq("a", "b"), seq("a", "c"), ["v[1]: b->c"]),
        (seq("a", "b"), seq("b", "a"), ["v: [a, b]->[b, a]"]),
        (seq("a", "b", "a"), seq("b", "c", "a"), ["v: -a +c"]),
        (meta("0", Atom("1")), meta("0", Atom("2")), ["v.epoch: 1->2"]),
        (meta("0", seq()), meta("0", seq("x")), ["v.epoch: +x"]),
        (meta("0", Atom("1")), Atom("none"), ["v: Meta(pid: 0, epoch: 1)->none"]),
    ],
)
def test_changes(before: ValueTree, after: ValueTree, expected: list[str]) -> None:
    assert [brief(change) for change in changes("v", before, after)] == expected


def test_wide_values_are_wrapped() -> None:
    value = Group("seq", "", tuple(("", meta(str(n), Atom("10"))) for n in range(3)))
    assert wrapped(value, 4, 4, 40) == [
        "[Meta(pid: 0, epoch: 10),",
        "     Meta(pid: 1, epoch: 10),",
        "     Meta(pid: 2, epoch: 10)]",
    ]


def test_small_items_share_lines() -> None:
    assert wrapped(seq(*map(str, range(30))), 0, 0, 40) == [
        "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,",
        " 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,",
        " 22, 23, 24, 25, 26, 27, 28, 29]",
    ]


def test_a_large_collection_shows_added_and_removed_elements() -> None:
    result = judge(job(check("violated", "Short")), outcome(Verdict.VIOLATED, VIOLATED))
    assert """\
  2  Server[2].serve(retry: true) on Ping
     net            + Answer(token: 1, last: true)
                    now 2 elements
     Server[2].log  [] -> [Ping]
""" in report(result, width=70)


def test_a_search_that_went_on_claims_no_more_than_it_visited() -> None:
    run = job(check("violated", "Short"), Settings(keep_going=True))
    whole = outcome(Verdict.VIOLATED, VIOLATED)
    assert "every reachable state (exact)" in report(judge(run, whole))
    cut = replace(whole, cut=Limit("max-states", 180))
    ended = outcome(Verdict.VIOLATED, VIOLATED, replace(VIOLATED, verdict=Verdict.ERROR))
    for partial in (cut, ended):
        assert "every reachable state" not in report(judge(run, partial))
    missed = replace(whole, coverage=replace(ALL, reached=frozenset()))
    assert "  never reached reachable Both\n" in report(judge(run, missed))


WIRE = "enum M: Ping\nchannel net: M capacity 2\naction get on Ping from net: skip\n"


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("var x: 0..3 = 0\naction up: x += 1\nconstraint C: x <= 3", "x"),
        ("var x: 0..3 = 0\naction up: x += 1\nconstraint C: x <= 2", None),
        ("var x: 0..3 = 0\nvar y: 0..3 = 0\naction up: x += 1\nconstraint C: y < 3", None),
        ("var q: seq[0..3, 2] = []\naction up: q.append(1)\nconstraint C: len(q) <= 2", "q"),
        ("var s: set[0..3, 2] = {}\naction up(i in 0..3): s.add(i)\nconstraint C: len(s) < 3", "s"),
        (WIRE + "action up: send Ping to net\nconstraint C: count(net) <= 2", "net"),
        (
            "role R[i: 0..1]:\n    var x: 0..3 = 0\n    action up: x += 1\n"
            "constraint C: forall i in 0..1: R[i].x <= 3",
            "R.x",
        ),
        ("var x: 0..3 = 0\naction up: x += 1 // x\nconstraint C: x <= 3", None),
    ],
)
def test_a_constraint_at_the_limit_of_a_type(tmp_path: Path, spec: str, name: str | None) -> None:
    (tmp_path / "s.fence").write_text(spec + "\n", encoding="utf-8")
    result = api.check(tmp_path / "s.fence", engine="interpreter").first
    messages = [remark.text for remark in remarks(result) if remark.topic == "constraint"]
    assert len(messages) == (name is not None)
    if name is not None:
        assert f"{name} needs room for a value or element more" in messages[0].replace("[*]", "")
