# pyright: basic
"""Judges the histories of a recording on a cluster.

Lines remain rows of a table throughout. They are read where they are stored, sent to the task of
their history, sorted by position in that task, and processed one history at a time. A very long
history or a very frequent key therefore takes no more memory than others, and a repeated task gives
the same result. The driver only holds totals and the histories to show.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any, TypeVar

from pyspark import StorageLevel
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from fencepost.checker.request import Cluster
from fencepost.checker.spark import session
from fencepost.checker.spark.blocks import ERRORS, only_column, told
from fencepost.checker.spark.failures import Failed, gave_up
from fencepost.checker.spark.published import Place
from fencepost.checker.systems.conform.findings import (
    MAX_LISTED,
    MAX_WHOLE,
    SHOWN_WHOLE,
    Findings,
    Totals,
)
from fencepost.checker.systems.conform.lines import (
    MAX_BYTES,
    MAX_PROBLEMS,
    ambiguous,
    not_listed,
    unreadable,
)
from fencepost.checker.systems.conform.verdicts import Effort, Judgement
from fencepost.checker.systems.spark import files, tasks
from fencepost.checker.systems.spark.files import File
from fencepost.checker.systems.spark.tasks import BLOCK, EVENT, PROBLEM, Task
from fencepost.spec.core import ir
from fencepost.spec.core.recording import Recording
from fencepost.spec.text.problem import Problem, Rejected

T = TypeVar("T")
TASKS_PER_CORE = 4
"""Number of parts for each core, so that a core that finishes early gets another part."""


def _columns(**types: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in types.items()])


TEXT, NUMBER, COUNT = StringType(), IntegerType(), LongType()
TEXTS, NUMBERS = ArrayType(TEXT), ArrayType(NUMBER)
LINES = _columns(
    kind=TEXT, file=NUMBER, block=COUNT, number=COUNT, key=TEXT, by=TEXTS, data=BinaryType(),
    why=TEXT, first=COUNT, size=COUNT,
)  # fmt: skip
"""The data of a single line; see `tasks.located`."""
VERDICTS = _columns(
    key=TEXT, history=TEXT, verdict=TEXT, events=COUNT, read=COUNT, states=COUNT, tolerated=COUNT,
    cuts=TEXTS, instead=TEXTS,
    next=ArrayType(_columns(source=TEXT, read=COUNT, events=COUNT, event=TEXT)),
    layers=ArrayType(_columns(under_way=NUMBER, states=COUNT, ended=BooleanType())),
    taken=ArrayType(COUNT), used=NUMBERS, seen=NUMBERS, marked=NUMBERS, judged=BinaryType(),
)  # fmt: skip
"""The verdict on a history; see `tasks.judged`."""
KEPT = ("history", "verdict", "events", "read", "states", "tolerated", "cuts", "instead", "next",
        "layers")  # fmt: skip
"""The columns of the saved verdicts."""
COVERAGE = _columns(kind=TEXT, name=TEXT, count=COUNT)
PLACE = ("file", "block", "number")


def compare(
    model: ir.Model,
    recording: Recording,
    effort: Effort,
    names: Sequence[str],
    cluster: Cluster,
    results: str | None = None,
) -> Findings:
    """Returns the findings for some recordings. The names may denote files, folders, patterns, or
    anything else that Spark reads. ``results`` is a folder for the verdicts and the coverage, as
    tables. Raises `Rejected`.
    """
    spark = session.connect(cluster)
    publication = None
    if results is not None:
        url, _, name = files.absolute(spark, results).rstrip("/").rpartition("/")
        publication = Place(spark, "the verdicts", url or ".", name)
    try:
        comparison = _attempted(
            lambda: _Comparison(spark, model, recording, effort, names, cluster)
        )
        findings = _attempted(comparison.findings)
        if publication is not None:
            _attempted(lambda: comparison.save(publication))
            publication.publish()
        return findings
    finally:
        if publication is not None:
            publication.discard()


def _attempted(work: Callable[[], T]) -> T:
    try:
        return work()
    except ERRORS as error:
        raise gave_up(Failed(told(error))) from None


class _Comparison:
    """The tables of one comparison."""

    def __init__(
        self,
        spark: Any,
        model: ir.Model,
        recording: Recording,
        effort: Effort,
        names: Sequence[str],
        cluster: Cluster,
    ) -> None:
        self._spark = spark
        parts = cluster.partitions or TASKS_PER_CORE * spark.defaultParallelism
        # A separate session is used so that these settings do not affect other users of the
        # connection.
        self._session = SparkSession(spark).newSession()
        self._session.conf.set("spark.sql.shuffle.partitions", parts)
        self._model = model
        self._recording = recording
        self._files = files.recording_files(spark, names)
        numbers = {file.url: n for n, file in enumerate(self._files) if file.url}
        self._shipped = spark.broadcast(Task(model, recording, effort, numbers))
        self._lines = self._located().persist(StorageLevel.MEMORY_AND_DISK)
        events = self._lines.where(F.col("kind") == EVENT)
        self._keyless = self._resolved(events.where(F.col("key").isNull()))
        named = events.where(F.col("key").isNotNull())
        resolved = self._keyless.where(F.col("key").isNotNull())
        columns = ["key", *PLACE, "data"]
        sent = named.select(columns).unionByName(resolved.select(columns)).repartition(parts, "key")
        rows: Any = sent.sortWithinPartitions("key", *PLACE).rdd
        judged = rows.mapPartitions(partial(tasks.judged, self._shipped))
        frame = self._session.createDataFrame(judged, VERDICTS, verifySchema=False)
        self._verdicts = frame.persist(StorageLevel.MEMORY_AND_DISK)

    # ------------------------------------------------------------ lines

    def _located(self) -> DataFrame:
        """Returns the data of each line."""
        there = [file for file in self._files if file.url]
        texts = [file.path for file in there if not file.is_table]
        tables = [file.path for file in there if file.is_table]
        try:
            read = [self._of_texts(texts)] if texts else []
            read += [self._of_tables(tables)] if tables else []
        except AnalysisException as error:
            # The file vanished after it was listed. `files` detects a file that vanishes later.
            if error.getCondition() != "PATH_NOT_FOUND":
                raise
            url = (error.getMessageParameters() or {})["path"]
            label = next((file.label for file in there if file.url == url), url)
            raise Rejected([unreadable(label, files.GONE)]) from None
        # Creating a Python row object for each line would take as long as reading the line.
        lines = [only_column(self._spark, frame) for frame in read]
        every = self._spark.union(lines) if lines else self._spark.emptyRDD()
        located = every.mapPartitions(partial(tasks.located, self._shipped))
        return self._session.createDataFrame(located, LINES, verifySchema=False)

    def _of_texts(self, paths: list[str]) -> DataFrame:
        read = (
            self._session.read.option("lineSep", "\n")
            # Data that these options skip is detected later; see `files`.
            .option("mapreduce.input.linerecordreader.line.maxlength", str(files.MAX_HELD))
            .option("ignoreCorruptFiles", "true")
            .option("ignoreMissingFiles", "true")
        )
        return read.text([files.literal(path) for path in paths]).select(_given(F.col("value")))

    def _of_tables(self, paths: list[str]) -> DataFrame:
        """Returns the rows of Parquet files as lines, with the columns that the recording reads."""
        recording = self._recording
        wanted = {recording.key, *recording.by, recording.event_field, "source"}
        wanted |= {name for order in recording.orders for name in (order.name, *order.by)}
        wanted |= {declared.name for event in recording.events for declared in event.fields}
        table = self._session.read.option("mergeSchema", "true").parquet(*map(files.literal, paths))
        columns = [F.col(f"`{name}`") for name in table.columns if name in wanted]
        text = F.to_json(F.struct(*columns)) if columns else F.lit("{}")
        return table.select(_given(text))

    def _resolved(self, keyless: DataFrame) -> DataFrame:
        """Adds to lines without a key the history that has claimed their `by` fields (``key``), or
        the field that several histories have claimed (``disputed``).
        """
        keyed = self._lines.where((F.col("kind") == EVENT) & F.col("key").isNotNull())
        keys: list[Column] = []
        disputed: list[Column] = []
        for n in range(len(self._recording.by)):
            value = F.col("by")[n]
            owners = keyed.select(value.alias("said"), "key").where(F.col("said").isNotNull())
            least, most = F.col(f"least{n}"), F.col(f"most{n}")
            owner = owners.groupBy("said").agg(
                F.min("key").alias(f"least{n}"), F.max("key").alias(f"most{n}")
            )
            keyless = keyless.join(owner, value == F.col("said"), "left").drop("said")
            keys.append(F.when(least == most, least))
            row = F.struct(F.lit(n).alias("n"), value.alias("said"), least, most)
            row = row.cast("struct<n:int,said:string,least:string,most:string>")
            disputed.append(F.when(least.isNotNull(), row))
        if not keys:
            return keyless
        return keyless.withColumn("key", F.coalesce(*keys)).withColumn(
            "disputed", F.when(F.coalesce(*keys).isNull(), F.coalesce(*disputed))
        )

    # ------------------------------------------------------------ results

    def findings(self) -> Findings:
        """Returns the findings for all histories."""
        totals = self._totals()
        bad = self._verdicts.where(F.col("verdict") != "allowed")
        whole: list[Judgement] = []
        listed: list[Judgement] = []
        if any(totals.verdicts[verdict] for verdict in SHOWN_WHOLE):
            shown = bad.where(F.col("verdict").isin(*SHOWN_WHOLE))
            whole = _judged(shown.orderBy("key").limit(MAX_WHOLE))
        if totals.verdicts.total() - totals.verdicts["allowed"] > len(whole):
            others = bad.where(
                ~F.col("key").isin([tasks.written(judgement.key) for judgement in whole])
            )
            listed = _judged(others.orderBy("key").limit(MAX_LISTED))
        strays, disputes = self._strays() if self._recording.by else (0, [])
        problems = [*self._problems(), *disputes]
        return Findings(totals, whole, listed, self._histories, strays, problems)

    def _strays(self) -> tuple[int, list[Problem]]:
        """Returns the number of events without a history, and the problems of field values that
        belong to several histories.
        """
        lost = self._keyless.where(F.col("key").isNull()).groupBy("disputed")
        first = F.min(F.struct("file", "block", F.col("first").alias("number")))
        rows = lost.agg(F.sum("size").alias("lines"), first.alias("first")).collect()
        disputes = sorted(
            (row.disputed.n, row.disputed.said, row.disputed.least, row.disputed.most, row.first)
            for row in rows
            if row.disputed is not None
        )
        problems: list[Problem] = []
        for n, *texts, where in disputes:
            value, least, most = map(tasks.read, texts)
            name = self._recording.by[n]
            problems.append(ambiguous(self._place(*where), name, value, (least, most)))
        return sum(row.lines for row in rows), problems

    def _histories(self) -> Iterator[Judgement]:
        rows = self._verdicts.orderBy("key").select("judged").toLocalIterator()
        while (row := _attempted(lambda: next(rows, None))) is not None:
            yield tasks.unpacked(bytes(row.judged))

    def _totals(self) -> Totals:
        sums = self._verdicts.groupBy("verdict").agg(
            F.count("*").alias("histories"), F.sum("events").alias("events"),
            F.sum("tolerated").alias("tolerated"),
        )  # fmt: skip
        totals = Totals()
        for row in sums.collect():
            totals.verdicts[row.verdict] = row.histories
            totals.events += row.events
            totals.tolerated += row.tolerated
        numbers = [_numbers(name) for name in ("used", "seen", "marked")]
        taken = F.transform("taken", lambda count, n: _covered("taken", n, count))
        every = self._verdicts.select(F.explode(F.concat(taken, *numbers)).alias("c")).select("c.*")
        counts: dict[str, Counter[int]] = {}
        for row in every.groupBy("what", "n").agg(F.sum("times").alias("times")).collect():
            counts.setdefault(row.what, Counter())[row.n] = row.times
        totals.taken = +counts.get("taken", Counter())
        totals.used = set(counts.get("used", ()))
        totals.seen = set(counts.get("seen", ()))
        totals.marked = set(counts.get("marked", ()))
        return totals

    @cached_property
    def _blocks(self) -> tuple[dict[int, dict[int, tuple[int, int]]], Counter[int]]:
        """The number of lines and of bytes in each block of a file, and the number of unreadable
        lines in each file.
        """
        kinds = self._lines.where(F.col("kind") != EVENT).groupBy("kind", "file", "block")
        sums = kinds.agg(
            F.count("*").alias("wrong"), F.max("number").alias("lines"), F.sum("size").alias("size")
        )
        blocks: dict[int, dict[int, tuple[int, int]]] = {}
        counts: Counter[int] = Counter()
        for row in sums.collect():
            if row.kind == BLOCK:
                blocks.setdefault(row.file, {})[row.block] = row.lines, row.size
            else:
                counts[row.file] += row.wrong
        return blocks, counts

    def _line(self, file: int, block: int, number: int) -> int:
        """Returns the line number within the file of a line with this number in its block."""
        inside = self._blocks[0][file].items()
        return number + sum(count for other, (count, _) in inside if other < block)

    def _place(self, file: int, block: int, number: int) -> str:
        return f"{self._files[file].label}:{self._line(file, block, number)}"

    def _problems(self) -> list[Problem]:
        """Returns the problems of unreadable lines, file by file."""
        blocks, counts = self._blocks
        lines: dict[int, list[tuple[int, str]]] = {}
        order = Window.partitionBy("file").orderBy("block", "number")
        wrong = self._lines.where(F.col("kind") == PROBLEM).withColumn(
            "place", F.row_number().over(order)
        )
        first = wrong.where(F.col("place") <= MAX_PROBLEMS).orderBy(*PLACE)
        for row in first.select(*PLACE, "why").collect() if counts else ():
            number = self._line(row.file, row.block, row.number)
            lines.setdefault(row.file, []).append((number, row.why))
        problems: list[Problem] = []
        for n, file in enumerate(self._files):
            problems += self._wrong(file, blocks.get(n, {}), lines.get(n, []), counts[n])
        return problems

    def _wrong(
        self,
        file: File,
        blocks: dict[int, tuple[int, int]],
        lines: list[tuple[int, str]],
        count: int,
    ) -> Iterator[Problem]:
        if file.missing:
            yield unreadable(file.label, file.missing)
            return
        for number, why in lines:
            yield unreadable(f"{file.label}:{number}", why)
        if not file.is_table:
            read, size = (sum(block[n] for block in blocks.values()) for n in (0, 1))
            problem = files.unread(self._spark, file, read, size)
            if problem is not None:
                yield problem
        if count > MAX_PROBLEMS:
            yield not_listed(file.label, count - MAX_PROBLEMS)

    # ------------------------------------------------------------ tables

    def save(self, target: Place) -> None:
        """Writes the verdicts and the coverage as tables."""
        self._verdicts.select(*KEPT).write.parquet(target.at("histories"))
        totals, model, recording = self._totals(), self._model, self._recording
        rows = [
            ("action", declared.name, totals.taken[n]) for n, declared in enumerate(model.actions)
        ]
        rows += [
            ("event", declared.name, int(n in totals.seen))
            for n, declared in enumerate(recording.events)
        ]
        rows += [
            (
                declared.kind,
                f"{recording.events[declared.event].name} ({declared.span})",
                int(n in totals.used),
            )
            for n, declared in enumerate(recording.inputs)
        ]
        rows += [
            (mark.kind, f"{model.actions[mark.owner].name} ({mark.span})", int(n in totals.marked))
            for n, mark in enumerate(model.marks)
            if mark.kind != "antecedent"
        ]
        coverage = self._session.createDataFrame(rows, COVERAGE).coalesce(1)
        coverage.write.parquet(target.at("coverage"))


def _given(text: Column) -> Column:
    """Returns a line together with the information that `tasks.located` needs about it, as
    bytes.
    """
    origin, size = F.col("_metadata"), F.octet_length(text)
    where = origin.getField("file_path"), origin.getField("file_block_start").cast("string")
    apart = tasks.APART.decode()
    head = F.concat_ws(apart, *where, size.cast("string"), F.lit(""))
    return F.concat(head, F.when(size <= MAX_BYTES, text).otherwise("")).cast("binary")


def _numbers(name: str) -> Column:
    return F.transform(name, lambda n: _covered(name, n, F.lit(1)))


def _covered(kind: str, n: Column, times: Column) -> Column:
    return F.struct(
        F.lit(kind).alias("what"), n.cast("int").alias("n"), times.cast("long").alias("times")
    )


def _judged(rows: DataFrame) -> list[Judgement]:
    return [tasks.unpacked(bytes(row.judged)) for row in rows.select("judged").collect()]
