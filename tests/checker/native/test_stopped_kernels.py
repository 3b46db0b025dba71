"""A limit or a signal that takes effect during any kernel call ends a run as described in
docs/ci.md.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from tests.support.amounts import amount
from tests.support.command import Ran, run
from tests.support.lease import HISTORIES, conform, folder_with, written
from tests.support.stopped_kernels import LIMITS, KernelCalls

from fencepost.checker.native import follower, search, states
from fencepost.checker.native.machine import memory
from fencepost.checker.native.saving.saver import Saver
from fencepost.checker.native.visited import plan

MAX_CALLS = 200
"""An upper bound on the kernel calls of a spec, so that a test can stop each of them."""
COUNTER = """\
var x: 0..8 = 0
var y: 0..2 = 0
fair action up:
    require x < 8
    x += 1
strongly fair each action turn(to in 0..2):
    require to != y
    y = to
terminal: true
"""
SPECS = {
    "met": COUNTER + "property P: eventually x == 8\ncheck c:\n    expect ok\n",
    "strong": COUNTER
    + "property P: forall v in 0..2: always eventually y == v\ncheck c:\n    expect ok\n",
    "lasso": COUNTER + "property P: eventually always y == 1\ncheck c:\n    expect ok\n",
    "two": COUNTER
    + "property P: eventually always y == 1\nproperty Q: eventually x == 8\n"
    + "check c:\n    properties: P, Q\n    expect ok\n",
    "invariant": COUNTER + "invariant P: x < 7 or y < 2\ncheck c:\n    expect ok\n",
    "deadlock": COUNTER.replace("terminal: true\n", "    require x < 8\n")
    + "check c:\n    expect ok\n",
}
WIDE = "var wide: map[0..2, 0..1000000000000000000] = [0 for v in 0..2]\n" + COUNTER.replace(
    "    y = to\n", "    y = to\n    wide[to] = x\n"
)
"""The counter with states of several words, which can be compressed."""
SAVED_SPEC = WIDE + "invariant P: x < 8 or y < 2\ncheck c:\n    expect ok\n"
CUT = {"timeout": "cut by --timeout", "signal": "interrupted", "memory": "cut by --memory"}
"""Words in the explanation of an inconclusive verdict."""
ENDS = {"plain": (), "profile": ("--profile",), "saved": ("--checkpoint", "saved")}
"""The work that a run does in addition to the search and the decision."""


def checked(folder: Path, calls: KernelCalls, kind: str, *more: str) -> Ran:
    """Runs the check in the folder, in this process and with one worker."""
    words = ("--format", "json", "--engine", "local", "--workers", "1", "--continue")
    with calls.counted():
        return run("check", "s.fence", *words, *LIMITS[kind], *more, folder=folder)


def _chosen(count: int) -> list[int]:
    """Returns the kernel calls to stop: a sample from all phases, or every call in a nightly
    run.
    """
    few = amount("KERNEL_CALLS", 2)
    return sorted({count, *(1 + number * count // few for number in range(few))})


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("kind", LIMITS)
@pytest.mark.parametrize("name", SPECS)
def test_every_kernel_call(name: str, kind: str, end: str, tmp_path: Path) -> None:
    (tmp_path / "s.fence").write_text(SPECS[name], encoding="utf-8")
    whole = KernelCalls(kind, 0)
    expected = checked(tmp_path, whole, kind, *_ended(end, 0))
    assert 0 < whole.count <= MAX_CALLS
    cut = 0
    for number in _chosen(whole.count):
        calls = KernelCalls(kind, number)
        ran = checked(tmp_path, calls, kind, *_ended(end, number))
        cut += _is_cut(ran, calls, expected)
    assert cut or kind == "memory"


def _is_cut(ran: Ran, calls: KernelCalls, expected: Ran) -> bool:
    """Checks that a run ended either as a run that was cut or like the whole run, and returns
    whether it was cut.
    """
    result, whole = _result(ran), _result(expected)
    if result["verdict"] == "inconclusive":
        assert ran.code == 3, ran
        assert calls.stopped, ran
        assert not calls.known, ran
        assert any(words in result["notes"][0] for words in CUT.values()), ran
        return True
    # The stop came too late to cut anything, or after a violation was found.
    assert ran.code == expected.code, ran
    for key in ("verdict", "property"):
        assert result[key] == whole[key], ran
    return False


@pytest.mark.parametrize("kind", LIMITS)
def test_every_kernel_call_of_a_save(kind: str, tmp_path: Path) -> None:
    """A stop during a save leaves the previous save intact, and the search resumes from that
    save.
    """
    (tmp_path / "s.fence").write_text(SAVED_SPEC, encoding="utf-8")
    with saving_each_level(tmp_path) as failures:
        whole = KernelCalls(kind, 0, SAVE)
        expected = checked(tmp_path, whole, kind, "--checkpoint", "whole")
        assert 5 < whole.count <= MAX_CALLS
        for number in _chosen(whole.count):
            calls = KernelCalls(kind, number, SAVE)
            ran = checked(tmp_path, calls, kind, "--checkpoint", SAVED)
            assert calls.stopped
            if kind != "memory" or failures:
                assert _is_cut(ran, calls, expected) or calls.known
                # A search that was cut may be saved once more.
                level = failures.pop()
                assert _resumed_levels(tmp_path, COPY, expected) == level
                assert _resumed_levels(tmp_path, SAVED, expected) >= level
                shutil.rmtree(tmp_path / COPY)
            shutil.rmtree(tmp_path / SAVED)


SAVE: tuple[type, str] = (Saver, "save")
SAVED, COPY = "saved", "copy"
"""The folder of a checkpoint, and the folder of its copy after a stopped save."""


@contextmanager
def saving_each_level(folder: Path) -> Generator[list[int]]:
    """Compresses states from the second level on, and saves after each level, within the block.

    If a stop ends a save, appends the number of earlier saves to the list, and copies the folder.
    """
    save, failures, completed = Saver.save, list[int](), Counter[Saver]()

    def saved_or_copied(saver: Saver) -> bool:
        try:
            done = save(saver)
        except BaseException:
            shutil.copytree(folder / SAVED, folder / COPY)
            failures.append(completed[saver])
            raise
        completed[saver] += 1
        return done

    with (
        mock.patch.object(states, "COMPRESSED_FROM", 1),
        mock.patch.object(plan, "MAX_PAIRS", 1000.0),
        mock.patch.object(search.ENGINE, "_seconds", 0.0),
        mock.patch.object(Saver, "save", saved_or_copied),
    ):
        yield failures


def _resumed_levels(folder: Path, saved: str, expected: Ran) -> int:
    """Returns the number of saved levels; the resumed search must find the same as the whole
    search.
    """
    resumed = checked(folder, KernelCalls("signal", 0), "signal", "--resume", saved)
    result, whole = _result(resumed), _result(expected)
    assert resumed.code == expected.code
    for key in ("verdict", "property", "distinct", "depth"):
        assert result[key] == whole[key], resumed
    levels: int = result["resumed"]["levels"] if "resumed" in result else 0
    return levels


def test_every_kernel_call_of_the_follower(tmp_path: Path) -> None:
    """An interrupt during the comparison of recordings ends the command."""
    folder_with(tmp_path)
    text = written({name: HISTORIES[name][0] for name in ("both", "twice", "granted")})
    words = ("--engine", "local", "--workers", "1", "--format", "json")
    whole = KernelCalls("signal", 0)
    with whole.counted():
        assert conform(tmp_path, text, *words).code == 15
    assert 5 < whole.count <= MAX_CALLS
    for number in _chosen(whole.count):
        with KernelCalls("signal", number).counted():
            ran = conform(tmp_path, text, *words)
        assert (ran.code, ran.stdout, ran.stderr.strip()) == (130, "", "interrupted")


@pytest.mark.parametrize("workers", ["1", "2"])
def test_no_memory_for_the_follower(workers: str, tmp_path: Path) -> None:
    folder_with(tmp_path)
    text = written({name: HISTORIES[name][0] for name in ("both", "twice")})
    with mock.patch.object(follower, "Memory", return_value=memory.Memory(limit=1)):
        ran = conform(tmp_path, text, "--engine", "local", "--workers", workers)
    assert (ran.code, ran.stdout, ran.stderr.strip()) == (3, "", "out of memory")


def _ended(end: str, number: int) -> tuple[str, ...]:
    """Returns the options of a run; each run has its own folder for its checkpoint."""
    return tuple(f"{word}{number}" if word == "saved" else word for word in ENDS[end])


def _result(ran: Ran) -> Any:
    assert ran.code not in (255, 130), ran
    assert "Traceback" not in ran.stderr
    report = json.loads(ran.stdout)
    return report["checks"][0]
