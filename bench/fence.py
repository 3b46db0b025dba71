"""Runs ``fencepost check`` as users do: in a separate process, without cached code."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.machine import ROOT
from bench.process import Failed, Ran, run

PROGRAM = (sys.executable, "-m", "fencepost.checker.cli.main")
INCONCLUSIVE = 3


@dataclass(frozen=True, slots=True)
class Task:
    """A check of a spec."""

    spec: Path
    check: str
    name: str
    """The name that tables show."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The results from the report of a check."""

    ran: Ran
    verdict: str
    distinct: int
    generated: int
    depth: int


def command(task: Task, workers: int, program: Sequence[str] = PROGRAM) -> list[str]:
    """Returns the command that checks a task."""
    choice = ["--check", task.check, "--workers", str(workers)]
    return [*program, "check", str(task.spec), *choice, "--no-progress", "--format", "json"]


def check(
    task: Task,
    workers: int,
    *options: str,
    program: Sequence[str] = PROGRAM,
    inconclusive: bool = False,
    checkout: Path = ROOT,
) -> CheckResult:
    """Runs a check with the modules of a checkout. Raises `Failed` if the result is not the
    expected one, or if the check was cut short and ``inconclusive`` is not set.
    """
    modules = str(checkout / ".dev") if program is PROGRAM else ""
    codes = (INCONCLUSIVE,) if inconclusive else (0,)
    with tempfile.TemporaryDirectory() as cache:
        ran = run(
            [*command(task, workers, program), *options],
            environment=surroundings(cache, modules),
            codes=codes,
        )
    try:
        (report,) = json.loads(ran.output)["checks"]
        return CheckResult(
            ran, report["verdict"], report["distinct"], report["generated"], report["depth"]
        )
    except (ValueError, KeyError) as error:
        raise Failed(f"{' '.join(ran.command)}: {error!r} in its report") from error


def surroundings(cache: str, modules: str = str(ROOT / ".dev")) -> dict[str, str]:
    """Returns the environment of a run: ``modules`` on the path (by default those of this checkout)
    and an empty folder for caches.

    Lets Python write bytecode, which is its default.
    """
    return {
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPATH": modules,
        "XDG_CACHE_HOME": cache,
    }
