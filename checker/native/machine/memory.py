"""Memory for machine code: zeroed regions, which are counted and limited."""

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
HUGE_PAGE = 1 << 21
"""Regions of at least this size use huge pages, which make random access much faster."""
SLACK = 1 << 22
"""An estimate of the memory in bytes that has been allocated, but not touched yet."""
STRIDE = 1 << 26
"""The available memory is queried again after this many further bytes."""
RESERVE = 1 << 28
"""The number of bytes left for Python and other processes, or a quarter of the available memory if
that is less.
"""
NO_RESERVE = 0x4000 if sys.platform == "linux" else 0
"""The flag MAP_NORESERVE, which Python does not define."""
POPULATE = 23
"""Linux's MADV_POPULATE_WRITE (since 5.14), which Python does not define."""
CANARY = 0xFE9CE7057F39CE05
CANARIES = CANARY.to_bytes(8, sys.byteorder) * (PAGE // 8)
"""The pattern before and after each region when overruns are checked."""


class Mapping(Protocol):
    """Mapped addresses."""

    def close(self) -> None:
        """Unmaps the addresses."""


@dataclass(frozen=True, slots=True)
class Region:
    """A region of ``size`` bytes at ``address``. It can grow to ``most`` bytes."""

    address: int
    size: int
    most: int
    mapping: Mapping


class Regions(Protocol):
    """A source of regions. Each method may raise `Exhausted` or `OSError`."""

    def take(self, size: int, most: int = 0, close: bool = False) -> Region:
        """See `Memory.take`."""
        ...

    def enlarge(self, region: Region, size: int) -> Region:
        """See `Memory.enlarge`."""
        ...

    def give(self, region: Region) -> None:
        """See `Memory.give`."""


class Memory:
    """All regions of a run.

    ``limit`` applies to the whole process, including memory allocated earlier. If there is no
    limit, ``left`` returns the available memory, and a reserve of it stays unused, since a system
    that runs out of memory kills processes. With ``watched``, each region is surrounded by a
    pattern that `check` verifies; this is for tests.
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
        """Allocates a zeroed region of at least ``size`` bytes that can grow to ``most`` bytes, if
        the system permits.

        With ``close``, no more is allocated than necessary, and the remainder uses small pages.
        Raises `Exhausted`.
        """
        size = _in_pages(size, PAGE) if close else _whole(size)
        most = max(size, _whole(most))
        margin = PAGE if self.watched else 0
        with self._lock:
            self._allow(size)
            # Space for alignment to a huge page; untouched pages take no memory.
            slack = HUGE_PAGE if size >= HUGE_PAGE else 0
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
                offset = -start % HUGE_PAGE
                start += offset
                if sys.platform == "linux":
                    large = most // HUGE_PAGE * HUGE_PAGE
                    _advise(mapping, offset + margin, large, "MADV_HUGEPAGE")
                    if large < most:
                        rest = offset + margin + large
                        _advise(mapping, rest, most - large, "MADV_NOHUGEPAGE")
            region = Region(start, size, most, mapping)
            self._enter(region, size)
        if self.watched:
            for address in self._margins(region):
                ctypes.memmove(address, CANARIES, PAGE)
        return region

    def enlarge(self, region: Region, size: int) -> Region:
        """Extends a region in place to at least ``size`` bytes, which must not exceed its ``most``.
        Raises `Exhausted`.
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
        """Makes the system provide the pages of a region, starting with byte ``start``. This is
        cheaper than page faults, especially with several threads.
        """
        if sys.platform == "linux":
            # Older systems refuse, which is harmless. The function in Python's library would hold
            # the GIL.
            advise = ctypes.CDLL(None).madvise
            advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
            advise(region.address + start, region.size - start, POPULATE)

    def _allow(self, more: int) -> None:
        if self.limit is not None:
            if self._before + self.used + more > self.limit:
                raise Exhausted
        elif self._left is not None and self.used + more >= self._asked_at + STRIDE:
            # The system still counts allocated, untouched memory as available.
            untouched = max(0, self._before + self.used - resident_bytes())
            if untouched + more + self._reserve > self._left():
                raise Exhausted
            self._asked_at = self.used + more

    def _enter(self, region: Region, more: int) -> None:
        self._regions[region.address] = region
        self.used += more
        self.peak = max(self.peak, self.used)

    def give(self, region: Region) -> None:
        """Frees a region, unless it is already free."""
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
        """Records that a region is now in a file and no longer counts as memory."""
        with self._lock:
            if self._regions.get(region.address) is region:
                self._regions[region.address] = replace(region, size=0)
                self.used -= region.size

    def forget_pages(self, region: Region) -> None:
        """Lets the system drop the cached pages of a region that is in a file."""
        advise = ctypes.CDLL(None).madvise
        advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        advise(region.address, region.size, mmap.MADV_DONTNEED)

    def weigh(self) -> None:
        """Measures again how much memory the rest of the process uses."""
        self._before = max(0, resident_bytes() - self.used + SLACK)

    def afford(self, size: int) -> None:
        """Raises `Exhausted` if the process may not allocate another ``size`` bytes outside of the
        regions.
        """
        self.weigh()
        with self._lock:
            self._allow(size)

    def check(self) -> None:
        """Verifies that nothing was written outside of the regions, if they are watched."""
        if self.watched:
            for region in self._regions.values():
                self._compare(region)

    def close(self) -> None:
        """Frees all regions."""
        for region in list(self._regions.values()):
            self.give(region)

    def _margins(self, region: Region) -> tuple[int, int]:
        return region.address - PAGE, region.address + region.most

    def _compare(self, region: Region) -> None:
        for margin in self._margins(region):
            if ctypes.string_at(margin, PAGE) != CANARIES:
                wrong = [n for n, word in enumerate(words(margin, PAGE // 8)) if word != CANARY]
                raise AssertionError(
                    f"a region of {region.size} bytes was left, by words {wrong[:9]}"
                )
        tail = min(PAGE, region.most - region.size)
        assert not any(ctypes.string_at(region.address + region.size, tail)), (
            f"something was written after the {region.size} bytes of a region"
        )


def words(address: int, count: int) -> ctypes.Array[ctypes.c_uint64]:
    """Returns writable words at an address."""
    return (ctypes.c_uint64 * count).from_address(address)


def data(address: int, count: int) -> ctypes.Array[ctypes.c_ubyte]:
    """Returns writable bytes at an address."""
    return (ctypes.c_ubyte * count).from_address(address)


def _whole(size: int) -> int:
    """Rounds a size up to whole pages. Large sizes are rounded up to huge pages."""
    return _in_pages(size, HUGE_PAGE if size >= HUGE_PAGE else PAGE)


def _in_pages(size: int, page: int) -> int:
    # A mapping has at least one page.
    return max(1, -(-size // page)) * page


def _address(mapping: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(mapping))


def _mapping(size: int) -> mmap.mmap:
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE
    return mmap.mmap(-1, size, flags=flags)


def _advise(mapping: mmap.mmap, start: int, length: int, name: str) -> None:
    """Requests or refuses huge pages for part of a mapping. Systems without this advice report an
    error, which is harmless.
    """
    advice = getattr(mmap, name, None)
    if advice is not None:
        with suppress(OSError):
            mapping.madvise(advice, start, length)
