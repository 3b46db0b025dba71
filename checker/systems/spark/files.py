# pyright: basic
"""Finds the files of a recording, in any file system that Hadoop can access, and checks that each
file was read completely.

Spark silently skips the rest of a broken compressed file, a file that has vanished, and lines
longer than a limit. The number of bytes read is therefore compared with the size of the file. Local
files are opened once before Spark reads them, by the rules for recordings, because Spark would wait
for a FIFO forever.
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
"""The endings of names of recordings in a folder."""
PARQUET = ".parquet"
MAX_HELD = 1 << 26
"""Maximum number of bytes of a line that Spark keeps. For a longer line, Spark only reports that
the line exists.
"""
GONE = "No such file or directory"
LEEWAY = range(-1, 4)
"""The tolerated difference between the size of a file and that of its lines. It allows for the end
of the last line and the byte order mark of Windows.
"""


@dataclass(frozen=True, slots=True)
class File:
    """A file, with its URL as Spark writes it, its path as Hadoop writes it, and its name for the
    user. ``missing`` is the reason why the file does not exist or cannot be used.
    """

    url: str
    path: str
    label: str
    size: int = 0
    missing: str = ""

    @property
    def is_table(self) -> bool:
        return self.path.endswith(PARQUET)


def recording_files(spark: SparkContext, names: Sequence[str]) -> list[File]:
    """Returns the distinct files with these names. A folder denotes the recordings in it, and a
    pattern denotes its matches. Raises `Rejected`.
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
    """Yields a file, or the recordings in a folder, sorted by name. A file written as Parquet may
    be a folder.
    """
    if not status.isDirectory():
        path = system.makeQualified(status.getPath())
        size = int(status.getLen())
        # Java may write or omit an empty authority.
        url = str(path.toUri().toString()).replace(":///", ":/")
        refusal = _refusal(path, size)
        if refusal is not None:
            yield File("", "", label, missing=refusal)
        else:
            yield File(url, str(path.toString()), label, size)
        return
    children = sorted(
        system.listStatus(status.getPath()), key=lambda status: status.getPath().getName()
    )
    empty = True
    for child in children:
        name = str(child.getPath().getName())
        if name.startswith(("_", ".")) or not name.endswith(ENDINGS):
            continue
        empty = False
        inner = f"{label.rstrip('/')}/{name}" if ":" in label else str(PurePath(label) / name)
        yield from _below(system, child, inner)
    if empty:
        message = f"{label} has no recording: no file whose name ends with"
        raise Rejected([Problem("F047", None, f"{message} {', '.join(ENDINGS[:-1])} or {PARQUET}")])


def _refusal(path: Any, size: int) -> str | None:
    """Returns the reason why a file of this size cannot be a recording, or None."""
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
    """Returns a URL in the style of the pattern that it matches."""
    return url if ":" in pattern else url.removeprefix("file:")


def literal(path: str) -> str:
    """Converts a path to a pattern that only matches this path."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path)


def unread(spark: SparkContext, file: File, lines: int, size: int) -> Problem | None:
    """Returns the defect of a file, given the numbers of lines and of bytes read, or None."""
    try:
        there = _content(spark, file)
    except Py4JJavaError as error:
        message = _said(error)
        early = "EOFException" in message or "Unexpected end" in message
        reason = TOO_EARLY if early else f"{message}; the part before is judged"
        return unreadable(f"{file.label}:{lines + 1}", reason)
    missing = there - size
    if missing in LEEWAY or (not size and not there):
        return None
    if missing >= MAX_HELD:
        return unreadable(file.label, f"a line is longer than {MAX_HELD:,} bytes")
    return unreadable(file.label, f"{size:,} of {there:,} bytes could be read")


def _content(spark: SparkContext, file: File) -> int:
    """Returns the number of bytes to read, after decompression if the name indicates a compressed
    file.

    A compressed file is decompressed completely. The size in its last bytes is only the size of its
    last member, which could by chance equal the amount read from a broken file.
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
    """Returns a name for Hadoop as an absolute path, because Java may have started in another
    folder.
    """
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
