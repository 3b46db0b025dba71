# pyright: basic
"""The files of a recording wherever Hadoop reaches them, and whether all of each has been read.

Spark silently skips the rest of a broken compressed file, a file that has vanished, and lines that
are longer than a limit; so the number of bytes read is compared with the number of bytes there.
Files of this machine are opened once, by the rules for recordings, before Spark reads them, because
Spark would wait for a FIFO forever. This module does not know what lines mean.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError

from fencepost.checker.systems.conform.lines import TOO_EARLY, unreadable
from fencepost.spec.records import dataclass
from fencepost.spec.text import inputs
from fencepost.spec.text.problem import Problem, Rejected

if TYPE_CHECKING:
    from pyspark import SparkContext

ENDINGS = (".jsonl", ".jsonl.gz", ".parquet")
"""How the names of recordings in a folder end."""
PARQUET = ".parquet"
MAX_HELD = 1 << 26
"""Spark holds lines of at most so many bytes; of one that is longer nothing is known but that it is
there."""
GONE = "No such file or directory"
LEEWAY = range(-1, 4)
"""By how many bytes a file may differ from its lines: the end of the last one, and the mark at the
beginning that Windows likes.
"""


@dataclass(frozen=True, slots=True)
class File:
    """A file by its URL, as Spark writes it (``path``: as Hadoop does), and as a user knows it.
    ``missing`` says why there is none.
    """

    url: str
    path: str
    label: str
    size: int = 0
    missing: str = ""

    @property
    def is_table(self) -> bool:
        return self.path.endswith(PARQUET)


def found(spark: SparkContext, names: Sequence[str]) -> list[File]:
    """The files of these names, each once: of a folder those in it, of a pattern those that fit.
    Raises `Rejected`.
    """
    files: dict[str, File] = {}
    for name in names:
        for file in _named(spark, name):
            files.setdefault(file.url or file.label, file)
    return list(files.values())


def _named(spark: SparkContext, name: str) -> Iterator[File]:
    try:
        system, path = _system(spark, absolute(spark, name))
        if system.exists(path):
            yield from _below(system, system.getFileStatus(path), name)
            return
        statuses = system.globStatus(path) or ()
        for status in statuses:
            yield from _below(system, status, _plain(str(status.getPath().toString()), name))
        if not statuses:
            yield File("", "", name, missing=GONE)
    except Py4JJavaError as error:
        yield File("", "", name, missing=_said(error))


def _below(system: Any, status: Any, label: str) -> Iterator[File]:
    """A file, or the recordings in a folder, by name; what a program that writes Parquet calls a
    file may be a folder, too.
    """
    if not status.isDirectory():
        path = system.makeQualified(status.getPath())
        size = int(status.getLen())
        # Java writes an authority that is empty, or leaves it out.
        url = str(path.toUri().toString()).replace(":///", ":/")
        refusal = _refusal(path, size)
        if refusal is not None:
            yield File("", "", label, missing=refusal)
        else:
            yield File(url, str(path.toString()), label, size)
        return
    children = sorted(system.listStatus(status.getPath()), key=lambda one: one.getPath().getName())
    empty = True
    for child in children:
        name = str(child.getPath().getName())
        if name.startswith(("_", ".")) or not name.endswith(ENDINGS):
            continue
        empty = False
        inner = f"{label.rstrip('/')}/{name}" if ":" in label else str(PurePath(label) / name)
        yield from _below(system, child, inner)
    if empty:
        what = f"{label} has no recording: no file whose name ends with"
        raise Rejected([Problem("F047", None, f"{what} {', '.join(ENDINGS[:-1])} or {PARQUET}")])


def _refusal(path: Any, size: int) -> str | None:
    """Why a file of this size cannot be a recording; None if it can."""
    kind = inputs.Kind.RECORDING
    try:
        if str(path.toUri().getScheme()) == "file":
            inputs.opened(Path(str(path.toUri().getPath())), kind).close()
        elif size > kind.max_bytes:
            raise inputs.too_large(kind)
    except OSError as error:
        return error.strerror or str(error)
    return None


def _plain(url: str, pattern: str) -> str:
    """A URL as it would be written beside the pattern that it fits."""
    return url if ":" in pattern else url.removeprefix("file:")


def literal(path: str) -> str:
    """A path as a pattern that nothing else fits."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path)


def unread(spark: SparkContext, file: File, lines: int, size: int) -> Problem | None:
    """What is wrong with a file of which so many lines and bytes were read."""
    try:
        there = _content(spark, file)
    except Py4JJavaError as error:
        said = _said(error)
        early = "EOFException" in said or "Unexpected end" in said
        what = TOO_EARLY if early else f"{said}; the part before is judged"
        return unreadable(f"{file.label}:{lines + 1}", what)
    missing = there - size
    if missing in LEEWAY or (not size and not there):
        return None
    if missing >= MAX_HELD:
        return unreadable(file.label, f"a line is longer than {MAX_HELD:,} bytes")
    return unreadable(file.label, f"{size:,} of {there:,} bytes could be read")


def _content(spark: SparkContext, file: File) -> int:
    """How many bytes there are to read, decompressed where the name says that it is compressed.

    A compressed file is decompressed to its end: the size in its last bytes is that of its last
    member only, and may be that of what was read of a broken file by chance.
    """
    hidden: Any = spark
    jvm, settings = hidden._jvm, hidden._jsc.hadoopConfiguration()
    system, path = _system(spark, file.path)
    codec = jvm.org.apache.hadoop.io.compress.CompressionCodecFactory(settings).getCodec(path)
    if codec is None:
        return file.size
    stream = system.open(path)
    try:
        nowhere = jvm.java.io.OutputStream.nullOutputStream()
        return int(codec.createInputStream(stream).transferTo(nowhere))
    finally:
        stream.close()


def absolute(spark: SparkContext, name: str) -> str:
    """A name as Hadoop is to have it: Java may have begun in another folder than this one."""
    if ":" in name:
        return name
    system, _ = _system(spark, name)
    return os.path.abspath(name) if system.getUri().getScheme() == "file" else name


def _system(spark: SparkContext, name: str) -> tuple[Any, Any]:
    hidden: Any = spark
    path = hidden._jvm.org.apache.hadoop.fs.Path(name)
    return path.getFileSystem(hidden._jsc.hadoopConfiguration()), path


def _said(error: Py4JJavaError) -> str:
    return str(error.java_exception).partition("\n")[0]
