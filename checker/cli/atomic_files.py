"""Writes files atomically: a reader sees either the old text or the new one, never a part of it."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from fencepost.spec.text.library import is_file, is_folder
from fencepost.spec.text.problem import Problem, Rejected


def replace(path: Path, text: str) -> None:
    """Writes ``text`` to a temporary file in the same folder and renames it to ``path``. Keeps the
    permissions. Creates the folder if it does not exist.

    If ``path`` is a link, its target is replaced. Raises `Rejected` if the file cannot be written.
    """
    target = Path(os.path.realpath(path))
    try:
        if _is_device(path):
            # A device has no content to preserve, and a file must not replace it.
            with path.open("a", encoding="utf-8") as device:
                device.write(text)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name[:40]}.", dir=target.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(text)
            os.chmod(temporary, _mode(target))
            os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
    except (OSError, ValueError) as error:
        raise cannot_write(path, _reason(error)) from None


def check_writable(path: Path) -> None:
    """Raises `Rejected` if `replace` would fail. Called before a search, so that its result is not
    lost.
    """
    target = Path(os.path.realpath(path))
    if _is_device(path):
        return
    folder = next(parent for parent in target.parents if os.path.lexists(parent))
    try:
        # Names of folders that do not exist yet may be too long, too.
        for tried in (target, *(folder / part for part in target.relative_to(folder).parts)):
            with suppress(FileNotFoundError):
                os.lstat(tried)
    except (OSError, ValueError) as error:
        raise cannot_write(path, _reason(error)) from None
    if is_folder(target):
        raise cannot_write(path, "it is a folder")
    if not is_folder(folder):
        raise cannot_write(path, f"{folder} is not a folder")
    needed = [folder, *([target] if is_file(target) else [])]
    if not all(os.access(path, os.W_OK) for path in needed):
        raise cannot_write(path, "permission denied")


def cannot_write(path: Path, reason: str) -> Rejected:
    """Returns the exception for an output file that cannot be written."""
    return Rejected([Problem("F027", None, f"cannot write {path}: {reason}")])


def _reason(error: OSError | ValueError) -> str:
    """Returns the system's reason for an error. Python raises `ValueError` for names that no system
    accepts.
    """
    return (error.strerror if isinstance(error, OSError) else None) or "the system refuses"


def _is_device(path: Path) -> bool:
    """Returns whether ``path`` is a pipe, a device, or a name of an open file such as
    ``/dev/stdout``.
    """
    special = path.absolute().parts[:2] in (("/", "dev"), ("/", "proc"))
    return special or (os.path.exists(path) and not is_file(path) and not is_folder(path))


def _mode(target: Path) -> int:
    if is_file(target):
        return target.stat().st_mode & 0o7777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
