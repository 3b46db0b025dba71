# pyright: basic
"""Replaces Spark within this process: RDDs are lists, and tasks run one after the other.

Everything else is the code that runs on a cluster: the engine, its loop over levels, the tasks and
their tables. Thousands of searches can therefore be spread over partitions in the time of a few
Spark jobs. With `Faults`, tasks are aborted, run twice and lost, and blocks are lost, as on an
unreliable cluster.
"""

from __future__ import annotations

import os
import pickle
import random
import shutil
import struct
import traceback
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any
from unittest import mock

from pyspark.errors import PySparkRuntimeError
from tests.support.compressed_canary import quick_code

from fencepost.checker.native.machine.build import Code
from fencepost.checker.native.visited import plan
from fencepost.checker.spark import blocks, checkpoint, levels, program, session
from fencepost.checker.spark.checkpoint import BEGINNING
from fencepost.checker.spark.hadoop import Refused
from fencepost.checker.spark.records import KEY

PARALLELISM = 2
LENGTH = struct.Struct("<I")


@dataclass
class Faults:
    """Injected faults, as percentages of tasks.

    Tasks are aborted, complete but are lost, or find their blocks gone. Each fault happens at most
    ``most`` times in a search, which would otherwise give up. ``met`` counts the faults.
    """

    seed: int = 0
    given_up: int = 0
    lost: int = 0
    gone: int = 0
    most: int = 3
    met: dict[str, int] = field(default_factory=dict[str, int])

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    def strikes(self, name: str, percent: int) -> bool:
        """Decides whether the fault happens now."""
        often = self.met.get(name, 0) >= self.most
        struck = not often and self.random.randrange(100) < percent
        if struck:
            self.met[name] = self.met.get(name, 0) + 1
        return struck


class Accumulator:
    """A sum to which only successful tasks contribute."""

    def __init__(self, spark: Here, value: Any, param: Any) -> None:
        self.value = value
        self._spark = spark
        self._param = param

    def add(self, term: Any) -> None:
        """Adds the term of a task once the task has succeeded."""
        self._spark.added.append((self, pickle.dumps(term)))

    def take(self, term: bytes) -> None:
        self.value = self._param.addInPlace(self.value, pickle.loads(term))


class Rdd:
    """An RDD; ``make`` computes the elements of a partition from scratch each time."""

    def __init__(self, spark: Here, count: int, make: Callable[[int], Iterable[Any]]) -> None:
        self.spark = spark
        self.count_of_partitions = count
        self._make = make
        self._kept: dict[int, list[Any]] | None = None
        self._made: set[int] = set()

    def at(self, partition: int) -> list[Any]:
        """Returns the elements of a partition."""
        if self._kept is None:
            return [*self._make(partition)]
        if partition not in self._kept:
            if partition in self._made:
                # This is how `localCheckpoint` behaves, since it forgets the lineage.
                raise PySparkRuntimeError("Checkpoint block rdd_1_1 not found!")
            self._kept[partition] = [*self._make(partition)]
            self._made.add(partition)
        elif self.spark.faults.strikes("gone", self.spark.faults.gone):
            del self._kept[partition]
            return self.at(partition)
        return self._kept[partition]

    def keep(self) -> Rdd:
        self._kept = {}
        return self

    def unpersist(self) -> None:
        if self._kept is not None:
            self._kept.clear()

    def mapPartitionsWithIndex(  # noqa: N802
        self, task: Callable[[int, Iterable[Any]], Iterable[Any]], _: bool = False
    ) -> Rdd:
        """Works like the RDD method. What a task adds to accumulators counts only if the task
        succeeds.
        """
        return Rdd(
            self.spark, self.count_of_partitions, lambda n: self.spark.tried(task, n, self.at(n))
        )

    def mapPartitions(self, task: Callable[[Iterable[Any]], Iterable[Any]]) -> Rdd:  # noqa: N802
        return self.mapPartitionsWithIndex(lambda _, elements: task(elements))

    def saveAsNewAPIHadoopFile(self, url: str, *_: object, **__: object) -> None:  # noqa: N802
        """Writes one file for each nonempty partition."""
        Path(url).mkdir(parents=True)
        for n in range(self.count_of_partitions):
            data = b"".join(LENGTH.pack(len(value)) + value for _, value in self.at(n))
            (Path(url) / f"part-{n:05}").write_bytes(BEGINNING + data)
        (Path(url) / "_SUCCESS").touch()

    def getNumPartitions(self) -> int:  # noqa: N802
        return self.count_of_partitions

    def collect(self) -> list[Any]:
        return [element for n in range(self.count_of_partitions) for element in self.at(n)]

    def count(self) -> int:
        return len(self.collect())


class Here:
    """A replacement for `SparkContext`."""

    uiWebUrl = None  # noqa: N815

    def __init__(
        self, faults: Faults | None = None, settings: dict[str, str] | None = None
    ) -> None:
        self.faults = faults or Faults()
        self.added: list[tuple[Accumulator, bytes]] = []
        self.defaultParallelism = PARALLELISM
        self.jobs = 0
        self._settings = settings or {}

    def getConf(self) -> dict[str, str]:  # noqa: N802
        return self._settings

    def broadcast(self, value: Any) -> Any:
        return SimpleNamespace(value=value)

    def accumulator(self, value: Any, param: Any) -> Accumulator:
        return Accumulator(self, value, param)

    def setJobGroup(self, *_: object) -> None:  # noqa: N802
        self.jobs += 1

    def cancelJobGroup(self, _: str) -> None:  # noqa: N802
        """Does nothing: a job ends soon anyway."""

    def parallelize(self, elements: Sequence[Any], count: int) -> Rdd:
        size = max(-(-len(elements) // count), 1)
        return Rdd(self, count, lambda n: elements[n * size : (n + 1) * size])

    def sequenceFile(self, urls: str, *_: object, minSplits: int) -> Rdd:  # noqa: N802, N803
        """Reads the elements of files into one partition per file."""
        files = urls.split(",")

        def make(partition: int) -> list[tuple[int, bytearray]]:
            data, offset = Path(files[partition]).read_bytes(), len(BEGINNING)
            elements: list[tuple[int, bytearray]] = []
            while offset < len(data):
                (length,) = LENGTH.unpack_from(data, offset)
                offset += LENGTH.size
                elements.append((0, bytearray(data[offset : offset + length])))
                offset += length
            return elements

        return Rdd(self, len(files), make)

    def union(self, parts: Sequence[Rdd]) -> Rdd:
        """Joins RDDs partition by partition, as Spark does if they have the same partitioner."""
        counts = {part.count_of_partitions for part in parts}
        assert len(counts) == 1
        return Rdd(
            self, counts.pop(), lambda n: [element for part in parts for element in part.at(n)]
        )

    def sent(self, keyed: Rdd, count: int) -> Rdd:
        """Sends each element to the partition that the preceding element names."""
        files: list[list[bytes]] = []

        def make(partition: int) -> list[bytes]:
            if not files:
                into: list[list[bytes]] = [[] for _ in range(count)]
                elements = iter(keyed.collect())
                for key, element in zip(elements, elements, strict=True):
                    into[KEY.unpack(key)[0]].append(element)
                files.extend(into)
            return files[partition]

        return Rdd(self, count, make)

    def tried(
        self,
        task: Callable[[int, Iterable[Any]], Iterable[Any]],
        partition: int,
        elements: list[Any],
    ) -> list[Any]:
        """Returns the result of a task's first successful attempt."""
        faults = self.faults
        while faults.strikes("given up", faults.given_up):
            # The input ends early, and the rest of the output is not consumed.
            some = elements[: faults.random.randrange(len(elements) + 1)]
            with suppress(Exception):
                attempt = iter(task(partition, some))
                for _ in range(faults.random.randrange(3)):
                    next(attempt, None)
                del attempt
        while True:
            self.added.clear()
            try:
                result = [*task(partition, elements)]
            except Exception as error:
                faults.met["failed"] = faults.met.get("failed", 0) + 1
                raise PySparkRuntimeError(traceback.format_exc()) from error
            if not faults.strikes("lost", faults.lost):
                break
        for accumulator, term in self.added:
            accumulator.take(term)
        self.added.clear()
        return result


class Folder:
    """A replacement for a folder in Hadoop."""

    def __init__(self, _: Here, url: str) -> None:
        self.url = url
        self._path = Path(url)

    def names(self) -> list[str] | None:
        return sorted(p.name for p in self._path.iterdir()) if self._path.exists() else None

    def at(self, name: str) -> str:
        return str(self._path / name)

    def read(self, name: str) -> bytes:
        try:
            return (self._path / name).read_bytes()
        except OSError as error:
            raise Refused(str(error)) from None

    def beginning(self, name: str, size: int) -> bytes:
        return self.read(name)[:size]

    def write(self, name: str, content: bytes) -> None:
        (self._path / name).write_bytes(content)

    def remove(self, name: str) -> None:
        path = self._path / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()


@contextmanager
def compressed_from(states: int) -> Generator[None]:
    """Makes tables on Spark compress their states from this number on for the duration of the
    block.

    They do so even if the states share little.
    """
    with (
        mock.patch.object(levels, "SAMPLE", states),
        mock.patch.object(levels, "WORTH_BYTES", 0),
        mock.patch.object(plan, "MAX_PAIRS", 1000.0),
    ):
        yield


@contextmanager
def here(
    code: Callable[[str], Code],
    faults: Faults | None = None,
    settings: dict[str, str] | None = None,
) -> Generator[Here]:
    """Makes the engine `spark` do all its work in this process for the duration of the block.

    ``code`` builds the machine code for tasks from LLVM's text.
    """
    spark = Here(faults, settings)
    with ExitStack() as stack, TemporaryDirectory() as folder:
        stack.enter_context(mock.patch.dict(os.environ, SPARK_LOCAL_DIRS=folder))
        for module, name, value in (
            (session, "connect", lambda _: spark),
            (session, "obstacle", lambda: None),
            (checkpoint, "Folder", Folder),
            (blocks, "kept", Rdd.keep),
            (blocks, "raw", lambda rdd: rdd),
            (blocks, "near", lambda rdd: Rdd(spark, rdd.count_of_partitions, lambda _: [])),
            (blocks, "sent", lambda rdd, count: spark.sent(rdd, count)),
            (blocks, "count", Rdd.count),
            (blocks, "be_patient", lambda _spark, _seconds: None),
            (program, "code", code),
            (program, "set_code", quick_code),
        ):
            stack.enter_context(mock.patch.object(module, name, value))
        yield spark
