"""Extracts the causes of cluster errors from Spark's messages.

Spark reports a failure as text with Java and Python tracebacks; users see a single line.
"""

from __future__ import annotations

import os
import re
import sys

from fencepost.checker.native.saving import identity
from fencepost.checker.request import CannotRun
from fencepost.spec.text.problem import Problem, Rejected

LOST = ("Checkpoint block rdd_", "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND", "Could not get block")
"""Message fragments that indicate a block lost with its executor."""
HOPELESS = (
    "No module named",
    "Damaged: ",
    "Full: ",
    "PYTHON_VERSION_MISMATCH",
    "Cannot run program",
    "stopped SparkContext",
    "Java has ended",
)
"""Message fragments that indicate a permanent error."""
CAUSE = re.compile(
    r"(?:^|Caused by: |\"main\" )"
    r"([\w.]+(?:Error|Exception|Incomplete|Missing|Lost|Broken|Damaged|Full)): (.+)"
)
MAX_CHARACTERS = 300
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
        "its executors run Python {}, but fencepost runs Python {}",
    ),
    (r'Cannot run program "([^"]+)"', 'its executors have no program "{}"'),
)
"""Patterns for messages about an unsuitable Python on executors; each with our message and further
notes.
"""


class Failed(Exception):
    """A job failed; the argument is Spark's message."""

    @property
    def text(self) -> str:
        return str(self.args[0])

    @property
    def lost(self) -> bool:
        """Whether blocks were lost."""
        return any(words in self.text for words in LOST)

    @property
    def missing(self) -> bool:
        """Whether a task did not find its table."""
        return "Missing: no table" in self.text

    @property
    def hopeless(self) -> bool:
        """Whether retrying cannot help."""
        return any(words in self.text for words in HOPELESS)


def unusable(reason: str, *notes: str) -> CannotRun:
    """Returns the problem to report for a cluster that cannot be used."""
    message = f'the engine "spark" cannot run here: {reason}'
    return CannotRun([Problem("F034", None, message, tuple((None, note) for note in notes))])


def gave_up(failed: Failed) -> Rejected:
    """Returns the problem to report for a search that cannot continue because the cluster failed or
    a checkpoint is damaged.
    """
    damaged = re.search(r"Damaged: (.+)", failed.text)
    if damaged is not None:
        return identity.unusable("the checkpoint", damaged[1][:MAX_CHARACTERS])
    for pattern, message, *notes in WRONG_PYTHON:
        match = re.search(pattern, failed.text)
        if match is not None:
            parts = [part.replace(", ", ".") for part in match.groups()]
            alone = [SHIP] if parts[0] == "fencepost" else []
            return unusable(message.format(*parts), python_of_executors(), *notes, *alone)
    return Rejected(unusable(f"Spark gave up: {reason(failed.text)}").problems)


def python_of_executors() -> str:
    """Describes which Python the executors run, and how to change it."""
    name = os.environ.get("PYSPARK_PYTHON")
    now = "it is not set, so they run python3" if name is None else f"it is {name}"
    return f"PYSPARK_PYTHON names the Python of executors ({now}); that of fencepost is {HERE}"


def reason(text: str) -> str:
    """Returns the reason for a failure in one line: the innermost cause that Spark names."""
    lines = [line.strip().removeprefix(": ") for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith(("at ", "... "))]
    causes = [match for line in lines if (match := CAUSE.search(line))]
    if not causes:
        return (lines or ["no reason is known"])[-1][:MAX_CHARACTERS]
    # Spark wraps exceptions of this package in its own.
    ours = [match for match in causes if match[1].startswith("fencepost.")]
    kind, cause = (ours or causes)[-1].groups()
    return f"{kind.rpartition('.')[2]}: {cause}"[:MAX_CHARACTERS]
