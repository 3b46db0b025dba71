"""The visited set of one partition, in memory-mapped files on the executor, between two tasks.

It is a cache: the truth is in the RDDs, from which a table is made anew when it is missing. What a
table holds is a matter of its search, partition and level alone, since it is changed only by one
who has taken it away under another name, and gets its name back only when the level is complete.
So no half-merged table can be met, whatever becomes of a task.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import shutil
import tempfile
import uuid
from contextlib import suppress
from pathlib import Path

from fencepost.checker.native.codegen.context_words import TABLE_WORDS, Word
from fencepost.checker.native.machine.build import Code
from fencepost.checker.native.machine.memory import PAGE
from fencepost.checker.native.machine.worker_context import Context
from fencepost.checker.native.visited.tables import FULLEST, Tables

TABLES = 8
"""The tables of a visited set; they grow one by one."""
GROWTH = 2.0
"""By how much a table is enlarged."""


class Missing(Exception):
    """There is no table of this partition at this level here."""


class Mapped:
    """A file in memory. ``address`` is where it begins; what is written there is in the file."""

    def __init__(self, path: Path, size: int) -> None:
        self.path = path
        self.size = size
        with path.open("r+b") as file:
            if file.seek(0, os.SEEK_END) < size:
                # On a disk that turns out to be full, writing to memory would kill the process.
                os.posix_fallocate(file.fileno(), 0, size)
            self._mapping = mmap.mmap(file.fileno(), size)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self._mapping))

    def close(self) -> None:
        """Ends the access through memory."""
        self._mapping.close()


class Visited(Tables):
    """The tables in a folder."""

    def __init__(self, code: Code, folder: Path, size: int) -> None:
        self._descriptors = Mapped(folder / "descriptors", 8 * TABLE_WORDS * TABLES)
        super().__init__(self._descriptors.address, TABLES, size)
        self.folder = folder
        self._code = code
        self._maps: list[Mapped] = []
        for number in range(TABLES):
            capacity = self.capacity(number)
            mapped = Mapped(folder / str(number), 8 * size * capacity)
            self.place(number, mapped.address, capacity)
            self._maps.append(mapped)

    @property
    def bytes(self) -> int:
        """How large the tables are."""
        return sum(mapped.size for mapped in self._maps)

    def grow(self, context: Context) -> None:
        """Makes the room that machine code has asked for."""
        number: int = context.words[Word.FULL_TABLE]
        old, capacity = self._maps[number], self.capacity(number)
        enlarged = int(capacity * GROWTH)
        path = self.folder / f"{number}.new"
        path.touch()
        new = Mapped(path, 8 * self.size * enlarged)
        self._code.rehash(old.address, capacity, new.address, enlarged)
        self.place(number, new.address, enlarged)
        self._maps[number] = new
        path.replace(old.path)
        new.path = old.path
        old.close()

    def close(self) -> None:
        """Ends the access to the files."""
        for mapped in (*self._maps, self._descriptors):
            mapped.close()


class Shelf:
    """The tables of a search on this executor. ``states`` and ``size`` say how many of which
    size a new table is made for.
    """

    def __init__(self, run: str, partition: int, code: Code, size: int) -> None:
        self._home = _local_folder(partition) / f"fencepost-{run}" / str(partition)
        self._code = code
        self._size = size

    def create(self, states: int) -> Visited:
        """An empty table with room for ``states`` states, in a folder of its own."""
        folder = self._away()
        folder.mkdir(parents=True)
        descriptors = (ctypes.c_uint64 * (TABLE_WORDS * TABLES))()
        tables = Tables(ctypes.addressof(descriptors), TABLES, self._size)
        for number in range(TABLES):
            # Of different sizes, so that they do not all grow at the same time.
            room = states / TABLES / FULLEST * 1.05
            least = max(PAGE // 8 // self._size, 16)
            tables.place(number, 0, int(max(room, least) * GROWTH ** (number / TABLES)))
            (folder / str(number)).touch()
        (folder / "descriptors").write_bytes(bytes(descriptors))
        return Visited(self._code, folder, self._size)

    def take(self, level: int) -> Visited:
        """The table with all states up to a level; it is here no more. Raises `Missing`."""
        folder = self._away()
        try:
            self._at(level).rename(folder)
        except FileNotFoundError:
            raise Missing(f"no table at level {level} in {self._home}") from None
        return Visited(self._code, folder, self._size)

    def put(self, visited: Visited, level: int) -> None:
        """Gives a table its name: it holds all states up to a level. Those before it go away."""
        visited.close()
        target = self._at(level)
        try:
            visited.folder.rename(target)
        except OSError:
            # Another attempt of the same task was faster; what it made is the same.
            if not target.is_dir():
                raise
            shutil.rmtree(visited.folder, ignore_errors=True)
        for other in self._home.iterdir():
            if other != target:
                shutil.rmtree(other, ignore_errors=True)

    def drop(self, visited: Visited) -> None:
        """A table that was taken will not be completed."""
        visited.close()
        shutil.rmtree(visited.folder, ignore_errors=True)

    def clear(self) -> None:
        """Removes the tables of this partition."""
        shutil.rmtree(self._home, ignore_errors=True)
        with suppress(OSError):
            self._home.parent.rmdir()

    def _at(self, level: int) -> Path:
        return self._home / f"level-{level}"

    def _away(self) -> Path:
        return self._home / f"away-{uuid.uuid4().hex}"


def _local_folder(partition: int) -> Path:
    """The folder for data that Spark removes with the executor."""
    folders = [name for name in os.environ.get("SPARK_LOCAL_DIRS", "").split(",") if name]
    return Path(folders[partition % len(folders)] if folders else tempfile.gettempdir())
