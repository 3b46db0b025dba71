"""A limit or a signal ends the command while a formula is translated to an automaton, and a formula
beyond the bounds of the translation is refused.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path

import pytest
from tests.support.command import run
from tests.support.processes import started

COUNT = 9
ASSUMED = " and ".join(f"(x == {2 * i} leads to x == {2 * i + 1})" for i in range(COUNT))
SPEC = f"""\
var x: 0..{2 * COUNT} = 0
fair action up:
    x = (x + 1) % {2 * COUNT + 1}
property P: ({ASSUMED}) implies (x == 1 leads to x == {2 * COUNT})
check c:
    expect ok
"""
BUILDING = "building\n"
WITHOUT_BOUNDS = f"""\
import sys
from fencepost.checker.cli.start import entry
from fencepost.checker.temporal import automaton, normal

class Announced(normal.Work):
    def __init__(self, pause):
        super().__init__(pause)
        sys.stderr.write({BUILDING!r})
        sys.stderr.flush()

normal.MAX_WORK = automaton.MAX_NODES = automaton.MAX_QUESTIONS = 10**15
automaton.Work = Announced
sys.argv[0] = "fencepost"
entry()
"""
"""Runs the command without bounds on the translation, since with them it would refuse the formula
within 2 s. The command writes a line when the translation begins.
"""
TIMEOUT = 2.0
MAX_LATE = 2.0
"""The maximum time between a stop and the end of the process, in seconds."""
STOPS = {
    "timeout": (("--timeout", f"{TIMEOUT:g}s"), f"cut by --timeout {TIMEOUT:g}"),
    "SIGINT": ((), "interrupted"),
    "SIGTERM": ((), "interrupted"),
}
"""The options of each run, and words from its note on the undecided property."""


ENGINES = pytest.mark.parametrize("engine", ["interpreter", "local"])


@ENGINES
@pytest.mark.parametrize("stop", STOPS)
def test_building_an_automaton_is_stopped(stop: str, engine: str, tmp_path: Path) -> None:
    (tmp_path / "s.fence").write_text(SPEC, encoding="utf-8")
    options, words = STOPS[stop]
    command = ("check", "s.fence", "--engine", engine, "--format", "json", "--no-progress")
    with started(
        sys.executable, "-c", WITHOUT_BOUNDS, *command, *options, folder=tmp_path
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == BUILDING
        began = time.monotonic()
        if stop != "timeout":
            time.sleep(0.5)
            process.send_signal(getattr(signal, stop))
        stopped = time.monotonic()
        output, errors = process.communicate()
        ended = time.monotonic()
    assert (process.returncode, errors) == (3, "")
    (check,) = json.loads(output)["checks"]
    assert check["verdict"] == "inconclusive"
    assert check["undecided"]["properties"] == ["property P"]
    assert f"deciding property P was {words}" in check["notes"][0]
    # The reported time includes the translation.
    assert check["seconds"] >= (ended - began) - MAX_LATE / 2
    if stop == "timeout":
        assert TIMEOUT <= check["seconds"] < TIMEOUT + MAX_LATE
    else:
        assert ended - stopped < MAX_LATE


@ENGINES
def test_a_refused_formula_is_to_be_split(engine: str, tmp_path: Path) -> None:
    """Since no engine translates the formula, the message suggests no other engine."""
    (tmp_path / "s.fence").write_text(SPEC, encoding="utf-8")
    ran = run("check", "s.fence", "--engine", engine, folder=tmp_path)
    assert (ran.code, "F807" in ran.stderr) == (150, True)
    assert "split it into several properties" in ran.stderr
    assert "runs it" not in ran.stderr
