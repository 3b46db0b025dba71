"""Passes successors between tasks in files if all tasks run on one machine; the records only refer
to the files.

Each attempt of an expanding task writes one file with a unique name, and its records refer to parts
of that file. So a record refers either to the output of its own attempt or to nothing. A failed
task removes its file at once; a later attempt removes other files that are left.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import struct
import uuid
from contextlib import suppress
from pathlib import Path

from fencepost.checker.native.machine.memory import Memory, Region
from fencepost.checker.spark.program import Program, local_folder
from fencepost.checker.spark.records import HEAD, Broken, Kind, record
from fencepost.spec.text import inputs

PLACE = struct.Struct("<IIQQQQ")
"""A reference to successors: the attempt, the task, the name of the file (two words), and the
offset and size in bytes.
"""
SENT = "sent"
"""The subfolder for these files in the folder of a search."""


class Lost(Exception):
    """A file does not contain what a record refers to."""


class Parcels:
    """Writes the output of a task in one attempt. Raises `OSError` if the disk is full."""

    def __init__(self, shipped: Program, attempt: int, task: int) -> None:
        self._attempt, self._task = attempt, task
        name = uuid.uuid4().int
        self._name = name >> 64, name & (1 << 64) - 1
        folder = _folder(shipped, task)
        _forget(folder, attempt)
        self._path = path = _path(shipped, attempt, task, *self._name)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self._size = 0

    def put(self, level: int, owner: int, address: int, size: int) -> bytes:
        """Writes successors, and returns a record that refers to them."""
        left = memoryview((ctypes.c_char * size).from_address(address)).cast("B")
        while left:
            left = left[os.write(self._file, left) :]
        reference = PLACE.pack(self._attempt, self._task, *self._name, self._size, size)
        self._size += size
        return record(Kind.PARCEL, level, owner, reference)

    def close(self, keep: bool = True) -> None:
        """Closes the file, and removes it unless ``keep`` is set."""
        os.close(self._file)
        if not keep:
            self._path.unlink(missing_ok=True)


class ParcelReader:
    """Reads the output of other tasks into ``memory``, on behalf of a merging task."""

    def __init__(self, shipped: Program, memory: Memory) -> None:
        self._made = shipped
        self._memory = memory
        self._room: Region | None = None
        # Only the last file is kept open, since there are as many files as tasks.
        self._path: Path | None = None
        self._file = -1

    def read(self, data: bytes) -> tuple[int, int]:
        """Returns the address and number of the states that a record refers to. The address is
        valid until the next call.

        Raises `Broken` or `Lost`.
        """
        if len(data) != HEAD.size + PLACE.size:
            raise Broken(f"a record of {len(data)} bytes does not lead to states")
        attempt, task, high, low, start, size = PLACE.unpack_from(data, HEAD.size)
        states, rest = divmod(size, 8 * self._made.words)
        if rest:
            raise Broken(f"{size} bytes do not hold states of {self._made.words} words")
        path = _path(self._made, attempt, task, high, low)
        try:
            file = self._opened(path)
            room = self._at_least(size)
            buffer = memoryview((ctypes.c_char * size).from_address(room)).cast("B")
            done = 0
            while done < size:
                more = os.preadv(file, [buffer[done:]], start + done)
                if not more:
                    raise Lost(f"{path} has {start + done} bytes of {start + size}")
                done += more
        except OSError as error:
            raise Lost(f"{path} cannot be read: {error.strerror}") from None
        return room, states

    def close(self) -> None:
        """Closes the open file."""
        if self._path is not None:
            self._path = None
            os.close(self._file)

    def _opened(self, path: Path) -> int:
        if path != self._path:
            self.close()
            self._file = inputs.descriptor(path, inputs.Kind.STATES)
            self._path = path
        return self._file

    def _at_least(self, size: int) -> int:
        """Returns the address of a region of at least ``size`` bytes."""
        if self._room is None or self._room.size < size:
            if self._room is not None:
                self._memory.give(self._room)
            self._room = self._memory.take(size)
        return self._room.address


def clear(shipped_program: Program, task: int) -> None:
    """Removes the files of a task, and those of other tasks on the same disk."""
    shutil.rmtree(_folder(shipped_program, task), ignore_errors=True)


def _forget(folder: Path, attempt: int) -> None:
    """Removes the files of earlier attempts, whose jobs have ended."""
    with suppress(FileNotFoundError):
        for other in folder.iterdir():
            if other.name.isdecimal() and int(other.name) < attempt:
                shutil.rmtree(other, ignore_errors=True)


def _folder(shipped: Program, task: int) -> Path:
    return local_folder(shipped, task) / SENT


def _path(shipped: Program, attempt: int, task: int, high: int, low: int) -> Path:
    name = f"{task}-{high:016x}{low:016x}"
    return _folder(shipped, task) / str(attempt) / name
