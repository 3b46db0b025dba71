"""Engines play scenarios with the same results as a minimal search, and with the expected
counts.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.support.command import Ran, run
from tests.support.scenario_runs import SPEC, plainly, staged
from tests.support.text_tables import tables

from fencepost.checker.outcome import Verdict
from fencepost.checker.request import ignored
from fencepost.checker.run.check import perform, prepare
from fencepost.checker.run.judge import CheckResult, Exit
from fencepost.checker.run.settings import Settings
from fencepost.checker.search.explain import first_impossible
from fencepost.spec.core.scenario import product
from fencepost.spec.core.verify_model import problems
from fencepost.spec.elaborate.claims.program import Program
from fencepost.spec.semantics.stepper import Runner

WRITTEN = Path(__file__).parents[2] / "spec/elaborate/test_scenarios.py"
TABLE = tables(WRITTEN)["right"]


def played(read: Program, engine: str, name: str = "s") -> CheckResult:
    (check,) = (scenario for scenario in read.scenarios if scenario.name == name)
    return perform(prepare(read, check, Settings(engine=engine)), ignored)


def summary(result: CheckResult) -> tuple[str, str]:
    """Returns the verdict, and how many steps the run has or how many the scenario misses."""
    (finding,) = result.outcome.findings
    assert finding.fit is not None
    assert finding.trace is not None
    runner = Runner(result.job.model)
    assert first_impossible(runner, finding.trace) is None
    if result.outcome.verdict is Verdict.OK:
        assert result.as_expected
        return "ok", str(len(finding.trace.steps) - 1)
    assert result.exit is Exit.NOT_FOUND
    return result.outcome.verdict.value, f"{finding.fit.behind} behind"


@pytest.mark.parametrize(
    ("number", "row"), list(enumerate(TABLE)), ids=[steps for steps, _, _ in TABLE]
)
def test_engines_agree(tmp_path: Path, number: int, row: tuple[str, ...]) -> None:
    """The interpreter plays every row, and machine code every third one."""
    steps, verdict, count = row
    model, scenario, read = staged(tmp_path / "m.fence", f"{SPEC}scenario s: {steps}\n")
    assert problems(product(model, scenario).model) == []
    met, steps_found = plainly(model, scenario)
    assert (verdict, count) == (
        "ok" if met else "unreached",
        f"{steps_found}{'' if met else ' behind'}",
    )
    first = played(read, "interpreter")
    assert summary(first) == (verdict, count)
    if number % 3:
        return
    other = played(read, "local")
    assert other.outcome.findings == first.outcome.findings
    counted = [result.outcome.statistics for result in (first, other)]
    assert counted[0].distinct == counted[1].distinct
    assert counted[0].generated == counted[1].generated


# ---------------------------------------------------------------- the command

PLAYED = f"""{SPEC}
scenario met: tick; Client[a].ask(1); ...; expect x == 1
scenario unmet: Client[a].ask(2); serve(Request(b, _)); expect true
scenario other slow: tick; expect ticks == 0
"""
NEVER = """\
unmet  unreached, NOT as expected{gap}2 distinct, 2 generated, depth 2, N s

  scenario unmet: no run fits more than 1 of 2 steps
    m.fence:{line}:35
      {line} | scenario unmet: Client[a].ask(2); serve(Request(b, _)); expect true
                                             ^^^^^^^^^^^^^^^^^^^^

  0  initial state
     net            = []
     net.lost       = 0
     log            = []
     x              = 0
     ticks          = 0
     Client[*].busy = false
  1  Client[a].ask(k: 2)
     net             [] -> [Request(n: a, k: 2)]
     Client[a].busy  false -> true

  why the next step is not possible there
    serve  none of its choices matches the scenario (m.fence:{serve})

  searched      all runs, without failing steps
  bounds        N = 0, net holds at most 2, net.lost at most 1, log holds at most 1
"""


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    (tmp_path / "m.fence").write_text(PLAYED, encoding="utf-8")
    return tmp_path


def check(folder: Path, *words: str) -> Ran:
    return run("check", "m.fence", "--engine", "interpreter", *words, folder=folder)


def test_report_of_a_scenario_that_no_run_fits(folder: Path) -> None:
    ran = check(folder, "--check", "unmet")
    lines = PLAYED.splitlines()
    line = 1 + next(n for n, text in enumerate(lines) if "unmet" in text)
    serve = 1 + next(n for n, text in enumerate(lines) if text.startswith("action serve"))
    shown = re.sub(r"\d\.\d\d s", "N s", ran.stdout).split("\n", 1)[1]
    gap = " " * (shown.index("2 distinct") - len("unmet  unreached, NOT as expected"))
    wanted = NEVER.format(gap=gap, line=line, serve=serve)
    assert shown.startswith(wanted), shown
    assert ran.code == Exit.NOT_FOUND


def test_a_run_has_checks_and_scenarios_in_file_order(folder: Path) -> None:
    """The spec itself, which has no check, is listed first."""
    ran = check(folder)
    rows = [line.split("  ")[0] for line in ran.stdout.splitlines()[:6]]
    assert rows == [
        "m.fence",
        "m.fence",
        "met",
        "unmet",
        "slow, not run (--slow runs them): other",
        "",
    ]
    assert "no run fits more than 1 of 2 steps" in ran.stdout.splitlines()[-1]


def test_forms_of_a_report(folder: Path) -> None:
    words = ("--check", "met", "--check", "unmet")
    first, second = json.loads(check(folder, *words, "--format", "json").stdout)["checks"]
    assert (first["verdict"], first["scenario"]) == ("ok", {"behind": 2, "steps": 2})
    assert len(first["trace"]) == 4
    assert (second["verdict"], second["scenario"]) == ("unreached", {"behind": 1, "steps": 2})
    assert 'type="unreached"' in check(folder, *words, "--format", "junit").stdout
    results = json.loads(check(folder, *words, "--format", "sarif").stdout)["runs"][0]["results"]
    (result,) = (result for result in results if result["level"] != "note")
    assert result["ruleId"] == "unreached"
    assert "no run fits more than" in result["message"]["text"]
    github = check(folder, *words, "--format", "github").stdout
    assert "unmet: no run fits more than 1 of 2 steps" in github
    assert check(folder, "--list").stdout.splitlines()[1:] == [
        "  met: scenario of 2 steps",
        "  unmet: scenario of 2 steps",
        "  other: scenario of 1 step (slow)",
    ]


def test_a_limit_is_inconclusive(folder: Path) -> None:
    ran = check(folder, "--check", "met", "--max-states", "2")
    assert ran.code == Exit.INCONCLUSIVE
    assert "a longer run may fit" in ran.stdout
    assert "So far 2 of 2 steps of the scenario fit some run." in ran.stdout


def test_two_engines_are_compared(folder: Path) -> None:
    ran = check(folder, "--check", "unmet", "--cross-check")
    assert "Cross-check: local agrees, with the same counts." in ran.stdout


def test_the_trace_of_a_scenario_is_replayed_with_its_constants(tmp_path: Path) -> None:
    text = f"{SPEC}scenario s: const N = 1; tick; expect ticks == 2\n"
    (tmp_path / "m.fence").write_text(text, encoding="utf-8")
    assert check(tmp_path, "--check", "s", "--trace", "t.itf.json").code == 0
    assert run("trace", "replay", "t.itf.json", "m.fence", folder=tmp_path).code == 0
    asked = run("eval", "m.fence", "N + ticks", "--trace", "t.itf.json", folder=tmp_path)
    assert asked.stdout.split() == ["3"]


@pytest.mark.parametrize(
    ("words", "phrase"),
    [
        (("--engine", "bmc", "--depth", "4"), "the engine bmc does not visit states"),
        (("--cross-check=bmc",), "the engine bmc does not visit states"),
        (("--invariant", "I"), "--invariant applies to checks only"),
        (("--profile", "--engine", "local"), "--profile applies to checks only"),
        (("--checkpoint", "there", "--engine", "local"), "--checkpoint applies to checks only"),
    ],
)
def test_options_for_checks_are_refused(folder: Path, words: tuple[str, ...], phrase: str) -> None:
    ran = run("check", "m.fence", "--check", "met", *words, folder=folder)
    assert ran.code == Exit.USAGE
    assert f"error[F854]: scenario met: {phrase}" in ran.stderr


def test_other_commands_want_checks(folder: Path) -> None:
    ran = run("sweep", "m.fence", "--check", "met", "--const", "N=1..2", folder=folder)
    assert "error[F854]: met is a scenario, but a check is required here" in ran.stderr


def test_a_symbolic_constant_needs_a_value(tmp_path: Path) -> None:
    text = "const E: 0..3 = any\nvar x: 0..3 = E\naction a: x = E\n"
    text += "scenario s: a; expect x == 1\nscenario t: const E = 1; a; expect x == 1\n"
    (tmp_path / "m.fence").write_text(text, encoding="utf-8")
    assert "error[F854]: scenario s needs a value for E" in check(tmp_path, "--check", "s").stderr
    assert check(tmp_path, "--check", "t").code == 0


def test_states_outside_a_constraint_are_not_left(tmp_path: Path) -> None:
    text = "var x: 0..9 = 0\naction up: x += 1\nconstraint: x < 3\n"
    text += "scenario within: up; up; up; expect x == 3\nscenario out: ...; expect x == 4\n"
    model, scenario, read = staged(tmp_path / "m.fence", text, "out")
    assert plainly(model, scenario) == (False, 0)
    assert summary(played(read, "interpreter", "out")) == ("unreached", "0 behind")
    assert summary(played(read, "interpreter", "within")) == ("ok", "3")


def test_steps_that_do_not_fit_are_not_reported_as_outside_a_constraint(tmp_path: Path) -> None:
    """The search takes steps that do not fit only to evaluate `enabled` at the end of a scenario,
    and no report mentions them.
    """
    text = "var x: 0..3 = 0\naction a: require x < 3; x += 1\n"
    for end in ("not enabled(a)", "enabled(a)"):
        spec = f"{text}scenario s: a; a; a; expect {end}\n"
        (tmp_path / "m.fence").write_text(spec, encoding="utf-8")
        summary = run("check", "m.fence", folder=tmp_path).stdout
        assert ("ok, as expected" in summary) == (end == "not enabled(a)")
        assert "constraint" not in summary
        assert "outside" not in summary


def test_an_initial_state_that_fails(tmp_path: Path) -> None:
    text = "var x: 0..3 = 4 // (1 - 1)\naction a: x = 1\nscenario s: a; expect x == 1\n"
    (tmp_path / "m.fence").write_text(text, encoding="utf-8")
    ran = check(tmp_path, "--check", "s")
    assert ran.code == 4
    assert "The initial state fails (the divisor is zero), so there is no run." in ran.stdout
