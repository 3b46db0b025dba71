"""Checks in separate processes give the same results as a sequential run, and end cleanly."""

from __future__ import annotations

import faulthandler
import hashlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.paths import ROOT
from tests.support.processes import COMMAND, finished, started

from fencepost.checker.outcome import Verdict
from fencepost.checker.request import Limits, Progress, ignored
from fencepost.checker.resources import WorkerKilled
from fencepost.checker.run import processes
from fencepost.checker.run.cross_check import Disagreement
from fencepost.checker.run.job import Job
from fencepost.checker.run.judge import CheckResult
from fencepost.checker.run.processes import Crew, Died
from fencepost.checker.run.session import Refusal, performed, plan
from fencepost.checker.run.settings import Request, Settings

SPEC = """\
const Wrong: bool = false
const Start: 0..9 = 0
var x: 0..20 = Start
fair action up(by in 1..2):
    require x < 20
    assert not Wrong or x < 7
    x += by
terminal: x > 17
invariant Low: x < 12
reachable Odd: x == 7
property Ends: eventually x > 10
check good:
    properties: Odd
check low:
    properties: Low
    expect violated Low
check asserted:
    const Wrong = true
    expect assertion
check overflow:
    properties: Ends
    expect error
check counted:
    properties: Odd
    expect states == 3
"""
LONG = """\
var x: 0..300000000 = 0
action up:
    require x < 300000000
    x += 1
terminal: true
check one:
    expect ok
check two:
    expect ok
check three:
    expect ok
"""


@pytest.fixture(name="jobs")
def _jobs(tmp_path: Path) -> tuple[Job, ...]:
    (tmp_path / "s.fence").write_text(SPEC, encoding="utf-8")
    settings = Settings(engine="interpreter", limits=Limits(workers=1))
    prepared = plan(Request((tmp_path / "s.fence",), settings=settings))
    assert not prepared.problems
    return prepared.specs[0].jobs


def report(folder: Path, *words: str) -> list[dict[str, Any]]:
    """Runs the command and returns its report without the values that vary."""
    done = finished(*COMMAND, "check", *words, "--format", "json", folder=folder)
    assert not done.stderr
    text = done.stdout if done.stdout.startswith("[") else f"[{done.stdout}]"
    specs: list[dict[str, Any]] = json.loads(text)
    for spec in specs:
        for check in spec["checks"]:
            for name in ("seconds", "states_per_second", "peak_bytes", "workers"):
                del check[name]
    return specs


def test_the_command_gives_the_same_report(tmp_path: Path) -> None:
    (tmp_path / "s.fence").write_text(SPEC, encoding="utf-8")
    assert report(tmp_path, "s.fence", "--jobs", "3") == report(tmp_path, "s.fence", "--jobs", "1")


SAMPLE = ["classics/die_hard", "classics/peterson", "classics/transaction_commit", "classics/raft"]
DIGEST = "bf03686db3cc5861"
"""The digest of the results of a sequential run (`--jobs 1`)."""


def test_the_figures_of_a_sample_stay() -> None:
    words = [f"models/{name}.fence" for name in SAMPLE]
    figures = [
        [check[name] for name in ("name", "verdict", "distinct", "generated", "depth")]
        for spec in report(ROOT, *words, "--jobs", "2")
        for check in spec["checks"]
    ]
    assert hashlib.sha256(json.dumps(figures).encode()).hexdigest()[:16] == DIGEST, figures


def test_results_refer_to_the_models_of_this_process(jobs: tuple[Job, ...]) -> None:
    crew = Crew(2, performed)
    try:
        crew.add(jobs)
        # Results may be taken in any order.
        results = {job.check.name: crew.result(job, ignored) for job in reversed(jobs)}
    finally:
        crew.close()
    for job in jobs:
        there, here = results[job.check.name], performed(job, ignored)
        assert isinstance(there, CheckResult)
        assert isinstance(here, CheckResult)
        assert there.job is job
        assert (there.explanation, there.exit) == (here.explanation, here.exit)
        assert there.outcome.findings == here.outcome.findings
        assert there.outcome.coverage == here.outcome.coverage
    failing = results["overflow"].finding
    assert failing is not None
    assert failing.site is not None
    assert failing.site.span.source is jobs[0].check.span.source  # type: ignore[union-attr]


def test_a_check_that_cannot_run(jobs: tuple[Job, ...]) -> None:
    def refused(job: Job, progress: object) -> Refusal:
        return Refusal(job, (), everywhere=True)

    assert _answer(jobs[0], refused) == Refusal(jobs[0], (), everywhere=True)


def _answer(job: Job, run: Callable[[Job, Callable[[Progress], None]], Any]) -> Any:
    crew = Crew(1, run)
    try:
        crew.add([job])
        return crew.result(job, ignored)
    finally:
        crew.close()


def _killed(number: int) -> Callable[[Job, object], None]:
    def run(job: Job, progress: object) -> None:
        # A traceback would mix with the output of the tests.
        faulthandler.disable()
        os.kill(os.getpid(), number)

    return run


def _raising(error: BaseException) -> Callable[[Job, object], None]:
    def run(job: Job, progress: object) -> None:
        raise error

    return run


def _leaving(job: Job, progress: object) -> None:
    os._exit(7)


@pytest.mark.parametrize(
    ("run", "error", "message"),
    [
        (_killed(signal.SIGKILL), WorkerKilled, "was killed by signal 9 (SIGKILL)"),
        (_killed(signal.SIGSEGV), Died, "check good: its process ended: -11"),
        (_leaving, Died, "check good: its process ended: 7"),
        (_raising(MemoryError()), MemoryError, ""),
        (_raising(KeyboardInterrupt()), KeyboardInterrupt, ""),
        (_raising(ZeroDivisionError("by what?")), Died, "ZeroDivisionError: by what?"),
    ],
)
def test_a_process_that_fails(
    jobs: tuple[Job, ...], run: Any, error: type[BaseException], message: str
) -> None:
    with pytest.raises(error) as raised:
        _answer(jobs[0], run)
    assert message in str(raised.value)


def _copies(jobs: tuple[Job, ...], count: int) -> list[Job]:
    return [replace(jobs[number % len(jobs)]) for number in range(count)]


@pytest.mark.parametrize("patience", [0.0, 1000.0])
def test_a_process_takes_several_checks(
    jobs: tuple[Job, ...], patience: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker takes several checks from a long queue, and returns those that it does not start."""
    monkeypatch.setattr(processes, "TURN_SECONDS", patience)
    many = _copies(jobs, 30)

    def numbered(job: Job, progress: object) -> tuple[str, int]:
        return job.title, os.getpid()

    crew = Crew(2, numbered)
    try:
        crew.add(many)
        results = [crew.result(job, ignored) for job in many]
    finally:
        crew.close()
    assert [title for title, _ in results] == [job.title for job in many]
    workers = len({number for _, number in results})
    # Process ids may be reused.
    assert workers > 25 if patience == 0 else workers < 25


@pytest.mark.parametrize(
    ("run", "error"),
    [
        (_leaving, Died),
        (_killed(signal.SIGKILL), WorkerKilled),
        (_raising(MemoryError()), MemoryError),
    ],
)
def test_a_failing_process_affects_no_other_check(
    jobs: tuple[Job, ...], run: Any, error: type[BaseException]
) -> None:
    many = _copies(jobs, 16)

    def failing(job: Job, progress: object) -> str:
        if job is many[2]:
            run(job, progress)
        return job.title

    crew = Crew(1, failing)
    try:
        crew.add(many)
        for job in many:
            if job is many[2]:
                with pytest.raises(error):
                    crew.result(job, ignored)
            else:
                assert crew.result(job, ignored) == job.title
    finally:
        crew.close()


def test_engines_that_differ(jobs: tuple[Job, ...]) -> None:
    def differing(job: Job, progress: Callable[[Progress], None]) -> None:
        first = performed(job, progress)
        assert isinstance(first, CheckResult)
        raise Disagreement((first, first))

    with pytest.raises(Disagreement) as raised:
        _answer(jobs[0], differing)
    assert [result.outcome.verdict for result in raised.value.results] == [
        Verdict.ERROR,
        Verdict.ERROR,
    ]


def test_an_interrupt_ends_every_process(tmp_path: Path) -> None:
    (tmp_path / "long.fence").write_text(LONG, encoding="utf-8")
    words = (*COMMAND, "check", "long.fence", "--jobs", "2", "--engine", "interpreter")
    with started(*words, folder=tmp_path) as process:
        until = time.monotonic() + 60
        while len(_children(process.pid)) < 2 and time.monotonic() < until:
            time.sleep(0.05)
        children = _children(process.pid)
        # Gives the child processes time to start searching.
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 3
    assert "one    inconclusive" in output
    assert "not run: two, three" in output
    assert len(children) == 2
    assert not [number for number in children if Path(f"/proc/{number}").exists()]


def _children(number: int) -> list[int]:
    try:
        text = Path(f"/proc/{number}/task/{number}/children").read_text(encoding="ascii")
    except OSError:
        return []
    return [int(child) for child in text.split()]


test_an_interrupt_ends_every_process = pytest.mark.skipif(
    sys.platform != "linux", reason="it looks into /proc"
)(test_an_interrupt_ends_every_process)


@pytest.mark.parametrize(
    ("limits", "jobs", "expected"),
    [
        (Limits(), 3, 3),
        (Limits(workers=2), None, 1),
        (Limits(memory=1 << 30), None, 1),
        (Limits(workers=2), 4, 4),
        (Limits(), None, 2),
    ],
)
def test_the_number_of_processes(
    limits: Limits, jobs: int | None, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "processors", lambda: 8)
    monkeypatch.setattr(processes, "memory_bytes", lambda: (5 << 30) // 2)
    monkeypatch.setattr(processes, "_possible", lambda: True)
    assert processes.most(Settings(limits=limits), jobs) == expected
