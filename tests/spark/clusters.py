"""The engine on clusters of this machine, as the tests want it: handed over early."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.support.paths import ROOT

from fencepost.checker.native.explorer import Explorer
from fencepost.checker.request import Cluster
from fencepost.checker.spark.records import Merged
from fencepost.checker.spark.search import Spark

SETTINGS = (
    ("spark.driver.memory", "1g"),
    # What the tests put in the place of tasks is in their own modules.
    ("spark.executorEnv.PYTHONPATH", f"{ROOT / '.dev'}:{ROOT}"),
)
HERE = "local[2]"
TWO_EXECUTORS = "local-cluster[2,1,1024]"
OF_TWO_EXECUTORS = (
    *SETTINGS,
    ("spark.executor.memory", "512m"),
    # A task that takes a little longer than others is run a second time.
    ("spark.speculation", "true"),
    ("spark.speculation.interval", "50ms"),
    ("spark.speculation.multiplier", "1.2"),
    ("spark.speculation.quantile", "0.25"),
)
Large = Callable[[Explorer], bool]


def on(
    partitions: int,
    large: Large | None = None,
    watch: Callable[[Sequence[Merged]], None] = lambda _: None,
) -> Spark:
    """The engine on the cluster that most tests share; it has all levels but the first unless
    ``large`` says otherwise.
    """
    return Spark(Cluster(HERE, partitions, SETTINGS), large or behind(1), watch)


def on_two_executors(partitions: int, large: Large | None = None) -> Spark:
    """The engine on two executors that are processes of their own."""
    return Spark(Cluster(TWO_EXECUTORS, partitions, OF_TWO_EXECUTORS), large or behind(1))


def behind(level: int) -> Large:
    """The cluster expands this level, and those that follow."""
    return lambda local: local.level >= level
