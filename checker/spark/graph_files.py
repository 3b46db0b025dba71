# pyright: basic
"""The state graph as Parquet: written by executors beside its place, moved there when it is whole.

It knows how tables are kept; which rows they have is a matter of `graph`.
"""

from __future__ import annotations

import time
import uuid
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from fencepost.checker.outcome import Statistics
from fencepost.checker.spark import graph_rows
from fencepost.checker.spark.blocks import ERRORS, Blocks, running
from fencepost.checker.spark.columns import column, distinct
from fencepost.checker.spark.graph_rows import Extent
from fencepost.checker.spark.hadoop import Folder, Refused
from fencepost.spec.core.ir import Model
from fencepost.spec.text.problem import Problem, Rejected

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.core.rdd import RDD

STATES, TRANSITIONS = "states", "transitions"
LOOK_SECONDS, PATIENCE_SECONDS = 0.1, 10.0
INCOMPLETE = "_incomplete-"
"""How the name of a folder begins that is being written: Spark passes by what begins so."""
TRANSITION_COLUMNS = StructType(
    [StructField(name, StringType()) for name in ("from_id", "to_id", "action", "parameters")]
)


class Tables:
    """The place for the state graph of one search: the folder ``name`` in ``url``, which must not
    be there, or be empty. Raises `Rejected`.
    """

    def __init__(self, spark: SparkContext, url: str, name: str) -> None:
        self._spark = spark
        try:
            self._folder = Folder(spark, url)
            self._target = Folder(spark, self._folder.at(name))
            self._empty = self._target.names()
        except Refused as refused:
            raise unusable(url, str(refused)) from None
        self._temporary = Folder(spark, self._folder.at(f"{INCOMPLETE}{name}-{uuid.uuid4().hex}"))
        if self._empty:
            raise unusable(
                self._target.url,
                "it is there already, and not empty",
                "move it away, or name another",
            )

    @property
    def url(self) -> str:
        """Where the tables will be."""
        return self._target.url

    def write(self, model: Model, statistics: Statistics, blocks: Blocks) -> None:
        """Writes the tables beside their place: of all states in some records those that count."""
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
        place = self._temporary.at(name)
        made = session.createDataFrame(rows, columns, verifySchema=False)
        made.write.mode("overwrite").parquet(place)
        found = session.read.schema(columns).parquet(place).count()
        assert found == count, f"{found} {name} were saved of {count}"

    def publish(self) -> None:
        """Moves the tables, which are whole, to their place."""
        try:
            if self._empty is not None:
                self._target.delete()
            self._temporary.move(self._target)
        except Refused as refused:
            raise unusable(self._target.url, str(refused)) from None

    def discard(self) -> None:
        """Removes what was not moved to its place, as far as it can be reached."""
        with suppress(Refused, *ERRORS):
            if self._temporary.names() is None:
                return
            # What still runs would make the folder anew.
            until = time.monotonic() + PATIENCE_SECONDS
            while running(self._spark) and time.monotonic() < until:
                time.sleep(LOOK_SECONDS)
            self._temporary.delete()


def state_columns(model: Model) -> StructType:
    """The columns of the states of a model."""
    names = distinct((variable.name for variable in model.variables), ("id", "level"))
    variables = [
        StructField(name, column(variable.type).type)
        for name, variable in zip(names, model.variables, strict=True)
    ]
    return StructType(
        [StructField("id", StringType()), StructField("level", IntegerType()), *variables]
    )


def unusable(url: str, reason: str, *notes: str) -> Rejected:
    """The folder cannot be used."""
    what = f"the states cannot be saved in {url}: {reason}"
    return Rejected([Problem("F036", None, what, tuple((None, note) for note in notes))])
