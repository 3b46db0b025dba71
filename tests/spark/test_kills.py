"""Processes of Spark are killed at any moment: Spark runs their tasks again, or gives up."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tests.spark.clusters import TWO_EXECUTORS
from tests.support.amounts import amount
from tests.support.kills import Harm, Kind
from tests.support.paths import ROOT

SPEC = ROOT / "models/classics/two_phase_commit.fence"
GAVE_UP = (151, "Spark gave up")
EARLY = (sys.executable, "-m", "tests.spark.early")


def counted(output: str) -> object:
    """Returns the counts and verdicts of a report, without times."""
    kept = ("name", "verdict", "distinct", "generated", "depth", "as_expected")
    return [[check[name] for name in kept] for check in json.loads(output)["checks"]]


def words(master: str) -> tuple[str, ...]:
    """Returns the command line that runs one check on a cluster."""
    return (
        "check", str(SPEC), "--check", "three", "--engine", "spark", "--master", master,
        "--spark-conf", "spark.ui.enabled=false", "--format", "json",
    )  # fmt: skip


def is_worker(line: str) -> bool:
    return "pyspark.daemon" in line


def is_executor(line: str) -> bool:
    return "ExecutorBackend" in line


KINDS = (
    Kind("Python worker", words("local[2,4]"), is_worker, counted, GAVE_UP, EARLY),
    Kind("Python worker of an executor", words(TWO_EXECUTORS), is_worker, counted, GAVE_UP, EARLY),
    Kind("executor", words(TWO_EXECUTORS), is_executor, counted, GAVE_UP, EARLY),
)


KILLS = amount("KILLS", 1)


@pytest.mark.parametrize("kind", KINDS if KILLS > 1 else KINDS[::2], ids=lambda kind: kind.name)
def test_killed_processes(kind: Kind, tmp_path: Path) -> None:
    harm = Harm(kind, tmp_path)
    harm.kill(KILLS, amount("FIRST", 1))
    print(kind.name, dict(harm.judge()))
