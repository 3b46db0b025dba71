"""Several processes judge histories."""

from __future__ import annotations

import gc
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.command import run
from tests.support.lease import GRANT, HISTORIES, folder_with, written

from fencepost.checker.systems.conform import many
from fencepost.checker.systems.conform.lines import read
from fencepost.checker.systems.conform.mapping import MappedModel
from fencepost.checker.systems.conform.search import InterpreterJudge
from fencepost.checker.systems.conform.verdicts import Effort
from fencepost.spec.elaborate.claims.program import load, mapped


def count_of(processes: int) -> Callable[[int | None, int], int]:
    def most(workers: int | None, events: int) -> int:
        return processes

    return most


def test_several_processes_find_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_with(tmp_path)
    events = {f"{n} {name}": rows for n in range(9) for name, (rows, _, _) in HISTORIES.items()}
    path = folder / "r.jsonl"
    path.write_text(written(events), encoding="utf-8")
    program = load(folder / "map.fence")
    model, recording = mapped(program, program.checks[0], {})
    assert recording is not None
    histories = read(recording, [path]).histories
    alone, together = (InterpreterJudge(MappedModel(model, recording)) for _ in range(2))
    results = list(many.every(alone, histories, Effort(), 1))
    assert list(many.every(together, histories, Effort(), 3)) == results
    assert len(results) == len([rows for rows in events.values() if rows])
    monkeypatch.setattr(many, "most", count_of(2))
    ran = run("conform", "map.fence", "r.jsonl", folder=folder)
    monkeypatch.setattr(many, "most", count_of(1))
    assert run("conform", "map.fence", "r.jsonl", "--workers", "7", folder=folder) == ran
    assert ran.code == 15


def test_reading_and_judging_leave_no_reference_cycles(tmp_path: Path) -> None:
    """The garbage collector, which is off while lines are read and histories are judged, has
    nothing to free afterwards.
    """
    folder = folder_with(tmp_path)
    path = folder / "r.jsonl"
    path.write_text(
        written({name: history for name, (history, _, _) in HISTORIES.items()}), "utf-8"
    )
    program = load(folder / "map.fence")
    model, recording = mapped(program, program.checks[0], {})
    assert recording is not None
    compared = InterpreterJudge(MappedModel(model, recording))
    gc.collect()
    gc.disable()
    try:
        histories = read(recording, [path]).histories
        assert {history.verdict for history in many.every(compared, histories, Effort(), 1)} == {
            "allowed", "not allowed", "unknown",
        }  # fmt: skip
        assert not gc.isenabled()
        assert gc.collect() == 0
    finally:
        gc.enable()
    assert next(many.every(compared, histories, Effort(), 1)).key == ""
    assert gc.isenabled()


def test_a_killed_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_with(tmp_path)
    (folder / "r.jsonl").write_text(written({"f": [GRANT]}), encoding="utf-8")

    def ended(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(many, "most", count_of(2))
    monkeypatch.setattr(InterpreterJudge, "judge", ended)
    ran = run("conform", "map.fence", "r.jsonl", folder=folder)
    assert ran.code == 3
    assert re.search(r"worker [12] \(process \d+\) was killed by signal 9 \(SIGKILL\)", ran.stderr)
