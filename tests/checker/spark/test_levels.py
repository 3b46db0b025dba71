"""The Spark engine, run within this process, gives the same results as the interpreter.

``python -m tests.support.spread_runs FIRST COUNT`` runs thousands of comparisons.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from threading import Event
from typing import Any

import pytest
from tests.support.agreement import Observed, Run, assert_same, run_of
from tests.support.comparisons import MANY
from tests.support.spread import Accumulator, Faults
from tests.support.spread_runs import Codes, behind

from fencepost.checker.native.machine.worker_context import SlotReport
from fencepost.checker.outcome import Limit
from fencepost.checker.request import Cluster, Limits
from fencepost.checker.search.account import Cut
from fencepost.checker.search.limits import Watch
from fencepost.checker.spark import outbox, records, tasks
from fencepost.checker.spark.outbox import Callback
from fencepost.checker.spark.records import Broken, Expansion, Kind, Sight
from fencepost.checker.spark.search import Spark
from fencepost.checker.spark.states import ClusterStates, SparkStates
from fencepost.spec.text.problem import Rejected

UP = "var n: 0..5 = 0\nvar m: 0..2 = 0\naction up: n += 1\naction turn: m = (m + 1) % 3\n"
BOUNDED = """
var n: 0..3 = 0
var m: 0..2 = 0
action up:
    require n < 3
    n += 1
action turn(k in 1..2):
    require n == 0 and m == 0
    m = k
"""
COUNTS = """
var n: 0..9 = 0
var m: 0..9 = 0
action up:
    require n < 9
    n += 1
action more:
    require m < 9
    m += 1
terminal: n == 9 and m == 9
"""
"""A spec with a hundred states in 19 levels."""
PROBLEMS = {
    "deadlock": ("deadlock", BOUNDED),
    "a value outside its range": ("error", UP),
    "assertion": ("assertion", f"{UP}action sure: assert n < 3\n"),
    "step invariant": ("violated", f"{UP}step invariant Grows: n < 3 or next(n) == n\n"),
    "invariant": ("violated", f"{UP}invariant Low: n < 3\n"),
    "an invariant without a value": ("error", f"{UP}invariant Low: 6 // (3 - n) != 7\n"),
    "a step invariant without a value": (
        "error",
        f"{UP}step invariant S: 6 // (3 - n) != next(n) + 9\n",
    ),
    "a reachable without a value": ("error", f"{UP}reachable R: 6 // (3 - n) == 7\n"),
    "a constraint without a value": ("error", f"{UP}constraint: 6 // (3 - n) != 7\n"),
    "a terminal without a value": ("error", f"{BOUNDED}terminal: 6 // (n - 3) == 0\n"),
}
"""Specs with a problem beyond the first level, and their verdicts."""


ENGINE = Spark(Cluster(partitions=3), behind(1))
"""The engine, which searches all levels but the first one on the cluster."""


def spread(run: Run, faults: Faults | None = None, together: bool = True) -> Observed:
    """Returns the result of the Spark engine for a run."""
    return Codes(run.model, together=together).by(ENGINE, run, faults)


# ---------------------------------------------------------------- agreement with the interpreter


@pytest.mark.parametrize("constraint", ["", "constraint Inside: true\n", "constraint C: m < 2\n"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_problem_is_found(name: str, constraint: str) -> None:
    verdict, text = PROBLEMS[name]
    first = run_of(text + constraint)
    codes = Codes(first.model)
    for limits in (Limits(), Limits(max_states=MANY), Limits(depth=50, max_states=MANY)):
        for keep_going in (False, True):
            run = replace(first, limits=limits, keep_going=keep_going)
            result = codes.by(ENGINE, run)
            assert result.verdict == verdict
            assert_same(run.by("interpreter"), result, f"{run}\n{text}{constraint}")


def test_a_level_may_be_examined_again(monkeypatch: pytest.MonkeyPatch) -> None:
    real = ClusterStates.examine

    def examine(states: ClusterStates) -> None:
        real(states)
        real(states)

    monkeypatch.setattr(ClusterStates, "examine", examine)
    for verdict, text in PROBLEMS.values():
        run = run_of(f"{text}constraint C: m < 2\n", limits=Limits(max_states=MANY))
        result = spread(run)
        assert result.verdict == verdict
        assert_same(run.by("interpreter"), result, text)


# ---------------------------------------------------------------- lost tasks and missing data


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_tasks_and_blocks_that_are_lost(seed: int, together: bool) -> None:
    run = run_of(f"{COUNTS}constraint: n + m < 17\n")
    faults = Faults(seed, given_up=10, lost=10, gone=4)
    assert_same(run.by("interpreter"), spread(run, faults, together), f"{faults}")
    assert {"given up", "lost", "gone"} <= faults.met.keys()


def test_a_problem_found_in_a_level_that_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the level is cut, some tasks have reported the problem and others have not finished."""
    real, real_look = tasks.merge, Watch.look
    started, cut = Event(), Event()

    def look(watch: Watch) -> None:
        if started.is_set() and not cut.is_set():
            cut.set()
            raise Cut(Limit("timeout", 1))
        real_look(watch)

    def merge(
        shipped: Any, order: records.Order, accounts: Any, partition: int, blobs: Iterable[bytes]
    ) -> Iterator[bytes]:
        if order.level == 5 and partition == 2:
            started.set()
            assert cut.wait(60)
        yield from real(shipped, order, accounts, partition, blobs)

    monkeypatch.setattr(tasks, "merge", merge)
    monkeypatch.setattr(Watch, "look", look)
    run = run_of(f"{COUNTS}action sure: assert n + m < 3\n")
    outcome = Codes(run.model).outcome(ENGINE, run)
    assert outcome.cut == Limit("timeout", 1)
    assert outcome.verdict.value == "assertion"
    assert outcome.findings[0].trace is not None
    assert len(outcome.findings[0].trace.steps) == 5
    assert "The search was cut (--timeout 1)" in outcome.notes[0]


@pytest.mark.parametrize("failures", [1, MANY])
def test_a_callback_of_machine_code_that_fails(
    failures: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Machine code cannot propagate an exception of a callback, and would lose a successor."""
    struck = 0
    real = Callback.__call__

    def call(self: Callback, owner: int) -> None:
        def without_memory(_: int) -> None:
            raise MemoryError("struck")

        nonlocal struck
        struck += 1
        if struck <= failures:
            self._function = without_memory  # pyright: ignore[reportPrivateUsage]
        real(self, owner)

    monkeypatch.setattr(outbox, "BLOCK_BYTES", 8)
    monkeypatch.setattr(Callback, "__call__", call)
    run = run_of(COUNTS)
    if failures == 1:
        assert_same(run.by("interpreter"), spread(run), "the level is made again")
    else:
        with pytest.raises(Rejected, match=r"F034.*gave up: MemoryError: struck"):
            spread(run)
    assert struck > 1


@pytest.mark.parametrize("failures", [1, MANY])
def test_a_missing_account(failures: int, monkeypatch: pytest.MonkeyPatch) -> None:
    left, real = [failures], Accumulator.take

    def take(self: Accumulator, term: bytes) -> None:
        left[0] -= 1
        if left[0] < 0:
            real(self, term)

    monkeypatch.setattr(Accumulator, "take", take)
    run = run_of(COUNTS)
    if failures == 1:
        assert_same(run.by("interpreter"), spread(run), "the level is made again")
    else:
        with pytest.raises(Rejected, match=r"F034.*have given no account of level 2"):
            spread(run)


LESS: dict[str, tuple[Any, str, str]] = {
    "handed over": (SparkStates, "_portions", "what was handed over has 0 states of 1"),
    "looking back": (tasks, "search_back", r"level \d has \d+ states, \d+ were there"),
    "expanding": (tasks, "expand", "has 1 states to expand"),
    "merging": (tasks, "merge", "successors from"),
}


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("name", LESS)
def test_a_missing_record(name: str, together: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run fails if the last item of some data is dropped."""
    home, function, message = LESS[name]
    real = getattr(home, function)

    def less(*arguments: Any) -> list[Any]:
        if home is SparkStates:
            return [*real(*arguments)][:-1]
        return [*real(*arguments[:-1], [*arguments[-1]][:-1])]

    monkeypatch.setattr(home, function, less)
    with pytest.raises(Rejected, match=f"F034.*{message}"):
        spread(run_of(f"{COUNTS}invariant Low: n + m < 4\n"), together=together)


# ---------------------------------------------------------------- records

EXPANDED = Expansion(
    5, 7, 1, b"\x01\xff", [SlotReport(3, 2, (1 << 63, 4), None)], 6, 0.5, 0.25, (12, 1),
    Sight(((2, (-4, 9)),), True),
)  # fmt: skip


def test_the_account_of_a_task_is_read_as_written() -> None:
    end = records.record(Kind.END, 2, 0, records.written(EXPANDED))
    assert records.read(end) == EXPANDED


@pytest.mark.parametrize(
    "payload", [b"", b"[]", b"\x80\x04.", b'{"a": 1}', b"[" * 100_000, b"[1.5,0,0,0,0,0,0,0,0,0]"]
)
def test_a_malformed_account_of_a_task(payload: bytes) -> None:
    with pytest.raises(Broken, match="the account of a task cannot be read"):
        records.read(records.record(Kind.END, 2, 0, payload))


def test_half_a_state_is_refused() -> None:
    assert records.count(records.record(Kind.STATES, 1, 0, bytes(32)), 2) == 2
    for size in (1, 8, 31):
        with pytest.raises(Broken, match="does not hold states of 2 words"):
            records.count(records.record(Kind.STATES, 1, 0, bytes(size)), 2)
