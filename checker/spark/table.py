"""The visited set of one partition, in memory-mapped files on the executor, between two tasks.

It is a cache: the truth is in the RDDs, from which a table is made anew when it is missing. What a
table holds is a matter of its search, partition and level alone, since it is changed only by one
who has taken it away under another name, and gets its name back only when the level is complete.
So no half-merged table can be met, whatever becomes of a task.
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
from fencepost.checker.native.visited.tables import FULLEST, Tables
from fencepost.checker.resources import Exhausted
from fencepost.checker.spark import program
from fencepost.checker.spark.program import Program
from fencepost.spec.records import dataclass
from fencepost.spec.text import inputs

FAILED = ctypes.c_void_p(-1).value
"""What the system answers where there is no room for a mapping."""
RESERVED = 2
"""A region may have addresses for this multiple of its first size: what is larger moves."""

TABLES = 8
"""The tables of a visited set of whole states; they grow one by one."""
GROWTH = 2.0
"""By how much a table is enlarged."""
CONTENTS = "contents"
"""The file that says what the others are."""


class Missing(Exception):
    """There is no table of this partition at this level here."""


class Full(Exception):
    """A table cannot become any larger."""


class Whole(Tables):
    """Whole states: as `store.SeenStates`. ``parts`` are as for `Compressed`."""

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
                # Of different sizes, so that they do not all grow at the same time.
                room = max(expected / TABLES / FULLEST * 1.05, PAGE // 8 // size, 16)
                capacity = int(room * GROWTH ** (number / TABLES))
                region = files.take(8 * size * capacity)
            self.place(number, region.address, capacity)
            self.parts.append(region)
        self.use_in(context)

    def merge(self, address: int, count: int) -> None:
        """As `SeenStates`."""
        program.code(self._text).merge(self._context.address, address, count)

    def grow(self) -> None:
        """As `SeenStates`."""
        number: int = self._context.words[Word.FULL_TABLE]
        old, capacity = self.parts[number + 1], self.capacity(number)
        enlarged = int(capacity * GROWTH)
        new = self._files.take(8 * self.size * enlarged)
        program.code(self._text).rehash(old.address, capacity, new.address, enlarged)
        self.place(number, new.address, enlarged)
        self.parts[number + 1] = new
        self._files.give(old)

    def whole(self, address: int, count: int, room: int, rows: int) -> int:
        """As `SeenStates`: entries are states."""
        return address


class Compressed(compressed.Compressed):
    """Compressed states. What they do not need any more is freed at once: nobody else reads it."""

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
    """The visited set of a partition, taken by one task."""

    files: Files
    seen: Seen


class Shelf:
    """The tables of a search on this executor; ``plan`` is how they keep states, None: whole."""

    def __init__(self, made: Program, partition: int, plan: Plan | None = None) -> None:
        self._home = program.local_folder(made, partition) / str(partition)
        self._made = made
        self._plan = plan
        # A table of another plan is none: only those of the same search are compared.
        self._kind = repr(plan)

    def create(self, states: int, context: Context) -> Table:
        """An empty table with room for ``states`` states, in a folder of its own."""
        folder = self._away()
        folder.mkdir(parents=True)
        files = Files(folder)
        with _given_back(files):
            return Table(files, self._seen(files, context, states))

    def take(self, level: int, context: Context) -> Table:
        """The table with all states up to a level; it is here no more. Raises `Missing`."""
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
        """Gives a table its name: it holds all states up to a level. Those before it go away."""
        files = table.files
        contents = self._kind, files.noted(table.seen.parts)
        files.close()
        target = self._at(level)
        try:
            (files.folder / CONTENTS).write_text(json.dumps(contents), encoding="utf-8")
            files.folder.rename(target)
        except OSError:
            # Another attempt of the same task was faster; what it made is the same.
            if not target.is_dir():
                raise
            shutil.rmtree(files.folder, ignore_errors=True)
        for other in self._home.iterdir():
            if other != target:
                shutil.rmtree(other, ignore_errors=True)

    def drop(self, table: Table) -> None:
        """A table that was taken will not be completed."""
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
    """Where this fails the folder is gone, with the memory that shows it."""
    try:
        yield
    except BaseException:
        files.close()
        shutil.rmtree(files.folder, ignore_errors=True)
        raise


class Files:
    """As `machine.memory.Regions`; regions are of zeros first. Raises `OSError` where there is no
    room: on a disk that turns out to be full, writing to memory would kill the process.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # By the address of a region its file; addresses differ while regions are open.
        self._names: dict[int, str] = {}
        self._regions: dict[int, Region] = {}
        self._made = 0

    def take(self, size: int, most: int = 0, close: bool = False) -> Region:
        """As `Regions`."""
        size = _whole(size)
        self._made += 1
        return self._opened(str(self._made), size, max(size, _whole(min(most, RESERVED * size))))

    def enlarge(self, region: Region, size: int) -> Region:
        """As `Regions`."""
        name, size = self._names[region.address], _whole(size)
        assert size <= region.most
        with (self.folder / name).open("r+b") as file:
            os.posix_fallocate(file.fileno(), region.size, size - region.size)
        larger = Region(region.address, size, region.most, region.mapping)
        self._regions[region.address] = larger
        return larger

    def give(self, region: Region) -> None:
        """As `Regions`."""
        del self._regions[region.address]
        (self.folder / self._names.pop(region.address)).unlink()
        region.mapping.close()

    def noted(self, regions: Sequence[Region]) -> list[tuple[str, int, int]]:
        """What `open` needs to find these regions again."""
        return [(self._names[one.address], one.size, one.most) for one in regions]

    def open(self, noted: Sequence[tuple[str, int, int]]) -> list[Region]:
        """The regions that were noted, where they are now."""
        self._made = max(self._made, *(int(name) for name, _, _ in noted))
        return [self._opened(name, size, most) for name, size, most in noted]

    def close(self) -> None:
        """Ends the access to all regions; what was written there is in the files."""
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
    """A file in memory. What Python has for that keeps a descriptor of the file: the tables of a
    task's owners are more files than a process may have open.
    """

    def __init__(self, descriptor: int, size: int) -> None:
        protection = mmap.PROT_READ | mmap.PROT_WRITE
        self.address = _system().mmap(None, size, protection, mmap.MAP_SHARED, descriptor, 0)
        if self.address in (None, FAILED):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        # Also where nobody closes it: a worker of Spark lives on after a task that failed.
        self._end = weakref.finalize(self, _system().munmap, self.address, size)
        self._end.atexit = False

    def close(self) -> None:
        """Takes the file out of memory."""
        self._end()


@cache
def _system() -> ctypes.CDLL:
    """The functions of the system."""
    system = ctypes.CDLL(None, use_errno=True)
    number, size, place = ctypes.c_int, ctypes.c_size_t, ctypes.c_void_p
    system.mmap.argtypes = [place, size, number, number, number, ctypes.c_long]
    system.mmap.restype = place
    system.munmap.argtypes = [place, size]
    return system


def _whole(size: int) -> int:
    return max(1, -(-size // PAGE)) * PAGE
