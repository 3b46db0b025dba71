"""Failures of a cluster do not change the result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkConf
from tests.spark import faults
from tests.spark.clusters import HERE, SETTINGS, on, on_two_executors
from tests.support.agreement import Observed, Run, assert_same, run_of
from tests.support.paths import ROOT

from fencepost.checker.native.search import Local
from fencepost.checker.request import Cluster
from fencepost.checker.spark import blocks, session, tasks
from fencepost.checker.spark.blocks import Blocks
from fencepost.checker.spark.failures import Failed, gave_up, reason
from fencepost.checker.spark.records import MergeResult
from fencepost.spec.text.problem import Rejected

TWO_PHASES = ROOT / "models/classics/two_phase_commit.fence"
VERIFICATION = ROOT / "models/kafka/verification_race.fence"


def searched(path: Path, name: str) -> tuple[Run, Observed]:
    """A check, and its result on this machine without Spark."""
    run = run_of(path, name)
    return run, run.by(Local())


@pytest.mark.parametrize(
    "fault", [faults.fails_when_merged, faults.dies_while_merging, faults.reads_less]
)
@pytest.mark.parametrize("partitions", [1, 3])
def test_a_task_that_fails(
    fault: Callable[..., object], partitions: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, wanted = searched(TWO_PHASES, "three")
    done = tmp_path / "done"
    monkeypatch.setattr(tasks, "merge", partial(fault, done, 4))
    assert_same(wanted, run.by(on(partitions)), f"{fault} {partitions}")
    assert done.exists()


def test_a_task_that_always_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    run, _ = searched(TWO_PHASES, "three")
    monkeypatch.setattr(tasks, "merge", faults.always_fails)
    with pytest.raises(Rejected, match=r"F034.*Spark gave up: RuntimeError: there is no luck$"):
        run.by(on(2))


def test_a_session_that_ends() -> None:
    run, _ = searched(TWO_PHASES, "three")
    spark: Any = session.connect(Cluster(HERE, 2, SETTINGS))
    try:
        with pytest.raises(Rejected, match=r"F034.*Spark gave up: "):
            # As if a master vanished: Python is not notified.
            run.by(on(2, watch=lambda _: spark._jsc.sc().stop()))
    finally:
        spark.stop()


@pytest.mark.parametrize("level", [2, 5, 9])
def test_a_killed_executor(level: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, wanted = searched(TWO_PHASES, "three")
    done = tmp_path / "done"
    monkeypatch.setattr(tasks, "expand", partial(faults.kills_its_executor, done, level))
    assert_same(wanted, run.by(on_two_executors(4)), f"{level}")
    assert done.exists()


def test_an_executor_killed_on_the_way_to_a_violation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, wanted = searched(VERIFICATION, "unchecked_s12")
    assert wanted.verdict == "violated"
    done = tmp_path / "done"
    monkeypatch.setattr(tasks, "expand", partial(faults.kills_its_executor, done, wanted.depth))
    assert_same(wanted, run.by(on_two_executors(2)), "unchecked_s12")
    assert done.exists()


def test_speculative_attempts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, wanted = searched(TWO_PHASES, "three")
    monkeypatch.setattr(tasks, "merge", partial(faults.is_slow, tmp_path / "slow", 0))
    assert_same(wanted, run.by(on_two_executors(4)), "speculation")
    assert len([*tmp_path.iterdir()]) > 5


def test_each_process_compiles_once() -> None:
    run, wanted = searched(TWO_PHASES, "three")
    processes: dict[int, list[int]] = {}

    def watch(merges: Sequence[MergeResult]) -> None:
        expanded = [merge.expanded for merge in merges if merge.expanded is not None]
        assert len(expanded) == 2, "of two cores each has one task"
        compilations = [
            *(merge.process for merge in merges),
            *(merge.process for merge in expanded),
        ]
        for process, compiled in compilations:
            processes.setdefault(process, []).append(compiled)

    assert_same(wanted, run.by(on(7, watch=watch)), "compilations")
    assert 1 <= len(processes) <= 2
    for counts in processes.values():
        assert len(counts) > wanted.depth
        assert len({*counts}) == 1


def test_blocks_near_an_rdd_do_not_read_it() -> None:
    spark: Any = session.connect(Cluster(HERE, 2, SETTINGS))

    def blobs(number: int, _: Iterable[int]) -> Iterable[bytes]:
        return [number.to_bytes(8, "big"), b"some"]

    def keyed() -> Blocks:
        return blocks.sent(spark.parallelize(range(3), 3).mapPartitionsWithIndex(blobs), 3)

    stored = blocks.kept(keyed())
    assert blocks.count(stored) == 3
    assert blocks.count(blocks.near(stored)) == 0
    alone: Any = keyed()
    together: Any = spark.union([blocks.near(stored), keyed()])
    # Without the partitioner there would be twice as many.
    assert together.getNumPartitions() == 3
    assert blocks.count(together) == 3
    places = spark._jsc.sc().getPreferredLocs
    assert places(alone._jrdd.rdd(), 0).isEmpty()
    assert not places(together._jrdd.rdd(), 0).isEmpty()
    stored.unpersist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x\nModuleNotFoundError: No module named 'llvmlite.ir'\n", "has no module llvmlite"),
        ("ModuleNotFoundError: No module named 'fencepost'", "--ship-package"),
        ("Caused by: java.io.IOException: No space left\n\tat a.b(C.scala:1)", "IOException: No"),
        (
            "An exception was thrown from the Python worker: Traceback (most recent call last):\n"
            "fencepost.checker.spark.parcels.Lost: /tmp/f cannot be read: No such file\n"
            "\tat org.apache.spark.A.b(C.scala:1)\n",
            "gave up: Lost: /tmp/f cannot be read",
        ),
    ],
)
def test_messages_of_failures(text: str, message: str) -> None:
    assert message in str(gave_up(Failed(text)))


@pytest.mark.parametrize(
    ("name", "value", "ours"),
    [
        ("JAVA_TOOL_OPTIONS", "-XX:+UseG1GC", False),
        ("SPARK_SUBMIT_OPTS", "-Da=1 -XX:+UseSerialGC", False),
        ("JAVA_TOOL_OPTIONS", "-Xmx2g", True),
        ("", "-XX:+UseZGC", False),
        ("", "-XX:+UseStringDeduplication", True),
    ],
)
def test_java_has_one_collector(
    name: str, value: str, ours: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = SparkConf(loadDefaults=False)
    if name:
        monkeypatch.setenv(name, value)
    else:
        conf.set("spark.driver.defaultJavaOptions", value)
    assert ("-XX:+UseParallelGC" in session.java_here(conf)) is ours


def test_our_own_exception_is_the_reason() -> None:
    text = (
        "org.apache.spark.SparkException: Job aborted\n"
        "fencepost.checker.spark.records.Incomplete: task 1 got 3 successors from 1 tasks\n"
        "\tat org.apache.spark.A.b(C.scala:1)\n"
        "Caused by: org.apache.spark.api.python.PythonException: Traceback\n"
    )
    assert reason(text) == "Incomplete: task 1 got 3 successors from 1 tasks"
