"""Regions of memory that are files of a folder: what is written there outlives the process.

It does not know what is kept in them.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Sequence
from pathlib import Path

from fencepost.checker.native.machine.memory import PAGE, Region

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
        descriptor = os.open(self.folder / name, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if os.fstat(descriptor).st_size < most:
                os.posix_fallocate(descriptor, 0, size)
                os.truncate(descriptor, most)
            mapping = mmap.mmap(descriptor, most)
        finally:
            os.close(descriptor)
        address = ctypes.addressof(ctypes.c_char.from_buffer(mapping))
        region = Region(address, size, most, mapping)
        self._names[address], self._regions[address] = name, region
        return region


def _whole(size: int) -> int:
    return max(1, -(-size // PAGE)) * PAGE
