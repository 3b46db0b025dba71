"""Files of states: blocks of them, each with its level, compressed; all under one digest.

They are data only. What is read may have been written by anybody, or be damaged: a reader says so,
at its end at the latest, and gives nothing larger than a block may be. It does not know what a
state is.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from fencepost.checker.native.visited.store import TOGETHER
from fencepost.spec.text import inputs

HEAD = struct.Struct("<III")
"""The head of a block: the level of its states, their number, and the bytes that follow."""
OUTSIDE = 0
"""The level of states outside the constraints, which stand behind those of all levels."""


class Damaged(Exception):
    """What was read is not what was written; the argument says in what."""


class File(NamedTuple):
    """A file that is whole: its name, its bytes and their SHA-256, in hexadecimal digits; or, in
    the first format, their CRC-32.
    """

    name: str
    bytes: int
    digest: str | int


def packed(states: bytes) -> bytes:
    """States as they stand in a block."""
    return zlib.compress(states, 1)


class Writer:
    """A new file. Raises `OSError`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("xb")
        self._bytes = 0
        self._digest = hashlib.sha256()

    def add(self, level: int, count: int, data: bytes) -> None:
        """Adds a block of ``count`` states, as `packed` gives them."""
        for part in (HEAD.pack(level, count, len(data)), data):
            self._file.write(part)
            self._digest.update(part)
            self._bytes += len(part)

    def end(self) -> File:
        """The file, which is on the disk now."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        return File(self._path.name, self._bytes, self._digest.hexdigest())

    def discard(self) -> None:
        """Removes the file, ended or not."""
        with suppress(OSError):
            # What was not written yet may be refused again.
            self._file.close()
        with suppress(OSError):
            self._path.unlink()


class Reader:
    """The blocks of a file in order, for states of ``state_bytes`` each. Raises `OSError` and
    `Damaged`.
    """

    def __init__(self, folder: Path, file: File, state_bytes: int) -> None:
        self._told = file
        self._state_bytes = state_bytes
        self._file = inputs.opened(folder / file.name, inputs.Kind.STATES)
        self._bytes = self._sum = 0
        self._digest = hashlib.sha256()
        self.level: int | None = None
        """The level of the next block; None: there is none."""
        try:
            self._next()
        except BaseException:
            self.close()
            raise

    def blocks(self, level: int, most: int) -> Iterator[tuple[bytes, int]]:
        """The states of the next ``most`` blocks of a level, or fewer, and their numbers. Raises
        `Damaged`.
        """
        while self.level == level and most:
            most -= 1
            count, length = self._count, self._length
            data = self._read(length)
            unpacking = zlib.decompressobj()
            try:
                states = unpacking.decompress(data, count * self._state_bytes + 1)
            except zlib.error as error:
                raise Damaged(f"{self._told.name}: {error}") from None
            if len(states) != count * self._state_bytes or not unpacking.eof:
                raise Damaged(f"{self._told.name} has a block of another size than it says")
            self._next()
            yield states, count

    def end(self) -> File:
        """Closes the file, of which every block has been read, and returns it with the SHA-256 of
        what was read. Raises `Damaged`.
        """
        self.close()
        if self.level is not None:
            raise Damaged(f"{self._told.name} has states of level {self.level}, out of order")
        digest, told = self._digest.hexdigest(), self._told.digest
        if told != (digest if isinstance(told, str) else self._sum):
            raise Damaged(f"the checksum of {self._told.name} does not fit")
        return self._told._replace(digest=digest)

    def close(self) -> None:
        """Closes the file, whatever has been read."""
        self._file.close()

    def _next(self) -> None:
        """Reads the head of the next block."""
        if self._bytes == self._told.bytes:
            self.level = None
            if self._file.read(1):
                raise Damaged(f"{self._told.name} is longer than it was")
            return
        self.level, self._count, self._length = HEAD.unpack(self._read(HEAD.size))
        if not 0 < self._count <= TOGETHER:
            raise Damaged(f"{self._told.name} has a block of {self._count} states")

    def _read(self, length: int) -> bytes:
        # No more than is there, whatever a head says.
        data = self._file.read(min(length, self._told.bytes - self._bytes))
        if len(data) != length:
            raise Damaged(f"{self._told.name} is shorter than it was")
        self._bytes += length
        self._digest.update(data)
        if isinstance(self._told.digest, int):
            self._sum = zlib.crc32(data, self._sum)
        return data
