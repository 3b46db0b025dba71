"""Regions of memory that are files of a folder: what is written there outlives the process.

It does not know what is kept in them.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import weakref
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from fencepost.checker.native.machine.memory import PAGE, Region

FAILED = ctypes.c_void_p(-1).value
"""What the system answers where there is no room for a mapping."""
RESERVED = 2
"""A region may have addresses for this multiple of its first size: what is larger moves."""


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
