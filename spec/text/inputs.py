"""Opens every file whose content this program did not just write itself.

Only regular files are opened, and opening never waits, so no FIFO or device can block a run. Each
kind of file has a size limit, and a rule for symbolic links: a link is followed if the user names
it, and refused in folders that the program writes.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from enum import Enum
from io import BufferedReader
from pathlib import Path

MIB = 1 << 20
GIB = 1 << 30
TIB = 1 << 40


class Kind(Enum):
    """A kind of input file, with its name, its size limit in bytes, and whether symbolic links are
    followed.

    Recordings and files of states are read in parts of bounded size, so their limits are only as
    large as file offsets may be.
    """

    SPEC = ("spec", 4 * MIB, True)
    TRACE = ("trace", 64 * MIB, True)
    REPORT = ("report", 256 * MIB, True)
    DATA = ("data", 64 * MIB, False)
    SETTINGS = ("settings", MIB, True)
    RECORDING = ("recording", 4 * TIB, True)
    SEGMENT = ("segment", 2 * GIB, True)
    OWN_RECORDING = ("own recording", 4 * TIB, False)
    MANIFEST = ("manifest", 64 * MIB, False)
    STATES = ("states", 4 * TIB, False)
    CONTENTS = ("contents", 64 * MIB, False)

    def __init__(self, label: str, max_bytes: int, follow_links: bool) -> None:
        self.label = label
        self.max_bytes = max_bytes
        self.follow_links = follow_links


class Refused(OSError):
    """The operating system could open the file, but the program does not accept it as an input.
    `strerror` contains the reason.
    """


def opened(path: Path, kind: Kind) -> BufferedReader:
    """Opens a regular file for reading. Raises `OSError`."""
    return os.fdopen(descriptor(path, kind), "rb")


def descriptor(path: Path, kind: Kind) -> int:
    """Opens a regular file for reading and returns its descriptor. Raises `OSError`."""
    # Windows lacks these flags, but has neither FIFOs nor devices in its file system.
    flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    flags |= getattr(os, "O_NONBLOCK", 0)
    if not kind.follow_links:
        flags |= getattr(os, "O_NOFOLLOW", 0)
        if path.is_symlink():
            raise Refused(errno.ELOOP, "it is a symbolic link")
    handle = os.open(path, flags)
    try:
        status = os.fstat(handle)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(status.st_mode):
            raise Refused(errno.EINVAL, "it is not a regular file")
        if status.st_size > kind.max_bytes:
            raise too_large(kind)
    except BaseException as error:
        os.close(handle)
        if isinstance(error, OSError):
            error.filename = str(path)
        raise
    return handle


def content(path: Path, kind: Kind, heed: Callable[[], None] = lambda: None) -> bytes:
    """Returns the content of a regular file. Raises `OSError`.

    ``heed`` is called after each read; an exception that it raises is propagated.
    """
    with opened(path, kind) as file:
        data = bytearray()
        while block := file.read1(MIB):
            heed()
            data += block
            # The file may grow while it is read, and files in /proc report a size of 0.
            if len(data) > kind.max_bytes:
                raise too_large(kind)
    return bytes(data)


def too_large(kind: Kind) -> Refused:
    """Returns the error for a file that exceeds the size limit of its kind."""
    return Refused(errno.EFBIG, f"it has more than {kind.max_bytes:,} bytes")
