"""The engine on a cluster of this machine, as the tests want it: handed over early."""

from __future__ import annotations

from collections.abc import Callable

from fencepost.checker.engine import Cluster
from fencepost.checker.native.explorer import Explorer
from fencepost.checker.spark.search import Spark

MASTER = "local[2]"
SETTINGS = (("spark.driver.memory", "1g"),)


def on(partitions: int, large: Callable[[Explorer], bool] | None = None) -> Spark:
    """The engine on the cluster that most tests share; it has the first levels to itself unless
    ``large`` says otherwise.
    """
    return Spark(Cluster(MASTER, partitions, SETTINGS), large or (lambda local: True))


def behind(level: int) -> Callable[[Explorer], bool]:
    """The cluster expands this level, and those that follow."""
    return lambda local: local.level >= level
