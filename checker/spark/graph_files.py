# pyright: basic
"""Writes the state graph as Parquet files, from the executors; `graph_rows` defines the rows."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from fencepost.checker.outcome import Statistics
from fencepost.checker.spark import graph_rows
from fencepost.checker.spark.blocks import Blocks
from fencepost.checker.spark.columns import column, distinct
from fencepost.checker.spark.graph_rows import Extent
from fencepost.checker.spark.published import Place
from fencepost.spec.core.ir import Model

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.core.rdd import RDD

STATES, TRANSITIONS = "states", "transitions"
TRANSITION_COLUMNS = StructType(
    [StructField(name, StringType()) for name in ("from_id", "to_id", "action", "parameters")]
)


class Tables(Place):
    """The tables of a search's state graph, written to the folder ``name`` in ``url``. That folder
    must not exist or must be empty; otherwise raises `Rejected`.
    """

    def __init__(self, spark: SparkContext, url: str, name: str) -> None:
        super().__init__(spark, "the states", url, name)

    def write(self, model: Model, statistics: Statistics, blocks: Blocks) -> None:
        """Writes the tables to the temporary folder. ``blocks`` may also contain states that do not
        count; these are left out.
        """
        shipped = self._spark.broadcast(model)
        sizes = statistics.levels
        extent = Extent(sum(1 for size in sizes if size), len(statistics.transitions))
        steps: RDD[Any] = blocks.mapPartitions(partial(graph_rows.transitions, shipped, extent))
        if statistics.generated > sum(statistics.transitions):
            first = self._spark.parallelize([0], 1)
            steps = steps.union(first.mapPartitions(partial(graph_rows.beginnings, shipped)))
        states = blocks.mapPartitions(partial(graph_rows.states, shipped, extent))
        self._table(STATES, states, state_columns(model), statistics.distinct)
        self._table(TRANSITIONS, steps, TRANSITION_COLUMNS, statistics.generated)

    def _table(self, name: str, rows: RDD[Any], columns: StructType, count: int) -> None:
        session = SparkSession(self._spark)
        folder = self.at(name)
        frame = session.createDataFrame(rows, columns, verifySchema=False)
        frame.write.mode("overwrite").parquet(folder)
        saved = session.read.schema(columns).parquet(folder).count()
        assert saved == count, f"{saved} {name} were saved of {count}"


def state_columns(model: Model) -> StructType:
    """Returns the columns of the table of states."""
    names = distinct((variable.name for variable in model.variables), ("id", "level"))
    variables = [
        StructField(name, column(variable.type).type)
        for name, variable in zip(names, model.variables, strict=True)
    ]
    return StructType(
        [StructField("id", StringType()), StructField("level", IntegerType()), *variables]
    )
