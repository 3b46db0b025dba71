"""Mutants of the types that are inferred for TLA+ modules, and of the lowering: each is a change of
a rule, and a module of the tests notices it.

    python -m bench.inference_mutants [--only PART]

Each mutant is tried in a process of its own. It is caught by the first module with another result
than expected: other counts or another verdict, a refusal, or an exception. A survivor would show
that a wrong inference may go unnoticed.
"""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.machine import ROOT

TABLE: Final = Path(__file__).with_suffix(".toml")
SECONDS: Final = 120.0
"""Limit of the time for one mutant."""
CAUGHT: Final = 1
"""Exit code of a process that notices a difference."""
_TRIAL: Final = "from bench.inference_mutants import trial; trial()"


@dataclass(frozen=True, slots=True)
class Mutant:
    """A change of a rule. ``edits`` are pairs of a piece of the text of ``file``, which occurs
    exactly once, and its replacement. ``modules`` are names of modules that are tried first.
    """

    change: str
    file: str
    edits: tuple[tuple[str, str], ...]
    modules: tuple[str, ...]
    why: str
    """The reason that no module notices it, or an empty text."""

    def applied(self, text: str) -> str:
        """Returns the text of the changed file."""
        for old, new in self.edits:
            assert text.count(old) == 1, (self.change, text.count(old), old)
            text = text.replace(old, new)
        return text


def mutants() -> list[Mutant]:
    """Returns the mutants of the table."""
    rows = tomllib.loads(TABLE.read_text(encoding="utf-8"))["mutants"]
    return [
        Mutant(
            row["change"],
            row["file"],
            tuple((old, new) for old, new in row["edits"]),
            tuple(row.get("modules", ())),
            row.get("why", ""),
        )
        for row in rows
    ]


def trial() -> None:
    """Compares the results of modules with those of the table, in a process with a mutant. Ends the
    process with `CAUGHT` and the name of the first module whose result is another one.
    """
    # This import loads the changed code.
    modules = importlib.import_module("tests.support.compiled_modules")
    first = sys.argv[1:]
    for name in [*first, *(name for name in modules.MODULES if name not in first)]:
        with tempfile.TemporaryDirectory() as folder:
            try:
                result = modules.compiled_result(name, Path(folder))
            except Exception as error:
                # A mutant may break anything.
                result = f"{type(error).__name__}: {error}"
        if result != modules.expected(name):
            print(f"{name}: {result} instead of {modules.expected(name)}")
            sys.exit(CAUGHT)


def tried(mutant: Mutant) -> str:
    """Returns what notices a mutant, or an empty text."""
    with tempfile.TemporaryDirectory(prefix="fencepost-mutant-") as scratch:
        copy = Path(scratch)
        for name in ("spec", "checker"):
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        package = copy / "fencepost"
        package.mkdir()
        for name in ("models", "invariants"):
            (package / name).symlink_to(ROOT / name)
        for name in ("spec", "checker"):
            (package / name).symlink_to(copy / name)
        shutil.copy(ROOT / ".dev" / "fencepost" / "__init__.py", package)
        file = copy / mutant.file
        file.write_text(mutant.applied(file.read_text(encoding="utf-8")), encoding="utf-8")
        try:
            ran = subprocess.run(
                [sys.executable, "-P", "-c", _TRIAL, *mutant.modules],
                env={**os.environ, "PYTHONPATH": f"{copy}:{ROOT}"},
                capture_output=True,
                text=True,
                timeout=SECONDS,
            )
        except subprocess.TimeoutExpired:
            return "a timeout"
    if ran.returncode == 0:
        return ""
    lines = (ran.stdout if ran.returncode == CAUGHT and ran.stdout else ran.stderr).splitlines()
    return lines[-1] if lines else f"exit code {ran.returncode}"


def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.inference_mutants", description=__doc__)
    parser.add_argument("--only", default="", help="a part of the description of mutants")
    options = parser.parse_args()
    survivors = 0
    for mutant in mutants():
        if options.only in mutant.change:
            began = time.perf_counter()
            by = tried(mutant)
            survivors += not by and not mutant.why
            took = time.perf_counter() - began
            print(f"{mutant.change}: {by or 'SURVIVES ' + mutant.why} ({took:.1f} s)", flush=True)
    print(f"{survivors} unexplained survivors of {len(mutants())} mutants")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
