# pyright: basic
"""The connection to Spark: an existing session, or a new one with suitable settings."""

from __future__ import annotations

import atexit
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import IO, Any

import pyspark
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway

from fencepost import __version__
from fencepost.checker.request import Cluster
from fencepost.checker.spark.failures import reason, unusable

SHIPPED = ("spec", "checker")
"""The source folders that tasks import from. Executors must also have llvmlite."""

MIN_JAVA = 17
GET_JAVA = "install a Java runtime (Debian: apt install openjdk-17-jre-headless), or set JAVA_HOME"
WANTED = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # With this serializer, Spark sorts the exchanged data as bytes, without deserializing it.
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.kryoserializer.buffer.max": "2047m",
    # Makes a task write a single file instead of one per partition.
    "spark.shuffle.sort.bypassMergeThreshold": "4",
    # Reduces the memory for a persisted level to a third or less.
    "spark.rdd.compress": "true",
}
"""Default settings for a session that is started here; the user can override them."""
WANTED_HERE = {
    # Packed states are passed between processes, not over a network.
    "spark.shuffle.compress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
"""Further default settings for a local master."""
JAVA_HERE = "-XX:TieredStopAtLevel=1"
COLLECTOR = "-XX:+UseParallelGC"
"""JVM options for a local master. The JVM mostly copies data: the optimizing compiler takes more
time than it saves, and a concurrent collector costs more than a parallel one.
"""
JAVA_OPTIONS = ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")
"""Environment variables that may select a garbage collector. Java accepts only one collector."""

TASKS = "spark.fencepost.tasks"
"""The setting that limits the number of tasks per stage."""
FILES = "spark.fencepost.files"
"""The setting that controls whether successors are exchanged in files."""
MAX_OWNERS = 128
"""The default maximum number of tables per task. Each table consists of up to hundreds of
memory-mapped files, and the system limits their number.
"""
PARALLELISM = "spark.default.parallelism"
"""Spark's setting for the number of parallel tasks."""
SECONDS = "spark.fencepost.checkpointSeconds"
"""The setting for the interval between checkpoints, in seconds."""
CHECKPOINT_SECONDS = 60.0
"""The default interval between checkpoints, in seconds."""


def obstacle() -> str | None:
    """Returns why Spark cannot start here, or None if nothing obvious prevents it."""
    if "PYSPARK_GATEWAY_PORT" in os.environ or SparkContext._gateway is not None:
        return None
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java") if not home else shutil.which("java", path=f"{home}/bin")
    if java is None:
        where = f"JAVA_HOME is {home}, which has no bin/java" if home else "there is no java here"
        return f"it needs Java {MIN_JAVA} or later, but {where}; {GET_JAVA}"
    try:
        output = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=60, check=False
        ).stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{java} does not run ({error}); {GET_JAVA}"
    version = re.search(r'version "(?:1\.)?(\d+)', output)
    if version is None:
        first = output.strip().partition("\n")[0]
        return f'it needs Java {MIN_JAVA} or later, but {java} says "{first[:100]}"; {GET_JAVA}'
    if int(version[1]) < MIN_JAVA:
        return f"it needs Java {MIN_JAVA} or later, but {java} is Java {version[1]}; {GET_JAVA}"
    return None


def library() -> str:
    """Returns the name and version of the library."""
    return f"pyspark {pyspark.__version__}"


def connect(cluster: Cluster) -> SparkContext:
    """Returns the requested connection. Raises `Rejected`."""
    spark = _connected(cluster)
    if cluster.ship:
        _ship(spark)
    return spark


def tasks(spark: SparkContext, partitions: int) -> int:
    """Returns the number of tasks per stage for a number of partitions. Raises `Rejected`.

    With a local master, there are at most as many tasks as run in parallel, unless each would then
    have more than `MAX_OWNERS` tables: a task costs about as much as expanding 10,000 states. On a
    cluster, each partition has its own task, since an executor that fails loses the tables of all
    its tasks.
    """
    conf = spark.getConf()
    wanted = conf.get(TASKS)
    if wanted is not None:
        if not wanted.isdecimal() or len(wanted) > 9 or not int(wanted):
            raise unusable(f"{TASKS} is {wanted!r}", "it has to be a number, 1 or more")
        return min(partitions, int(wanted))
    if not _here(conf):
        return partitions
    return min(partitions, max(parallelism(spark), -(-partitions // MAX_OWNERS)))


def together(spark: SparkContext) -> bool:
    """Whether all tasks run on one machine and exchange successors in files. Raises `Rejected`."""
    conf = spark.getConf()
    wanted = conf.get(FILES)
    if wanted not in (None, "true", "false"):
        raise unusable(f"{FILES} is {wanted!r}", "it has to be true or false")
    here = _here(conf)
    if wanted == "true" and not here:
        raise unusable(f"{FILES} is 'true'", "that is for --master local... only")
    return here and wanted != "false"


def _here(conf: SparkConf) -> bool:
    """Whether the master is local, so that all tasks run on this machine."""
    return re.match(r"local(\[|$)", str(conf.get("spark.master"))) is not None


def parallelism(spark: SparkContext) -> int:
    """Returns the number of tasks that run in parallel. Raises `Rejected`."""
    try:
        number = spark.defaultParallelism
    except (Py4JError, PySparkException):
        number = 0
    if number < 1:
        wanted = spark.getConf().get(PARALLELISM)
        raise unusable(f"{PARALLELISM} is {wanted!r}", "it has to be a number, 1 or more")
    return number


def checkpoint_seconds(spark: SparkContext) -> float:
    """Returns the interval between checkpoints in seconds. Raises `Rejected`."""
    wanted = spark.getConf().get(SECONDS)
    if wanted is None:
        return CHECKPOINT_SECONDS
    try:
        seconds = float(wanted)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < math.inf:
        raise unusable(f"{SECONDS} is {wanted!r}", "it has to be a number, 0 or more")
    return seconds


def _ship(spark: SparkContext) -> None:
    """Sends this package to executors, once per session."""
    name = f"fencepost-{__version__}.zip"
    if name in (spark._python_includes or ()):
        return
    # Executors fetch the file on demand, so it is kept until this process ends.
    folder = tempfile.mkdtemp(prefix="fencepost-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder) / name
    pack_sources(path)
    spark.addPyFile(str(path))


def _connected(cluster: Cluster) -> SparkContext:
    if cluster.session is not None:
        return _given(cluster.session)
    running: SparkContext | None = SparkContext._active_spark_context
    if running is not None:
        wanted = [*cluster.settings]
        if cluster.master is not None:
            wanted.append(("spark.master", cluster.master))
        conf = running.getConf()
        if all(conf.get(name) == value for name, value in wanted):
            return running
        if conf.get("spark.fencepost.own") != "true":
            raise unusable(
                "this process has a Spark session with other settings",
                "stop it, or pass it on as it is",
            )
        running.stop()
    return _begun(cluster)


def _given(session: Any) -> SparkContext:
    try:
        spark = session if isinstance(session, SparkContext) else session.sparkContext
    except (AttributeError, PySparkException):
        spark = None
    if not isinstance(spark, SparkContext):
        raise unusable(
            "this session has no RDDs", "a session of Spark Connect cannot be used; begin another"
        )
    return spark


def _begun(cluster: Cluster) -> SparkContext:
    conf = SparkConf(loadDefaults=False)
    conf.setAppName("fencepost")
    for name, value in cluster.settings:
        conf.set(name, value)
    if cluster.master is not None:
        conf.setMaster(cluster.master)
        if cluster.master.startswith("local"):
            # These options take effect only when the JVM starts.
            conf.setIfMissing("spark.driver.extraJavaOptions", java_here(conf))
    interrupt = signal.getsignal(signal.SIGINT)
    # Spark's output is kept in a file, and shown if Spark fails to start.
    handle, name = tempfile.mkstemp(prefix="fencepost-spark-", suffix=".log")
    log = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            gateway: Any = SparkContext._gateway or _launch(conf, file)
        spark = _context(conf, gateway)
        atexit.register(log.unlink, missing_ok=True)
        return spark
    except Exception as error:
        # PySpark, py4j and the system raise different exceptions, which all mean that Spark does
        # not start.
        text = f"{error}\n{log.read_text(encoding='utf-8', errors='replace')}"
        raise unusable(f"Spark does not start: {reason(text)}", f"its log is {log}") from None
    finally:
        if signal.getsignal(signal.SIGINT) is not interrupt:
            signal.signal(signal.SIGINT, interrupt)


def java_here(asked: SparkConf) -> str:
    """Returns the JVM options for a local master."""
    variables = [os.environ.get(name, "") for name in JAVA_OPTIONS]
    variables.append(asked.get("spark.driver.defaultJavaOptions", ""))
    if any(re.search(r"-XX:\+Use\w+GC\b", options) for options in variables):
        return JAVA_HERE
    return f"{JAVA_HERE} {COLLECTOR}"


def _launch(conf: SparkConf, log: IO[bytes]) -> Any:
    """Starts Java, with its output in ``log`` instead of on the terminal."""
    start: Any = launch_gateway
    return start(conf, {"stderr": log, "stdout": log})


def _context(asked: SparkConf, gateway: Any) -> SparkContext:
    conf = SparkConf(_jvm=gateway.jvm)
    for name, value in asked.getAll():
        conf.set(name, value)
    conf.setIfMissing("spark.master", "local[*]")
    conf.set("spark.fencepost.own", "true")
    here = str(conf.get("spark.master")).startswith("local")
    for name, value in (WANTED | WANTED_HERE if here else WANTED).items():
        conf.setIfMissing(name, value)
    if here:
        conf.setIfMissing("spark.executorEnv.PYTHONPATH", str(_package().parent))
    spark = SparkContext(conf=conf, gateway=gateway)
    if here and "PYSPARK_PYTHON" not in os.environ:
        spark.pythonExec = sys.executable
    return spark


def _package() -> Path:
    """Returns the folder of this package."""
    return Path(__file__).absolute().parents[2]


def pack_sources(target: Path) -> None:
    """Writes the package's sources to a zip file."""
    # In a checkout, the package's folders are symbolic links, which are followed.
    package = Path(__file__).absolute().parents[2]
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as file:
        file.write(package / "__init__.py", "fencepost/__init__.py")
        for folder in SHIPPED:
            for path in sorted((package / folder).rglob("*.py")):
                file.write(path, f"fencepost/{path.relative_to(package).as_posix()}")
