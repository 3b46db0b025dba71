"""The program that the driver ships to executors: the LLVM code of the search of a model, as text,
and its sizes.

Each executor process compiles it for its own processor, first quickly, and later with
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
"""The number of bytes of freed memory that a process keeps."""
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""The numbers of ``mallopt`` parameters, from its C header."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program that is shipped to executors.

    ``run`` identifies the search on executors. ``partitions`` is the number of owners, and
    ``tasks`` the number of tasks per stage; each task works for several owners. ``together`` is set
    if all tasks run on one machine and can read each other's files.
    """

    text: str
    sizes: Sizes
    partitions: int
    tasks: int
    run: str
    together: bool = False

    @property
    def words(self) -> int:
        """The number of words in a packed state."""
        return self.sizes.slots.words

    def task(self, owner: int) -> int:
        """Returns the task that works for an owner."""
        return owner % self.tasks

    def owners(self, task: int) -> range:
        """Returns the owners that a task works for."""
        return range(task, self.partitions, self.tasks)


@lru_cache(maxsize=2)
def held(text: str) -> CodeInUse:
    """Returns the code compiled from ``text``, which this process caches."""
    _keep_memory()
    code_in_use = CodeInUse(Compilation(text))
    # PySpark collects garbage after every task, which is slow with many loaded modules.
    gc.freeze()
    return code_in_use


def code(text: str) -> Code:
    """Returns the best machine code available now. Code that is already in use stays valid."""
    return held(text).now()


def _keep_memory() -> None:
    """Makes the allocator keep freed memory, up to a limit, since the system has to clear every new
    page.
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
    """Returns the best machine code available now for compressed visited sets."""
    return _held_set().now()


@lru_cache(maxsize=1)
def _held_lawful(text: str) -> CodeInUse:
    return CodeInUse(Compilation(text))


def lawful(text: str) -> Code:
    """Returns the machine code that validates states read from files (`saving.lawful`)."""
    return _held_lawful(text).now()


def local_folder(shipped: Program, number: int) -> Path:
    """Returns the local folder of a search, which Spark removes together with the executor.
    ``number`` selects one of several disks.
    """
    folders = [name for name in os.environ.get("SPARK_LOCAL_DIRS", "").split(",") if name]
    home = folders[number % len(folders)] if folders else tempfile.gettempdir()
    return Path(home) / f"fencepost-{shipped.run}"


def process() -> tuple[int, int]:
    """Returns the id of this process, and the number of programs that it has compiled."""
    return os.getpid(), held.cache_info().misses
