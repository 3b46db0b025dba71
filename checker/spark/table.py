"""The visited set of a partition, kept in memory-mapped files on the executor between tasks.

It is a cache: a missing table is rebuilt from the RDDs. The name of a table is determined by its
search, partition and level. A task renames the table before changing it, and gives it a valid name
again only when the level is complete. So a partially merged table is never used, even if a task
fails.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import shutil
import uuid
import weakref
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TypeAlias

from fencepost.checker.native.codegen.context_words import TABLE_WORDS, Word
from fencepost.checker.native.machine.memory import PAGE, Region
from fencepost.checker.native.machine.worker_context import Context
from fencepost.checker.native.visited import compressed
from fencepost.checker.native.visited.plan import Plan
from fencepost.checker.native.visited.tables import MAX_LOAD, Tables
from fencepost.checker.resources import Exhausted
from fencepost.checker.spark import program
from fencepost.checker.spark.program import Program
from fencepost.spec.records import dataclass
from fencepost.spec.text import inputs

FAILED = ctypes.c_void_p(-1).value
"""The value that ``mmap`` returns on failure."""
RESERVED = 2
"""A region may reserve up to this multiple of its initial size. To grow beyond that, it has to
move.
"""

TABLES = 8
"""The number of hash tables in a visited set of whole states. Each grows separately."""
GROWTH = 2.0
"""The growth factor of a hash table."""
CONTENTS = "contents"
"""The name of the file that describes the other files of a table."""


class Missing(Exception):
    """The partition has no table at this level."""


class Full(Exception):
    """A table cannot grow any further."""


class Whole(Tables):
    """A visited set of whole states (see `store.SeenStates`), in the existing regions ``parts`` or
    in new files.
    """

    def __init__(
        self,
        text: str,
        files: Files,
        size: int,
        context: Context,
        expected: int,
        parts: Sequence[Region] = (),
    ) -> None:
        first = parts[0] if parts else files.take(8 * TABLE_WORDS * TABLES)
        super().__init__(first.address, TABLES, size)
        self.entry_words = size
        self._text = text
        self._files = files
        self._context = context
        self.parts = [first]
        for number in range(TABLES):
            if parts:
                region, capacity = parts[number + 1], self.capacity(number)
            else:
                # The sizes differ, so that the tables do not all grow at the same time.
                room = max(expected / TABLES / MAX_LOAD * 1.05, PAGE // 8 // size, 16)
                capacity = int(room * GROWTH ** (number / TABLES))
                region = files.take(8 * size * capacity)
            self.place(number, region.address, capacity)
            self.parts.append(region)
        self.use_in(context)

    def merge(self, address: int, count: int) -> None:
        """See `SeenStates.merge`."""
        program.code(self._text).merge(self._context.address, address, count)

    def grow(self) -> None:
        """See `SeenStates.grow`."""
        number: int = self._context.words[Word.FULL_TABLE]
        old, capacity = self.parts[number + 1], self.capacity(number)
        enlarged = int(capacity * GROWTH)
        new = self._files.take(8 * self.size * enlarged)
        program.code(self._text).rehash(old.address, capacity, new.address, enlarged)
        self.place(number, new.address, enlarged)
        self.parts[number + 1] = new
        self._files.give(old)

    def whole(self, address: int, count: int, room: int, rows: int) -> int:
        """See `SeenStates.whole`. The entries are already whole states."""
        return address


class Compressed(compressed.Compressed):
    """A visited set of compressed states that frees unused memory immediately."""

    def merge(self, address: int, count: int) -> None:
        self.code = program.set_code()
        super().merge(address, count)

    def grow(self) -> None:
        try:
            super().grow()
        except Exhausted:
            raise Full("a partition has all pairs that it can number; take more of them") from None
        self.settle()


Seen: TypeAlias = Whole | Compressed


@dataclass(frozen=True, slots=True)
class Table:
    """The visited set of a partition, while a task uses it."""

    files: Files
    seen: Seen


class Shelf:
    """The tables of one partition of a search, on this executor. ``plan`` defines how tables store
    states; if it is None, they store whole states.
    """

    def __init__(self, made: Program, partition: int, plan: Plan | None = None) -> None:
        self._home = program.local_folder(made, partition) / str(partition)
        self._made = made
        self._plan = plan
        # Tables with a different plan cannot be used.
        self._kind = repr(plan)

    def create(self, states: int, context: Context) -> Table:
        """Returns an empty table for ``states`` states, in a new folder."""
        folder = self._away()
        folder.mkdir(parents=True)
        files = Files(folder)
        with _given_back(files):
            return Table(files, self._seen(files, context, states))

    def take(self, level: int, context: Context) -> Table:
        """Takes the table that contains all states up to a level. Raises `Missing`."""
        folder = self._away()
        try:
            self._at(level).rename(folder)
        except FileNotFoundError:
            raise Missing(f"no table at level {level} in {self._home}") from None
        files = Files(folder)
        with _given_back(files):
            kind, noted = json.loads(inputs.content(folder / CONTENTS, inputs.Kind.CONTENTS))
            if kind != self._kind:
                raise Missing(f"no table of this plan at level {level} in {self._home}")
            return Table(files, self._seen(files, context, 0, files.open(noted)))

    def _seen(
        self, files: Files, context: Context, states: int, parts: Sequence[Region] = ()
    ) -> Seen:
        if self._plan is None:
            made = self._made
            return Whole(made.text, files, made.words, context, states, parts)
        return Compressed(program.set_code(), files, self._plan, context, states, parts)

    def put(self, table: Table, level: int) -> None:
        """Makes a table available under a level, and removes the other tables of the partition."""
        files = table.files
        contents = self._kind, files.noted(table.seen.parts)
        files.close()
        target = self._at(level)
        try:
            (files.folder / CONTENTS).write_text(json.dumps(contents), encoding="utf-8")
            files.folder.rename(target)
        except OSError:
            # Another attempt of the same task finished first; its result is the same.
            if not target.is_dir():
                raise
            shutil.rmtree(files.folder, ignore_errors=True)
        for other in self._home.iterdir():
            if other != target:
                shutil.rmtree(other, ignore_errors=True)

    def drop(self, table: Table) -> None:
        """Discards a table that was taken."""
        table.files.close()
        shutil.rmtree(table.files.folder, ignore_errors=True)

    def clear(self) -> None:
        """Removes the tables of this partition."""
        shutil.rmtree(self._home, ignore_errors=True)
        with suppress(OSError):
            self._home.parent.rmdir()

    def _at(self, level: int) -> Path:
        return self._home / f"level-{level}"

    def _away(self) -> Path:
        return self._home / f"away-{uuid.uuid4().hex}"


@contextmanager
def _given_back(files: Files) -> Generator[None]:
    """Unmaps the files and removes their folder if the block fails."""
    try:
        yield
    except BaseException:
        files.close()
        shutil.rmtree(files.folder, ignore_errors=True)
        raise


class Files:
    """Regions of memory in files (see `machine.memory.Regions`), initially zero.

    Raises `OSError` if the disk is full. Space is allocated in advance, since writing to
    unallocated space would kill the process.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # File names by region address. The addresses change when regions are reopened.
        self._names: dict[int, str] = {}
        self._regions: dict[int, Region] = {}
        self._made = 0

    def take(self, size: int, most: int = 0, close: bool = False) -> Region:
        """See `Regions.take`."""
        size = _whole(size)
        self._made += 1
        return self._opened(str(self._made), size, max(size, _whole(min(most, RESERVED * size))))

    def enlarge(self, region: Region, size: int) -> Region:
        """See `Regions.enlarge`."""
        name, size = self._names[region.address], _whole(size)
        assert size <= region.most
        with (self.folder / name).open("r+b") as file:
            os.posix_fallocate(file.fileno(), region.size, size - region.size)
        larger = Region(region.address, size, region.most, region.mapping)
        self._regions[region.address] = larger
        return larger

    def give(self, region: Region) -> None:
        """See `Regions.give`."""
        del self._regions[region.address]
        (self.folder / self._names.pop(region.address)).unlink()
        region.mapping.close()

    def noted(self, regions: Sequence[Region]) -> list[tuple[str, int, int]]:
        """Describes regions, so that `open` can restore them."""
        return [(self._names[region.address], region.size, region.most) for region in regions]

    def open(self, noted: Sequence[tuple[str, int, int]]) -> list[Region]:
        """Reopens regions from their description."""
        self._made = max(self._made, *(int(name) for name, _, _ in noted))
        return [self._opened(name, size, most) for name, size, most in noted]

    def close(self) -> None:
        """Unmaps all regions. Their content stays in the files."""
        for region in self._regions.values():
            region.mapping.close()
        self._regions.clear()
        self._names.clear()

    def _opened(self, name: str, size: int, most: int) -> Region:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(self.folder / name, flags, 0o600)
        try:
            if os.fstat(descriptor).st_size < most:
                os.posix_fallocate(descriptor, 0, size)
                os.truncate(descriptor, most)
            mapping = _Mapping(descriptor, most)
        finally:
            os.close(descriptor)
        region = Region(mapping.address, size, most, mapping)
        self._names[region.address], self._regions[region.address] = name, region
        return region


class _Mapping:
    """A memory-mapped file. Python's `mmap` would keep a file descriptor, but a task may have more
    mapped files than a process may have open files.
    """

    def __init__(self, descriptor: int, size: int) -> None:
        protection = mmap.PROT_READ | mmap.PROT_WRITE
        self.address = _system().mmap(None, size, protection, mmap.MAP_SHARED, descriptor, 0)
        if self.address in (None, FAILED):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        # The file is unmapped even if it is not closed, since Spark's workers survive failed tasks.
        self._end = weakref.finalize(self, _system().munmap, self.address, size)
        self._end.atexit = False

    def close(self) -> None:
        """Unmaps the file."""
        self._end()


@cache
def _system() -> ctypes.CDLL:
    """Returns the C library, with the types of the functions used here."""
    system = ctypes.CDLL(None, use_errno=True)
    number, size, pointer = ctypes.c_int, ctypes.c_size_t, ctypes.c_void_p
    system.mmap.argtypes = [pointer, size, number, number, number, ctypes.c_long]
    system.mmap.restype = pointer
    system.munmap.argtypes = [pointer, size]
    return system


def _whole(size: int) -> int:
    return max(1, -(-size // PAGE)) * PAGE
