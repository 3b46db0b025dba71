# pyright: basic
"""A connection to Spark: the one that is there, or a new one with what this engine wants.

It does not know what the connection is used for.
"""

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
"""What tasks import is below these; models are not, and llvmlite must be there."""

LEAST_JAVA = 17
GET_JAVA = "install a Java runtime (Debian: apt install openjdk-17-jre-headless), or set JAVA_HOME"
WANTED = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # With this serializer Spark sorts what is sent as bytes, without making objects of it again.
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.kryoserializer.buffer.max": "2047m",
    # A task writes one file, and not one for each partition.
    "spark.shuffle.sort.bypassMergeThreshold": "4",
    # What is kept of a level takes a third of the room or less.
    "spark.rdd.compress": "true",
}
"""What this engine wants of a session that it begins, unless the user says otherwise."""
WANTED_HERE = {
    # Packed states go from process to process, not over a network.
    "spark.shuffle.compress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
"""The same for a master on this machine."""
JAVA_HERE = "-XX:TieredStopAtLevel=1"
COLLECTOR = "-XX:+UseParallelGC"
"""What Java is started with for a master on this machine. What it does is mostly copying: its
better compiler takes longer than it saves, and a collector that works beside it costs more.
"""
JAVA_OPTIONS = ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")
"""Variables of the environment that may name another collector; Java starts with one at most."""

TASKS = "spark.fencepost.tasks"
"""The setting that says how many tasks a stage has at most."""
FILES = "spark.fencepost.files"
"""The setting that says whether successors go from task to task in files."""
MOST_OWNERS = 128
"""How many tables a task has at most, unless a setting says otherwise: each is up to some hundreds
of files in memory, of which a system has room for a limited number.
"""
PARALLELISM = "spark.default.parallelism"
"""Spark's own setting that says how many tasks run side by side."""
SECONDS = "spark.fencepost.checkpointSeconds"
"""The setting that says about how often a search is saved."""
CHECKPOINT_SECONDS = 60.0
"""The same where nothing is set."""


def obstacle() -> str | None:
    """Why Spark cannot be started here; None: it can, as far as can be seen at once."""
    if "PYSPARK_GATEWAY_PORT" in os.environ or SparkContext._gateway is not None:
        return None
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java") if not home else shutil.which("java", path=f"{home}/bin")
    if java is None:
        where = f"JAVA_HOME is {home}, which has no bin/java" if home else "there is no java here"
        return f"it needs Java {LEAST_JAVA} or later, and {where}; {GET_JAVA}"
    try:
        told = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=60, check=False
        ).stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{java} does not run ({error}); {GET_JAVA}"
    found = re.search(r'version "(?:1\.)?(\d+)', told)
    if found is None:
        first = told.strip().partition("\n")[0]
        return f'it needs Java {LEAST_JAVA} or later, and {java} says "{first[:100]}"; {GET_JAVA}'
    if int(found[1]) < LEAST_JAVA:
        return f"it needs Java {LEAST_JAVA} or later, and {java} is Java {found[1]}; {GET_JAVA}"
    return None


def library() -> str:
    """What this engine stands on."""
    return f"pyspark {pyspark.__version__}"


def connect(cluster: Cluster) -> SparkContext:
    """The connection that is asked for. Raises `Rejected`."""
    spark = _connected(cluster)
    if cluster.ship:
        _ship(spark)
    return spark


def tasks(spark: SparkContext, partitions: int) -> int:
    """In how many tasks the work of some partitions is done. Raises `Rejected`.

    On this machine in no more than run side by side: each one costs about as much as expanding
    10,000 states. On a cluster each partition has its own, since what becomes of an executor
    becomes of all that a task has there.
    """
    conf = spark.getConf()
    wanted = conf.get(TASKS)
    if wanted is not None:
        if not wanted.isdecimal() or len(wanted) > 9 or not int(wanted):
            raise unusable(f"{TASKS} is {wanted!r}", "it has to be a number, 1 or more")
        return min(partitions, int(wanted))
    if not _here(conf):
        return partitions
    return min(partitions, max(parallelism(spark), -(-partitions // MOST_OWNERS)))


def together(spark: SparkContext) -> bool:
    """Whether all tasks run on one machine, and successors go from one to another in files.
    Raises `Rejected`.
    """
    conf = spark.getConf()
    wanted = conf.get(FILES)
    if wanted not in (None, "true", "false"):
        raise unusable(f"{FILES} is {wanted!r}", "it has to be true or false")
    here = _here(conf)
    if wanted == "true" and not here:
        raise unusable(f"{FILES} is 'true'", "that is for --master local... only")
    return here and wanted != "false"


def _here(conf: SparkConf) -> bool:
    """Whether all tasks run in the processes of this machine's Spark."""
    return re.match(r"local(\[|$)", str(conf.get("spark.master"))) is not None


def parallelism(spark: SparkContext) -> int:
    """How many tasks run side by side. Raises `Rejected`."""
    try:
        found = spark.defaultParallelism
    except (Py4JError, PySparkException):
        found = 0
    if found < 1:
        wanted = spark.getConf().get(PARALLELISM)
        raise unusable(f"{PARALLELISM} is {wanted!r}", "it has to be a number, 1 or more")
    return found


def checkpoint_seconds(spark: SparkContext) -> float:
    """How long a search goes on before it saves what it has, again. Raises `Rejected`."""
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
    """Gives executors this package, once in a session."""
    name = f"fencepost-{__version__}.zip"
    if name in (spark._python_includes or ()):
        return
    # Executors fetch it when they need it: it stays as long as this process.
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
    asked = SparkConf(loadDefaults=False)
    asked.setAppName("fencepost")
    for name, value in cluster.settings:
        asked.set(name, value)
    if cluster.master is not None:
        asked.setMaster(cluster.master)
        if cluster.master.startswith("local"):
            # Java must know this when it starts.
            asked.setIfMissing("spark.driver.extraJavaOptions", java_here(asked))
    interrupt = signal.getsignal(signal.SIGINT)
    # What Spark says on the way is kept for the case that it fails.
    handle, name = tempfile.mkstemp(prefix="fencepost-spark-", suffix=".log")
    log = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            gateway: Any = SparkContext._gateway or _launch(asked, file)
        spark = _context(asked, gateway)
        atexit.register(log.unlink, missing_ok=True)
        return spark
    except Exception as error:
        # PySpark, py4j and the system each raise their own; all mean that Spark does not start.
        text = f"{error}\n{log.read_text(encoding='utf-8', errors='replace')}"
        raise unusable(f"Spark does not start: {reason(text)}", f"its log is {log}") from None
    finally:
        if signal.getsignal(signal.SIGINT) is not interrupt:
            signal.signal(signal.SIGINT, interrupt)


def java_here(asked: SparkConf) -> str:
    """What Java is started with for a master on this machine."""
    said = [os.environ.get(name, "") for name in JAVA_OPTIONS]
    said.append(asked.get("spark.driver.defaultJavaOptions", ""))
    if any(re.search(r"-XX:\+Use\w+GC\b", options) for options in said):
        return JAVA_HERE
    return f"{JAVA_HERE} {COLLECTOR}"


def _launch(asked: SparkConf, log: IO[bytes]) -> Any:
    """Starts Java, which says nothing on the terminal."""
    start: Any = launch_gateway
    return start(asked, {"stderr": log, "stdout": log})


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
    """The folder of this package."""
    return Path(__file__).absolute().parents[2]


def pack_sources(target: Path) -> None:
    """Writes the package to a zip file."""
    # Links are followed as they are: in a checkout they show the package as it is installed.
    package = Path(__file__).absolute().parents[2]
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as file:
        file.write(package / "__init__.py", "fencepost/__init__.py")
        for folder in SHIPPED:
            for path in sorted((package / folder).rglob("*.py")):
                file.write(path, f"fencepost/{path.relative_to(package).as_posix()}")
