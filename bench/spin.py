"""Builds SPIN verifiers from a Promela model and runs them.

Searches are exact: states are stored whole, with SPIN's usual lossless compression. By default, the
parallel breadth-first search would store hashes; a flag turns that off.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from bench.process import Failed, Ran, run

FLAGS = ("-O3", "-DSAFETY", "-DNOREDUCE")
PARALLEL_FLAGS = ("-DBFS_PAR", "-DNO_HC")
DEPTH = "-m10000"
"""Maximum number of steps in a path; far more than occur."""
STORED = re.compile(r"^ *([\d.e+]+) states, stored", re.M)
TRANSITIONS = re.compile(r"^ *([\d.e+]+) transitions", re.M)
ERRORS = re.compile(r"errors: (\d+)")
SEGMENTS = Path("/proc/sysvipc/shm")


@dataclass(frozen=True, slots=True)
class Verifiers:
    """The programs that SPIN and gcc built from one model, and the time that building took."""

    depth_first: Path
    breadth_first: Path
    seconds: float


@dataclass(frozen=True, slots=True)
class Verification:
    """A completed search without errors. SPIN prints only eight digits of large numbers."""

    ran: Ran
    states: int
    transitions: int


def available() -> bool:
    """Whether SPIN and gcc are installed."""
    return all(shutil.which(name) is not None for name in ("spin", "gcc"))


def build(text: str, folder: Path) -> Verifiers:
    """Builds the verifiers for a model."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.pml").write_text(text, encoding="ascii")
    generated = run(["spin", "-a", "model.pml"], folder=folder)
    usual = run(["gcc", *FLAGS, "-o", "pan", "pan.c"], folder=folder)
    run(["gcc", *FLAGS, *PARALLEL_FLAGS, "-o", "panb", "pan.c"], folder=folder)
    return Verifiers(folder / "pan", folder / "panb", generated.wall + usual.wall)


def depth_first(verifiers: Verifiers, table: int) -> Verification:
    """Runs SPIN's usual search, with a hash table of 2**table slots."""
    return _verified(run([str(verifiers.depth_first), f"-w{table}", DEPTH]))


def breadth_first(verifiers: Verifiers, table: int, workers: int) -> Verification:
    """Runs SPIN's parallel breadth-first search."""
    folder = verifiers.breadth_first.parent
    before = _shared_memory()
    try:
        return _verified(run(["./panb", f"-u{workers}", f"-w{table}"], folder=folder))
    finally:
        # The shared memory of a stopped search remains allocated, and may be most of the machine's
        # memory.
        for segment in _shared_memory() - before:
            run(["ipcrm", "-m", segment], codes=(0, 1))


def _shared_memory() -> frozenset[str]:
    """Returns the ids of the existing System V shared memory segments."""
    try:
        lines = SEGMENTS.read_text(encoding="ascii").splitlines()[1:]
    except OSError:
        return frozenset()
    return frozenset(line.split()[1] for line in lines)


def _verified(ran: Ran) -> Verification:
    stored, steps = STORED.search(ran.output), TRANSITIONS.search(ran.output)
    errors = ERRORS.search(ran.output)
    exact = "Hash-Compact" not in ran.output and "hash-compact" not in ran.output
    empty = stored is not None and stored[1] == "0"
    if stored is None or empty or steps is None or errors is None or errors[1] != "0" or not exact:
        raise Failed(f"{' '.join(ran.command)}\n{ran.output[-2000:]}{ran.errors[-500:]}")
    return Verification(ran, int(float(stored[1])), int(float(steps[1])))
