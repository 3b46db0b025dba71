"""What went wrong on a cluster, from what Spark says about it.

Spark reports a failure as a text with the traces of Java and Python in it; what a user gets to see
is one line.
"""

from __future__ import annotations

import re

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
    found = re.search(r"No module named '([\w.]+)'", failed.text)
    if found is not None:
        library = found[1].partition(".")[0]
        note = "--ship-package brings fencepost to them"
        if library != "fencepost":
            note = f'install {library} there, or bring it with "--spark-conf spark.archives=..."'
        return unusable(f"its executors have no module {library}", note)
    return Rejected(unusable(f"Spark gave up: {reason(failed.text)}").problems)


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
