"""What the driver ships to executors: the search for one model as LLVM's text, and its sizes.

An executor makes machine code of it for its own processor, once in each process.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache

from fencepost.checker.native.build import Code, Compilation
from fencepost.checker.native.contexts import Sizes


@dataclass(frozen=True, slots=True)
class Program:
    """``run`` names the search, so that what it leaves on executors is told from other searches;
    ``partitions`` is the number of owners.
    """

    text: str
    sizes: Sizes
    partitions: int
    run: str

    @property
    def words(self) -> int:
        """The size of a packed state."""
        return self.sizes.slots.words


@lru_cache(maxsize=2)
def code(text: str) -> Code:
    """The machine code; it is kept as long as this process works on the search."""
    return Compilation(text).lasting()


def process() -> tuple[int, int]:
    """The number of this process, and how often it has compiled."""
    return os.getpid(), code.cache_info().misses
