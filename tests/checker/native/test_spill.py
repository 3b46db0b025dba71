"""A search that spills to disk gives the same results with little memory, and reports a full disk
and corrupted data.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from unittest import mock

import pytest
from tests.checker.native.test_saving import CONSTRAINED, at, every_level, whole
from tests.checker.test_symmetry import SPECS
from tests.support.agreement import Run, assert_same, summary
from tests.support.command import run
from tests.support.comparisons import translated_once
from tests.support.compressed_canary import canaries
from tests.support.paths import ROOT

from fencepost.checker.native import explorer
from fencepost.checker.native.machine import spill
from fencepost.checker.native.machine.memory import PAGE
from fencepost.checker.native.search import Local
from fencepost.checker.native.visited import store
from fencepost.checker.outcome import Outcome
from fencepost.spec.text.problem import Rejected

LATE = """
var n: 0..12 = 0
var path: seq[0..4, 4] = []
action go(k in 0..4):
    require n < 12
    n += 1
    if len(path) == 4: path.pop_first()
    path.append(k)
invariant Never: path != [3, 1, 2, 0] or n < 9
step invariant Up: next(n) <= 11
terminal: n == 12
"""
TWO_PHASES = str(ROOT / "models/classics/two_phase_commit.fence")


@pytest.fixture(autouse=True)
def spill_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the engine spill every chunk of an expanded level, in small chunks."""
    monkeypatch.setattr(explorer, "MIN_PARALLEL", 0)
    monkeypatch.setattr(spill, "SHARE", 1 << 40)
    monkeypatch.setattr(store, "MIN_CHUNK", PAGE)
    monkeypatch.setattr(store, "LARGEST_CHUNK", PAGE)


def spilled(run: Run, folder: Path, workers: int) -> Run:
    return run.within(workers=workers, memory=1 << 40, spill=str(folder))


def outcome(run: Run, folder: Path, workers: int) -> Outcome:
    return spilled(run, folder, workers).outcome(Local("quick"))


CASES = [
    ("constrained", CONSTRAINED, True, False),
    ("late", LATE, True, False),
    ("late", LATE, False, True),
    *((spec.name, spec.text, True, True) for spec in SPECS if spec.name == "least_trace"),
]


@pytest.mark.parametrize(
    ("name", "text", "going", "canary"), CASES, ids=[f"{case[0]}-{case[2]}" for case in CASES]
)
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_nothing_is_lost(
    name: str, text: str, going: bool, canary: bool, workers: int, tmp_path: Path
) -> None:
    """With ``canary``, states are compressed, and also kept whole for comparison."""
    asked = whole(text, going)
    with translated_once(False), canaries(4) if canary else nullcontext():
        wanted = asked.by("interpreter")
        result = outcome(asked, tmp_path, workers)
    assert_same(wanted, summary(asked.model, result), f"{name} with {workers}")
    if name == "late":
        assert any(note.endswith(f" of states were put into {tmp_path}.") for note in result.notes)
    assert not [*tmp_path.iterdir()]


def writing(room: int, change: Callable[[bytes], bytes] = bytes) -> Callable[..., int]:
    """Returns a replacement for `os.pwrite` that writes to a disk with ``room`` bytes and changes
    the data.
    """
    real, left = os.pwrite, [room]

    def pwrite(file: int, data: memoryview, start: int) -> int:
        if left[0] <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        part = bytes(data[: min(left[0], 1000)])
        left[0] -= len(part)
        return real(file, change(part), start)

    return pwrite


@pytest.mark.parametrize("room", [0, 5_000, 12_000])
def test_a_full_disk(room: int, tmp_path: Path) -> None:
    """States that do not fit on the disk stay in memory."""
    asked = whole(LATE, False)
    with translated_once(False):
        wanted = asked.by("interpreter")
        with mock.patch.object(os, "pwrite", writing(room)):
            result = outcome(asked, tmp_path, 2)
    assert_same(wanted, summary(asked.model, result), f"{room} bytes")
    assert result.notes[-1].startswith(f"No more states could be put into {tmp_path}: No space")
    assert (len(result.notes) > 1) is (room > 4096)


def test_a_disk_that_corrupts_data(tmp_path: Path) -> None:
    asked = whole(LATE, False)

    def change(data: bytes) -> bytes:
        return data[:-1] + bytes([data[-1] ^ 1])

    with (
        mock.patch.object(os, "pwrite", writing(1 << 30, change)),
        pytest.raises(Rejected, match=r"F857.*is not what was written"),
    ):
        outcome(asked, tmp_path, 1)


def test_a_search_that_is_also_saved(tmp_path: Path) -> None:
    asked = whole(LATE)
    (tmp_path / "spill").mkdir()
    with translated_once(False):
        wanted = asked.by("interpreter")
        first = at(spilled(asked, tmp_path / "spill", 2), tmp_path / "saved", False, 2, depth=9)
        first.by(every_level(60))
        again = at(spilled(asked, tmp_path / "spill", 3), tmp_path / "saved", True, 3)
        assert_same(wanted, again.by(every_level()), "resumed")


def test_options_that_are_refused(tmp_path: Path) -> None:
    words = ("check", TWO_PHASES, "--check", "three", "--no-progress")
    for extra, code, message in (
        (("--spill", "."), "F855", "add --memory 80%, for example"),
        (("--spill", "nowhere", "--memory", "1G"), "F856", "No such file or directory"),
        (("--spill", ".", "--engine", "interpreter"), "F032", "--spill has no meaning for"),
    ):
        ran = run(*words, *extra, folder=tmp_path)
        assert ran.code == 151
        assert f"error[{code}]" in ran.stderr
        assert message in ran.stderr
    ran = run(*words, "--spill", ".", "--memory", "1024G", folder=tmp_path)
    assert (ran.code, ran.stderr) == (0, "")
    assert "--memory 1024G --spill ." in ran.stdout
