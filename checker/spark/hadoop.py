# pyright: basic
"""Small files in any folder that Hadoop reaches: ``file:``, ``hdfs:``, ``s3a:`` and others.

It does not know what they hold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from py4j.protocol import Py4JJavaError

if TYPE_CHECKING:
    from pyspark import SparkContext

T = TypeVar("T")
MOST_BYTES = 1 << 28


class Refused(Exception):
    """The system refuses; the text says why."""


class Folder:
    """A folder by its URL, or by a path that Hadoop's default file system knows."""

    def __init__(self, spark: SparkContext, url: str) -> None:
        hidden: Any = spark
        self.url = url
        self._jvm = hidden._jvm
        self._path = self._jvm.org.apache.hadoop.fs.Path(url)
        settings = hidden._jsc.hadoopConfiguration()
        self._system = _asked(lambda: self._path.getFileSystem(settings))

    def names(self) -> list[str] | None:
        """What is in it; None: there is no such folder."""
        if not _asked(lambda: self._system.exists(self._path)):
            return None
        found = _asked(lambda: self._system.listStatus(self._path))
        return sorted(str(one.getPath().getName()) for one in found)

    def at(self, name: str) -> str:
        """The URL of something in it."""
        return f"{self.url.rstrip('/')}/{name}"

    def read(self, name: str) -> bytes:
        """The content of a file."""

        def read() -> bytes:
            path = self._child(name)
            if self._system.getFileStatus(path).getLen() > MOST_BYTES:
                raise Refused(f"{name} is too large")
            stream = self._system.open(path)
            try:
                return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
            finally:
                stream.close()

        return _asked(read)

    def beginning(self, name: str, size: int) -> bytes:
        """The first ``size`` bytes of a file, or all that it has."""

        def read() -> bytes:
            stream = self._system.open(self._child(name))
            try:
                return bytes(stream.readNBytes(size))
            finally:
                stream.close()

        return _asked(read)

    def write(self, name: str, content: bytes) -> None:
        """Makes a file, in the place of one of this name."""

        def write() -> None:
            stream = self._system.create(self._child(name), True)
            try:
                stream.write(bytearray(content))
            finally:
                stream.close()

        _asked(write)

    def remove(self, name: str) -> None:
        """Removes a file, or a folder and all that is in it."""
        _asked(lambda: self._system.delete(self._child(name), True))

    def delete(self) -> None:
        """Removes it, and all that is in it."""
        _asked(lambda: self._system.delete(self._path, True))

    def move(self, target: Folder) -> None:
        """Gives it the name of another, which must not be there."""
        if not _asked(lambda: self._system.rename(self._path, target._path)):
            raise Refused(f"{self.url} cannot be moved there")

    def _child(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._path, name)


def _asked(question: Callable[[], T]) -> T:
    try:
        return question()
    except Py4JJavaError as error:
        raise Refused(str(error.java_exception).partition("\n")[0]) from None
