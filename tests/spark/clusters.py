"""The engine on local clusters, to which it hands the search over early."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.support.paths import ROOT

from fencepost.checker.native.explorer import Explorer
from fencepost.checker.request import Cluster
from fencepost.checker.spark.records import MergeResult
from fencepost.checker.spark.search import Spark

SETTINGS = (
    ("spark.driver.memory", "1g"),
    # The modules of the tests contain the task functions that replace the real ones.
    ("spark.executorEnv.PYTHONPATH", f"{ROOT / '.dev'}:{ROOT}"),
)
HERE = "local[2]"
TWO_EXECUTORS = "local-cluster[2,1,1024]"
OF_TWO_EXECUTORS = (
    *SETTINGS,
    ("spark.executor.memory", "512m"),
    # Speculation starts a second attempt of a task that is slightly slow.
    ("spark.speculation", "true"),
    ("spark.speculation.interval", "50ms"),
    ("spark.speculation.multiplier", "1.2"),
    ("spark.speculation.quantile", "0.25"),
)
Large = Callable[[Explorer], bool]


def on(
    partitions: int,
    large: Large | None = None,
    watch: Callable[[Sequence[MergeResult]], None] = lambda _: None,
) -> Spark:
    """Returns the engine on the cluster that most tests share; the cluster searches all levels but
    the first, unless ``large`` decides otherwise.
    """
    return Spark(Cluster(HERE, partitions, SETTINGS), large or from_level(1), watch)


def on_two_executors(partitions: int, large: Large | None = None) -> Spark:
    """Returns the engine on two executors in separate processes."""
    return Spark(Cluster(TWO_EXECUTORS, partitions, OF_TWO_EXECUTORS), large or from_level(1))


def from_level(level: int) -> Large:
    """Returns a condition that hands this level and all later ones to the cluster."""
    return lambda local: local.level >= level
