"""Finds the specs in the folders of a command line. It skips hidden folders, folders of installed
packages and files that git ignores, unless the command line names them.

A TLA+ module is a spec here if its configuration is next to it, and it is not an export of a spec.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from pathlib import Path

from fencepost.spec.records import dataclass
from fencepost.spec.text.library import (
    CONFIG_SUFFIX,
    MODULE_SUFFIX,
    SUFFIX,
    is_file,
    is_folder,
    real,
    specs_below,
)
from fencepost.spec.text.problem import Problem, listing, printable

INSTALLED = ("node_modules", "site-packages")
"""The names of folders that contain installed packages."""
VIRTUAL_ENVIRONMENT = "pyvenv.cfg"
"""A folder that contains this file is a virtual environment of Python."""
GIT_SECONDS = 5.0
"""The maximum time that git may take for all folders of a command line."""
GIT_FAILS = "F050"
"""The code of the problem that git cannot say which files it ignores."""
HEAD_BYTES = 4_096
"""The comment at the begin of an exported module is within this number of bytes."""
_EXPORTED = re.compile(rb"-+ MODULE \w+ -+\s+(?:\\\*[^\n]*\n)*?\\\* [^\n]*: expect ")
"""The begin of a module that `fencepost export` writes: it names the check that was exported."""
MAX_ENTRIES = 100_000
"""The maximum number of files that are examined to count skipped specs."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A skipped folder or file, the reason, and the number of specs in it. If ``complete`` is
    false, there may be more specs.
    """

    path: Path
    reason: str
    specs: int
    complete: bool = True

    def __str__(self) -> str:
        if self.path.suffix in (SUFFIX, MODULE_SUFFIX) and self.specs == 1:
            return f"{self.path} ({self.reason})"
        count = f"{self.specs:,}" if self.complete else f"at least {self.specs:,}"
        return f"{count} in {self.path} ({self.reason})"


def summary(skipped: Sequence[Skipped]) -> str:
    """Returns a sentence with the number of skipped specs and their folders, or "" if there are
    none.
    """
    if not skipped:
        return ""
    total = sum(folder.specs for folder in skipped)
    count = f"{total:,}" if all(folder.complete for folder in skipped) else f"at least {total:,}"
    noun = "spec" if total == 1 else "specs"
    return f"skipped {count} {noun}: {listing([str(folder) for folder in skipped], 'and')}"


@dataclass(slots=True)
class SpecFinder:
    """Finds the specs of a command line, which have one of the ``suffixes``. Folders and files in
    ``named`` are never skipped.

    The answers of git are kept, so a finder should not be used for long.
    """

    named: Iterable[Path]
    suffixes: tuple[str, ...] = (SUFFIX,)
    problems: list[Problem] = field(default_factory=list[Problem])
    """The reasons why git could not say which files it ignores, as warnings."""
    _reasons: dict[Path, str] = field(default_factory=dict[Path, str])
    _ignored: dict[Path, frozenset[Path]] = field(default_factory=dict[Path, frozenset[Path]])
    _git_seconds: float = 0.0
    """The time that git has taken so far."""

    def specs(self, argument: Path) -> list[Path]:
        """Returns the specs that an argument selects, sorted: those below a folder, or the file
        itself.
        """
        if not is_folder(argument):
            return [argument]
        exempt = {real(path) for path in self.named}
        ignored = set(self._ignored_below(argument))

        def skips(path: Path) -> bool:
            reason = "ignored by git" if path in ignored else ""
            if not reason and is_folder(path):
                reason = _reason(path)
            if not reason and path.suffix == MODULE_SUFFIX and _is_export(path):
                reason = "exported from a spec"
            if not reason or real(path) in exempt:
                if os.path.lexists(path / ".git"):
                    ignored.update(self._ignored_below(path))
                return False
            self._reasons[path] = reason
            return True

        found_specs = specs_below(argument, skips, self.suffixes)
        return [path for path in found_specs if _is_spec(path) and not skips(path)]

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """The folders with specs, and the specs, that were skipped so far, sorted."""
        left = MAX_ENTRIES
        folders: list[Skipped] = []
        for path, reason in sorted(self._reasons.items()):
            specs = 0
            for entry in self._below(path):
                left -= 1
                specs += entry.endswith(self.suffixes)
                if left < 0:
                    break
            if specs:
                folders.append(Skipped(path, reason, specs, left >= 0))
        return tuple(folders)

    def _below(self, path: Path) -> Iterator[str]:
        """Yields the names of the files below a path, or the path itself, except what the command
        line names.
        """
        exempt = [named for named in map(real, self.named) if named.is_relative_to(real(path))]
        if not is_folder(path):
            yield path.name
        for parent, folders, names in os.walk(path):
            if exempt:
                folders[:] = [name for name in folders if real(Path(parent, name)) not in exempt]
                names = [name for name in names if real(Path(parent, name)) not in exempt]
            yield from names

    def _ignored_below(self, folder: Path) -> frozenset[Path]:
        """Returns the folders and files below ``folder`` that git ignores. If git ignores the
        folder itself, the result is empty.
        """
        if folder not in self._ignored:
            self._ignored[folder] = frozenset(self._asked(folder))
        return self._ignored[folder]

    def _asked(self, folder: Path) -> Iterator[Path]:
        home = real(folder)
        if not any(os.path.lexists(parent / ".git") for parent in (home, *home.parents)):
            return
        try:
            # 0: the folder is ignored, 1: it is not, 128: git cannot tell.
            if self._git(folder, "check-ignore", "--quiet", ".").returncode == 0:
                return
            done = self._git(
                folder, "ls-files", "--others", "--ignored", "--exclude-standard", "--directory",
                "-z",
            )  # fmt: skip
        except FileNotFoundError:
            # Without git, nothing is known to be ignored.
            return
        except (OSError, subprocess.SubprocessError) as error:
            late = isinstance(error, subprocess.TimeoutExpired)
            self._fail(folder, f"no answer within {GIT_SECONDS:g} s" if late else str(error))
            return
        if done.returncode:
            text = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
            self._fail(folder, text.removeprefix("fatal: "))
            return
        for name in done.stdout.split(b"\0"):
            if name:
                yield folder / os.fsdecode(name)

    def _git(self, folder: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
        """Runs git in a folder within the remaining time."""
        # Hooks of git set variables that would select another repository. A repository must not be
        # able to run a program through its own settings.
        hidden = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")
        environment = {name: value for name, value in os.environ.items() if name not in hidden}
        environment |= {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
        begin = time.monotonic()
        try:
            return subprocess.run(
                ["git", "-c", "core.fsmonitor=false", "-C", os.fspath(folder), *words],
                stdin=subprocess.DEVNULL, capture_output=True, env=environment, check=False,
                timeout=max(GIT_SECONDS - self._git_seconds, 0.01),
            )  # fmt: skip
        finally:
            self._git_seconds += time.monotonic() - begin

    def _fail(self, folder: Path, reason: str) -> None:
        message = f"git does not say which files it ignores in {folder}, so none are skipped"
        note = (None, printable(reason))
        self.problems.append(Problem(GIT_FAILS, None, message, (note,), warning=True))


def _is_spec(path: Path) -> bool:
    return path.suffix == SUFFIX or is_file(path.with_suffix(CONFIG_SUFFIX))


def _is_export(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return bool(_EXPORTED.match(file.read(HEAD_BYTES)))
    except OSError:
        return False


def _reason(folder: Path) -> str:
    """Returns why a folder is always skipped, or ""."""
    if folder.name.startswith("."):
        return "hidden"
    if folder.name in INSTALLED:
        return "installed packages"
    return "virtual environment" if is_file(folder / VIRTUAL_ENVIRONMENT) else ""
