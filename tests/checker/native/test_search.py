"""The engine ``local``: the exchange of code during a search, limits, signals and progress.

A row of `test_agreement` checks that the results of ``local`` are those of the interpreter.
"""

from __future__ import annotations

import gc
import os
import re
import signal
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Any

import pytest
from tests.support.agreement import loaded
from tests.support.core_builders import (
    DIGIT,
    TRUE,
    do,
    less,
    lit,
    model,
    plus,
    put,
    var,
)

from fencepost.checker.native import states
from fencepost.checker.native.explorer import Explorer
from fencepost.checker.native.machine.build import Code, Compilation
from fencepost.checker.native.search import Local
from fencepost.checker.native.states import LocalStates
from fencepost.checker.outcome import INTERRUPTED, Limit, Outcome, Verdict
from fencepost.checker.request import Limits, Progress, Request
from fencepost.checker.resources import resident_bytes
from fencepost.spec.core import ir
from fencepost.spec.core.operators import Operator
from fencepost.spec.core.types import Int
from fencepost.spec.elaborate.claims import program

SOON = 30.0
"""The tolerance in seconds. The searches that are cut here would take minutes, and a busy machine
is slow.
"""
LONG = Int(0, 99)
"""A type for three variables, which together have a million states."""


def run(
    model: ir.Model,
    engine: Local | None = None,
    limits: Limits | None = None,
    progress: Callable[[Progress], None] = lambda _: None,
) -> Outcome:
    """Returns the outcome of an engine for all properties, without times and bytes."""
    outcome = (engine or Local(watched=True)).run(
        Request(
            model,
            properties=frozenset(range(len(model.properties))),
            limits=limits or Limits(),
            progress=progress,
        )
    )
    return replace(outcome, statistics=replace(outcome.statistics, seconds=0, peak_bytes=0))


def digits(*bodies: ir.Statement, properties: Sequence[tuple[str, ir.Expr]] = ()) -> ir.Model:
    """Returns a model of two digits, both 0 initially."""
    start = do(put(0, lit(0)), put(1, lit(0)))
    return model(start, bodies, properties, (DIGIT, DIGIT))


def up(variable: int, top: int = 9) -> ir.Statement:
    """Returns a statement that increments a digit up to ``top``."""
    return do(ir.Require(less(var(variable), lit(top)), 0), put(variable, plus(var(variable), 1)))


def odometer(kind: Int = LONG) -> ir.Model:
    """Returns a model of three independent counters, with as many states as there are triples of
    values.
    """

    def count(variable: int) -> ir.Statement:
        top = lit(kind.high, kind)
        more = ir.Require(ir.Less(var(variable, kind), top), 0)
        wide, step = Int(1, kind.high + 1), lit(1, Int(1, 1))
        next_one = ir.Arithmetic(wide, Operator.ADD, var(variable, kind), step)
        return do(more, put(variable, ir.Convert(kind, next_one)))

    start = do(*(put(v, lit(0, kind)) for v in range(3)))
    bodies = [count(variable) for variable in range(3)]
    return model(start, bodies, [("terminal", TRUE)], (kind, kind, kind))


def test_better_code_takes_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fencepost.checker.native.machine.build.MIN_SAVING", 0.0)
    monkeypatch.setattr("fencepost.checker.native.machine.build.MIN_SAVING_IN_PARALLEL", 0.0)
    spec = odometer(Int(0, 59))
    for workers in (1, 2):
        outcome = run(spec, Local(watched=True), limits=Limits(workers=workers))
        assert (outcome.verdict, outcome.statistics.distinct) == (Verdict.OK, 60**3)


class Owner:
    """A substitute for the object that owns machine code and frees it when collected."""


@pytest.mark.parametrize("workers", [1, 2])
def test_code_stays_while_it_runs(monkeypatch: pytest.MonkeyPatch, workers: int) -> None:
    """Machine code that calls back stays in memory until it is returned to, even if better code
    replaces it during the call.
    """
    engines: list[object] = []
    owners: list[weakref.ref[Owner]] = []
    there: list[bool] = []
    compilations: list[Compilation] = []
    exchange = Explorer.use

    def begun(code: Code, *others: Any) -> Explorer:
        engines.append(code.engine)
        owner = Owner()
        owners.append(weakref.ref(owner))
        return Explorer(replace(code, engine=owner), *others)

    def kept(compilation: Compilation) -> None:
        compilations.append(compilation)

    def paused(now: LocalStates) -> None:
        calls = [frame.f_code.co_name for frame, _ in traceback.walk_stack(None)]
        if "_deliver_full" in calls and now.explorer.level > 40 and not there:
            now.explorer.use(compilations[0].best())

    def use(explorer: Explorer, code: Code) -> None:
        exchange(explorer, code)
        gc.collect()
        there.append(owners[0]() is not None)

    monkeypatch.setattr(Compilation, "kept", kept)
    monkeypatch.setattr(LocalStates, "_pause", paused)
    monkeypatch.setattr(states, "Explorer", begun)
    monkeypatch.setattr(Explorer, "use", use)
    for size in ("OWN_BLOCK", "SENT_BLOCK"):
        monkeypatch.setattr(f"fencepost.checker.native.worker.{size}", 1 << 12)
    outcome = run(odometer(Int(0, 79)), Local(watched=True), limits=Limits(workers=workers))
    assert there == [True]
    assert (outcome.verdict, outcome.statistics.distinct) == (Verdict.OK, 80**3)
    gc.collect()
    assert owners[0]() is None


# ---------------------------------------------------------------- limits


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_a_level_with_too_many_states_counts_whole(workers: int) -> None:
    spec = odometer()
    levels = run(spec).statistics.levels
    for limit in (0, 1, 3, 4, 5, 100_000):
        outcome = run(spec, limits=Limits(max_states=limit, workers=workers))
        assert outcome.limit == Limit("max-states", limit)
        assert outcome.verdict is Verdict.INCONCLUSIVE
        wanted = next(states for states in accumulate(levels) if states > limit) if limit else 0
        assert outcome.statistics.distinct == wanted
    assert run(spec, limits=Limits(max_states=100**3)).limit is None


def test_too_many_states_are_not_those_outside() -> None:
    inside = less(var(0), lit(1))
    spec = digits(up(0), up(1), properties=[("constraint", inside), ("terminal", TRUE)])
    assert run(spec, limits=Limits(max_states=10)).limit is None
    assert run(spec, limits=Limits(max_states=9)).limit == Limit("max-states", 9)
    assert run(spec, limits=Limits(max_states=8)).statistics.distinct == 9


def test_timeout() -> None:
    # On a busy machine, half a second may pass before the first step.
    for seconds in (0.5, 2.0, 8.0):
        started = time.monotonic()
        outcome = run(odometer(Int(0, 999)), limits=Limits(timeout=seconds, workers=2))
        assert time.monotonic() - started < seconds + SOON
        assert (outcome.verdict, outcome.limit) == (Verdict.INCONCLUSIVE, Limit("timeout", seconds))
        assert sum(outcome.coverage.taken) == outcome.statistics.generated - 1
        if outcome.statistics.generated > 1:
            return
    pytest.fail("no step was taken in 8 seconds")


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals(number: signal.Signals, workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fencepost.checker.search.limits.PROGRESS_SECONDS", 0.05)
    begun = threading.Event()
    sent: list[float] = []

    def send() -> None:
        if begun.wait(60):
            time.sleep(0.2)
            sent.append(time.monotonic())
            os.kill(os.getpid(), number)

    def progress(now: Progress) -> None:
        if now.level > 2:
            begun.set()

    threading.Thread(target=send, daemon=True).start()
    outcome = run(odometer(Int(0, 999)), limits=Limits(workers=workers), progress=progress)
    assert time.monotonic() - sent[0] < SOON
    assert (outcome.verdict, str(outcome.limit)) == (Verdict.INCONCLUSIVE, "interrupted")
    assert outcome.statistics.distinct > 0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


SLOW = {
    "loops": """
action a(i in 0..4095, j in 0..4095, k in 0..255):
    require (i + j * 7 + k * x) % 65537 == 65536
    x = 1
""",
    "choices that more follows": """
action a:
    for i in 0..7:
        pick j in 0..63
        x = (x + j) % 4
    require x * 7 % 65537 == 65536
""",
    "statements": """
action a:
    for i in 0..4095:
        for j in 0..4095:
            for k in 0..255:
                if (i + j + k + x) % 65537 == 65536:
                    x = 2
""",
    "a property": """
action a: x = 0
invariant I: forall i in 0..4095, j in 0..4095, k in 0..255: (i + j * 7 + k * x) % 65537 != 65536
""",
    "what is enabled": """
environment action a(i in 0..4095, j in 0..4095, k in 0..255):
    require (i + j * 7 + k * x) % 65537 == 65536
    x = 1
invariant I: enabled(a)
""",
}
"""Specs with a state that takes minutes to expand or check."""


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", SLOW)
def test_a_slow_state_is_interrupted(name: str, workers: int) -> None:
    spec = program.build(loaded(f"var x: 0..3 = 0{SLOW[name]}"), None)
    sent: list[float] = []

    def send() -> None:
        while signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            time.sleep(0.01)
        time.sleep(0.4)
        if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=send, daemon=True).start()
    outcome = run(spec, limits=Limits(workers=workers))
    assert time.monotonic() - sent[0] < SOON
    # An interrupted evaluation must not be reported as a problem.
    assert (outcome.verdict, str(outcome.limit)) == (Verdict.INCONCLUSIVE, "interrupted")
    assert outcome.findings == ()


def test_a_slow_state_runs_out_of_time() -> None:
    spec = program.build(loaded(f"var x: 0..3 = 0{SLOW['loops']}"), None)
    started = time.monotonic()
    outcome = run(spec, limits=Limits(timeout=0.5))
    assert time.monotonic() - started < SOON
    assert (outcome.verdict, str(outcome.limit)) == (Verdict.INCONCLUSIVE, "--timeout 0.5")


@pytest.mark.parametrize("workers", [1, 2])
def test_memory(workers: int) -> None:
    limit = resident_bytes() + (64 << 20)
    outcome = run(odometer(Int(0, 999)), Local(), limits=Limits(memory=limit, workers=workers))
    assert outcome.verdict is Verdict.INCONCLUSIVE
    assert outcome.limit == Limit("memory", limit)
    assert outcome.statistics.distinct > 1_000_000


def test_a_memory_limit_below_the_size_of_the_process() -> None:
    outcome = run(odometer(), limits=Limits(memory=1 << 20))
    assert (outcome.verdict, str(outcome.limit)) == (Verdict.INCONCLUSIVE, "--memory 1M")
    assert outcome.statistics.distinct == 0
    (note,) = outcome.notes
    message = r"The process takes [\d.]+ [MG]B before its first state: --memory 1M is too little."
    assert re.fullmatch(message, note)


def test_a_limit_in_a_level_with_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """An assertion that failed before the limit is reported with a trace."""
    kind = Int(0, 999)
    fails = ir.Assert(ir.Not(ir.Equal(var(0, kind), lit(70, kind))), 0)
    spec = odometer(kind)
    spec = replace(spec, actions=(*spec.actions, replace(spec.actions[0], body=fails)))
    box: list[float] = []

    def progress(now: Progress) -> None:
        if now.level == 71 and not box:
            box.append(now.seconds)
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("fencepost.checker.search.limits.PROGRESS_SECONDS", 0.0)
    monkeypatch.setattr("fencepost.checker.search.levels.PATIENCE_SECONDS", 30.0)
    outcome = run(spec, limits=Limits(workers=1), progress=progress)
    assert box
    if outcome.verdict is Verdict.ASSERTION:
        assert outcome.findings[0].trace is not None
        assert len(outcome.findings[0].trace.steps) == 72
        assert "cut (interrupted)" in outcome.notes[0]
    else:
        assert outcome.limit == INTERRUPTED


def test_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fencepost.checker.search.limits.PROGRESS_SECONDS", 0.01)
    reports: list[Progress] = []
    run(odometer(), limits=Limits(max_states=300_000, workers=2), progress=reports.append)
    assert len(reports) > 3
    for before, after in pairwise(reports):
        assert before.distinct <= after.distinct
        assert before.generated <= after.generated
    assert all(0 <= now.queue <= now.distinct and now.bytes for now in reports)
