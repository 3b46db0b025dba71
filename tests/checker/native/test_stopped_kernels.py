"""A limit or a signal that takes effect during any kernel call ends a run as docs/ci.md says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.amounts import amount
from tests.support.command import Ran, run
from tests.support.stopped_kernels import LIMITS, KernelCalls

MAX_CALLS = 200
"""The specs are small enough for this number of kernel calls, so that each can be stopped."""
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
    "lasso": COUNTER + "property P: eventually always y == 1\ncheck c:\n    expect violated P\n",
    "two": COUNTER
    + "property P: eventually always y == 1\nproperty Q: eventually x == 8\n"
    + "check c:\n    properties: P, Q\n    expect violated P\n",
    "invariant": COUNTER + "invariant P: x < 7 or y < 2\ncheck c:\n    expect violated P\n",
    "deadlock": COUNTER.replace("terminal: true\n", "    require x < 8\n")
    + "check c:\n    expect deadlock\n",
}
CUT = {"timeout": "cut by --timeout", "signal": "interrupted", "memory": "cut by --memory"}
"""Words of the explanation of an inconclusive verdict."""
ENDS = {"plain": (), "profile": ("--profile",), "saved": ("--checkpoint", "saved")}
"""What a run does besides the search and the decision."""


def checked(folder: Path, calls: KernelCalls, kind: str, *more: str) -> Ran:
    """A run of the spec in the folder, as one process with one worker."""
    words = ("--format", "json", "--engine", "local", "--workers", "1", "--continue")
    with calls.counted():
        return run("check", "s.fence", *words, *LIMITS[kind], *more, folder=folder)


def _chosen(count: int) -> list[int]:
    """The kernel calls to stop: a sample over all phases; in a nightly run, each call."""
    few = amount("KERNEL_CALLS", 3)
    return sorted({count, *(1 + number * count // few for number in range(few))})


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("kind", LIMITS)
@pytest.mark.parametrize("name", SPECS)
def test_every_kernel_call(name: str, kind: str, end: str, tmp_path: Path) -> None:
    (tmp_path / "s.fence").write_text(SPECS[name], encoding="utf-8")
    whole = KernelCalls(kind, 0)
    expected = _result(checked(tmp_path, whole, kind, *_ended(end, 0)))
    assert 0 < whole.count <= MAX_CALLS
    cut = 0
    for number in _chosen(whole.count):
        calls = KernelCalls(kind, number)
        ran = checked(tmp_path, calls, kind, *_ended(end, number))
        told = (number, ran)
        result = _result(ran)
        if result["verdict"] == "inconclusive":
            cut += 1
            assert ran.code == 3, told
            assert calls.stopped, told
            assert CUT[kind] in result["notes"][0], told
        else:
            # The stop came after everything that it can cut, or after a violation was found.
            for key in ("verdict", "property"):
                assert result[key] == expected[key], told
    assert cut or kind == "memory"


def _ended(end: str, number: int) -> tuple[str, ...]:
    """The options of a run; each run has a folder of its own for its checkpoint."""
    return tuple(f"{word}{number}" if word == "saved" else word for word in ENDS[end])


def _result(ran: Ran) -> Any:
    assert ran.code not in (255, 130), ran
    assert "Traceback" not in ran.stderr
    report = json.loads(ran.stdout)
    return report["checks"][0]
