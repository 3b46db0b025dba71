"""Compiled code and models kept between runs, in the user's folder for caches; it may be deleted at
any time.

A piece is found by all that it depends on: of code its text, LLVM, the processor, this package. It
is used only where no other user can have written it, and where it is whole.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from platformdirs import user_cache_path

try:
    import fcntl
except ImportError:  # It is not everywhere.
    fcntl = None  # type: ignore[assignment]

LOOK_SECONDS = 0.05
MOST_BYTES = 1 << 28
"""The folder is kept below this size, or not much above it."""


class Cache:
    """``folder``: the one in which the folder of the cache lies, or is made."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = (folder or home()) / "fencepost" / "code"

    def read(self, parts: Sequence[str]) -> bytes | None:
        """The code that depends on these texts; None: there is none that can be trusted."""
        if not self._private():
            return None
        path = self._path(parts)
        try:
            with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
                if not _own(os.fstat(file.fileno()), stat.S_IFREG):
                    return None
                content = file.read(MOST_BYTES)
            os.utime(path)
        except OSError:
            return None
        image = content[32:]
        return image if hashlib.sha256(image).digest() == content[:32] else None

    def write(self, parts: Sequence[str], image: bytes) -> None:
        """Keeps code; where that is not possible, nothing happens."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._private():
                return
            handle, name = tempfile.mkstemp(dir=self._folder)
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(image).digest() + image)
            path = self._path(parts)
            Path(name).replace(path)
            # To look through the folder takes longer than to write most files.
            if path.name[0] == "0" or len(image) > MOST_BYTES // 16:
                self._prune()
        except OSError:
            return

    @contextmanager
    def turn(self, parts: Sequence[str], look: Callable[[], None]) -> Generator[None]:
        """Waits until no other process has the turn to make the code that depends on these texts;
        ``look`` is called often meanwhile. Where that is not possible, there are no turns.
        """
        path = self._path(parts).with_suffix(".lock")
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            mine = self._private()
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600) if mine else None
        except OSError:
            handle = None
        if handle is None:
            yield
            return
        try:
            while not _locked(handle):
                look()
                time.sleep(LOOK_SECONDS)
            yield
            # Who waits for this file goes on with it; who comes later makes another.
            path.unlink(missing_ok=True)
        finally:
            # This gives the turn to the next one; so does the end of a process.
            os.close(handle)

    def _path(self, parts: Sequence[str]) -> Path:
        digest = hashlib.sha256()
        for part in parts:
            # The lengths keep apart what would read the same when joined.
            data = part.encode()
            digest.update(len(data).to_bytes(8, "little") + data)
        return self._folder / digest.hexdigest()

    def _private(self) -> bool:
        """Whether the folder is there, belongs to this user, and no other user can write to it;
        where the system has no such users, no folder is.
        """
        if not hasattr(os, "getuid") or not hasattr(os, "O_NOFOLLOW"):
            return False
        try:
            return _own(self._folder.lstat(), stat.S_IFDIR)
        except OSError:
            return False

    def _prune(self) -> None:
        """Drops what was not used for longest."""
        files = sorted(self._folder.iterdir(), key=lambda path: path.lstat().st_mtime)
        total = sum(path.lstat().st_size for path in files)
        while files and total > MOST_BYTES:
            oldest = files.pop(0)
            total -= oldest.lstat().st_size
            oldest.unlink()


def _locked(handle: int) -> bool:
    """Whether this process has the lock of a file; where there are no locks, it need not wait."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # Some file systems have none.
        return True
    return True


def _own(found: os.stat_result, kind: int) -> bool:
    mine = found.st_uid == os.getuid() and not found.st_mode & 0o077
    return mine and stat.S_IFMT(found.st_mode) == kind


def home() -> Path:
    """The user's folder for caches, as the system has it; the null device where there is none."""
    try:
        home = user_cache_path()
    except RuntimeError:
        return Path(os.devnull)
    # A home that is not known, or a folder that depends on where the command runs, is none.
    return home if home.is_absolute() else Path(os.devnull)
