"""`fencepost mutate`: the fates of changes, exit codes, limits and rejected arguments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.command import Ran, run

from fencepost.checker.run.check import perform as really_perform
from fencepost.checker.run.job import Job
from fencepost.checker.run.judge import CheckResult
from fencepost.checker.tools import mutate
from fencepost.checker.tools.mutate import Fate
from fencepost.checker.tools.state_graph import same_graph
from fencepost.spec.core.ir import Model
from fencepost.spec.elaborate.claims.program import build, load

GATE = """\
const Guarded: bool = true
var x: 0..9 = 0
var y: 0..1 = 0
action up:
    require x < 3 or not Guarded
    x += 1
action mark:
    require y == 0
    y = 1
terminal: x == 3
invariant Small: x <= 3
check guarded:
    expect ok
    expect states == 8
check unguarded:
    const Guarded = false
    expect violated Small
check long slow:
    expect ok
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "gate.fence").write_text(GATE, encoding="utf-8")
    return tmp_path


def mutated(folder: Path, *words: str, engine: str = "interpreter") -> Ran:
    return run("mutate", "gate.fence", "--engine", engine, *words, folder=folder)


def fates(
    folder: Path, *words: str, engine: str = "interpreter"
) -> dict[str, tuple[str, str | None, str | None]]:
    ran = mutated(folder, "--format", "json", *words, engine=engine)
    report: dict[str, Any] = json.loads(ran.stdout)
    assert sum(report["fates"].values()) == len(report["mutants"])
    return {m["change"]: (m["fate"], m["check"], m["found"]) for m in report["mutants"]}


@pytest.mark.parametrize("engine", ["interpreter", "local"])
def test_fates(folder: Path, engine: str) -> None:
    assert fates(folder, engine=engine) == {
        "Guarded = false": ("killed", "guarded", "violated Small"),
        "remove `require x < 3 or not Guarded`": ("killed", "guarded", "violated Small"),
        "drop `x < 3` from `x < 3 or not Guarded`": ("killed", "guarded", "deadlock"),
        "drop `not Guarded` from `x < 3 or not Guarded`": (
            "killed",
            "unguarded",
            "violated Small is no longer found",
        ),
        "`<` becomes `<=` in `x < 3`": ("killed", "guarded", "violated Small"),
        "remove `x += 1`": ("killed", "unguarded", "violated Small is no longer found"),
        # No property reads y, and a second mark leads back to the same state.
        "remove `require y == 0`": ("survived", None, None),
        "remove `y = 1`": ("survived", None, None),
    }


def test_exit_codes(folder: Path) -> None:
    assert mutated(folder).code == 4
    assert mutated(folder, "--kind", "switch").code == 0
    assert mutated(folder, "--total", "0").code == 3
    (folder / "gate.fence").write_text(GATE.replace("x <= 3", "x <= 2"), encoding="utf-8")
    ran = mutated(folder)
    assert ran.code == 12
    assert "guarded  violated Small, NOT as expected" in ran.stdout
    assert "no change is tried" in ran.stderr


def test_counts_of_a_check_detect_no_change(folder: Path) -> None:
    assert fates(folder, "--check", "guarded")["remove `y = 1`"][0] == "survived"
    (folder / "gate.fence").write_text(GATE.replace("== 8", "== 9"), encoding="utf-8")
    assert mutated(folder).code == 4


def test_one_check_and_slow_ones(folder: Path) -> None:
    chosen = fates(folder, "--check", "guarded")
    assert chosen["drop `not Guarded` from `x < 3 or not Guarded`"] == ("idle", None, None)
    for words in (("--slow",), ("--check", "guarded", "--check", "long")):
        ran = mutated(folder, "--format", "json", *words)
        assert "long" in json.loads(ran.stdout)["checks"]
    assert "long" not in json.loads(mutated(folder, "--format", "json").stdout)["checks"]


def test_a_sample_is_spread_evenly(folder: Path) -> None:
    whole = list(fates(folder))
    assert list(fates(folder, "--sample", "4")) == whole[::2]
    assert list(fates(folder, "--sample", "100")) == whole
    ran = mutated(folder, "--sample", "4")
    assert "4 mutants (of 8 changes 4 were looked at), 2 checks" in ran.stdout


def test_equivalent_changes_differ_from_equal_counts(folder: Path) -> None:
    spec = """\
var x: 0..3 = 0
var lamp: bool = false
action up:
    require x < 3
    x += 1
    lamp = true
action stay:
    require x >= 1 and lamp
terminal: x == 3
invariant Small: x <= 3
reachable Full: x == 3
check c:
    expect ok
"""
    (folder / "gate.fence").write_text(spec, encoding="utf-8")
    results = fates(folder)
    assert results["drop `lamp` from `x >= 1 and lamp`"][0] == "idle"
    assert results["drop `x >= 1` from `x >= 1 and lamp`"][0] == "equivalent"
    assert results["remove `lamp = true`"][0] == "survived"
    spec = spec.replace("    require x >= 1 and lamp\n", "    lamp = lamp\n")
    (folder / "gate.fence").write_text(spec, encoding="utf-8")
    ran = mutated(folder, "--format", "json")
    (lamp,) = [
        m for m in json.loads(ran.stdout)["mutants"] if m["change"] == "remove `lamp = true`"
    ]
    assert (lamp["fate"], lamp["same_counts"]) == ("survived", True)
    assert "remove `lamp = true` (every search counts the same" in mutated(folder, "--all").stdout


def test_graphs_are_compared_to_the_end(tmp_path: Path) -> None:
    def model(step: str) -> Model:
        path = tmp_path / "m.fence"
        path.write_text(f"var x: 0..9 = 0\naction a:\n    x = {step}\n", encoding="utf-8")
        return build(load(path), None)

    first, second = model("if x < 9 then x + 1 else 0"), model("if x < 9 then x + 1 else 1")
    again = model("if x == 9 then 0 else x + 1")
    assert same_graph(first, again)
    assert not same_graph(first, second)
    assert same_graph(first, again, 10)
    assert not same_graph(first, again, 9)


def test_list_tries_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutate, "perform", None)
    ran = mutated(folder, "--list", "--kind", "switch", "--kind", "guard")
    assert ran.code == 0
    assert ran.stdout.splitlines() == [
        "  gate.fence:1  switch: Guarded = false",
        "  gate.fence:5  guard: remove `require x < 3 or not Guarded`",
        "  gate.fence:8  guard: remove `require y == 0`",
        "3 changes",
    ]


def test_a_cut_check_decides_nothing(folder: Path) -> None:
    spec = """\
var x: 0..1_000_000_000_000 = 0
action up:
    require x < 2
    x += 1
terminal: true
check c:
    expect ok
"""
    (folder / "gate.fence").write_text(spec, encoding="utf-8")
    ran = mutated(folder, "--timeout", "1", "--kind", "guard")
    assert ran.code == 3
    assert "not decided: a check was cut (1)" in ran.stdout
    assert "remove `require x < 2` (c was cut)" in ran.stdout
    assert fates(folder, "--timeout", "1", "--kind", "guard") == {
        "remove `require x < 2`": ("undecided", "c", None)
    }


def test_scenarios_notice_changes(folder: Path) -> None:
    """Scenarios are played with the change, not searched as checks are, so an evaluation error
    outside the steps of the scenario goes unnoticed.
    """
    spec = """\
var x: 0..3 = 0
action a(n in 1..3): x = n
action up:
    require x < 3
    x += 1
scenario s: a(1); a(2); expect x == 2
"""
    (folder / "gate.fence").write_text(spec, encoding="utf-8")
    results = fates(folder, "--check", "s", "--all", engine="local")
    assert results["remove `x = n`"] == ("killed", "s", "unreached")
    assert results["remove `require x < 3`"][0] == "survived"
    assert results == fates(folder, "--check", "s", "--all")


@pytest.mark.parametrize("engine", ["interpreter", "local"])
def test_invalid_specs_are_not_mutants(folder: Path, engine: str) -> None:
    spec = """\
union Message: Ping(n: 0..3), Pong
var m: Message = Ping(0)
var x: 0..3 = 0
action a:
    require m is Ping
    x = m.n
terminal: true
invariant I: x == 0
check c:
    expect ok
"""
    (folder / "gate.fence").write_text(spec, encoding="utf-8")
    assert fates(folder, engine=engine) == {
        "remove `require m is Ping`": ("refused", None, None),
        "remove `x = m.n`": ("equivalent", None, None),
    }
    ran = mutated(folder)
    assert "  1 mutant, 1 check\n" in ran.stdout
    assert "1 more: 1 are not valid specs, 0 change no model of these checks" in ran.stdout


def test_an_interrupt_keeps_the_results_so_far(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0

    def perform(*arguments: Any) -> CheckResult:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        return really_perform(*arguments)

    monkeypatch.setattr(mutate, "perform", perform)
    ran = mutated(folder, "--format", "json")
    assert ran.code == 3
    report = json.loads(ran.stdout)
    assert [m["fate"] for m in report["mutants"]] == ["killed", "killed"]


def test_the_report_in_a_file(folder: Path) -> None:
    ran = mutated(folder, "--output", "report.txt")
    assert (ran.code, ran.stdout) == (4, "")
    assert "nothing notices (2)" in (folder / "report.txt").read_text(encoding="utf-8")
    ran = mutated(folder, "--output", "gate.fence/report.txt")
    assert ran.code == 151
    assert "F027" in ran.stderr


def test_only_slow_checks(folder: Path) -> None:
    (folder / "gate.fence").write_text(
        "var x: 0..1 = 0\naction a: x = 1\ncheck c slow:\n    expect ok\n", encoding="utf-8"
    )
    ran = mutated(folder)
    assert ran.code == 151
    assert "--slow runs them" in ran.stderr


def test_the_native_engine_agrees(folder: Path) -> None:
    native = run("mutate", "gate.fence", "--format", "json", "--workers", "1", folder=folder)
    report = json.loads(native.stdout)
    results = {m["change"]: (m["fate"], m["check"], m["found"]) for m in report["mutants"]}
    assert results == fates(folder)
    assert {fate.value for fate in Fate} == report["fates"].keys()


def test_fairness_is_mutated(tmp_path: Path) -> None:
    (tmp_path / "gate.fence").write_text(
        "var x: 0..2 = 0\n"
        "fair action up:\n    require x < 2\n    x += 1\n"
        "fair action idle: x = x\n"
        "terminal: x == 2\n"
        "property P: eventually x == 2\n",
        encoding="utf-8",
    )
    for engine in ("interpreter", "local"):
        ran = mutated(tmp_path, "--kind", "fairness", "--format", "json", engine=engine)
        report: dict[str, Any] = json.loads(ran.stdout)
        assert [mutant["fate"] for mutant in report["mutants"]] == ["killed", "survived"]


IDLE = """\
var x: 0..3 = 0
var y: bool = false
action up:
    require x < 2
    x += 1
action out:
    require x == 2 and y
    x = 0
"""


def test_a_check_that_stops_may_have_evaluated_enabled_in_its_last_state(folder: Path) -> None:
    """The search stops in a state without expanding it, but the invariant evaluates `enabled` in
    that state.
    """
    spec = f"{IDLE}invariant Moves: not quiescent\ncheck c:\n    expect violated Moves\n"
    (folder / "gate.fence").write_text(spec, encoding="utf-8")
    for engine in ("interpreter", "local"):
        results = fates(folder, engine=engine)
        assert results["drop `y` from `x == 2 and y`"] == (
            "killed", "c", "violated Moves is no longer found",
        )  # fmt: skip
        assert results["remove `x = 0`"] == ("idle", None, None)


def test_a_cut_check_may_have_evaluated_enabled_in_its_last_level(folder: Path) -> None:
    """States of the last level are not expanded, but the invariant evaluates `enabled` in them."""
    spec = """
var x: 0..9 = 0
var y: 0..1 = 0
action up:
    require x < 9
    x += 1
action other:
    require x < 2
    y = 0
invariant J: x == 2 implies enabled(other)
check c:
    depth 2
    expect violated J
"""
    (folder / "gate.fence").write_text(spec, encoding="utf-8")
    for engine in ("interpreter", "local"):
        assert fates(folder, engine=engine)["remove `require x < 2`"][0] == "undecided"


def test_idle_changes_run_no_check(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "gate.fence").write_text(f"{IDLE}check c:\n    expect deadlock\n", encoding="utf-8")
    performed: list[str] = []

    def perform(job: Job, *rest: Any) -> CheckResult:
        performed.append(job.title)
        return really_perform(job, *rest)

    monkeypatch.setattr(mutate, "perform", perform)
    results = fates(folder)
    assert [change for change, (fate, _, _) in results.items() if fate == "idle"] == [
        "remove `x = 0`"
    ]
    # In the interpreter, each change that matters has a run of its own.
    assert performed == ["c"] * (len(results) - 1)


@pytest.mark.parametrize(
    ("change", "parting"),
    [
        ("remove `lamp = true`", "after up: on gives lamp another value"),
        ("drop `not lamp` from `x == 1 and not lamp`", "after up, on: on can be taken"),
        ("drop `x == 1` from `x == 1 and not lamp`", "in an initial state: on can be taken"),
        ("remove `spare = x`", "in an initial state: up gives spare another value"),
        ("never take the branch `if x == 3`", None),
    ],
)
def test_the_first_difference_of_graphs(folder: Path, change: str, parting: str | None) -> None:
    spec = """\
var x: 0..3 = 0
var lamp: bool = false
var spare: 0..3 = 0
action up:
    require x < 2
    x += 1
    spare = x
action on:
    require x == 1 and not lamp
    lamp = true
    if x == 3: lamp = false
terminal: x == 2
reachable Full: x == 2
check c:
    expect ok
"""
    (folder / "gate.fence").write_text(spec, encoding="utf-8")
    json_ = json.loads(mutated(folder, "--format", "json").stdout)
    (mutant,) = [entry for entry in json_["mutants"] if entry["change"] == change]
    assert (mutant["parting"] is None) is (parting is None)
    if parting is not None:
        text = " ".join(mutated(folder, "--all").stdout.split())
        assert f"in c, {parting}" in text.split(change)[1]


def test_graphs_are_compared_within_the_search_of_a_check_that_stops(folder: Path) -> None:
    spec = (
        f"{IDLE}var spare: 0..3 = 0\naction idle(n in 1..3):\n    require spare == 0 and x == 1\n"
    )
    spec += "    spare = n\nreachable Far: x == 2\ninvariant Near: x < 2\n"
    spec += "check c:\n    properties: Near\n    expect violated Near\n"
    (folder / "gate.fence").write_text(spec, encoding="utf-8")
    mutants = json.loads(mutated(folder, "--format", "json").stdout)["mutants"]
    (mutant,) = [m for m in mutants if m["change"] == "drop `x == 1` from `spare == 0 and x == 1`"]
    assert (mutant["fate"], mutant["same_counts"]) == ("survived", False)
    assert mutant["parting"] == {
        "check": "c", "way": [], "gone": [], "new": ["idle"], "changed": [],
    }  # fmt: skip


@pytest.mark.parametrize("engine", ["interpreter", "local"])
def test_states_are_counted_without_symmetry(folder: Path, engine: str) -> None:
    """With symmetry, a normal search would count orbits, whereas the joint search of all changes
    counts states.
    """
    spec = """\
symmetric type Name = {a, b, c}
var owner: Name? = none
action take(n in Name):
    require owner == none
    owner = n
action drop:
    require owner != none
    owner = none
    if owner == none: skip
invariant One: true
check c:
    expect ok
"""
    (folder / "gate.fence").write_text(spec, encoding="utf-8")
    mutants = json.loads(mutated(folder, "--format", "json", engine=engine).stdout)["mutants"]
    alike = {m["change"]: m["same_counts"] for m in mutants}
    assert alike["never take the branch `if owner == none`"]
    assert not alike["remove `owner = n`"]


def test_recursive_definitions_are_mutated(folder: Path) -> None:
    """A mark inside a recursion is set from the function that computes it."""
    spec = """\
var x: 0..4 = 0
def even(n: 0..4): bool at most 5 = n == 0 or odd(n - 1)
def odd(n: 0..4): bool at most 5 = n != 0 and even(n - 1)
def spare(n: 0..4): bool at most 5 = n > 4 and (n > 5 or spare(0))
action up:
    require x < 4 and even(x) and not spare(x)
    x += 2
invariant Even: even(x)
terminal: x == 4
check c:
    expect ok
"""
    (folder / "gate.fence").write_text(spec, encoding="utf-8")
    results = fates(folder, engine="local")
    assert results == fates(folder)
    assert results["drop `n == 0` from `n == 0 or odd(n - 1)`"][0] == "killed"
    assert results["`>` becomes `>=` in `n > 4`"][0] == "idle"
    assert results["`>` becomes `>=` in `n > 5`"][0] == "idle"


@pytest.mark.parametrize("engine", ["interpreter", "local", "induction"])
def test_graphs_of_a_symbolic_constant_are_not_compared(folder: Path, engine: str) -> None:
    spec = """\
enum Mood: calm, busy
const M: Mood = any
var x: 0..2 = 0
var m: Mood = calm
action up:
    require x < 2
    x += 1
    m = M
invariant Calm: m == M or x == 0
terminal: x == 2
check c:
    expect ok
"""
    (folder / "gate.fence").write_text(spec, encoding="utf-8")
    ran = mutated(folder, "--format", "json", engine=engine)
    mutants = {m["change"]: m for m in json.loads(ran.stdout)["mutants"]}
    survivor = mutants["remove `x += 1`"]
    assert (survivor["fate"], survivor["parting"]) == ("survived", None)
    assert not survivor["same_counts"]
