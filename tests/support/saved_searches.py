"""Folders of saved searches that cannot be used."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.support.command import Ran


def contents(folder: Path) -> dict[str, bytes]:
    """All files below a folder."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def assert_refused(resumed: Callable[[Path], Ran], folder: Path, told: str) -> None:
    """A clear error, and nothing is touched."""
    before = contents(folder)
    ran = resumed(folder)
    assert ran.code == 151, ran
    assert "error[F035]: " in ran.stderr
    assert "Traceback" not in ran.stderr
    assert told in ran.stderr
    assert contents(folder) == before
