"""Memory for machine code: regions of zeros, counted, and refused beyond a limit.

It does not know what is kept in them.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
import threading
from dataclasses import dataclass

from fencepost.checker.process import resident_bytes

PAGE = 4096
HUGE = 1 << 21
"""Regions of this size and more lie on large pages: random access to them is much faster."""
SLACK = 1 << 22
"""About how much of what was taken has not been touched yet."""
CANARY = 0xFE9CE7057F39CE05
"""What stands before and behind each region where overruns are watched for."""


class Exhausted(Exception):
    """The limit would be passed, or the machine has no more memory."""


@dataclass(frozen=True, slots=True)
class Region:
    """``size`` bytes from ``address`` on."""

    address: int
    size: int
    mapping: mmap.mmap


class Memory:
    """All regions of a run. ``limit`` is on the whole process; what it used before counts.

    ``watched``: for tests; each region is surrounded by a known pattern, which `check` compares.
    """

    def __init__(self, limit: int | None = None, watched: bool = False) -> None:
        self.used = self.peak = 0
        self.limit = limit
        self.watched = watched
        self._before = resident_bytes()
        self._lock = threading.Lock()
        self._regions: dict[int, Region] = {}

    def take(self, size: int) -> Region:
        """A region of at least ``size`` bytes, all zeros. Raises `Exhausted`."""
        step = HUGE if size >= HUGE else PAGE
        size = -(-size // step) * step
        margin = PAGE if self.watched else 0
        with self._lock:
            if self.limit is not None and self._before + self.used + size > self.limit:
                raise Exhausted
            # Room to begin at a multiple of a large page; what is not touched takes no memory.
            slack = HUGE if size >= HUGE else 0
            try:
                flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
                mapping = mmap.mmap(-1, size + slack + 2 * margin, flags=flags)
            except (OSError, MemoryError):
                raise Exhausted from None
            start = ctypes.addressof(ctypes.c_char.from_buffer(mapping)) + margin
            if slack:
                offset = -start % HUGE
                start += offset
                if sys.platform == "linux":
                    _advise(mapping, offset + margin, size)
            region = Region(start, size, mapping)
            self._regions[start] = region
            self.used += size
            self.peak = max(self.peak, self.used)
        if self.watched:
            for place in self._margins(region):
                words(place, PAGE // 8)[:] = [CANARY] * (PAGE // 8)
        return region

    def give(self, region: Region) -> None:
        """Takes a region back."""
        if self.watched:
            self._compare(region)
        with self._lock:
            del self._regions[region.address]
            self.used -= region.size
        region.mapping.close()

    def weigh(self) -> None:
        """Takes into account what the rest of the process uses by now."""
        self._before = max(0, resident_bytes() - self.used + SLACK)

    def check(self) -> None:
        """That nothing was written outside the regions, where they are watched."""
        if self.watched:
            for region in self._regions.values():
                self._compare(region)

    def close(self) -> None:
        """Takes all regions back."""
        for region in list(self._regions.values()):
            self.give(region)

    def _margins(self, region: Region) -> tuple[int, int]:
        return region.address - PAGE, region.address + region.size

    def _compare(self, region: Region) -> None:
        for place in self._margins(region):
            wrong = [n for n, found in enumerate(words(place, PAGE // 8)) if found != CANARY]
            assert not wrong, f"a region of {region.size} bytes was left, by words {wrong[:9]}"


def words(address: int, count: int) -> ctypes.Array[ctypes.c_uint64]:
    """Words in memory, to be read and written."""
    return (ctypes.c_uint64 * count).from_address(address)


def data(address: int, count: int) -> ctypes.Array[ctypes.c_ubyte]:
    """Bytes in memory, to be read and written."""
    return (ctypes.c_ubyte * count).from_address(address)


def _advise(mapping: mmap.mmap, start: int, length: int) -> None:
    """Asks for large pages; a system that has none says no, which does not matter."""
    advice = getattr(mmap, "MADV_HUGEPAGE", None)
    if advice is not None:
        try:
            mapping.madvise(advice, start, length)
        except OSError:
            return
