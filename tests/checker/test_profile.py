"""The statistics of visited states by `fencepost check --profile`, compared with the reference
stepper.
"""

from __future__ import annotations

import json
from collections import Counter
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from tests.support.agreement import loaded
from tests.support.command import run
from tests.support.examples import EXAMPLES, Example
from tests.support.paths import ROOT

from fencepost.checker.native import states, worker
from fencepost.checker.native.search import Local
from fencepost.checker.outcome import Outcome, Verdict
from fencepost.checker.profile import Extent, Profile, profiled
from fencepost.checker.request import Limits, Request
from fencepost.spec.core.ir import Model
from fencepost.spec.core.types import State
from fencepost.spec.elaborate.claims.program import Check, build, select
from fencepost.spec.semantics.stepper import Runner


def profiled_run(text: str) -> tuple[Model, Outcome]:
    """Returns the outcome of a spec without a check, with a profile."""
    model = build(loaded(text), None, {})
    request = Request(model, select(model, Check("")), limits=Limits(workers=2), profile=True)
    return model, Local().run(request)


def profile_of(text: str) -> tuple[Model, Profile | None]:
    """Returns the profile of a spec without a check."""
    model, outcome = profiled_run(text)
    return model, outcome.profile


def brute_force(model: Model) -> Profile:
    """Computes the expected profile state by state."""
    runner = Runner(model)
    level = {successor.state for successor in runner.initial() if successor.state is not None}
    seen = set(level)
    refused: Counter[int] = Counter()
    new = [0] * len(model.actions)
    while level:
        first: dict[State, int] = {}
        for state in level:
            for action in range(len(model.actions)):
                for successor in runner.attempts(action, state):
                    if successor.guard is not None:
                        refused[successor.guard] += 1
                    elif successor.state is not None and successor.state not in seen:
                        first[successor.state] = min(action, first.get(successor.state, action))
        for action in first.values():
            new[action] += 1
        level = set(first)
        seen |= level
    variables = tuple(
        profiled(variable.type, {state[index] for state in seen})
        for index, variable in enumerate(model.variables)
    )
    return Profile(len(seen), variables, dict(refused), tuple(new))


WHOLE = [
    example for example in EXAMPLES if example.verdict == "ok" and "constraint" not in example.text
]


@pytest.mark.parametrize("example", WHOLE[::3], ids=lambda example: example.name)
def test_the_profile_equals_brute_force(example: Example) -> None:
    model, actual = profile_of(example.text)
    assert actual == brute_force(model)
    assert actual is not None
    assert actual.states == example.distinct


SMALL = """\
enum Colour: Red, Green, Blue, Grey
record Point: x: 0..9, y: -3..3
var point: Point = Point(1, 0)
var colours: map[0..2, Colour] = [0: Red, 1: Red, 2: Red]
type Small = 0..7
var some: Small? = none
var log: seq[0..9, 9] = []
var flag: bool = false
action paint(n in 0..2):
    require colours[n] == Red
    colours[n] = Green
action move:
    require point.x < 4
    point.x += 1
action note:
    require len(log) < 2
    log.append(3)
    some = 4
terminal: true
"""


def test_every_kind_of_part() -> None:
    model, actual = profile_of(SMALL)
    assert actual == brute_force(model)
    assert actual is not None
    extents = {v.name: p.extents for v, p in zip(model.variables, actual.variables, strict=True)}
    assert extents["point"] == (
        Extent(".x", "range", 1, 4, 0, 9),
        Extent(".y", "range", 0, 0, -3, 3),
    )
    assert extents["colours"] == (Extent("[*]", "members", 2, 2, 4, 4, ("Blue", "Grey")),)
    assert extents["some"] == (Extent("!", "range", 4, 4, 0, 7),)
    assert extents["log"] == (Extent("", "elements", 0, 2, 0, 9),)
    assert extents["flag"] == ()


BIG = """\
var x: 0..9 = 0
var log: seq[0..1000, 30] = []
action up:
    require x < 9
    x += 1
    log.append(100 * x)
action wait: x = x
invariant I: x < 6
check all:
    expect violated I
"""


def test_a_search_that_ends_at_a_problem(tmp_path: Path) -> None:
    (tmp_path / "s.fence").write_text(BIG, encoding="utf-8")
    words = ("check", "s.fence", "--profile", "--format", "json")
    report: dict[str, Any] = json.loads(run(*words, folder=tmp_path).stdout)
    schema = files("fencepost.checker.report") / "schema" / "report.schema.json"
    import_module("jsonschema").validate(report, json.loads(schema.read_text(encoding="utf-8")))
    (check,) = report["checks"]
    profile = check["profile"]
    assert profile["states"] == check["distinct"] == sum(profile["levels"])
    assert profile["variables"]["log"]["extents"][0]["high"] == 6
    assert profile["variables"]["x"]["values"] == 7
    assert profile["successors"]["up"] == 6


def test_text_and_again(tmp_path: Path) -> None:
    (tmp_path / "s.fence").write_text(BIG, encoding="utf-8")
    printed = run("check", "s.fence", "--profile", "--max-states", "4", folder=tmp_path)
    assert "profile of 5 states" in printed.stdout
    assert "held at most 4 of 30" in printed.stdout
    assert "--profile --max-states 4" in printed.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--engine bmc --depth 3", "--profile has no meaning for the engine bmc"),
        ("--engine interpreter", "--profile has no meaning for the engine interpreter"),
        ("--quiet", "--profile and --quiet contradict each other"),
    ],
)
def test_other_engines_refuse(tmp_path: Path, words: str, message: str) -> None:
    (tmp_path / "s.fence").write_text(BIG, encoding="utf-8")
    printed = run("check", "s.fence", "--profile", *words.split(), folder=tmp_path)
    assert (printed.code, message in printed.stderr) == (151, True), printed


def test_a_symbolic_constant_is_refused(tmp_path: Path) -> None:
    text = "const N: 0..9 = any\nvar x: 0..9 = 0\naction a:\n    require x < N\n    x += 1\n"
    (tmp_path / "s.fence").write_text(text, encoding="utf-8")
    printed = run("check", "s.fence", "--profile", folder=tmp_path)
    assert (printed.code, "--profile is for one search" in printed.stderr) == (151, True), printed


def test_states_that_would_be_compressed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A profile reads whole states, so states are not compressed."""
    monkeypatch.setattr(states, "COMPRESSED_FROM", 1)
    model, actual = profile_of(SMALL)
    assert actual == brute_force(model)


GHOSTLY = """
ghost var seen: 0..3 = 0
var x: 0..3 = 0
fair action up: require x < 3; x += 1
fair action look: seen = 1
action both: require x == 1; x = 3; seen = 3
property Up: eventually x == 3
"""


def test_new_states_with_temporal_properties() -> None:
    """Fairness ignores a step that changes only a ghost, but such a step leads to a new state."""
    model, actual = profile_of(GHOSTLY)
    assert actual == brute_force(model)
    assert actual is not None
    assert sum(actual.new) + 1 == actual.states


@pytest.mark.parametrize(
    ("name", "check"),
    [("two_phase_commit", "three"), ("die_hard", "four_litres"), ("peterson", "writes_swapped")],
)
def test_figures_of_shipped_models(name: str, check: str, tmp_path: Path) -> None:
    """The figures of the actions add up to the counts of the check, even if it ends at a
    problem.
    """
    spec = str(ROOT / "models/classics" / f"{name}.fence")
    ran = run("check", spec, "--check", check, "--profile", "--format", "json", folder=tmp_path)
    (row,) = json.loads(ran.stdout)["checks"]
    profile = row["profile"]
    assert sum(profile["levels"]) == profile["states"] == row["distinct"]
    assert sum(profile["new"].values()) + profile["levels"][0] == row["distinct"]
    assert sum(profile["successors"].values()) < row["generated"] or row["verdict"] != "ok"
    assert profile["nanoseconds"].keys() == profile["new"].keys() == profile["successors"].keys()
    assert all(spent >= 0 for spent in profile["nanoseconds"].values())


@pytest.mark.parametrize("raised", [KeyboardInterrupt, MemoryError])
def test_a_stopped_profile_keeps_the_verdict(
    raised: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exception while profiling keeps the verdict and the finished part of the profile."""

    def stopped(*_: object) -> None:
        raise raised

    monkeypatch.setattr(import_module("fencepost.checker.native.profile"), "times", stopped)
    _, outcome = profiled_run(GHOSTLY)
    assert outcome.verdict is Verdict.OK
    assert outcome.profile is not None
    assert (outcome.profile.new, outcome.profile.seconds) == ((), ())
    assert outcome.notes[-1].startswith("There is no profile of new states and times: ")


def test_an_interrupt_while_machine_code_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interrupt arrives in the thread that runs the code."""
    call = worker.Worker.call

    def interrupted(self: worker.Worker, kernel: str, *arguments: int) -> int:
        if kernel == "apart":
            self._crew.fail(KeyboardInterrupt())  # pyright: ignore[reportPrivateUsage]
        return call(self, kernel, *arguments)

    monkeypatch.setattr(worker.Worker, "call", interrupted)
    _, outcome = profiled_run(GHOSTLY)
    assert outcome.verdict is Verdict.OK
    assert outcome.notes[-1].endswith("it was interrupted.")
