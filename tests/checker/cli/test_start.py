"""Interrupts while modules load, and time limits while specs are read."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.support.command import run
from tests.support.processes import finished

from fencepost.checker import api
from fencepost.spec.text.problem import Rejected

SPEC = "var x: 0..3 = 0\naction up:\n    require x < 3\n    x += 1\nterminal: true\n"
INTERRUPTED_AT = """\
import os, signal, sys
at, number, sys.argv = sys.argv[1:2], sys.argv[2], ["fencepost", *sys.argv[3:]]

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name in at:
            at.clear()
            os.kill(os.getpid(), getattr(signal, number))

sys.meta_path.insert(0, Finder())
from fencepost.checker.cli.start import entry
entry()
"""
"""A program that runs the command and sends itself a signal when a given module is imported."""
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("fencepost.checker.cli.main", ["check"]),
        ("click", ["check"]),
        ("fencepost.checker.cli.check", ["check"]),
        ("fencepost.spec.elaborate.claims.program", ["check"]),
        ("fencepost.spec.grammar_that_is_not_there", ["check"]),
        ("fencepost.checker.native.search", ["check"]),
        ("llvmlite.binding", ["check"]),
        ("llvmlite.ir", ["check"]),
        ("fencepost.checker.reference.search", ["check", "--engine", "interpreter"]),
        ("z3.z3core", ["check", "--engine", "bmc", "--depth", "2"]),
        ("fencepost.checker.cli.mutate", ["mutate"]),
        ("fencepost.checker.cli.graph", ["graph"]),
        ("fencepost.checker.cli.simulate", ["simulate"]),
    ],
)
def test_an_interrupt_while_a_module_is_loaded(
    tmp_path: Path, module: str, words: list[str]
) -> None:
    (tmp_path / "s.fence").write_text(SPEC, encoding="utf-8")
    # Each module is tested with one of the signals, and `cli.main` with all of them.
    numbers = SIGNALS if module.endswith("cli.main") else [SIGNALS[len(module) % len(SIGNALS)]]
    for number in numbers:
        _assert_ends(tmp_path, module, number, words)


def _assert_ends(folder: Path, module: str, number: str, words: list[str]) -> None:
    options = (INTERRUPTED_AT, module, number, *words, "s.fence")
    done = finished(sys.executable, "-c", *options, folder=folder)
    if "not_there" in module:
        assert (done.returncode, done.stderr) == (0, "")
    else:
        assert (done.returncode, done.stderr.lstrip()) == (130, "interrupted\n")


def slow(folder: Path) -> Path:
    """Writes a spec that takes a long time to read."""
    lines = [f"def f{number}(n: int): int = n + {number} * n" for number in range(3000)]
    path = folder / "slow.fence"
    path.write_text("\n".join([*lines, SPEC]), encoding="utf-8")
    return path


def test_the_time_limit_includes_reading_a_spec(tmp_path: Path) -> None:
    slow(tmp_path)
    (tmp_path / "s.fence").write_text(SPEC, encoding="utf-8")
    done = run("check", "slow.fence", "--timeout", "0.01", folder=tmp_path)
    assert (done.code, done.stdout) == (3, "")
    assert "slow.fence could not be read and checked within --timeout 0.01" in done.stderr
    done = run("mutate", "slow.fence", "--timeout", "0.01", folder=tmp_path)
    assert (done.code, "error[F046]" in done.stderr) == (3, True)
    with pytest.raises(Rejected, match="F046"):
        api.check(tmp_path / "slow.fence", timeout=0.01)


def test_a_mistake_takes_precedence_over_the_time_limit(tmp_path: Path) -> None:
    slow(tmp_path)
    (tmp_path / "s.fence").write_text("var x: nothing = 0\n", encoding="utf-8")
    done = run("check", "slow.fence", "s.fence", "--timeout", "0.05", folder=tmp_path)
    assert done.code == 150
    assert ("F046" in done.stderr, "F201" in done.stderr) == (True, True)
