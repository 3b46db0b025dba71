"""Tasks that process several partitions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.checker.spark.test_levels import COUNTS
from tests.support.agreement import assert_same, run_of
from tests.support.spread import Faults
from tests.support.spread_runs import Codes, behind

from fencepost.checker.native.codegen.context_words import Slots
from fencepost.checker.native.machine.memory import Memory
from fencepost.checker.native.machine.worker_context import Sizes
from fencepost.checker.request import Cluster
from fencepost.checker.spark import records, session, tasks
from fencepost.checker.spark.merging import Delivery
from fencepost.checker.spark.parcels import ParcelReader
from fencepost.checker.spark.program import Program
from fencepost.checker.spark.records import Incomplete, Kind, Order
from fencepost.checker.spark.search import Spark
from fencepost.spec.text.problem import Rejected


def shared(partitions: int, count: int) -> Program:
    """Returns a program whose states have one word."""
    return Program("", Sizes(Slots(1, 0, 1), 0, 0, 0), partitions, count, "run")


@pytest.mark.parametrize(("partitions", "count"), [(1, 1), (7, 1), (7, 2), (7, 7), (32, 5)])
def test_each_owner_has_one_task(partitions: int, count: int) -> None:
    program = shared(partitions, count)
    owners = [(owner, task) for task in range(count) for owner in program.owners(task)]
    assert sorted(owners) == [(owner, program.task(owner)) for owner in range(partitions)]


@pytest.mark.parametrize(
    ("master", "wanted", "count"),
    [
        ("local", None, 4),
        ("local[4]", None, 4),
        ("local[*]", None, 4),
        ("local-cluster[2,2,1024]", None, 8),
        ("spark://host:7077", None, 8),
        ("yarn", None, 8),
        ("yarn", "3", 3),
        ("local[4]", "6", 6),
        ("local[4]", "64", 8),
    ],
)
def test_the_number_of_tasks(master: str, wanted: str | None, count: int) -> None:
    assert session.tasks(session_with(master, wanted), 8) == count
    assert session.tasks(session_with(master, wanted), 1) == 1


@pytest.mark.parametrize("wanted", ["0", "-1", "many", "", "1.5"])
def test_an_invalid_number_of_tasks(wanted: str) -> None:
    message = rf"F034.*spark.fencepost.tasks is '{wanted}'"
    with pytest.raises(Rejected, match=message):
        session.tasks(session_with("yarn", wanted), 8)


@pytest.mark.parametrize(
    ("master", "wanted", "together"),
    [
        ("local", None, True),
        ("local[4]", None, True),
        ("local[4]", "true", True),
        ("local[*]", "false", False),
        ("local-cluster[2,2,1024]", None, False),
        ("spark://localhost:7077", None, False),
        ("yarn", "false", False),
    ],
)
def test_whether_tasks_run_together(master: str, wanted: str | None, together: bool) -> None:
    assert session.together(session_with(master, wanted, session.FILES)) == together


@pytest.mark.parametrize(
    ("master", "wanted", "message"),
    [
        ("local[4]", "", "is ''.*it has to be true or false"),
        ("yarn", "yes", "is 'yes'.*it has to be true or false"),
        ("yarn", "true", "is 'true'.*for --master local... only"),
    ],
)
def test_tasks_that_cannot_run_together(master: str, wanted: str, message: str) -> None:
    with pytest.raises(Rejected, match=rf"(?s)F034.*spark.fencepost.files {message}"):
        session.together(session_with(master, wanted, session.FILES))


@pytest.mark.parametrize(("wanted", "seconds"), [(None, 60.0), ("0", 0.0), ("2.5", 2.5)])
def test_the_interval_of_saves(wanted: str | None, seconds: float) -> None:
    assert session.checkpoint_seconds(session_with("yarn", wanted, session.SECONDS)) == seconds


@pytest.mark.parametrize("wanted", ["soon", "", "-1", "nan", "inf"])
def test_invalid_seconds(wanted: str) -> None:
    message = rf"F034.*spark.fencepost.checkpointSeconds is '{wanted}'"
    with pytest.raises(Rejected, match=message):
        session.checkpoint_seconds(session_with("yarn", wanted, session.SECONDS))


def session_with(master: str, wanted: str | None, setting: str = session.TASKS) -> Any:
    """Returns a session with four cores."""
    conf = {"spark.master": master} | ({} if wanted is None else {setting: wanted})
    return SimpleNamespace(getConf=lambda: conf, defaultParallelism=4)


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_tasks_and_blocks_that_are_lost(count: int, seed: int) -> None:
    run = run_of(COUNTS)
    faults = Faults(seed, given_up=8, lost=8, gone=3) if seed else None
    engine = Spark(Cluster(partitions=7), behind(1))
    result = Codes(run.model, count).by(engine, run, faults)
    assert_same(run.by("interpreter"), result, f"{count} tasks, seed {seed}")


def test_states_sent_to_the_wrong_task() -> None:
    program = shared(4, 2)
    stray = records.record(Kind.STATES, 1, 1, bytes(8))
    with pytest.raises(Incomplete, match="states of partition 1 came to task 0"):
        list(tasks.census(cast("Any", SimpleNamespace(value=program)), 0, [stray]))
    order = Order(2, True, frozenset(), (0,) * 4, (0,) * 4, False, 1)
    stray = records.record(Kind.SUCCESSORS, 2, 1, bytes(8))
    with pytest.raises(Incomplete, match="states of partition 1 came to task 0"):
        list(Delivery(program, order, 0, {}, ParcelReader(program, Memory())).run([stray]))


@pytest.mark.parametrize("value", [0, -3])
def test_an_invalid_parallelism(value: int) -> None:
    conf = {session.PARALLELISM: str(value)}
    spark: Any = SimpleNamespace(getConf=lambda: conf, defaultParallelism=value)
    message = rf"F034.*spark.default.parallelism is '{value}'"
    with pytest.raises(Rejected, match=message):
        session.parallelism(spark)


def test_the_tables_of_a_task_are_limited() -> None:
    assert session.tasks(session_with("local[4]", None), 10_000) == 79
