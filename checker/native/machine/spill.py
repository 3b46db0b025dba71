"""Spills memory to disk: memory that is rarely read, and no longer written, is moved to a file.

A region keeps its address, so readers do not notice. The file has no name, so others cannot access
it, and it vanishes with the process.
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
"""Regions are spilled while more than this fraction (1/N) of the memory limit is in use."""
FIXED = 0x10
"""The flag MAP_FIXED, which Python does not define."""


class Lost(OSError):
    """The file's content differs from what was written."""


class Spill:
    """A spill file in a folder. ``refused`` is the reason why spilling has stopped, or None.
    ``bytes`` is the size of the file. Raises `OSError`.
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
        # The spilled regions by address, with checksums.
        self._away: dict[int, tuple[Region, int]] = {}

    @property
    def wanted(self) -> bool:
        """Whether more memory should be spilled."""
        limit = self._memory.limit
        return self.refused is None and limit is not None and self._memory.used * SHARE > limit

    def put_away(self, regions: Sequence[Region]) -> int:
        """Moves regions to the file. They must no longer be written. Returns the number of regions
        moved, which is lower than requested if the disk is full.
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
        checksum = zlib.crc32(view)
        shared, readable = mmap.MAP_SHARED | FIXED, mmap.PROT_READ
        mapped = self._map(region.address, region.size, readable, shared, self._file, start)
        if mapped != region.address:
            # The call failed, and the memory is still mapped.
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error))
        self.bytes += region.size
        self._memory.put_away(region)
        self._away[region.address] = region, checksum

    def forget_pages(self) -> None:
        """Lets the system drop the cached pages of the file."""
        for region, _ in self._away.values():
            self._memory.forget_pages(region)

    def check(self, regions: Sequence[Region]) -> None:
        """Raises `Lost` if one of these regions was spilled and its content has changed."""
        for region in regions:
            away = self._away.get(region.address)
            if away is None:
                continue
            content = (ctypes.c_char * region.size).from_address(region.address)
            if zlib.crc32(memoryview(content).cast("B")) != away[1]:
                raise Lost(errno.EIO, "what is read is not what was written")

    def close(self) -> None:
        """Closes the file, which frees the disk space."""
        os.close(self._file)
