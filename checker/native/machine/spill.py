"""Memory that is read seldom, or never again, in a file: what was written once and stands as it is.

A region keeps its address: what reads it does not know that it comes from the disk. The file has no
name, so nobody else can reach it, and it is gone when the process is, however that ends. It does
not know what is in it.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import tempfile
import zlib
from collections.abc import Sequence

from fencepost.checker.native.machine.memory import Memory, Region

SHARE = 16
"""Regions are put away once more than this fraction (one in N) of the allowed bytes is in use."""
FIXED = 0x10
"""The flag MAP_FIXED, the same number on Linux and macOS; Python does not name it."""


class Lost(OSError):
    """What is read of the file is not what was written."""


class Spill:
    """A file in a folder. Raises `OSError` where there can be none. ``refused``: why no more is put
    there; None: it may be. ``bytes`` are in it.
    """

    def __init__(self, folder: str, memory: Memory) -> None:
        self.bytes = 0
        self.refused: str | None = None
        self._memory = memory
        self._file, name = tempfile.mkstemp(dir=folder)
        os.unlink(name)
        self._map = ctypes.CDLL(None, use_errno=True).mmap
        self._map.restype = ctypes.c_void_p
        self._map.argtypes = (
            ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
            ctypes.c_long,
        )  # fmt: skip
        # By its address each region that was put away, and the checksum of its bytes.
        self._away: dict[int, tuple[Region, int]] = {}

    @property
    def wanted(self) -> bool:
        """Whether what may be put away ought to be."""
        limit = self._memory.limit
        return self.refused is None and limit is not None and self._memory.used * SHARE > limit

    def put_away(self, regions: Sequence[Region]) -> int:
        """Puts regions into the file, from which they are read from now on, and nobody writes to
        them; how many, which are fewer where the file can take no more.
        """
        for number, region in enumerate(regions):
            try:
                self._put(region)
            except OSError as error:
                self.refused = error.strerror or "the system refuses"
                return number
        return len(regions)

    def _put(self, region: Region) -> None:
        content = (ctypes.c_char * region.size).from_address(region.address)
        view, start, written = memoryview(content).cast("B"), self.bytes, 0
        while written < region.size:
            written += os.pwrite(self._file, view[written:], start + written)
        found = zlib.crc32(view)
        shared, readable = mmap.MAP_SHARED | FIXED, mmap.PROT_READ
        place = self._map(region.address, region.size, readable, shared, self._file, start)
        if place != region.address:
            # What was there is there still.
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error))
        self.bytes += region.size
        self._memory.put_away(region)
        self._away[region.address] = region, found

    def forget_pages(self) -> None:
        """What was read of the file counts as memory no more."""
        for region, _ in self._away.values():
            self._memory.forget_pages(region)

    def check(self, regions: Sequence[Region]) -> None:
        """That those of some regions that were put away are as they were. Raises `Lost`."""
        for region in regions:
            away = self._away.get(region.address)
            if away is None:
                continue
            content = (ctypes.c_char * region.size).from_address(region.address)
            if zlib.crc32(memoryview(content).cast("B")) != away[1]:
                raise Lost(errno.EIO, "what is read is not what was written")

    def close(self) -> None:
        """Gives the room on the disk back."""
        os.close(self._file)
