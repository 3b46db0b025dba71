"""An interrupt at any chosen moment of a run with a solver ends the command with the exit code of
an interrupted run, without a traceback or an internal error.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from tests.support.command import run
from tests.support.processes import finished

SPEC = """
const E0: int[6] = any
var x: int[6] = E0
var s: set[0..9, 4] = {}
var t: 0..5 = 0
action up(n in 0..9):
    require x != 9
    x += 1
    s = {n, 3}
action down(n in 0..9): pick m in s where m < n; s.remove(m)
action drift: require t > 0 and t < 5; t += 1
invariant Low: len(s) < 4 and t != 4
reachable Far: x == 30
terminal: 6 // (len(s) + 1) > 0
"""

MODULES = [
    "click",
    "fencepost.spec.syntax.parser",
    "fencepost.checker.symbolic.bounded",
    "z3.z3core",
    "z3.z3printer",
]
IMPORTING = """
import os, signal, sys
from importlib.abc import MetaPathFinder

module, number = sys.argv[1:3]

class Interrupting(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == module:
            os.kill(os.getpid(), getattr(signal, number))

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interrupting())
from fencepost.checker.cli.start import entry
del sys.argv[1:3]
entry()
"""


@pytest.mark.parametrize("module", MODULES)
def test_while_modules_are_loaded(module: str, tmp_path: Path) -> None:
    (tmp_path / "a.fence").write_text(SPEC, encoding="utf-8")
    number = "SIGTERM" if module == "z3.z3core" else "SIGINT"
    words = (module, number, "check", "a.fence", "--engine", "bmc", "--depth", "3")
    done = finished(sys.executable, "-c", IMPORTING, *words, folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, "", "interrupted")


BMC, INDUCTION, REGIONS = "bmc --depth 2", "induction", "interpreter"
PLACES = [
    (BMC, "fencepost.checker.symbolic.terms", "both", 40),
    (BMC, "fencepost.checker.symbolic.order", "equal", 300),
    (BMC, "z3", "AstRef.__del__", 1),
    (BMC, "z3", "AstRef.__del__", 500),
    (BMC, "z3", "Solver.add", 1),
    (BMC, "z3", "Solver.pop", 1),
    (INDUCTION, "z3", "ModelRef.eval", 1),
    (INDUCTION, "fencepost.checker.symbolic.induction", "counterexample", 1),
    (INDUCTION, "z3", "Solver.push", 4),
    (REGIONS, "z3", "Solver.push", 3),
    (REGIONS, "z3", "AstRef.__del__", 1),
    (REGIONS, "fencepost.checker.regions.search", "lift", 2),
]
"""The calls to interrupt: engine arguments, a module, a function, and the number of the call."""


@contextmanager
def interrupting(module: str, name: str, count: int) -> Generator[list[int]]:
    """Interrupts the process when a function is called for the ``count``-th time."""
    owner: Any = importlib.import_module(module)
    for part in name.split(".")[:-1]:
        owner = getattr(owner, part)
    last = name.rpartition(".")[2]
    usual: Callable[..., object] = getattr(owner, last)
    calls: list[int] = []

    def called(*args: object, **rest: object) -> object:
        if len(calls) < count:
            calls.append(1)
            if len(calls) == count:
                os.kill(os.getpid(), signal.SIGINT)
        return usual(*args, **rest)

    with mock.patch.object(owner, last, called):
        yield calls


@pytest.mark.parametrize(("engine", "module", "name", "count"), PLACES)
def test_while_formulas_are_built_and_solved(
    engine: str, module: str, name: str, count: int, tmp_path: Path
) -> None:
    (tmp_path / "a.fence").write_text(SPEC, encoding="utf-8")
    with interrupting(module, name, count) as calls:
        words = ("check", "a.fence", "--no-progress", "--engine", *engine.split())
        done = run(*words, folder=tmp_path)
    assert len(calls) == count, "the engine does not come to that"
    assert (done.code, done.stderr.strip()) in ((3, ""), (130, "interrupted")), done
    assert done.code != 3 or "interrupted" in done.stdout
