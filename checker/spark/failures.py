"""What went wrong on a cluster, from what Spark says about it.

Spark reports a failure as a text with the traces of Java and Python in it; what a user gets to see
is one line.
"""

from __future__ import annotations

import os
import re
import sys

from fencepost.checker.native.saving import identity
from fencepost.checker.request import CannotRun
from fencepost.spec.text.problem import Problem, Rejected

LOST = ("Checkpoint block rdd_", "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND", "Could not get block")
"""What Spark says when a block is gone with the executor that had it."""
HOPELESS = (
    "No module named",
    "Damaged: ",
    "Full: ",
    "PYTHON_VERSION_MISMATCH",
    "Cannot run program",
    "stopped SparkContext",
    "Java is gone",
)
"""What does not get better by trying again."""
CAUSE = re.compile(
    r"(?:^|Caused by: |\"main\" )"
    r"([\w.]+(?:Error|Exception|Incomplete|Missing|Lost|Broken|Damaged|Full)): (.+)"
)
MOST_CHARACTERS = 300
HERE = sys.executable
SHIP = "where only fencepost itself is missing, --ship-package brings it"
WRONG_PYTHON = (
    (
        r"No module named '(\w+)",
        "the Python of its executors has no module {}",
        "it needs fencepost, llvmlite and NumPy",
    ),
    (
        r"Python in worker has different version:? \(?(\d[\d., ]*\d)\)? than that in driver:? "
        r"\(?(\d[\d., ]*\d)",
        "its executors run Python {}, and fencepost runs Python {}",
    ),
    (r'Cannot run program "([^"]+)"', 'its executors have no program "{}"'),
)
"""What Spark says if executors run the wrong Python: a pattern, the message and further notes."""


class Failed(Exception):
    """A job failed; the argument is what Spark says."""

    @property
    def text(self) -> str:
        return str(self.args[0])

    @property
    def lost(self) -> bool:
        """Whether blocks are gone."""
        return any(words in self.text for words in LOST)

    @property
    def missing(self) -> bool:
        """Whether a table was not where a task ran."""
        return "Missing: no table" in self.text

    @property
    def hopeless(self) -> bool:
        """Whether it is not worth trying again."""
        return any(words in self.text for words in HOPELESS)


def unusable(reason: str, *notes: str) -> CannotRun:
    """The cluster cannot be used."""
    what = f'the engine "spark" cannot run here: {reason}'
    return CannotRun([Problem("F034", None, what, tuple((None, note) for note in notes))])


def gave_up(failed: Failed) -> Rejected:
    """The search cannot go on, because of the cluster, or of what it was to go on with."""
    damaged = re.search(r"Damaged: (.+)", failed.text)
    if damaged is not None:
        return identity.unusable("the checkpoint", damaged[1][:MOST_CHARACTERS])
    for pattern, what, *notes in WRONG_PYTHON:
        found = re.search(pattern, failed.text)
        if found is not None:
            parts = [part.replace(", ", ".") for part in found.groups()]
            alone = [SHIP] if parts[0] == "fencepost" else []
            return unusable(what.format(*parts), python_of_executors(), *notes, *alone)
    return Rejected(unusable(f"Spark gave up: {reason(failed.text)}").problems)


def python_of_executors() -> str:
    """Which Python executors run, and how to choose another."""
    name = os.environ.get("PYSPARK_PYTHON")
    now = "it is not set, so they run python3" if name is None else f"it is {name}"
    return f"PYSPARK_PYTHON names the Python of executors ({now}); that of fencepost is {HERE}"


def reason(text: str) -> str:
    """What went wrong in one line: the innermost cause that Spark names."""
    lines = [line.strip().removeprefix(": ") for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith(("at ", "... "))]
    causes = [found for line in lines if (found := CAUSE.search(line))]
    if not causes:
        return (lines or ["no reason is known"])[-1][:MOST_CHARACTERS]
    # A failure of the code of this package stands in the middle of a tale of Spark's.
    ours = [found for found in causes if found[1].startswith("fencepost.")]
    kind, said = (ours or causes)[-1].groups()
    return f"{kind.rpartition('.')[2]}: {said}"[:MOST_CHARACTERS]
