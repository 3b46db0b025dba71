"""The program that the driver ships to executors: the search of a model as LLVM text, and its
sizes.

Each process of an executor compiles it for its own processor, first quickly, and later with
optimizations. The code of compressed visited sets does not depend on the model and is not shipped.
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
"""The amount of free memory that a process keeps."""
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""Parameters of ``mallopt``, as in its header."""


@dataclass(frozen=True, slots=True)
class Program:
    """A shipped program.

    ``run`` identifies the search on executors. ``partitions`` is the number of owners, ``tasks``
    the number of tasks per stage, each for several owners. ``together``: all tasks run on one
    machine and can read each other's files.
    """

    text: str
    sizes: Sizes
    partitions: int
    tasks: int
    run: str
    together: bool = False

    @property
    def words(self) -> int:
        """The number of words of a packed state."""
        return self.sizes.slots.words

    def task(self, owner: int) -> int:
        """The task that works for an owner."""
        return owner % self.tasks

    def owners(self, task: int) -> range:
        """The owners that a task works for."""
        return range(task, self.partitions, self.tasks)


@lru_cache(maxsize=2)
def held(text: str) -> CodeInUse:
    """The compiled code of a text in this process."""
    _keep_memory()
    code_in_use = CodeInUse(Compilation(text))
    # PySpark collects garbage after every task, which is slow with many loaded modules.
    gc.freeze()
    return code_in_use


def code(text: str) -> Code:
    """The best machine code available; code in use stays valid."""
    return held(text).now()


def _keep_memory() -> None:
    """Makes the allocator keep freed memory, up to a limit: the system would have to clear new
    pages.
    """
    with suppress(OSError, AttributeError):  # not glibc
        system = ctypes.CDLL(None)
        system.mallopt(MMAP_THRESHOLD, KEPT_BYTES // 2)
        system.mallopt(TRIM_THRESHOLD, KEPT_BYTES)


@lru_cache(maxsize=1)
def _held_set() -> SetCodeInUse:
    code_in_use = SetCodeInUse(SetCompilation(compressed.text()))
    gc.freeze()
    return code_in_use


def set_code() -> SetCode:
    """The best machine code available for compressed visited sets."""
    return _held_set().now()


@lru_cache(maxsize=1)
def _held_lawful(text: str) -> CodeInUse:
    return CodeInUse(Compilation(text))


def lawful(text: str) -> Code:
    """The machine code that validates states from files (`saving.lawful`)."""
    return _held_lawful(text).now()


def local_folder(shipped: Program, number: int) -> Path:
    """The local folder of a search, which Spark removes with the executor; ``number`` selects one
    of several disks.
    """
    folders = [name for name in os.environ.get("SPARK_LOCAL_DIRS", "").split(",") if name]
    home = folders[number % len(folders)] if folders else tempfile.gettempdir()
    return Path(home) / f"fencepost-{shipped.run}"


def process() -> tuple[int, int]:
    """The id of this process, and the number of searches it has compiled code for."""
    return os.getpid(), held.cache_info().misses
