"""`fencepost simulate` finds problems by random choices, repeats the same runs for any number of
workers, and rejects invalid arguments.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.support.agreement import loaded
from tests.support.command import Ran, run
from tests.support.comparisons import behaviour_number, lasso_is_genuine, random_behaviours
from tests.support.examples import RANGED, Example
from tests.support.text_tables import blocks

from fencepost.checker.cli.progress import describe
from fencepost.checker.native.walker import WalkResult
from fencepost.checker.outcome import Verdict
from fencepost.checker.request import Limits, Progress, Request, Unsupported
from fencepost.checker.search.explain import first_impossible
from fencepost.checker.simulate.runs import DEFAULT_WEIGHT, Choosing, Plan, SimulationResult
from fencepost.checker.simulate.simulation import (
    Simulation,
    estimated_count,
    merge_sketches,
    simulate,
)
from fencepost.spec.elaborate.claims.program import Check, build, select
from fencepost.spec.semantics.stepper import Runner

FOUND = ("violated", "deadlock", "assertion", "error", "assumption")


def simulated(
    text: str,
    *,
    runs: int = 200,
    depth: int = 60,
    workers: int = 2,
    seed: int = 1,
    choosing: Choosing = "actions",
    weights: tuple[int, ...] = (),
    deadlock: bool = True,
) -> SimulationResult:
    """Simulates random runs of a spec without a check."""
    model = build(loaded(text), None, {})
    request = Request(model, select(model, Check("")), deadlock, Limits(workers=workers))
    weights = weights or (DEFAULT_WEIGHT,) * len(model.actions)
    return simulate(request, Plan(seed, depth, runs, choosing, weights))


# ---------------------------------------------------------------- findings


@pytest.mark.parametrize("example", RANGED[::3], ids=lambda example: example.name)
def test_simulation_finds_the_problems_of_a_search(example: Example) -> None:
    """Random runs visit all states of these small examples, and the traces can be replayed."""
    model = build(loaded(example.text), None, {})
    if model.symbols:
        pytest.skip("a symbolic constant")
    try:
        result = simulated(example.text, deadlock=example.deadlock)
    except Unsupported:
        pytest.skip("the engine local does not run it either")
    outcome = result.outcome
    if example.verdict not in FOUND:
        assert outcome.verdict.value == "inconclusive"
        return
    (finding,) = outcome.findings
    number = finding.property
    name = "" if number is None else model.properties[number].name
    # A problem at a greater depth may be found first.
    assert finding.depth >= example.depth
    if finding.depth == example.depth:
        assert (outcome.verdict.value, name) == (example.verdict, example.property)
    if finding.trace is not None:
        assert first_impossible(Runner(model), finding.trace) is None


PROBLEMS = {
    block.name: (block.text, int(block.rest))
    for block in blocks(Path(__file__).with_name("problems.txt"))
}


LOCK = """
var lock: 0..2 = 0
var waits: map[1..2, bool] = [false for c in 1..2]
role Client[c: 1..2]:
    fair action ask:
        require not waits[c] and lock != c
        waits[c] = true
    FAIR action take:
        require lock == 0 and waits[c]
        lock = c
        waits[c] = false
    fair action leave:
        require lock == c
        lock = 0
property Served: forall c in 1..2: waits[c] leads to lock == c
"""
WEAK, STRONG = LOCK.replace("FAIR", "fair"), LOCK.replace("FAIR", "strongly fair")


def test_a_lasso_among_the_states_of_runs(tmp_path: Path) -> None:
    printed = ran(tmp_path, WEAK, "--runs", "5")
    assert printed.code == 13
    assert "violated Served   5 runs" in printed.stdout
    assert "steps 2 to 4 repeat forever" in printed.stdout
    assert "behaviours    those that go round among 8 states of 5 runs" in printed.stdout
    fair = ran(tmp_path, STRONG, "--runs", "5")
    assert fair.code == 3
    assert "behaviours    those that go round among 8 states of 5 runs" in fair.stdout


def test_behaviours_when_something_else_is_wrong(tmp_path: Path) -> None:
    printed = ran(tmp_path, f"{WEAK}invariant Free: lock == 0\n", "--runs", "5")
    assert "violated Free" in printed.stdout
    assert "were not checked, since there are other problems" in printed.stdout
    text = WEAK.replace("waits[c] leads", "waits[2 // lock] leads")
    printed = ran(tmp_path, text, "--runs", "5")
    assert printed.code == 75, "what a formula is made of has a value in every state"


def test_behaviours_are_decided_after_half_of_the_time(tmp_path: Path) -> None:
    printed = run("simulate", "s.fence", "--timeout", "0.6", folder=folder_with(tmp_path, WEAK))
    assert "violated Served" in printed.stdout


@pytest.mark.parametrize("choosing", ["actions", "rare"])
def test_runs_use_the_time_that_deciding_leaves(choosing: Choosing) -> None:
    model = build(loaded(STRONG), None, {})
    request = Request(model, select(model, Check("")), False, Limits(timeout=2.0, workers=1))
    plan = Plan(1, 60, None, choosing, (DEFAULT_WEIGHT,) * len(model.actions))
    result = simulate(request, plan)
    assert str(result.outcome.limit) == "--timeout 2"
    assert result.outcome.statistics.seconds >= 2.0
    assert result.judged is not None
    # Runs after the first half are examined, but not judged again.
    assert result.runs > result.judged.runs


def test_progress_counts_runs() -> None:
    reports: list[Progress] = []
    model = build(loaded(LADDER.replace("invariant I: x < 9 or y != 7", "")), None, {})
    limits = Limits(timeout=0.8, workers=1)
    request = Request(model, frozenset(), True, limits, progress=reports.append)
    simulate(request, Plan(1, 60, None, "actions", (DEFAULT_WEIGHT,) * len(model.actions)))
    last = reports[-1]
    assert last.runs is not None
    assert last.runs.runs > 0
    assert last.distinct == pytest.approx(13 * 13, rel=0.05)
    counts = f"{last.runs.runs:,} runs, {last.runs.steps:,} steps, about {last.distinct} distinct"
    assert describe("c", last).startswith(f"c: {counts}, ")


@pytest.mark.parametrize("seed", range(40))
def test_lassos_of_random_specs(seed: int) -> None:
    """Each lasso is genuine, and runs that visit all states find one exactly if a search does."""
    run = random_behaviours(seed)
    wanted = run.outcome("interpreter")
    request = Request(run.model, frozenset([behaviour_number(run)]), False, Limits(workers=1))
    weights = (DEFAULT_WEIGHT,) * len(run.model.actions)
    result = simulate(request, Plan(seed, 30, 20, "actions", weights))
    outcome = result.outcome
    searched = replace(outcome, verdict=Verdict.VIOLATED) if outcome.findings else wanted
    lasso_is_genuine(run, searched)
    if not outcome.findings:
        complete = result.judged is not None and result.judged.states == wanted.statistics.distinct
        assert not complete or wanted.verdict is not Verdict.VIOLATED
    elif wanted.verdict is not Verdict.ERROR:
        assert wanted.verdict is Verdict.VIOLATED


def folder_with(tmp_path: Path, text: str) -> Path:
    (tmp_path / "s.fence").write_text(text + "\n", encoding="utf-8")
    return tmp_path


def ran(tmp_path: Path, text: str, *words: str) -> Ran:
    return run("simulate", "s.fence", "--runs", "50", *words, folder=folder_with(tmp_path, text))


@pytest.mark.parametrize("name", PROBLEMS)
def test_codes(tmp_path: Path, name: str) -> None:
    text, code = PROBLEMS[name]
    printed = ran(tmp_path, text)
    assert printed.code == code, printed
    assert "Traceback" not in printed.stderr


def test_a_trace_is_shortened() -> None:
    """The long trace is shortened to the three steps that the problem needs."""
    result = simulated(
        "var x: 0..9 = 0\nvar noise: 0..99 = 0\naction n: noise = (noise * 7 + 3) % 100\n"
        "action m: noise = (noise + 1) % 100\naction a:\n    require x < 3\n    x += 1\n"
        "invariant I: x < 3",
        choosing="actions",
        weights=(1000, 1000, 10),
        depth=1000,
    )
    assert result.outcome.findings[0].depth == 4
    assert result.walked > 20


# ---------------------------------------------------------------- choice of steps

FORK = """\
enum At: Start, One, Many, Over
var at: At = Start
var which: 0..3 = 0
action one:
    require at == Start
    at = One
action many(n in 1..3):
    require at == Start
    at = Many
    which = n
action by_one:
    require at == One
    at = Over
action by_many(n in 1..3):
    require at == Many and n == which
    at = Over
    which = 0
terminal: at == Over
"""


def shares(choosing: Choosing, weights: tuple[int, ...] = ()) -> Counter[str]:
    """Returns how many of 4,000 runs took each way, as counted by their second action."""
    result = simulated(FORK, runs=4000, choosing=choosing, weights=weights)
    taken = result.outcome.coverage.taken
    assert taken[2] + taken[3] == 4000
    return Counter(one=taken[2], many=taken[3])


@pytest.mark.parametrize(
    ("choosing", "weights", "share"),
    [
        ("actions", (), 0.5),
        ("steps", (), 0.25),
        ("actions", (30, 10, 1, 1), 0.75),
        ("steps", (30, 10, 1, 1), 0.5),
        ("actions", (0, 10, 1, 1), 0.0),
        ("steps", (7, 0, 1, 1), 1.0),
    ],
)
def test_the_share_of_each_choice(
    choosing: Choosing, weights: tuple[int, ...], share: float
) -> None:
    assert shares(choosing, weights)["one"] == pytest.approx(4000 * share, abs=150)


def test_steps_of_one_action_are_alike() -> None:
    text = FORK.replace("action by_many(n in 1..3):", "action by_many(n in 1..1):")
    result = simulated(text, runs=3000, deadlock=False)
    # Half of all runs go through `many`, and two thirds of those cannot continue.
    assert result.outcome.coverage.taken[3] == pytest.approx(500, abs=70)


def test_rare_actions_are_preferred() -> None:
    """The action `late` is rare, since it needs seven `climb` steps without a `fall` in between."""
    text = (
        "var x: 0..30 = 0\naction climb:\n    require x < 30\n    x += 1\n"
        "action fall(n in 0..1): x = 0\naction late:\n    require x > 6\n    x = 0"
    )
    usual = simulated(text, runs=3000).outcome.coverage.taken
    rather = simulated(text, runs=3000, choosing="rare").outcome.coverage.taken
    assert rather != usual
    assert rather[2] != usual[2]


# ---------------------------------------------------------------- repeatable runs


def described(result: SimulationResult) -> dict[str, object]:
    statistics = result.outcome.statistics
    return {
        "runs": (result.runs, result.steps, result.left, result.run, result.walked),
        "counts": (statistics.distinct, statistics.generated),
        "coverage": result.outcome.coverage,
        "found": [
            (finding.verdict, finding.depth, finding.trace) for finding in result.outcome.findings
        ],
    }


LADDER = """\
var x: 0..12 = 0
var y: 0..12 = 0
action up:
    require x < 12
    x += 1
action down: x = 0
action side(n in 0..12): y = n
invariant I: x < 9 or y != 7
"""


@pytest.mark.parametrize("choosing", ["actions", "steps", "rare"])
def test_the_number_of_workers_does_not_change_the_result(choosing: Choosing) -> None:
    first = described(simulated(LADDER, workers=1, runs=5000, choosing=choosing))
    assert first["found"]
    for workers in (2, 3):
        again = simulated(LADDER, workers=workers, runs=5000, choosing=choosing)
        assert described(again) == first
    other = described(simulated(LADDER, workers=2, runs=5000, choosing=choosing, seed=2))
    assert other != first


@pytest.mark.parametrize("slow", [0, 1])
def test_runs_that_end_out_of_turn_count_in_their_order(
    monkeypatch: pytest.MonkeyPatch, slow: int
) -> None:
    """Every second batch is delayed, both the one with the problem and the one after it."""
    first = described(simulated(LADDER, workers=1, runs=5000))
    walk = Simulation.walk
    turns = count()

    def late(self: Simulation, first: int, runs: int) -> tuple[WalkResult, float]:
        if next(turns) % 2 == slow:
            time.sleep(0.05)
        return walk(self, first, runs)

    monkeypatch.setattr(Simulation, "walk", late)
    assert described(simulated(LADDER, workers=3, runs=5000)) == first


def test_the_number_of_states_is_estimated() -> None:
    text = (
        "var x: 0..99 = 0\nvar y: 0..99 = 0\naction a(n in 0..99): x = n\n"
        "action b(n in 0..99): y = n"
    )
    result = simulated(text, runs=100, depth=100)
    assert result.outcome.statistics.distinct == pytest.approx(10_000, rel=0.03)


def test_estimates() -> None:
    assert estimated_count(bytes(1 << 14)) == 0
    left, right = bytes([1, 0, 3, 0]), bytes([0, 0, 4, 2])
    assert merge_sketches(left, right) == bytes([1, 0, 4, 2])


# ---------------------------------------------------------------- the command

COUNTER = """\
const N: int = 3
var x: 0..9 = 0
role Hand:
    action up:
        require x < N
        x += 1
    action rest: x = x
invariant Small: x < 3
reachable Nine: x == 9
property Up: eventually x == 9
check small:
    expect violated Small
check fine:
    const N = 2
    expect deadlock
"""


def test_text(tmp_path: Path) -> None:
    printed = run("simulate", "s.fence", "--check", "small", folder=folder_with(tmp_path, COUNTER))
    assert printed.code == 0
    assert "small  violated Small in run 1, as expected" in printed.stdout
    assert "invariant Small is violated after 3 steps" in printed.stdout
    assert "not checked   reachable Nine; property Up; deadlock" in printed.stdout
    again = "fencepost simulate s.fence --check small --seed 1 --depth 100 --timeout 10"
    assert again in printed.stdout


def test_json_and_trace(tmp_path: Path) -> None:
    words = ("--check", "small", "--format", "json", "--output", "o.json", "--trace", "t.itf.json")
    printed = ran(tmp_path, COUNTER, *words)
    assert (printed.code, printed.stdout) == (0, "")
    root: dict[str, Any] = json.loads((tmp_path / "o.json").read_text())
    assert (root["verdict"], root["property"], root["run"]) == ("violated", "Small", 1)
    assert (root["expected"], root["as_expected"]) == ("violated Small", True)
    assert [step["state"]["x"] for step in root["trace"]] == [0, 1, 2, 3]
    assert root["taken"].keys() == {"Hand.up", "Hand.rest"}
    replayed = run("trace", "replay", "t.itf.json", "s.fence", folder=tmp_path)
    assert "invariant Small is violated at its end, as when the trace was saved" in replayed.stdout


@pytest.mark.parametrize(
    ("expectation", "code", "words"),
    [
        ("violated Small", 0, "violated Small in run 1, as expected"),
        ("violated Low", 12, "expected violated Low, but invariant Small is violated"),
        ("ok", 12, "expected ok, but invariant Small is violated"),
        ("deadlock", 12, "violated Small in run 1, NOT as expected"),
        ("violated Never", 3, "expected violated Never, but no run has a problem"),
    ],
)
def test_the_expectation_decides_the_exit_code(
    tmp_path: Path, expectation: str, code: int, words: str
) -> None:
    chosen = "Low, Never" if expectation == "violated Never" else "Small, Low, Never"
    text = (
        "var x: 0..3 = 0\naction up:\n    require x < 3\n    x += 1\naction rest: x = x\n"
        "invariant Small: x < 3\ninvariant Low: x < 4\ninvariant Never: x < 4\n"
        f"check c:\n    properties: {chosen}\n    expect {expectation}"
    )
    printed = ran(tmp_path, text)
    assert (printed.code, words in printed.stdout) == (code, True), printed.stdout


def test_no_problem(tmp_path: Path) -> None:
    words = ("--check", "fine", "--invariant", "Small", "--trace", "t.itf.json")
    text = COUNTER.replace("        x += 1\n", "        x = 1 - x\n")
    printed = ran(tmp_path, text, *words)
    assert printed.code == 3
    assert "inconclusive: no problem was found" in printed.stdout
    assert "no run found a problem" in printed.stderr
    assert not (tmp_path / "t.itf.json").exists()


@pytest.mark.parametrize(("jump", "states"), [("1", 8), ("2", 2)])
def test_refinements(tmp_path: Path, jump: str, states: int) -> None:
    upper = "var n: 0..9 = 0\naction tick:\n    require n < 9\n    n += 1\nterminal: true\n"
    (tmp_path / "up.fence").write_text(upper, encoding="utf-8")
    text = (
        "import up\nconst Jump: int = 1\nvar x: 0..9 = 0\naction go:\n"
        "    require x + Jump <= 9\n    x += Jump\naction back:\n    require x > 5\n    x = 0\n"
        "terminal: true\nrefinement R: up where n = x"
    )
    printed = ran(tmp_path, text, "--const", f"Jump={jump}", "--format", "json")
    root: dict[str, Any] = json.loads(printed.stdout)
    assert (printed.code, root["property"], len(root["trace"])) == (13, "R", states)


def test_time_is_limited(tmp_path: Path) -> None:
    text = "var x: 0..3 = 0\naction a: x = 3 - x"
    folder = folder_with(tmp_path, text)
    printed = run("simulate", "s.fence", "--timeout", "0.3s", folder=folder)
    assert (printed.code, "cut by --timeout 0.3" in printed.stdout) == (3, True)


def test_symbolic_constants_are_refused(tmp_path: Path) -> None:
    text = (
        "const N: int\nvar x: 0..3 = 0\naction a:\n    require x < N\n    x = 1\n"
        "check c:\n    expect ok"
    )
    printed = ran(tmp_path, text)
    assert printed.code in (150, 151)
    assert "N" in printed.stderr
