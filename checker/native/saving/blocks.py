"""Files of states. A file consists of compressed blocks with states of one level each. One digest
covers the whole file.

The files contain only data. They are untrusted: a reader limits the size of blocks, and reports
damage at the end of the file at the latest.
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

from fencepost.checker.native.visited.store import PIECE_STATES
from fencepost.spec.text import inputs

HEAD = struct.Struct("<III")
"""The header of a block: the level, the number of states, and the number of bytes."""
OUTSIDE = 0
"""The level number of states outside the constraints. In a file, these states follow those of all
levels.
"""


class Damaged(Exception):
    """The content of a file differs from what was written. The argument describes the
    difference.
    """


class File(NamedTuple):
    """A complete file with its name, its size and its digest. The digest is the SHA-256 in
    hexadecimal, or the CRC-32 in the first format.
    """

    name: str
    bytes: int
    digest: str | int


def packed(states: bytes) -> bytes:
    """Returns states in the compressed form that a block contains."""
    return zlib.compress(states, 1)


class Writer:
    """Writes a new file. Raises `OSError`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("xb")
        self._bytes = 0
        self._digest = hashlib.sha256()

    def add(self, level: int, count: int, data: bytes) -> None:
        """Adds a block of ``count`` states; ``data`` is the result of `packed`."""
        for part in (HEAD.pack(level, count, len(data)), data):
            self._file.write(part)
            self._digest.update(part)
            self._bytes += len(part)

    def end(self) -> File:
        """Flushes the file to disk and returns its description."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        return File(self._path.name, self._bytes, self._digest.hexdigest())

    def discard(self) -> None:
        """Removes the file."""
        with suppress(OSError):
            # Closing the file writes buffered data once more, which may fail again.
            self._file.close()
        with suppress(OSError):
            self._path.unlink()


class Reader:
    """Reads the blocks of a file in order. A state has ``state_bytes`` bytes. Raises `OSError` and
    `Damaged`.
    """

    def __init__(self, folder: Path, file: File, state_bytes: int) -> None:
        self._told = file
        self._state_bytes = state_bytes
        self._file = inputs.opened(folder / file.name, inputs.Kind.STATES)
        self._bytes = self._sum = 0
        self._digest = hashlib.sha256()
        self.level: int | None = None
        """The level of the next block, or None at the end."""
        try:
            self._next()
        except BaseException:
            self.close()
            raise

    def blocks(self, level: int, most: int) -> Iterator[tuple[bytes, int]]:
        """Yields at most ``most`` further blocks of a level: the states of the block, and their
        number. Raises `Damaged`.
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
        """Closes the file after it was read completely, and returns its description with the
        SHA-256 of the data that was read. Raises `Damaged`.
        """
        self.close()
        if self.level is not None:
            raise Damaged(f"{self._told.name} has states of level {self.level}, out of order")
        digest, expected = self._digest.hexdigest(), self._told.digest
        if expected != (digest if isinstance(expected, str) else self._sum):
            raise Damaged(f"the checksum of {self._told.name} does not fit")
        return self._told._replace(digest=digest)

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def _next(self) -> None:
        """Reads the header of the next block."""
        if self._bytes == self._told.bytes:
            self.level = None
            if self._file.read(1):
                raise Damaged(f"{self._told.name} is longer than it was")
            return
        self.level, self._count, self._length = HEAD.unpack(self._read(HEAD.size))
        if not 0 < self._count <= PIECE_STATES:
            raise Damaged(f"{self._told.name} has a block of {self._count} states")

    def _read(self, length: int) -> bytes:
        # Never reads past the recorded size of the file, regardless of the header.
        data = self._file.read(min(length, self._told.bytes - self._bytes))
        if len(data) != length:
            raise Damaged(f"{self._told.name} is shorter than it was")
        self._bytes += length
        self._digest.update(data)
        if isinstance(self._told.digest, int):
            self._sum = zlib.crc32(data, self._sum)
        return data
