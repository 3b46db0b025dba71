# pyright: basic
"""Reads and writes small files in folders that Hadoop can access: ``file:``, ``hdfs:``, ``s3a:``
and others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from py4j.protocol import Py4JJavaError

if TYPE_CHECKING:
    from pyspark import SparkContext

T = TypeVar("T")
MAX_BYTES = 1 << 28


class Refused(Exception):
    """The file system refused an operation; the text gives the reason."""


class Folder:
    """A folder, given by a URL or by a path in Hadoop's default file system."""

    def __init__(self, spark: SparkContext, url: str) -> None:
        hidden: Any = spark
        self.url = url
        self._jvm = hidden._jvm
        self._path = self._jvm.org.apache.hadoop.fs.Path(url)
        settings = hidden._jsc.hadoopConfiguration()
        self._system = _asked(lambda: self._path.getFileSystem(settings))

    def names(self) -> list[str] | None:
        """Returns the names in the folder, or None if the folder does not exist."""
        if not _asked(lambda: self._system.exists(self._path)):
            return None
        statuses = _asked(lambda: self._system.listStatus(self._path))
        return sorted(str(status.getPath().getName()) for status in statuses)

    def at(self, name: str) -> str:
        """Returns the URL of an entry of the folder."""
        return f"{self.url.rstrip('/')}/{name}"

    def read(self, name: str) -> bytes:
        """Returns the content of a file."""

        def read() -> bytes:
            path = self._child(name)
            if self._system.getFileStatus(path).getLen() > MAX_BYTES:
                raise Refused(f"{name} is too large")
            stream = self._system.open(path)
            try:
                return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
            finally:
                stream.close()

        return _asked(read)

    def beginning(self, name: str, size: int) -> bytes:
        """Returns the first ``size`` bytes of a file, or the whole file if it is shorter."""

        def read() -> bytes:
            stream = self._system.open(self._child(name))
            try:
                return bytes(stream.readNBytes(size))
            finally:
                stream.close()

        return _asked(read)

    def write(self, name: str, content: bytes) -> None:
        """Creates or replaces a file."""

        def write() -> None:
            stream = self._system.create(self._child(name), True)
            try:
                stream.write(bytearray(content))
            finally:
                stream.close()

        _asked(write)

    def remove(self, name: str) -> None:
        """Removes a file, or a folder with its content."""
        _asked(lambda: self._system.delete(self._child(name), True))

    def delete(self) -> None:
        """Removes the folder with its content."""
        _asked(lambda: self._system.delete(self._path, True))

    def move(self, target: Folder) -> None:
        """Moves the folder to ``target``, which must not exist."""
        if not _asked(lambda: self._system.rename(self._path, target._path)):
            raise Refused(f"{self.url} cannot be moved there")

    def _child(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._path, name)


def _asked(question: Callable[[], T]) -> T:
    try:
        return question()
    except Py4JJavaError as error:
        raise Refused(str(error.java_exception).partition("\n")[0]) from None
