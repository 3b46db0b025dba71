"""Limits take effect in every phase of a search, and problems found before a limit are kept.

Results under a limit on states are compared in `test_agreement`.
"""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support.agreement import loaded
from tests.support.processes import finished

import fencepost
from fencepost.checker.engines import load
from fencepost.checker.native.codegen.analysis import has_odometer, nested
from fencepost.checker.outcome import Outcome, Verdict
from fencepost.checker.request import Limits, Request
from fencepost.checker.search.account import Expired
from fencepost.checker.search.alarm import raised_after
from fencepost.checker.search.visiting import Visitor
from fencepost.spec.core.ir import Model
from fencepost.spec.elaborate.claims import program
from fencepost.spec.elaborate.claims.program import Check
from fencepost.spec.semantics.stepper import Successor
from fencepost.spec.text.problem import Rejected


def built(text: str) -> Model:
    """Builds the model of a spec without a check."""
    read = loaded(text)
    return program.build(read, Check(""))


def run(engine: str, text: str, limits: Limits, keep_going: bool = False) -> Outcome:
    model = built(text)
    return load(engine).run(
        Request(
            model, properties=program.select(model, Check("")), limits=limits, keep_going=keep_going
        )
    )


MANY = """
var a: 0..{most} = 0
action go(h in 0..{most} // 100, l in 0..99):
    let k = h * 100 + l
    {body}
"""
VIOLATED = MANY + "invariant Small: a != 1\n"


@dataclass(frozen=True, slots=True)
class Cut:
    """A spec with a problem in the second step of a very wide level."""

    name: str
    text: str
    verdict: Verdict


CUTS = [
    Cut("invariant", VIOLATED.format(most="{most}", body="a = k"), Verdict.VIOLATED),
    Cut(
        "step invariant",
        MANY.format(most="{most}", body="a = k") + "step invariant Small: next(a) != 1\n",
        Verdict.VIOLATED,
    ),
    Cut(
        "assertion", MANY.format(most="{most}", body="assert k != 1\n    a = k"), Verdict.ASSERTION
    ),
    Cut("error", MANY.format(most="{most}", body="a = k + 0 // (k - 1)"), Verdict.ERROR),
    Cut(
        "error of a property",
        MANY.format(most="{most}", body="a = k") + "invariant Small: 1 // (a - 1) <= 1\n",
        Verdict.ERROR,
    ),
]
ENGINES = [("interpreter", None), ("local", 1), ("local", 2), ("local", 3)]


@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: cut.name)
@pytest.mark.parametrize(("engine", "workers"), ENGINES)
def test_a_level_that_exceeds_the_limit_on_states_has_the_same_problem(
    cut: Cut, engine: str, workers: int | None
) -> None:
    text = cut.text.format(most=4_999)
    outcome = run(engine, text, Limits(max_states=4_990, workers=workers))
    assert (outcome.verdict, outcome.cut) == (cut.verdict, None)
    whole = run(engine, text, Limits(workers=workers))
    assert outcome.statistics.levels == whole.statistics.levels
    trace = outcome.findings[0].trace
    assert trace is not None
    assert len(trace.steps) == 2
    assert [choice.value for choice in trace.steps[1].choices] == [0, 1]


@pytest.mark.parametrize(("engine", "workers"), ENGINES)
def test_a_constraint_without_a_value_in_one_state_too_many(
    engine: str, workers: int | None
) -> None:
    text = "var x: 0..9 = 0\naction up: x += 1\nconstraint: 1 // (x - 3) < 9\n"
    outcome = run(engine, text, Limits(max_states=3, workers=workers))
    assert (outcome.verdict, outcome.cut) == (Verdict.ERROR, None)
    trace = outcome.findings[0].trace
    assert trace is not None
    assert [step.state for step in trace.steps] == [(0,), (1,), (2,), (3,)]


@pytest.mark.parametrize(
    ("cut", "engine", "workers"),
    [(cut, *ran_by) for cut, ran_by in zip(CUTS, [*ENGINES[:3], *ENGINES[:2]], strict=True)],
)
def test_problems_found_before_the_timeout_are_reported(
    cut: Cut, engine: str, workers: int | None
) -> None:
    text = cut.text.format(most=99_999_999)
    outcome = run(engine, text, Limits(timeout=1.5, workers=workers))
    assert (outcome.verdict, str(outcome.cut)) == (cut.verdict, "--timeout 1.5")
    assert outcome.statistics.distinct > 1_000
    assert sum(outcome.coverage.taken) == outcome.statistics.generated - 1


@pytest.mark.parametrize(("engine", "workers"), ENGINES[:3])
def test_states_of_a_partial_level_are_counted_after_the_timeout(
    engine: str, workers: int | None
) -> None:
    text = MANY.format(most=99_999_999, body="a = k")
    outcome = run(engine, text, Limits(timeout=1.5, workers=workers))
    assert (outcome.verdict, str(outcome.limit)) == (Verdict.INCONCLUSIVE, "--timeout 1.5")
    assert outcome.statistics.levels[0] == 1
    assert outcome.statistics.levels[1] > 1_000
    assert outcome.statistics.distinct == sum(outcome.statistics.levels)


def test_a_deadlock_takes_precedence_over_the_next_level() -> None:
    # The state with b == 1 is a deadlock. The other one has too many successors, which are not
    # counted.
    text = """
var a: 0..9 = 1
var b: 0..2 in {1, 2}
action go(k in 3..9):
    require b == 2 and a == 1
    a = k
"""
    for engine, workers in ENGINES:
        outcome = run(engine, text, Limits(max_states=5, workers=workers))
        assert (outcome.verdict, outcome.cut) == (Verdict.DEADLOCK, None)
        assert outcome.statistics.levels == (2,)
        assert outcome.coverage.taken == (0,)


@pytest.mark.parametrize(("engine", "workers"), ENGINES)
def test_coverage_of_a_cut_first_level_is_that_of_its_first_states(
    engine: str, workers: int | None
) -> None:
    text = """
var x: 0..9 = any
action stay: x = x
constraint: x < 9
invariant P: x > 4 implies x < 10
reachable R: x == 5
"""
    outcome = run(engine, text, Limits(max_states=3, workers=workers))
    assert outcome.statistics.levels == (3,)
    assert (outcome.coverage.marks, outcome.coverage.reached) == (frozenset(), frozenset())


TREE = """
var x: 0..999 = 0
action left:
    require x < 100
    x = 2 * x + 1
action right:
    require x < 100
    x = 2 * x + 2
"""


@pytest.mark.parametrize(("engine", "workers"), ENGINES)
@pytest.mark.parametrize(
    ("limit", "levels"),
    [(1, (1, 2)), (2, (1, 2)), (3, (1, 2, 4)), (10, (1, 2, 4, 8)), (126, (1, 2, 4, 8, 16, 32, 64))],
)
def test_a_limit_on_states_ends_the_search_with_the_level_that_exceeds_it(
    engine: str, workers: int | None, limit: int, levels: tuple[int, ...]
) -> None:
    outcome = run(engine, TREE, Limits(max_states=limit, workers=workers))
    assert (outcome.verdict, str(outcome.cut)) == (Verdict.INCONCLUSIVE, f"--max-states {limit}")
    assert outcome.statistics.levels == levels
    assert outcome.statistics.distinct == sum(levels) > limit


@pytest.mark.parametrize(("engine", "workers"), ENGINES)
@pytest.mark.parametrize("constraint", ["", "constraint: a != 5\n"])
def test_initial_states_are_cut_at_the_limit(
    engine: str, workers: int | None, constraint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[Successor] = []
    begin = Visitor.begin

    def counted(visitor: Visitor, successor: Successor) -> None:
        begun.append(successor)
        begin(visitor, successor)

    monkeypatch.setattr(Visitor, "begin", counted)
    text = f"var a: 0..1000000 = any\naction stay: a = a\n{constraint}"
    outcome = run(engine, text, Limits(max_states=10, workers=workers))
    assert (outcome.verdict, str(outcome.cut)) == (Verdict.INCONCLUSIVE, "--max-states 10")
    assert outcome.statistics.levels == (10,)
    assert outcome.statistics.generated == len(begun) - 1 == 10 + bool(constraint)


def test_counts_of_a_cut_search_are_not_compared(tmp_path: Path) -> None:
    path = tmp_path / "many.fence"
    expected = "check c:\n    expect violated Small\n    expect states == 5000\n"
    text = "var a: 0..4999 = any\naction stay: a = a\ninvariant Small: a != 1\n"
    path.write_text(text + expected, encoding="utf-8")
    assert fencepost.check(path).as_expected
    cut = fencepost.check(path, max_states=100)
    assert cut.as_expected
    assert "were not compared: the search was cut (--max-states 100)" in str(cut)


LONG = "forall a in 0..999, b in 0..999, c in 0..999, d in 0..999: a + b + c + d + x >= 0"
INSIDE_ONE_STATE = {
    "invariant": f"var x: 0..2 = 0\naction up:\n    x = 1\ninvariant I: {LONG}\n",
    "constraint": f"var x: 0..2 = 0\naction up:\n    x = 1\nconstraint I: {LONG}\n",
    "terminal": f"var x: 0..2 = 0\nterminal: {LONG}\n",
    "guard": f"var x: 0..2 = 0\naction up:\n    require {LONG}\n    x = 1\n",
    "initially": f"var x: 0..2 = 0\ninitially: {LONG}\n",
    "assume": f"const x: 0..1 = 0\nvar y: 0..2 = 0\nassume {LONG}\n",
}


@pytest.mark.parametrize("part", INSIDE_ONE_STATE)
@pytest.mark.parametrize("engine", ["interpreter", "local"])
def test_a_limit_on_time_holds_within_one_state(engine: str, part: str) -> None:
    started = time.monotonic()
    outcome = run(engine, INSIDE_ONE_STATE[part], Limits(timeout=0.3, workers=1))
    assert time.monotonic() - started < 10
    assert (outcome.verdict, str(outcome.limit)) == (Verdict.INCONCLUSIVE, "--timeout 0.3")


@pytest.mark.parametrize("engine", ["spark", "bmc", "induction"])
def test_a_limit_on_time_holds_for_assumptions(engine: str) -> None:
    outcome = run(engine, INSIDE_ONE_STATE["assume"], Limits(timeout=0.3))
    assert (outcome.verdict, str(outcome.limit)) == (Verdict.INCONCLUSIVE, "--timeout 0.3")


def test_a_limit_on_time_holds_for_assumptions_of_a_search_by_regions(tmp_path: Path) -> None:
    path = tmp_path / "regions.fence"
    text = INSIDE_ONE_STATE["assume"].replace("var y", "const E0: int16 = any\nvar y")
    path.write_text(text, encoding="utf-8")
    assert fencepost.check(path, timeout=0.3).verdict is Verdict.INCONCLUSIVE


def test_a_limit_on_time_does_not_end_the_start_of_its_own_timer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start, steps = threading.Timer.start, list[str]()

    def slow(timer: threading.Timer) -> None:
        start(timer)
        time.sleep(0.05)
        steps.append("started")

    monkeypatch.setattr(threading.Timer, "start", slow)

    def forever() -> None:
        while True:
            pass

    with pytest.raises(Expired), raised_after(0.0, Expired):
        forever()
    assert steps == ["started"]


@pytest.mark.parametrize("seconds", [float("inf"), float("nan"), -1.0])
def test_a_limit_on_time_is_a_number_of_seconds(seconds: float, tmp_path: Path) -> None:
    path = tmp_path / "one.fence"
    path.write_text("var x: 0..1 = 0\n", encoding="utf-8")
    with pytest.raises(Rejected, match=r"timeout=.*: it must be"):
        fencepost.check(path, timeout=seconds)


@pytest.mark.parametrize(("engine", "workers"), ENGINES)
def test_a_very_long_timeout(engine: str, workers: int | None) -> None:
    outcome = run(engine, "var x: 0..1 = 0\nterminal: true\n", Limits(timeout=1e300))
    assert outcome.verdict is Verdict.OK


@pytest.mark.parametrize(("engine", "workers"), ENGINES)
def test_a_spec_of_one_variable(engine: str, workers: int | None) -> None:
    outcome = run(engine, "var x: 0..1 = 0\n", Limits(workers=workers))
    assert (outcome.verdict, outcome.statistics.distinct) == (Verdict.DEADLOCK, 1)


@pytest.mark.skipif(sys.platform != "linux", reason="a limit on addresses that holds")
@pytest.mark.parametrize("megabytes", [205, 300])
@pytest.mark.parametrize("engine", ["interpreter", "local"])
def test_too_few_addresses_are_too_little_memory(
    engine: str, megabytes: int, tmp_path: Path
) -> None:
    path = tmp_path / "many.fence"
    path.write_text(MANY.format(most=99, body="a = k"), encoding="utf-8")
    words = [str(path), "--engine", engine, "--timeout", "60"]
    line = f'ulimit -v {megabytes * 1024}; exec "$0" -m fencepost.checker.cli.main check "$@"'
    done = finished("/bin/sh", "-c", line, sys.executable, *words)
    # The run completes, is cut, or reports that it cannot load its libraries.
    assert done.returncode in (0, 3, 151), done.stderr
    assert done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr


def test_choices_that_more_follows_are_loops() -> None:
    variables = "".join(f"var x{number}: 0..3 = any\n" for number in range(4))
    model = built(variables + "var y: 0..1 = 0\naction a:\n    y = 1\nterminal: true\n")
    assert has_odometer(model.initial)
    assert not has_odometer(nested(model.initial))
    outcome = run("local", variables + "var y: 0..1 = 0\nterminal: true\n", Limits())
    assert outcome.statistics.distinct == 256


# With fixed salts, this constant would make the hash of every state 0.
AIMED = """
var n: 0..60000 = 0
var salt: int64 = -7847088945485548731
action go(k in 1..300):
    require n < 59000
    n = n + k
terminal: true
"""


def test_no_spec_can_aim_at_a_hash() -> None:
    outcome = run("local", AIMED, Limits(timeout=30, workers=1))
    assert outcome.verdict is Verdict.OK
