"""Each failure of a cluster is reported in one line, with a hint."""

from __future__ import annotations

import pytest

from fencepost.checker.spark.failures import HERE, Failed, gave_up

SPARK = "org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0\n"
PYTHON = (
    "PYSPARK_PYTHON names the Python of executors (it is python9); that of fencepost is " + HERE
)
MODULES = "it needs fencepost, llvmlite and NumPy"


@pytest.mark.parametrize(
    ("error", "message", "notes"),
    [
        (
            "ModuleNotFoundError: No module named 'fencepost'",
            "the Python of its executors has no module fencepost",
            [PYTHON, MODULES, "where only fencepost itself is missing, --ship-package brings it"],
        ),
        (
            "ModuleNotFoundError: No module named 'llvmlite.binding'",
            "the Python of its executors has no module llvmlite",
            [PYTHON, MODULES],
        ),
        (
            "[PYTHON_VERSION_MISMATCH] Python in worker has different version: (3, 9) than that in"
            " driver: 3.11, PySpark cannot run with different minor versions.",
            "its executors run Python 3.9, but fencepost runs Python 3.11",
            [PYTHON],
        ),
        (
            'java.io.IOException: Cannot run program "python9": error=2, No such file or directory',
            'its executors have no program "python9"',
            [PYTHON],
        ),
        ("Caused by: java.io.IOException: No space left", "Spark gave up: IOException: No", []),
    ],
)
def test_causes(
    error: str, message: str, notes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "python9")
    (problem,) = gave_up(Failed(SPARK + error)).problems
    assert (problem.code, message in problem.message) == ("F034", True)
    assert [note for _, note in problem.notes] == notes
