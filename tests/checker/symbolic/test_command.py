"""Solver engines on the command line: reports, refusals, saved queries and exit codes."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from tests.support.command import run
from tests.support.processes import finished, started
from tests.support.solver import answers
from tests.support.text_tables import tables

from fencepost.checker.api import check
from fencepost.checker.outcome import Limit, Outcome
from fencepost.checker.run.cross_check import Disagreement
from fencepost.checker.search.account import Account, Cut
from fencepost.checker.symbolic import bounded
from fencepost.checker.symbolic.terms import Truth
from fencepost.checker.temporal import lasso
from fencepost.checker.temporal.units import Unit
from fencepost.spec.semantics.stepper import Runner
from fencepost.spec.text.problem import Rejected

TABLES = tables(Path(__file__))

Reasons = dict[Unit, lasso.Reason | None]

COUNTER = """
const E0: int16 = any where 0 <= E0 and E0 < 32767
var x: int16 = E0
var ends: bool = false
action up: require not ends; x = x + 1
action stop: require not ends; ends = true
invariant Positive: x >= 0
invariant Going: not ends
reachable Far: x == 32000
terminal: ends
check wraps:
    engine bmc, depth 4
    expect violated Positive
    expect depth == 3
check short:
    properties: Positive
    const E0 = 5
    expect ok within 3
check reached:
    engine bmc, depth 3
    properties: Far
    expect ok within 3
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "counter.fence").write_text(COUNTER, encoding="utf-8")
    return tmp_path


def test_each_check_is_as_expected(folder: Path) -> None:
    ran = run("check", "counter.fence", "-v", folder=folder)
    assert ran.code == 0, ran.stdout
    assert "with E0 = 32766" in ran.stdout
    assert "ok within 3, as expected" in ran.stdout
    assert "every path of at most 3 steps; longer ones are unknown" in ran.stdout
    assert "distinct, " in ran.stdout.split("short  ")[1].split("reached  ")[0]
    assert "distinct" not in ran.stdout.split("reached  ")[1]
    assert "E0: int16 where 0 <= E0 and E0 < 32767" in ran.stdout


def test_json_has_no_counts(folder: Path) -> None:
    ran = run("check", "counter.fence", "--check", "wraps", "--format", "json", folder=folder)
    (wraps,) = json.loads(ran.stdout)["checks"]
    counted = ("distinct", "generated", "states_per_second")
    assert [wraps[name] for name in counted] == [None, None, None]
    assert (wraps["verdict"], wraps["depth"], len(wraps["trace"])) == ("violated", 3, 3)
    assert wraps["notes"][0] == "with E0 = 32766"


def test_traces_hold_the_constants(folder: Path) -> None:
    words = ("check", "counter.fence", "--check", "wraps", "--trace", "t.json")
    assert run(*words, folder=folder).code == 0
    meta = json.loads((folder / "t.json").read_text(encoding="utf-8"))["#meta"]
    assert meta["constants"]["E0"] == {"#bigint": "32766"}


@pytest.mark.parametrize(("words", "code", "says"), TABLES["limits_and_options"])
def test_limits_and_options(folder: Path, words: str, code: str, says: str) -> None:
    text = COUNTER.replace("    const E0 = 5\n", "")
    (folder / "counter.fence").write_text(text, encoding="utf-8")
    ran = run("check", "counter.fence", "--check", "short", *words.split(), folder=folder)
    assert str(int(ran.code)) == code, ran
    assert says in " ".join((ran.stdout + ran.stderr).split())


def test_an_unsatisfiable_condition_breaks_an_assumption(folder: Path) -> None:
    text = COUNTER.replace("E0 < 32767", "E0 < 0")
    (folder / "counter.fence").write_text(text, encoding="utf-8")
    ran = run("check", "counter.fence", "--check", "wraps", folder=folder)
    assert ran.code == 10
    assert "const E0: int16 = any where 0 <= E0 and E0 < 0" in ran.stdout


def test_a_condition_without_a_value_is_an_evaluation_error(folder: Path) -> None:
    text = COUNTER.replace("E0 < 32767", "100 // int(E0) > 0")
    (folder / "counter.fence").write_text(text, encoding="utf-8")
    ran = run("check", "counter.fence", "--check", "wraps", folder=folder)
    assert ran.code == 75
    assert "with E0 = 0" in ran.stdout


def test_the_queries_are_saved_and_can_be_repeated(folder: Path) -> None:
    words = ("check", "counter.fence", "--engine", "bmc", "--depth", "3", "--dump-smt2", "q.smt2")
    ran = run(*words, "--check", "wraps", "--check", "short", folder=folder)
    assert ran.code == 0, ran.stdout
    script = (folder / "q.smt2").read_text(encoding="utf-8")
    assert script.count("(reset)") == 2
    wanted = [line.split("; ")[1] for line in script.splitlines() if "(check-sat)" in line]
    assert answers(script) == wanted
    assert {"sat", "unsat"} == set(wanted)


def test_a_refused_run_leaves_old_questions(folder: Path) -> None:
    (folder / "q.smt2").write_text("old", encoding="utf-8")
    words = ("check", "counter.fence", "--engine", "local", "--dump-smt2", "q.smt2")
    assert run(*words, folder=folder).code == 151
    assert (folder / "q.smt2").read_text(encoding="utf-8") == "old"


def test_a_trace_that_does_not_replay_is_an_internal_error(folder: Path) -> None:
    with mock.patch.object(bounded, "first_impossible", return_value=1):
        ran = run("check", "counter.fence", "--check", "wraps", folder=folder)
    assert ran.code == 255
    assert "the trace does not replay" in ran.stderr


def hard(folder: Path) -> None:
    """Writes a spec with a factorisation, which is simple to state and hard for a solver."""
    (folder / "hard.fence").write_text(
        """
        const P: int[64] = any where 1 < P and P < 4_294_967_296
        const Q: int[64] = any where 1 < Q and Q < 4_294_967_296 and P <= Q
        var x: bool = false
        action go: x = P * Q == 8_562_191_377_912_236_049
        invariant Prime: not x
        """.replace("\n        ", "\n"),
        encoding="utf-8",
    )


def test_a_hard_question_ends_by_the_limit_for_the_solver(folder: Path) -> None:
    hard(folder)
    words = ("check", "hard.fence", "--engine", "bmc", "--depth", "1", "--solver-timeout", "0.2")
    ran = run(*words, folder=folder)
    assert ran.code == 3, ran.stdout
    assert "cut by --solver-timeout 0.2" in ran.stdout


def test_from_python(folder: Path) -> None:
    result = check(folder / "counter.fence", checks=["wraps"], solver_timeout=60)
    assert result.as_expected
    assert (result.distinct, result.generated, result.depth) == (None, None, 3)
    with pytest.raises(Rejected, match="--solver-timeout has no meaning"):
        check(folder / "counter.fence", engine="local", solver_timeout=60)


def test_without_the_solver_the_error_has_one_line(folder: Path) -> None:
    code = (
        "import sys, fencepost.checker.cli.main as cli\n"
        "sys.modules['z3'] = None\n"
        "print(cli.main(sys.argv[1:]))\n"
    )

    def run_there(*words: str) -> tuple[str, str]:
        done = finished(sys.executable, "-c", code, "check", "counter.fence", *words, folder=folder)
        assert done.returncode == 0
        return done.stdout, done.stderr

    stdout, stderr = run_there("--check", "wraps")
    assert stdout == "151\n"
    assert stderr.startswith('error[F030]: the engine "bmc" cannot run here (')
    assert stderr.count("\n") == 1
    assert "z3" in stderr
    assert run_there("--check", "short")[1] == ""


HEARING = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from fencepost.checker.cli.main import main
raise SystemExit(main())
"""
"""The command with the default SIGINT handler, since shells ignore it for background processes."""


def until_loaded(process: int, library: str) -> None:
    """Waits until a process has loaded a library, which may take long on a busy machine."""
    maps, patience = Path(f"/proc/{process}/maps"), time.monotonic() + 60
    if not maps.exists():
        time.sleep(5.0)
        return
    while library not in maps.read_text(encoding="utf-8"):
        assert time.monotonic() < patience
        time.sleep(0.1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_a_question(number: signal.Signals, folder: Path) -> None:
    hard(folder)
    words = ("check", "hard.fence", "--no-progress", "--engine", "bmc", "--depth", "1")
    with started(sys.executable, "-c", HEARING, *words, folder=folder) as process:
        until_loaded(process.pid, "libz3")
        time.sleep(2.0)
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stderr) == (3, "")
    assert "the search was interrupted after 0 steps" in stdout


@pytest.mark.parametrize(("words", "says"), TABLES["engines_are_compared"])
def test_engines_are_compared(folder: Path, words: str, says: str) -> None:
    text = COUNTER.replace("    engine bmc, depth 4\n", "").replace("    expect depth == 3\n", "")
    (folder / "counter.fence").write_text(text, encoding="utf-8")
    ran = run("check", "counter.fence", "--cross-check", *words.split(), folder=folder)
    assert f"Cross-check: {says}" in " ".join(ran.stdout.split()), ran


def test_engines_that_differ_are_an_internal_error(folder: Path) -> None:
    words = ("check", "counter.fence", "--cross-check", "--check", "wraps", "--const", "E0=32766")
    with mock.patch.object(bounded.BoundedSearch, "_questions", return_value=[]):
        ran = run(*words, folder=folder)
    assert ran.code == 255
    assert "bmc finds no problem in 4 steps and local finds violated Positive" in ran.stderr
    (saved,) = Path(ran.stderr.strip().rpartition(" ")[2]).iterdir()
    assert saved.name == "local.itf.json"


TWO_ERRORS = """
var x: 0..1 = 0
var y: 0..1 = 0
action a: x += 1; y += 1
action c: y = 1
terminal: true
"""


@pytest.mark.parametrize("engine", ["local", "bmc", "interpreter"])
def test_engines_report_the_same_of_two_errors(engine: str, folder: Path) -> None:
    (folder / "two.fence").write_text(TWO_ERRORS, encoding="utf-8")
    every = "--cross-check=local,bmc,interpreter"
    words = ("check", "two.fence", "--engine", engine, "--depth", "2", every)
    for more in ((), ("--continue",)):
        ran = run(*words, *more, folder=folder)
        assert ran.code == 75, ran
        assert "two.fence:4:24" in ran.stdout
        assert ran.stdout.count("Cross-check: ") == 2


@pytest.mark.parametrize("engine", ["local", "bmc"])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_deadlock_of_the_last_level_is_not_a_disagreement(
    engine: str, depth: int, folder: Path
) -> None:
    text = "var x: 0..2 = 0\naction a:\n    require x < 2\n    x += 1\n"
    (folder / "dead.fence").write_text(text, encoding="utf-8")
    words = ("check", "dead.fence", "--engine", engine, "--depth", str(depth))
    ran = run(*words, "--cross-check=interpreter,local,bmc", folder=folder)
    is_found = depth == 3 or (depth == 2 and engine == "bmc")
    assert ran.code == (11 if is_found else 3), ran
    beyond = "it also finds deadlock in states of the last level" in " ".join(ran.stdout.split())
    assert beyond == (engine == "local" and depth == 2)


@pytest.mark.parametrize(("words", "says"), TABLES["engines_to_compare_are_refused"])
def test_engines_to_compare_are_refused(folder: Path, words: str, says: str) -> None:
    ran = run("check", "counter.fence", "--check", "short", *words.split(), folder=folder)
    assert (ran.code, says in ran.stderr) == (151, True), ran


def test_the_next_word_is_not_an_engine(folder: Path) -> None:
    (folder / "two.fence").write_text(TWO_ERRORS, encoding="utf-8")
    ran = run("check", "--depth", "2", "--cross-check", "two.fence", folder=folder)
    assert "Cross-check: bmc finds the same in 2 steps." in ran.stdout
    assert "--cross-check" in ran.stdout.split("again: ")[1]


def test_explicit_engines_count_the_same(folder: Path) -> None:
    (folder / "two.fence").write_text(TWO_ERRORS, encoding="utf-8")
    words = ("check", "two.fence", "--cross-check=interpreter")
    assert (
        "Cross-check: interpreter agrees, with the same counts."
        in run(*words, folder=folder).stdout
    )
    taken = mock.patch("fencepost.checker.search.account.Account.outcome", autospec=True)
    usual = Account.outcome
    with taken as outcome:

        def one_more(account: Account, *rest: Any) -> Outcome:
            usual_outcome = usual(account, *rest)
            more = usual_outcome.statistics.distinct + len(seen)
            seen.append(1)
            return replace(
                usual_outcome, statistics=replace(usual_outcome.statistics, distinct=more)
            )

        seen: list[int] = []
        outcome.side_effect = one_more
        ran = run(*words, folder=folder)
    assert ran.code == 255
    assert "local finds error at depth 3" in ran.stderr
    assert "two.fence:4:24: y holds 0..1, but this value does not fit), 3 states" in ran.stderr
    assert "interpreter finds error at depth 3" in ran.stderr
    assert ", 4 states" in ran.stderr
    assert "Traceback" not in ran.stderr


BEHAVIOUR = """
var x: 0..2 = 0
fair action go: x = (x + 1) % 3
property P: eventually always x == 0
"""


@pytest.mark.parametrize(("engine", "other"), [("local", "interpreter"), ("interpreter", "local")])
def test_behaviours_are_compared_by_an_engine_that_decides_them(
    engine: str, other: str, folder: Path
) -> None:
    (folder / "go.fence").write_text(BEHAVIOUR, encoding="utf-8")
    words = ("check", "go.fence", "--engine", engine, "--cross-check")
    ran = run(*words, folder=folder)
    shown = " ".join(ran.stdout.split())
    assert ran.code == 13, ran
    assert f"Cross-check: {other} agrees, with the same counts. Bounded" in shown
    usual = lasso.reasons

    def forgetful(runner: Runner, found_lasso: lasso.Lasso) -> Reasons:
        """Returns a different reason for the fairness of the second lasso."""
        asked.append(found_lasso)
        shifted = len(asked) - 1
        return {
            unit: reason and replace(reason, taken=(reason.taken or 0) + shifted)
            for unit, reason in usual(runner, found_lasso).items()
        }

    asked: list[lasso.Lasso] = []
    with mock.patch("fencepost.checker.temporal.verdict.reasons", forgetful):
        ran = run(*words, folder=folder)
    assert ran.code == 255, ran
    assert f"{other} finds violated P" in ran.stderr


FLOWER = """
var x: 0..2 = 0
action out(n in 1..2):
    require x == 0
    x = n
action back: x = 0
property Apart: not ((always eventually x == 1) and (always eventually x == 2))
property Holds: (always x == 0) implies x == 0
property Leaves: eventually x == 1
"""
"""The only lasso that violates the first property visits two states in turn, which takes 4 steps,
although each of the two is one step away.
"""


@pytest.mark.parametrize("engine", ["bmc", "local"])
@pytest.mark.parametrize("depth", [2, 3, 4])
def test_lassos_are_compared_up_to_the_depth_of_bmc(engine: str, depth: int, folder: Path) -> None:
    (folder / "flower.fence").write_text(FLOWER, encoding="utf-8")
    words = ("check", "flower.fence", "--engine", engine, "--depth", str(depth))
    ran = run(*words, "--cross-check=bmc,local", folder=folder)
    assert ran.code == 13, ran
    assert "Cross-check: " in ran.stdout
    first = "Apart" if engine == "local" or depth == 4 else "Leaves"
    assert f"property {first} is violated" in ran.stdout
    blind = mock.patch.object(bounded.BoundedSearch, "_behaviours", return_value=None)
    with blind:
        ran = run(*words, "--cross-check=bmc,local", folder=folder)
    # A lasso that is too long for bmc is not a disagreement.
    assert ran.code == (255 if depth == 4 else 3 if engine == "bmc" else 13), ran
    assert ("bmc finds no problem" in ran.stderr) == (ran.code == 255)


def test_compared_from_python(folder: Path) -> None:
    (folder / "two.fence").write_text(TWO_ERRORS, encoding="utf-8")
    result = check(folder / "two.fence", depth=2, cross_check=["bmc", "interpreter"])
    assert len([note for note in result.checks[0].outcome.notes if "Cross-check" in note]) == 2
    assert "--cross-check=bmc,interpreter" in str(result)
    with (
        mock.patch.object(bounded.BoundedSearch, "_questions", return_value=[]),
        pytest.raises(Disagreement, match="bmc finds no problem"),
    ):
        check(folder / "counter.fence", checks=["short"], const={"E0": 32766}, depth=3,
              cross_check=True)  # fmt: skip


HANGS = """
var n: 0..4095 = 0
var m: map[0..15, 0..255] = [0 for k in 0..15]
action some:
    pick x in 0..999 where x % 7 == n % 7
    pick y in 0..1
    n = x
    pick z in {k for k in 0..15 if m[k] < 9}
    m[z] = m[z] + y
"""


@pytest.mark.parametrize("engine", ["bmc --depth 3", "induction"])
def test_the_timeout_includes_building_formulas(engine: str, folder: Path) -> None:
    (folder / "hangs.fence").write_text(HANGS, encoding="utf-8")
    started = time.process_time()
    words = ("check", "hangs.fence", "--timeout", "0.5", "--engine", *engine.split())
    ran = run(*words, folder=folder)
    assert ran.code == 3, ran
    assert "the search was cut by --timeout 0.5" in ran.stdout
    # Without the limit, the check takes minutes.
    assert time.process_time() - started < 20


WIDE = """
var m: map[0..99, 0..255] = [0 for k in 0..99]
action some(a in 0..99, b in 0..99, c in 0..255):
    m[a] = m[b] * c % 256
terminal: true
invariant I: m[3] != 77
"""


def test_the_timeout_includes_guessing_lemmas(folder: Path) -> None:
    """Random walks refute most guesses, but each state of this spec has two million steps."""
    (folder / "wide.fence").write_text(WIDE, encoding="utf-8")
    started = time.process_time()
    words = ("check", "wide.fence", "--timeout", "3", "--engine", "induction")
    ran = run(*words, folder=folder)
    assert ran.code == 3, ran
    assert time.process_time() - started < 20


def test_problems_found_before_a_limit_are_reported(folder: Path) -> None:
    """A problem found by one query is kept, whichever later query the limit cuts."""
    (folder / "two.fence").write_text(TWO_ERRORS, encoding="utf-8")
    usual = bounded.BoundedSearch.ask

    def cut_after(limit: int) -> Callable[[bounded.BoundedSearch, Truth], object]:
        models: list[object] = []

        def ask(search: bounded.BoundedSearch, question: Truth) -> object:
            if len(models) == limit:
                raise Cut(Limit("timeout", 1))
            model = usual(search, question)
            if model is not None and search.levels and question is not True:
                models.append(model)
            return model

        return ask

    words = ("check", "two.fence", "--engine", "bmc", "--depth", "2", "--timeout", "60")
    for limit in (1, 2):
        with mock.patch.object(bounded.BoundedSearch, "ask", cut_after(limit)):
            ran = run(*words, folder=folder)
        assert ran.code == 75, ran
        assert "there may be other problems, even ones of the same length" in " ".join(
            ran.stdout.split()
        )


def test_a_cut_run_is_not_compared(folder: Path) -> None:
    words = ("--cross-check", "--check", "short", "--max-states", "2")
    ran = run("check", "counter.fence", *words, folder=folder)
    assert "No cross-check: the engine local was cut (--max-states 2)." in ran.stdout
    ran = run("check", "counter.fence", "--engine", "induction", *words[:3], folder=folder)
    assert ran.code == 151
