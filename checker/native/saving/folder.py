"""The checkpoint folder of a search on this machine. It contains files of states, and a manifest
that names these files and is replaced atomically.

Only files created by Fencepost are removed, and only after the checkpoint has been validated. One
process at a time uses a folder.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import uuid
from collections.abc import Callable, Container, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from fencepost.checker.layout import Layout
from fencepost.checker.native.machine.worker_context import Sizes
from fencepost.checker.native.saving import identity, notes
from fencepost.checker.native.saving.blocks import File, Writer
from fencepost.checker.native.saving.identity import RESUME_UNSIGNED, Identity
from fencepost.checker.native.saving.notes import Malformed, Noted, Notes, number
from fencepost.checker.request import Saving
from fencepost.checker.search.account import Account
from fencepost.spec.records import dataclass
from fencepost.spec.text import inputs
from fencepost.spec.text.problem import Rejected

FORMAT = 2
UNSIGNED_FORMAT = 1
"""The format used before manifests were signed, which can still be read."""
MANIFEST, LOCK = "manifest.json", "lock"
STATES = re.compile(r"states-\d{6,}-\d+-[0-9a-f]{12}")
"""Matches the names of files of states."""
OURS = re.compile(rf"{STATES.pattern}|{MANIFEST}|{MANIFEST}\.[0-9a-f]{{12}}|{LOCK}")
"""Matches the names of all files that are written here."""
DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Part:
    """The files of one save. They contain the levels after those of the previous part, up to
    ``level``.
    """

    level: int
    files: tuple[File, ...]


@dataclass(frozen=True, slots=True)
class Saved:
    """A saved search. ``seen`` is the number of visited states, including those outside the
    constraints. ``unsigned`` tells whether the search depends on an unsigned checkpoint.
    """

    account: Noted
    seen: int
    parts: tuple[Part, ...]
    unsigned: bool


class Folder:
    """The folder of a search. Raises `Rejected` if it cannot be used."""

    def __init__(self, saving: Saving, belongs: Identity) -> None:
        self.place = saving.place
        self._folder = Path(self.place)
        self._identity = belongs
        self.key = belongs.key
        self._unsigned_accepted = saving.unsigned
        self._lock: int | None = None
        try:
            self._open(saving)
        except (OSError, ValueError) as error:
            self.close()
            raise self.unusable(reason(error)) from None
        except BaseException:
            self.close()
            raise

    def _open(self, saving: Saving) -> None:
        if "://" in saving.folder:
            raise self.unusable('the engine "local" saves a search in a local folder')
        if saving.resumed and not Path(saving.folder).is_dir():
            raise self.unusable("there is no such folder")
        self._folder.mkdir(parents=True, exist_ok=True)
        foreign = sorted(name for name in os.listdir(self._folder) if not OURS.fullmatch(name))
        if foreign:
            raise self.unusable(f"it contains another file, {foreign[0]}")
        self._lock = os.open(self._folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise self.unusable("another run is using it") from None
        if not saving.resumed and (self._folder / MANIFEST).exists():
            goes_on = f"--resume {saving.folder} continues it"
            raise self.unusable("there already is one", goes_on)

    def close(self) -> None:
        """Releases the lock."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def unusable(self, why: str, *remarks: str) -> Rejected:
        """Returns the problem to report if the folder cannot be used."""
        return identity.unusable(f"the checkpoint {self.place}", why, *remarks)

    def path(self, file: File) -> Path:
        """Returns the path of a file."""
        return self._folder / file.name

    # ------------------------------------------------------------ writing

    def writer(self, level: int, worker: int) -> Writer:
        """Creates a file for states up to a level. Raises `OSError`."""
        return Writer(self._folder / f"states-{level:06}-{worker}-{uuid.uuid4().hex[:12]}")

    def publish(self, account: Notes, seen: int, parts: Sequence[Part], *, unsigned: bool) -> None:
        """Replaces the manifest. The files that the new manifest names must be on disk.
        ``unsigned`` tells whether the search depends on an unsigned checkpoint. Raises `OSError`.
        """
        manifest = self._identity.notes | {
            "account": account,
            "seen": seen,
            "unsigned": unsigned,
            "parts": [[part.level, [list(file) for file in part.files]] for part in parts],
        }
        content = self._identity.closed(manifest)
        if len(content) > inputs.Kind.MANIFEST.max_bytes:
            # A larger manifest could not be read again.
            raise OSError(errno.EFBIG, "the manifest is too large")
        temporary = self._folder / f"{MANIFEST}.{uuid.uuid4().hex[:12]}"
        try:
            with temporary.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self._folder / MANIFEST)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def tidy(self, keep: Container[str]) -> None:
        """Removes files left over from killed runs, except the files named in ``keep``."""
        for name in os.listdir(self._folder):
            if OURS.fullmatch(name) and name not in (MANIFEST, LOCK) and name not in keep:
                with suppress(OSError):
                    (self._folder / name).unlink()

    # ------------------------------------------------------------ reading

    def saved(
        self, account: Account, layout: Layout, sizes: Sizes, heed: Callable[[], None]
    ) -> Saved | None:
        """Returns the saved search, or None if there is no manifest. ``account`` is the account of
        a new search, and ``sizes`` are the sizes of its machine code. Also raises any exception
        that ``heed`` raises.
        """
        try:
            content = inputs.content(self._folder / MANIFEST, inputs.Kind.MANIFEST, heed)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self.unusable(reason(error)) from None
        manifest = self._identity.opened(content)
        if manifest is None:
            raise self.unusable("its manifest is damaged")
        fields = manifest.notes
        differs = self._identity.difference(fields)
        if differs is not None:
            raise self.unusable(differs)
        if manifest.unsigned is not None and not self._unsigned_accepted:
            raise self.unusable(manifest.unsigned, RESUME_UNSIGNED)
        try:
            noted = notes.read(fields.get("account"), account, layout, sizes)
            seen, parts = number(fields.get("seen")), _parts(fields)
            if [*sorted({part.level for part in parts})] != [part.level for part in parts]:
                raise Malformed("its parts are not consecutive")
            if parts[-1].level != len(noted.levels):
                raise Malformed(f"its number of levels, {parts[-1].level}, contradicts its account")
            outside = seen - sum(noted.visited)
            if outside < 0 or (noted.orbits is None and outside != noted.outside):
                raise Malformed("its number of states contradicts its account")
        except (Malformed, TypeError, ValueError, IndexError) as error:
            raise self.unusable(f"its manifest is damaged: {error}") from None
        return Saved(noted, seen, parts, manifest.relies_on_unsigned)


def _parts(manifest: Notes) -> tuple[Part, ...]:
    signable, listed = manifest["format"] == FORMAT, manifest.get("parts")
    result: list[Part] = []
    for level, files in cast("Sequence[Any]", listed):
        named: list[File] = []
        for name, size, digest in files:
            if not isinstance(name, str) or not STATES.fullmatch(name):
                raise ValueError("it names files outside the checkpoint")
            if not signable:
                number(digest)
            elif not isinstance(digest, str) or not DIGEST.fullmatch(digest):
                raise ValueError("it names a file without a digest")
            named.append(File(name, number(size, 1), digest))
        result.append(Part(number(level, 1), tuple(named)))
    return tuple(result)


def reason(error: OSError | ValueError) -> str:
    """Returns the reason that the system gives for an error."""
    return (error.strerror if isinstance(error, OSError) else None) or "the system refuses"
