"""Engines with a solver on the command line: what is told, refused, saved and returned."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import pytest
from tests.checker.solver import answers
from tests.checker.test_cli import environment
from tests.command import run

from fencepost.checker.api import check
from fencepost.checker.symbolic import bounded
from fencepost.spec.problem import Rejected

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
    ran = run("check", "counter.fence", folder=folder)
    assert ran.code == 0, ran.stdout
    assert "with E0 = 32766" in ran.stdout
    assert "ok within 3, as expected" in ran.stdout
    assert "every path of at most 3 steps; nothing is known of longer ones" in ran.stdout
    assert "distinct, " in ran.stdout.split("short  ")[1].split("reached  ")[0]
    assert "distinct" not in ran.stdout.split("reached  ")[1]
    assert "E0: int16 where 0 <= E0 and E0 < 32767" in ran.stdout


def test_json_has_no_counts(folder: Path) -> None:
    ran = run("check", "counter.fence", "--check", "wraps", "--format", "json", folder=folder)
    (one,) = json.loads(ran.stdout)["checks"]
    counted = ("distinct", "generated", "states_per_second")
    assert [one[name] for name in counted] == [None, None, None]
    assert (one["verdict"], one["depth"], len(one["trace"])) == ("violated", 3, 3)
    assert one["notes"][0] == "with E0 = 32766"


def test_traces_hold_the_constants(folder: Path) -> None:
    words = ("check", "counter.fence", "--check", "wraps", "--trace", "t.json")
    assert run(*words, folder=folder).code == 0
    meta = json.loads((folder / "t.json").read_text(encoding="utf-8"))["#meta"]
    assert meta["constants"]["E0"] == {"#bigint": "32766"}


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ("--engine bmc --depth 2", 12, "expected ok within 3, but invariant Positive is violated"),
        ("--engine bmc --depth 2 --const E0=7", 3, "cut by --depth 2 after 3 levels"),
        ("--engine bmc --depth 3 --const E0=7", 0, "ok within 3"),
        ("--depth 2 --const E0=7", 3, "cut by --depth 2 after"),
        ("--engine bmc --depth 9 --max-states 3", 151, "--max-states means nothing"),
        ("--engine local --solver-timeout 3", 151, "--solver-timeout means nothing"),
        ("--engine interpreter --dump-smt2 f", 151, "for the engines bmc"),
        ("--engine bmc --workers 2 --depth 3", 151, "the bmc uses one worker"),
        ("--engine bmc --depth 3 --const E0=-1", 10, "an assumption about the constants is false"),
        ("--const E0=32767", 10, "an assumption about the constants is false"),
    ],
)
def test_limits_and_options(folder: Path, words: str, code: int, says: str) -> None:
    text = COUNTER.replace("    const E0 = 5\n", "")
    (folder / "counter.fence").write_text(text, encoding="utf-8")
    ran = run("check", "counter.fence", "--check", "short", *words.split(), folder=folder)
    assert (ran.code, says in " ".join((ran.stdout + ran.stderr).split())) == (code, True), ran


def test_a_condition_that_nothing_meets_breaks_an_assumption(folder: Path) -> None:
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


def test_the_questions_are_saved_and_can_be_asked_again(folder: Path) -> None:
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


def test_a_trace_that_does_not_replay_is_a_mistake_of_ours(folder: Path) -> None:
    with mock.patch.object(bounded, "first_impossible", return_value=1):
        ran = run("check", "counter.fence", "--check", "wraps", folder=folder)
    assert ran.code == 255
    assert "the trace does not replay" in ran.stderr


def hard(folder: Path) -> None:
    """A factorisation: easy to state, and nothing that a solver does in a moment."""
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
    with pytest.raises(Rejected, match="--solver-timeout means nothing"):
        check(folder / "counter.fence", engine="local", solver_timeout=60)


def test_without_the_solver_one_line_says_so(folder: Path) -> None:
    code = (
        "import sys, fencepost.checker.cli as cli\n"
        "sys.modules['z3'] = None\n"
        "print(cli.main(sys.argv[1:]))\n"
    )

    def run_there(*words: str) -> tuple[str, str]:
        ran = subprocess.run(
            [sys.executable, "-c", code, "check", "counter.fence", *words],
            cwd=folder, env=environment(), capture_output=True, text=True, check=True,
        )  # fmt: skip
        return ran.stdout, ran.stderr

    stdout, stderr = run_there("--check", "wraps")
    assert stdout == "151\n"
    assert stderr.startswith('error[F030]: the engine "bmc" cannot run here (')
    assert stderr.count("\n") == 1
    assert "z3" in stderr
    assert run_there("--check", "short")[1] == ""


HEARING = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from fencepost.checker.cli import main
raise SystemExit(main())
"""
"""The command, where Ctrl-C is heard: what a shell starts in the background ignores it."""


def until_loaded(process: int, library: str) -> None:
    """Waits until a process has loaded a library: on a busy machine its start takes long."""
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
    process = subprocess.Popen(
        [sys.executable, "-c", HEARING, "check", "hard.fence", "--no-progress",
         "--engine", "bmc", "--depth", "1"],
        cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:
        try:
            until_loaded(process.pid, "libz3")
            time.sleep(2.0)
            process.send_signal(number)
            stdout, stderr = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, stderr) == (3, "")
    assert "the search was interrupted after 1 level" in stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--check wraps --const E0=32760", "bmc finds the same in 9 steps"),
        ("--check wraps --const E0=32760 --depth 4", "bmc finds the same in 4 steps"),
        ("--check wraps --engine bmc --depth 8 --const E0=32760", "local finds the same in 8"),
        ("--check short", "bmc finds the same in 3 steps"),
        ("--check short --continue --invariant Going", "bmc finds the same in 3 steps"),
    ],
)
def test_engines_are_compared(folder: Path, words: str, says: str) -> None:
    text = COUNTER.replace("    engine bmc, depth 4\n", "").replace("    expect depth == 3\n", "")
    (folder / "counter.fence").write_text(text, encoding="utf-8")
    ran = run("check", "counter.fence", "--cross-check", *words.split(), folder=folder)
    assert f"Cross-check: {says}" in " ".join(ran.stdout.split()), ran


def test_engines_that_differ_are_a_mistake_of_ours(folder: Path) -> None:
    words = ("check", "counter.fence", "--cross-check", "--check", "wraps", "--const", "E0=32766")
    with mock.patch.object(bounded.Search, "_questions", return_value=[]):
        ran = run(*words, folder=folder)
    assert ran.code == 255
    assert "bmc finds no problem in 4 steps and local finds violated Positive" in ran.stderr
    (saved,) = Path(ran.stderr.strip().rpartition(" ")[2]).iterdir()
    assert saved.name == "local.itf.json"


def test_a_cut_run_is_not_compared(folder: Path) -> None:
    words = ("--cross-check", "--check", "short", "--max-states", "2")
    ran = run("check", "counter.fence", *words, folder=folder)
    assert "No cross-check: the engine local was cut (--max-states 2)." in ran.stdout
    ran = run("check", "counter.fence", "--engine", "induction", *words[:3], folder=folder)
    assert ran.code == 151
