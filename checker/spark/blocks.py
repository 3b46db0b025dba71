# pyright: basic
"""RDDs whose elements are bytes for Spark, too: sent, kept and counted without being pickled.

PySpark has no public way to do so, and the hidden one has been the same since its beginnings; it is
used in this module only. It does not know what the bytes mean.
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

Blocks: TypeAlias = "RDD[bytes]"
ERRORS = (Py4JError, PySparkException, ConnectionError, EOFError)
"""What a call raises when Spark fails, or its Java is gone."""


def kept(blocks: Blocks) -> Blocks:
    """Has Spark keep an RDD, and forget how it was made: what is lost, it cannot make anew."""
    blocks.persist(StorageLevel.MEMORY_AND_DISK)
    _java(blocks).rdd().localCheckpoint()
    return blocks


def raw(blocks: Blocks) -> Blocks:
    """An RDD whose elements stay as they are. It must not have been used before."""
    hidden: Any = blocks
    hidden._jrdd_deserializer = NoOpSerializer()
    return blocks


def sent(keyed: Blocks, partitions: int) -> Blocks:
    """Each element in the partition whose number, as 8 bytes, is the element before it.

    This is what `RDD.partitionBy` does, without making Python objects of the elements.
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
    """Nothing, where an RDD is: what is united with it is made there, and reads none of it."""
    # A sample of nothing does not ask for an element, and knows where its RDD is.
    return RDD(_java(blocks).sample(True, 0.0, 0), blocks.ctx, NoOpSerializer())


def count(blocks: Blocks) -> int:
    """How many elements there are; none of them is brought to Python."""
    return int(_java(blocks).count())


def be_patient(spark: SparkContext, seconds: float) -> None:
    """How long a task waits for the executor that it would rather run on.

    Too short, and an idle executor takes tasks from where their tables are; too long, and the tasks
    of an executor that is lost wait for it. So it depends on how long tasks take.
    """
    hidden: Any = spark
    hidden._jsc.sc().conf().set("spark.locality.wait", f"{int(1000 * seconds)}ms")


def ui(spark: SparkContext) -> str | None:
    """Where the user interface of Spark is; None: it is off."""
    return spark.uiWebUrl


def told(error: BaseException) -> str:
    """What an error says. Where Java is gone, it cannot be asked."""
    try:
        return str(error)
    except ERRORS:
        return f"{type(error).__name__}: Java is gone"


def running(spark: SparkContext) -> int:
    """How many tasks run. Those of a job that has failed go on for a while."""
    hidden: Any = spark
    found = hidden._jsc.sc().statusTracker().getExecutorInfos()
    return sum(int(one.numRunningTasks()) for one in found)


def _java(blocks: Blocks) -> Any:
    return blocks._jrdd


def _itself(key: int) -> int:
    """Elements are sent to the number that comes with them."""
    return key
