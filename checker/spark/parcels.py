"""Successors in files, where all tasks run on one machine: what is sent says where they are.

A task that expands writes one file, under a name that nobody else has, and each record that it
sends names a part of it; so a record leads to what the attempt wrote that it comes from, or to
nothing. The file of a task that fails goes at once, others when a later attempt to make a level
begins. It does not know what a state means.
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
"""Where successors are: the attempt, the task and the name of its file (two words), the byte where
they begin, and how many bytes they take.
"""
SENT = "sent"
"""The folder of the files, in that of a search."""


class Lost(Exception):
    """A file does not have what a record says."""


class Parcels:
    """What a task writes in an attempt to make a level. Raises `OSError` where there is no room."""

    def __init__(self, made: Program, attempt: int, task: int) -> None:
        self._attempt, self._task = attempt, task
        name = uuid.uuid4().int
        self._name = name >> 64, name & (1 << 64) - 1
        folder = _folder(made, task)
        _forget(folder, attempt)
        self._path = path = _path(made, attempt, task, *self._name)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self._size = 0

    def put(self, level: int, owner: int, address: int, size: int) -> bytes:
        """Writes successors; the record that says where they are."""
        left = memoryview((ctypes.c_char * size).from_address(address)).cast("B")
        while left:
            left = left[os.write(self._file, left) :]
        place = PLACE.pack(self._attempt, self._task, *self._name, self._size, size)
        self._size += size
        return record(Kind.PARCEL, level, owner, place)

    def close(self, keep: bool = True) -> None:
        """Nothing more is written; what was written goes, unless ``keep``."""
        os.close(self._file)
        if not keep:
            self._path.unlink(missing_ok=True)


class Parceled:
    """What other tasks wrote, for one that merges; ``memory`` is where it is read to."""

    def __init__(self, made: Program, memory: Memory) -> None:
        self._made = made
        self._memory = memory
        self._room: Region | None = None
        # The file that was read last: there are as many as tasks, more than may be open at once.
        self._path: Path | None = None
        self._file = -1

    def read(self, data: bytes) -> tuple[int, int]:
        """Where the states are that a record leads to, and how many, until the next call. Raises
        `Broken`, or `Lost`.
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
        """Nothing more is read."""
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
        """Room for this many bytes."""
        if self._room is None or self._room.size < size:
            if self._room is not None:
                self._memory.give(self._room)
            self._room = self._memory.take(size)
        return self._room.address


def clear(made: Program, task: int) -> None:
    """Removes the files of a task, and of those that share its disk."""
    shutil.rmtree(_folder(made, task), ignore_errors=True)


def _forget(folder: Path, attempt: int) -> None:
    """Removes what attempts before left: their jobs are over."""
    with suppress(FileNotFoundError):
        for other in folder.iterdir():
            if other.name.isdecimal() and int(other.name) < attempt:
                shutil.rmtree(other, ignore_errors=True)


def _folder(made: Program, task: int) -> Path:
    return local_folder(made, task) / SENT


def _path(made: Program, attempt: int, task: int, high: int, low: int) -> Path:
    name = f"{task}-{high:016x}{low:016x}"
    return _folder(made, task) / str(attempt) / name
