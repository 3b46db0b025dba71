"""A cache of compiled code and models in the user's cache folder. The cache may be deleted at any
time.

The name of an entry is a digest of everything that the entry depends on. Code depends on its text,
LLVM, the processor and this package. An entry begins with a MAC of its name and content under the
user's key, so damaged, renamed or foreign entries are not used. Without a key nothing is cached.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import stat
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from platformdirs import user_cache_path

from fencepost.checker.user_key import Key, Purpose, Unusable, read_key

try:
    import fcntl
except ImportError:  # not on every platform
    fcntl = None  # type: ignore[assignment]

LOOK_SECONDS = 0.05
FORMAT = b"fencepost entry1"
MAC_AT = len(FORMAT) + 16 + 32
"""The offset of the MAC in an entry."""
HEAD_BYTES = MAC_AT + 32
"""The offset of the image in an entry."""
ENTRY = re.compile(r"[0-9a-f]{64}")
"""Matches the names of entries."""
MAX_BYTES = 1 << 28
"""The approximate maximum size of the folder in bytes."""


class Cache:
    """The cache below ``folder``, which is the user's cache folder by default."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = (folder or home()) / "fencepost" / "code"
        self._key: Key | Unusable | None = None

    def read(self, parts: Sequence[str]) -> bytes | None:
        """Returns the entry for these texts if it is authentic, otherwise None."""
        key = self._usable()
        if key is None:
            return None
        path = self._path(parts)
        try:
            content = _content(path, MAX_BYTES)
            os.utime(path)
        except OSError:
            return None
        return _authentic(key, path.name, content)

    def write(self, parts: Sequence[str], image: bytes) -> None:
        """Adds an entry if possible."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            key = self._usable()
            if key is None:
                return
            path = self._path(parts)
            handle, name = tempfile.mkstemp(dir=self._folder)
            with os.fdopen(handle, "wb") as file:
                file.write(_sealed(key, path.name, image))
            Path(name).replace(path)
            # Scanning the folder takes longer than writing most files.
            if path.name[0] == "0" or len(image) > MAX_BYTES // 16:
                self._prune()
        except OSError:
            return

    def obstacle(self) -> str | None:
        """Returns the reason why nothing can be cached, or None."""
        key = read_key()
        if isinstance(key, Unusable):
            return str(key)
        if os.path.lexists(self._folder) and not self._private():
            return f"{self._folder} is not a folder that this user alone can use"
        return None

    def foreign(self, *, whole: bool = False) -> tuple[int, int]:
        """Returns the number of entries that were written with another key, and the number of all
        entries.

        The head of such an entry names another key or another entry. With ``whole``, entries with a
        wrong MAC count as well.
        """
        key = self._usable()
        if key is None:
            return 0, 0
        foreign = every = 0
        for path in sorted(self._folder.iterdir()):
            if not ENTRY.fullmatch(path.name):
                continue
            try:
                content = _content(path, MAX_BYTES if whole else HEAD_BYTES)
            except OSError:
                continue
            every += 1
            if whole:
                foreign += _authentic(key, path.name, content) is None
            else:
                foreign += content[:MAC_AT] != _head(key, path.name)
        return foreign, every

    @contextmanager
    def turn(self, parts: Sequence[str], look: Callable[[], None]) -> Generator[None]:
        """Waits for the exclusive right to compile the code for these texts, and calls ``look``
        often while it waits. If files cannot be locked, the right is not exclusive.
        """
        path = self._path(parts).with_suffix(".lock")
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            mine = self._usable() is not None
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
            # Waiting processes use the same file; later ones create a new one.
            path.unlink(missing_ok=True)
        finally:
            # This releases the lock, as does the end of the process.
            os.close(handle)

    def _path(self, parts: Sequence[str]) -> Path:
        digest = hashlib.sha256()
        for part in parts:
            # The lengths make the concatenation unambiguous.
            data = part.encode()
            digest.update(len(data).to_bytes(8, "little") + data)
        return self._folder / digest.hexdigest()

    def _usable(self) -> Key | None:
        """Returns the key if there is one and the folder is private, otherwise None."""
        if not self._private():
            return None
        if self._key is None:
            self._key = read_key()
        return self._key if isinstance(self._key, Key) else None

    def _private(self) -> bool:
        """Whether the folder exists, belongs to this user, and is not accessible to others; False
        on systems without user ids or links, such as a browser.
        """
        if not all(hasattr(os, name) for name in ("getuid", "O_NOFOLLOW", "link")):
            return False
        try:
            return _own(self._folder.lstat(), stat.S_IFDIR)
        except OSError:
            return False

    def _prune(self) -> None:
        """Removes the least recently used entries until the folder is small enough."""
        files = sorted(self._folder.iterdir(), key=lambda path: path.lstat().st_mtime)
        total = sum(path.lstat().st_size for path in files)
        while files and total > MAX_BYTES:
            oldest = files.pop(0)
            total -= oldest.lstat().st_size
            oldest.unlink()


def written_by_another_key(foreign: int, entries: int) -> str:
    """Returns the message about entries that `Cache.foreign` has counted."""
    return (
        f"another key has written {foreign:,} of {entries:,} cache entries, which are ignored, "
        "and replaced when needed"
    )


def _content(path: Path, size: int) -> bytes:
    """Returns the first ``size`` bytes of a file that only this user can access. Raises
    `OSError`.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        if not _own(os.fstat(file.fileno()), stat.S_IFREG):
            raise PermissionError
        return file.read(size)


def _head(key: Key, name: str) -> bytes:
    """Returns the head of the entry ``name``: the format, an identifier of the user's key, and the
    name.
    """
    return FORMAT + key.mac(Purpose.CACHE)[:16] + bytes.fromhex(name)


def _sealed(key: Key, name: str, image: bytes) -> bytes:
    head = _head(key, name)
    return head + key.mac(Purpose.CACHE, head, image) + image


def _authentic(key: Key, name: str, content: bytes) -> bytes | None:
    """Returns the image of the entry ``name``, or None if the entry is not authentic."""
    head, mac, image = content[:MAC_AT], content[MAC_AT:HEAD_BYTES], content[HEAD_BYTES:]
    expected = key.mac(Purpose.CACHE, _head(key, name), image)
    return image if head == _head(key, name) and hmac.compare_digest(mac, expected) else None


def _locked(handle: int) -> bool:
    """Tries to lock a file, and returns whether it succeeded. Returns True if locking is not
    supported.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # Some file systems do not support locks.
        return True
    return True


def _own(status: os.stat_result, kind: int) -> bool:
    mine = status.st_uid == os.getuid() and not status.st_mode & 0o077
    return mine and stat.S_IFMT(status.st_mode) == kind


def home() -> Path:
    """Returns the user's cache folder, or the null device if there is none."""
    try:
        home = user_cache_path()
    except RuntimeError:
        return Path(os.devnull)
    # Ignores a relative or unknown home directory.
    return home if home.is_absolute() else Path(os.devnull)
