# pyright: basic
"""RDDs of bytes that Spark sends, keeps and counts without pickling them.

PySpark has no public interface for this; its internal one has been stable for years, and only this
module uses it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from py4j.protocol import Py4JError
from pyspark import StorageLevel
from pyspark.core.rdd import RDD, Partitioner
from pyspark.errors import PySparkException
from pyspark.serializers import NoOpSerializer

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import DataFrame

Blocks: TypeAlias = "RDD[bytes]"
ERRORS = (Py4JError, PySparkException, ConnectionError, EOFError)
"""Exceptions that calls raise when Spark fails or its JVM has exited."""


def kept(blocks: Blocks) -> Blocks:
    """Persists an RDD and truncates its lineage, so Spark cannot recompute lost blocks."""
    blocks.persist(StorageLevel.MEMORY_AND_DISK)
    _java(blocks).rdd().localCheckpoint()
    return blocks


def raw(blocks: Blocks) -> Blocks:
    """Marks the elements of an RDD as raw bytes. The RDD must not have been used before."""
    hidden: Any = blocks
    hidden._jrdd_deserializer = NoOpSerializer()
    return blocks


def only_column(spark: SparkContext, table: DataFrame) -> Blocks:
    """Returns the binary values in a table's only column."""
    hidden: Any = table
    jvm: Any = spark._jvm
    typed = getattr(hidden._jdf, "as")(jvm.org.apache.spark.sql.Encoders.BINARY())
    return RDD(typed.toJavaRDD(), spark, NoOpSerializer())


def sent(keyed: Blocks, partitions: int) -> Blocks:
    """Moves each element to the partition whose number, as 8 bytes, precedes it.

    Works like `RDD.partitionBy`, but does not create Python objects for the elements.
    """
    hidden: Any = keyed
    hidden._bypass_serializer = True
    spark = keyed.ctx
    jvm: Any = spark._jvm
    pairs = jvm.PairwiseRDD(_java(keyed).rdd()).asJavaPairRDD()
    partitioner = jvm.PythonPartitioner(partitions, id(_itself))
    moved = jvm.PythonRDD.valueOfPair(pairs.partitionBy(partitioner))
    blocks: Blocks = RDD(moved, spark, NoOpSerializer())
    blocks.partitioner = Partitioner(partitions, _itself)
    return blocks


def near(blocks: Blocks) -> Blocks:
    """Returns an empty RDD with the same partition locations as ``blocks``, so that a union with it
    is computed there.
    """
    # A sample of size zero reads no elements, but has the RDD's locations.
    return RDD(_java(blocks).sample(True, 0.0, 0), blocks.ctx, NoOpSerializer())


def count(blocks: Blocks) -> int:
    """Counts the elements in the JVM."""
    return int(_java(blocks).count())


def be_patient(spark: SparkContext, seconds: float) -> None:
    """Sets how long a task waits for its preferred executor.

    If the wait is too short, idle executors take tasks away from their tables; if it is too long,
    the tasks of a lost executor are delayed. So the caller derives it from the duration of tasks.
    """
    hidden: Any = spark
    hidden._jsc.sc().conf().set("spark.locality.wait", f"{int(1000 * seconds)}ms")


def ui(spark: SparkContext) -> str | None:
    """The URL of Spark's user interface, or None if it is off."""
    return spark.uiWebUrl


def told(error: BaseException) -> str:
    """Returns the text of an exception. Without a JVM, only its type is known."""
    try:
        return str(error)
    except ERRORS:
        return f"{type(error).__name__}: Java has ended"


def running(spark: SparkContext) -> int:
    """Returns the number of running tasks, including those of failed jobs."""
    hidden: Any = spark
    executors = hidden._jsc.sc().statusTracker().getExecutorInfos()
    return sum(int(executor.numRunningTasks()) for executor in executors)


def _java(blocks: Blocks) -> Any:
    return blocks._jrdd


def _itself(key: int) -> int:
    """The partition function. Keys are already partition numbers."""
    return key
