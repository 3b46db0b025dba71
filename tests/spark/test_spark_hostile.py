# pyright: basic
"""Recordings that are not regular files, are too large or damaged, or vanish before they are read
are problems with Spark, as they are without it.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.checker.cli.test_hostile_inputs import HOSTILE
from tests.spark.clusters import HERE, SETTINGS
from tests.spark.test_spark_conform import ON_SPARK, TEXT, both, words
from tests.support.command import Ran, run
from tests.support.lease import folder_with

from fencepost.checker.systems.spark import compare, files

WHOLE = words(HERE, SETTINGS)
"""Settings that read a file in few blocks, since every block scans a long line to the end of that
line.
"""
HELD = 1 << 21
"""The maximum size of a line that Spark holds in these tests."""
ZEROS = 1 << 23
"""The size of a longer line."""


def _unreadable(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 400)


def _no_gzip(path: Path) -> None:
    path.write_bytes(b"\x1f\x8b" + bytes(1000))


def _broken_member(path: Path) -> None:
    """Writes a broken last member that has the same size as the first one."""
    member = gzip.compress(TEXT.encode())
    path.write_bytes(member + member[:10] + b"\xff" * 40 + member[50:])


def _long_line(path: Path) -> None:
    path.touch()
    # A sparse file occupies no blocks on the disk.
    os.truncate(path, ZEROS)


def _bomb(path: Path) -> None:
    path.write_bytes(gzip.compress(bytes(ZEROS)))


REFUSED: dict[str, tuple[str, Callable[[Path], None]]] = {
    **{name: ("b.jsonl", make) for name, make in HOSTILE.items()},
    "fifo in a folder": ("logs/b.jsonl", HOSTILE["fifo"]),
    "compressed fifo": ("b.jsonl.gz", HOSTILE["fifo"]),
    "table that is a fifo": ("b.parquet", HOSTILE["fifo"]),
}
"""Files that are refused before they are read, with the same message in every engine."""
DAMAGED: dict[str, tuple[str, Callable[[Path], None]]] = {
    "binary": ("b.jsonl", _unreadable),
    "no gzip": ("b.jsonl.gz", _no_gzip),
    "broken member": ("b.jsonl.gz", _broken_member),
    "long line": ("b.jsonl", _long_line),
    "bomb": ("b.jsonl.gz", _bomb),
}


def messages(ran: Ran, name: str) -> list[str]:
    """Returns the error messages about a file."""
    return [line for line in ran.stderr.splitlines() if line.startswith("error") and name in line]


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_is_refused(name: str, tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    (folder / "a.jsonl").write_text(TEXT, "utf-8")
    (folder / "logs").mkdir()
    path, make = REFUSED[name]
    make(folder / path)
    named = "logs" if path.startswith("logs") else path
    plain, on_spark = both(folder, "a.jsonl", named, "--format", "json")
    assert plain.code == 151
    assert "error[F047]" in plain.stderr
    assert on_spark.code == plain.code
    if name == "folder":
        # Spark supports one more kind of recording.
        assert "b.jsonl has no recording" in on_spark.stderr
    else:
        assert on_spark == plain


@pytest.mark.parametrize("name", DAMAGED)
def test_a_file_that_is_damaged(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_HELD", HELD)
    folder = folder_with(tmp_path)
    (folder / "a.jsonl").write_text(TEXT, "utf-8")
    path, make = DAMAGED[name]
    make(folder / path)
    plain = run("conform", "map.fence", "a.jsonl", path, folder=folder)
    for ran in (plain, run("conform", "map.fence", "a.jsonl", path, *WHOLE, folder=folder)):
        assert ran.code == 151
        assert all("error[F047]" in line for line in messages(ran, path)), ran.stderr
        assert messages(ran, path)
        assert "Traceback" not in ran.stderr


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("name", ["b.jsonl", "b.jsonl.gz"])
def test_a_file_that_vanishes(
    name: str, late: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file vanishes after the files are listed, or after Spark has planned to read the file."""
    folder = folder_with(tmp_path)
    (folder / "a.jsonl").write_text(TEXT, "utf-8")
    text = TEXT.encode()
    (folder / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    home, step = (compare, "only_column") if late else (files, "recording_files")
    original = getattr(home, step)

    def vanishing(*words: object) -> object:
        result = original(*words)
        (folder / name).unlink()
        return result

    monkeypatch.setattr(home, step, vanishing)
    ran = run("conform", "map.fence", "a.jsonl", name, *ON_SPARK, folder=folder)
    assert ran.code == 151
    assert messages(ran, name), ran.stderr
    assert "error[F047]" in ran.stderr
    assert "Traceback" not in ran.stderr
