"""The user's key, which authenticates caches and checkpoints.

The key consists of 32 random bytes in a file in the user's data directory. The first process that
needs the key creates the file, and no process ever replaces it. The file is rejected if another
user may have written or read it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import stat
from contextlib import suppress
from dataclasses import field
from enum import Enum
from pathlib import Path

from platformdirs import user_data_path

from fencepost.spec.records import dataclass

NAME = "key"
KEY_BYTES = 32
MODE = 0o600


class Purpose(Enum):
    """The purpose of a subkey. The values are part of file formats."""

    CACHE = b"fencepost: cache entry"
    LOCAL_CHECKPOINT = b"fencepost: checkpoint of the engine local"
    SPARK_CHECKPOINT = b"fencepost: checkpoint of the engine spark"


@dataclass(frozen=True, slots=True)
class Key:
    """A usable key. It is only used through its subkeys, one for each purpose."""

    secret: bytes = field(repr=False)

    def mac(self, purpose: Purpose, *parts: bytes) -> bytes:
        """Returns the MAC of the concatenated ``parts``, which has 32 bytes. All parts except the
        last must have a fixed length.
        """
        subkey = hmac.digest(self.secret, purpose.value, "sha256")
        code = hmac.new(subkey, digestmod=hashlib.sha256)
        for part in parts:
            code.update(part)
        return code.digest()


@dataclass(frozen=True, slots=True)
class Unusable:
    """The reason why the key is unusable, as a clause."""

    reason: str

    def __str__(self) -> str:
        return f"no usable key ({self.reason})"


class _Refused(Exception):
    """Raised when the key cannot be used. The argument is the reason."""


def read_key() -> Key | Unusable:
    """Reads the user's key. Creates it if it does not exist."""
    path = key_path()
    if path is None:
        return Unusable("the user's data directory is not known")
    if not hasattr(os, "getuid") or not hasattr(os, "O_NOFOLLOW"):
        return Unusable("this system does not report file owners")
    try:
        try:
            return Key(_read(path))
        except FileNotFoundError:
            _create(path)
            return Key(_read(path))
    except _Refused as refused:
        return Unusable(f"{path} {refused}")
    except OSError as error:
        return Unusable(f"{path}: {error.strerror or 'the system refuses'}")


def key_path() -> Path | None:
    """Returns the path of the key, or None if the user has no data directory."""
    try:
        folder = user_data_path()
    except RuntimeError:
        return None
    # A relative path would name a different key in each working directory.
    return folder / "fencepost" / NAME if folder.is_absolute() else None


def _read(path: Path) -> bytes:
    """Reads a key that only this user can read and write. Raises `OSError` if it cannot be read,
    and `_Refused` if it cannot be used.
    """
    # The nonblocking flag keeps `open` from waiting for a writer if the path is a FIFO.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    if path.is_symlink():
        raise _Refused("is a symbolic link")
    handle = os.open(path, flags)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise _Refused("is not a regular file")
        if status.st_uid != os.getuid():
            raise _Refused("belongs to another user")
        mode = stat.S_IMODE(status.st_mode)
        if mode != MODE:
            raise _Refused(f"has the mode {mode:04o}, not {MODE:04o}")
        content = os.read(handle, KEY_BYTES + 1)
        if status.st_size != KEY_BYTES or len(content) != KEY_BYTES:
            raise _Refused(f"has {status.st_size} bytes, not {KEY_BYTES}")
        return content
    finally:
        os.close(handle)


def _create(path: Path) -> None:
    """Creates the key, unless another process has just created it. Raises `OSError`."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f"{NAME}.{os.urandom(8).hex()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(temporary, flags, MODE)
    try:
        try:
            # The umask may have removed permissions that the owner needs.
            os.fchmod(handle, MODE)
            os.write(handle, os.urandom(KEY_BYTES))
            # The key must not be empty after a crash, because it is never replaced.
            os.fsync(handle)
        finally:
            os.close(handle)
        # Unlike renaming, linking never replaces an existing key.
        with suppress(FileExistsError):
            os.link(temporary, path)
    finally:
        temporary.unlink()
