"""Memory for machine code: regions of zeros, counted, and refused beyond a limit.

It does not know what is kept in them.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from fencepost.checker.resources import Exhausted, resident_bytes
from fencepost.spec.records import dataclass

PAGE = 4096
HUGE = 1 << 21
"""Regions of this size and more lie on large pages: random access to them is much faster."""
SLACK = 1 << 22
"""About how much of what was taken has not been touched yet."""
STRIDE = 1 << 26
"""After how many bytes more it is asked how much memory is left."""
RESERVE = 1 << 28
"""How many bytes are left for Python, a trace and others: these, or a quarter of what there is."""
NO_RESERVE = 0x4000 if sys.platform == "linux" else 0
"""The flag that has room for later not count as memory; Python does not name it."""
POPULATE = 23
"""Linux's advice MADV_POPULATE_WRITE, of version 5.14; Python does not name it."""
CANARY = 0xFE9CE7057F39CE05
CANARIES = CANARY.to_bytes(8, sys.byteorder) * (PAGE // 8)
"""What stands before and behind each region where overruns are watched for."""


class Mapping(Protocol):
    """Addresses that lead somewhere."""

    def close(self) -> None:
        """They lead nowhere any more."""


@dataclass(frozen=True, slots=True)
class Region:
    """``size`` bytes from ``address`` on, which may become ``most``."""

    address: int
    size: int
    most: int
    mapping: Mapping


class Regions(Protocol):
    """Where regions come from. Each method may raise `Exhausted`, or what the system raises."""

    def take(self, size: int, most: int = 0, close: bool = False) -> Region:
        """As `Memory.take`."""
        ...

    def enlarge(self, region: Region, size: int) -> Region:
        """As `Memory.enlarge`."""
        ...

    def give(self, region: Region) -> None:
        """As `Memory.give`."""


class Memory:
    """All regions of a run. ``limit`` is on the whole process; what it used before counts. Without
    one, ``left`` tells how many bytes more there are to be had, and the last ones are not taken: a
    system that has none ends a process, and with it all that was found.

    ``watched``: for tests; each region is surrounded by a known pattern, which `check` compares.
    """

    def __init__(
        self,
        limit: int | None = None,
        watched: bool = False,
        left: Callable[[], int] | None = None,
    ) -> None:
        self.used = self.peak = 0
        self.limit = limit
        self.watched = watched
        self._left = left
        self._reserve = 0 if left is None else min(RESERVE, left() // 4)
        self._asked_at = 0
        self._before = resident_bytes()
        self._lock = threading.Lock()
        self._regions: dict[int, Region] = {}

    def take(self, size: int, most: int = 0, close: bool = False) -> Region:
        """A region of at least ``size`` bytes, all zeros, with room to become ``most``, if the
        system grants that. ``close``: not more than it has to be; the rest that fills no large page
        lies on small ones. Raises `Exhausted`.
        """
        size = _in_pages(size, PAGE) if close else _whole(size)
        most = max(size, _whole(most))
        margin = PAGE if self.watched else 0
        with self._lock:
            self._allow(size)
            # Room to begin at a multiple of a large page; what is not touched takes no memory.
            slack = HUGE if size >= HUGE else 0
            try:
                mapping = _mapping(most + slack + 2 * margin)
            except (OSError, MemoryError):
                most = size
                try:
                    mapping = _mapping(size + slack + 2 * margin)
                except (OSError, MemoryError):
                    raise Exhausted from None
            start = _address(mapping) + margin
            if slack:
                offset = -start % HUGE
                start += offset
                if sys.platform == "linux":
                    large = most // HUGE * HUGE
                    _advise(mapping, offset + margin, large, "MADV_HUGEPAGE")
                    if large < most:
                        rest = offset + margin + large
                        _advise(mapping, rest, most - large, "MADV_NOHUGEPAGE")
            region = Region(start, size, most, mapping)
            self._enter(region, size)
        if self.watched:
            for place in self._margins(region):
                ctypes.memmove(place, CANARIES, PAGE)
        return region

    def enlarge(self, region: Region, size: int) -> Region:
        """The region with at least ``size`` bytes, not more than its ``most``; what is new is
        zeros. Raises `Exhausted`.
        """
        size = _whole(size)
        if self.watched:
            self._compare(region)
        with self._lock:
            self._allow(size - region.size)
            larger = replace(region, size=size)
            self._enter(larger, size - region.size)
        self.touch(larger, region.size)
        return larger

    def touch(self, region: Region, start: int = 0) -> None:
        """Has the system provide a region from byte ``start`` on, which is written to soon: at
        once is cheaper than page by page, much so where several threads run.
        """
        if sys.platform == "linux":
            # A system that is too old says no, which does not matter. Python's own function keeps
            # all threads waiting meanwhile.
            advise = ctypes.CDLL(None).madvise
            advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
            advise(region.address + start, region.size - start, POPULATE)

    def _allow(self, more: int) -> None:
        if self.limit is not None:
            if self._before + self.used + more > self.limit:
                raise Exhausted
        elif self._left is not None and self.used + more >= self._asked_at + STRIDE:
            # What was taken and not written to yet is still to be had, as the system sees it.
            untouched = max(0, self._before + self.used - resident_bytes())
            if untouched + more + self._reserve > self._left():
                raise Exhausted
            self._asked_at = self.used + more

    def _enter(self, region: Region, more: int) -> None:
        self._regions[region.address] = region
        self.used += more
        self.peak = max(self.peak, self.used)

    def give(self, region: Region) -> None:
        """Takes a region back, unless all were taken back before."""
        if self.watched:
            self._compare(region)
        with self._lock:
            if self._regions.get(region.address) is not region:
                return
            del self._regions[region.address]
            self.used -= region.size
            self._asked_at = min(self._asked_at, self.used)
        region.mapping.close()

    def put_away(self, region: Region) -> None:
        """A region is read from a file from now on, until all are taken back."""
        with self._lock:
            if self._regions.get(region.address) is region:
                self._regions[region.address] = replace(region, size=0)
                self.used -= region.size

    def forget_pages(self, region: Region) -> None:
        """The system may drop what it has read of a region that was put away."""
        advise = ctypes.CDLL(None).madvise
        advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        advise(region.address, region.size, mmap.MADV_DONTNEED)

    def weigh(self) -> None:
        """Takes into account what the rest of the process uses by now."""
        self._before = max(0, resident_bytes() - self.used + SLACK)

    def afford(self, size: int) -> None:
        """Raises `Exhausted` where ``size`` bytes more, taken elsewhere in this process, are too
        many.
        """
        self.weigh()
        with self._lock:
            self._allow(size)

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
        return region.address - PAGE, region.address + region.most

    def _compare(self, region: Region) -> None:
        for place in self._margins(region):
            if ctypes.string_at(place, PAGE) != CANARIES:
                wrong = [n for n, found in enumerate(words(place, PAGE // 8)) if found != CANARY]
                raise AssertionError(
                    f"a region of {region.size} bytes was left, by words {wrong[:9]}"
                )
        behind = min(PAGE, region.most - region.size)
        assert not any(ctypes.string_at(region.address + region.size, behind)), (
            f"behind the {region.size} bytes of a region something was written"
        )


def words(address: int, count: int) -> ctypes.Array[ctypes.c_uint64]:
    """Words in memory, to be read and written."""
    return (ctypes.c_uint64 * count).from_address(address)


def data(address: int, count: int) -> ctypes.Array[ctypes.c_ubyte]:
    """Bytes in memory, to be read and written."""
    return (ctypes.c_ubyte * count).from_address(address)


def _whole(size: int) -> int:
    """A size in whole pages, large ones where they are used."""
    return _in_pages(size, HUGE if size >= HUGE else PAGE)


def _in_pages(size: int, page: int) -> int:
    # No model needs no memory at all: a mapping has one page at least.
    return max(1, -(-size // page)) * page


def _address(mapping: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(mapping))


def _mapping(size: int) -> mmap.mmap:
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE
    return mmap.mmap(-1, size, flags=flags)


def _advise(mapping: mmap.mmap, start: int, length: int, name: str) -> None:
    """Asks for large pages, or for none; a system that has no such advice says no, which does not
    matter.
    """
    advice = getattr(mmap, name, None)
    if advice is not None:
        with suppress(OSError):
            mapping.madvise(advice, start, length)
