"""What the driver ships to executors: the search for one model as LLVM's text, and its sizes.

An executor makes machine code of it for its own processor, once in each process; where the search
goes on, better code follows. The code of compressed visited sets is no model's, and is not shipped.
"""

from __future__ import annotations

import ctypes
import gc
import os
import tempfile
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from fencepost.checker.native.kernels import compressed
from fencepost.checker.native.machine.build import (
    Code,
    CodeInUse,
    Compilation,
    SetCode,
    SetCodeInUse,
    SetCompilation,
)
from fencepost.checker.native.machine.worker_context import Sizes
from fencepost.spec.records import dataclass

KEPT_BYTES = 1 << 25
"""How much memory that is free a process keeps."""
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""The names of parameters of the allocator, as its header has them."""


@dataclass(frozen=True, slots=True)
class Program:
    """``run`` names the search, so that what it leaves on executors is kept apart from other
    searches; ``partitions`` is the number of owners, and ``tasks`` that of the tasks of a stage,
    each of which does the work of some owners. ``together``: all of them run on one machine, and
    one reads files that another has written.
    """

    text: str
    sizes: Sizes
    partitions: int
    tasks: int
    run: str
    together: bool = False

    @property
    def words(self) -> int:
        """The size of a packed state."""
        return self.sizes.slots.words

    def task(self, owner: int) -> int:
        """The task that does the work of an owner."""
        return owner % self.tasks

    def owners(self, task: int) -> range:
        """The owners whose work a task does."""
        return range(task, self.partitions, self.tasks)


@lru_cache(maxsize=2)
def held(text: str) -> CodeInUse:
    """What this process has of a text; it is kept as long as it works on the search."""
    _keep_memory()
    made = CodeInUse(Compilation(text))
    # PySpark collects garbage behind every task, which takes long with all that is loaded.
    gc.freeze()
    return made


def code(text: str) -> Code:
    """The machine code to go on with; code that is in use stays good."""
    return held(text).now()


def _keep_memory() -> None:
    """Has this process keep what it frees, up to a bound, for the next records: else each is made
    of pages that the system has to clear first.
    """
    with suppress(OSError, AttributeError):  # Not the library of GNU.
        system = ctypes.CDLL(None)
        system.mallopt(MMAP_THRESHOLD, KEPT_BYTES // 2)
        system.mallopt(TRIM_THRESHOLD, KEPT_BYTES)


@lru_cache(maxsize=1)
def _held_set() -> SetCodeInUse:
    made = SetCodeInUse(SetCompilation(compressed.text()))
    gc.freeze()
    return made


def set_code() -> SetCode:
    """The machine code of compressed visited sets to go on with, as `code`."""
    return _held_set().now()


@lru_cache(maxsize=1)
def _held_lawful(text: str) -> CodeInUse:
    return CodeInUse(Compilation(text))


def lawful(text: str) -> Code:
    """The machine code that looks at states from files (`saving.lawful`), as `code`; it is no
    search's, and is held beside theirs.
    """
    return _held_lawful(text).now()


def local_folder(made: Program, number: int) -> Path:
    """The folder of a search among data that Spark removes with the executor; where there are
    several disks, ``number`` says on which.
    """
    folders = [name for name in os.environ.get("SPARK_LOCAL_DIRS", "").split(",") if name]
    home = folders[number % len(folders)] if folders else tempfile.gettempdir()
    return Path(home) / f"fencepost-{made.run}"


def process() -> tuple[int, int]:
    """The number of this process, and for how many searches it has begun to make code."""
    return os.getpid(), held.cache_info().misses
