"""Saves every level of a search in a separate process: ``FOLDER HOW SPEC CHECK``.

HOW is ``checkpoint`` or ``resume``. The program prints the representation of the result.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from tests.spark.clusters import HERE, SETTINGS, from_level
from tests.support.agreement import Observed, Run, run_of

from fencepost.checker.outcome import Outcome
from fencepost.checker.request import Cluster, Saving
from fencepost.checker.spark.search import Spark

EVERY_LEVEL = (*SETTINGS, ("spark.fencepost.checkpointSeconds", "0"))


def saved(run: Run, folder: str, how: str, partitions: int = 3) -> Observed:
    """Returns the result of a saved or resumed run."""
    run = replace(run, saving=Saving(folder, how == "resume"))
    return run.by(Spark(Cluster(HERE, partitions, EVERY_LEVEL), from_level(2)))


def outcome_of(run: Run, saving: Saving) -> Outcome:
    """Returns the outcome of a saved or resumed run."""
    return replace(run, saving=saving).outcome(Spark(Cluster(HERE, 3, EVERY_LEVEL), from_level(2)))


if __name__ == "__main__":
    folder, how, path, name = sys.argv[1:]
    print(saved(run_of(Path(path), name), folder, how))
