"""Compiled code is reused from the cache, unless another user could have written it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.support.kernel_models import text, two_phase_commit

from fencepost.checker.native.machine import build, code_cache
from fencepost.checker.native.machine.code_cache import Cache


def test_written_code_is_read(tmp_path: Path) -> None:
    kept = Cache(tmp_path)
    assert kept.read(["a", "b"]) is None
    kept.write(["a", "b"], b"code")
    assert kept.read(["a", "b"]) == b"code"
    assert kept.read(["ab", ""]) is kept.read(["a", "b", ""]) is kept.read(["b", "a"]) is None
    assert (tmp_path / "fencepost" / "code").stat().st_mode & 0o777 == 0o700


def only(folder: Path) -> Path:
    """Returns the only file of a cache."""
    (path,) = (folder / "fencepost" / "code").iterdir()
    return path


def test_modified_code_is_not_used(tmp_path: Path) -> None:
    kept = Cache(tmp_path)
    kept.write(["a"], b"code")
    only(tmp_path).write_bytes(only(tmp_path).read_bytes()[:-1] + b"x")
    assert kept.read(["a"]) is None
    only(tmp_path).write_bytes(b"")
    assert kept.read(["a"]) is None
    kept.write(["a"], b"code")
    assert kept.read(["a"]) == b"code"


def test_code_writable_by_others_is_not_used(tmp_path: Path) -> None:
    kept = Cache(tmp_path)
    kept.write(["a"], b"code")
    only(tmp_path).chmod(0o622)
    assert kept.read(["a"]) is None
    only(tmp_path).chmod(0o600)
    assert kept.read(["a"]) == b"code"
    folder = only(tmp_path).parent
    folder.chmod(0o777)
    assert kept.read(["a"]) is None
    kept.write(["b"], b"other")
    assert len(list(folder.iterdir())) == 1


def test_links_are_not_followed(tmp_path: Path) -> None:
    kept = Cache(tmp_path)
    kept.write(["a"], b"code")
    path = only(tmp_path)
    target = path.rename(tmp_path / "elsewhere")
    path.symlink_to(target)
    assert kept.read(["a"]) is None


def test_a_folder_that_cannot_be_created(tmp_path: Path) -> None:
    (tmp_path / "fencepost").write_text("a file")
    kept = Cache(tmp_path)
    kept.write(["a"], b"code")
    assert kept.read(["a"]) is None


def test_the_folder_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_cache, "MAX_BYTES", 1000)
    kept = Cache(tmp_path)
    for number in range(20):
        kept.write([str(number)], bytes(200))
    assert sum(path.stat().st_size for path in only_folder(tmp_path).iterdir()) <= 1000
    assert kept.read(["19"]) == bytes(200)


def only_folder(folder: Path) -> Path:
    """Returns the folder of a cache."""
    return folder / "fencepost" / "code"


@pytest.mark.skipif(sys.platform != "linux", reason="the folder of Linux")
@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"HOME": "/home/x"}, "/home/x/.cache"),
        ({"HOME": "/home/x", "XDG_CACHE_HOME": "/var/y"}, "/var/y"),
        ({"HOME": "/home/x", "XDG_CACHE_HOME": ""}, "/home/x/.cache"),
        # A relative path would depend on the working directory.
        ({"HOME": "/home/x", "XDG_CACHE_HOME": "y"}, "/home/x/.cache"),
    ],
)
def test_the_location_of_the_folder(
    variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert code_cache.home() == Path(expected)


def test_better_code_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    module = text(two_phase_commit(3))
    first = build.Compilation(module)
    assert first.kept() is None
    first.begin()
    first.wait()
    assert first.better is not None
    again = build.Compilation(module).kept()
    assert again is not None
    assert again.size == first.better.size
    assert build.Compilation(text(two_phase_commit(4))).kept() is None
