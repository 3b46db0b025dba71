"""The creation of the user's key, and key files that are not accepted."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.command import run
from tests.support.processes import finished, started

from fencepost.checker import user_key
from fencepost.checker.user_key import Key, Purpose, Unusable, read_key


@pytest.fixture(name="path")
def _path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns the path of the key in a data directory that does not exist yet."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data" / "fencepost" / "key"


def test_a_key_is_created_once(path: Path) -> None:
    before = os.umask(0o377)
    try:
        first = read_key()
    finally:
        os.umask(before)
    assert isinstance(first, Key)
    assert len(first.secret) == 32
    assert path.read_bytes() == first.secret
    assert path.stat().st_mode & 0o7777 == 0o600
    assert path.parent.stat().st_mode & 0o077 == 0
    assert read_key() == first
    assert [*path.parent.iterdir()] == [path]
    assert first.secret.hex() not in repr(first)
    assert str(first.secret) not in repr(first)


def test_each_purpose_has_a_subkey(path: Path) -> None:
    key = read_key()
    assert isinstance(key, Key)
    macs = {key.mac(purpose, b"content") for purpose in Purpose}
    assert len(macs) == len(Purpose)
    assert key.mac(Purpose.CACHE, b"con", b"tent") in macs


def test_many_processes_create_one_key(path: Path) -> None:
    """Every process waits for a file to appear, and then prints the key that it reads."""
    go = path.parents[2] / "go"
    words = (
        sys.executable,
        "-c",
        "import sys, os; from fencepost.checker.user_key import read_key\n"
        "print('ready', flush=True)\n"
        "while not os.path.exists(sys.argv[1]): pass\n"
        "print(read_key().secret.hex())",
        str(go),
    )
    for _ in range(2):
        path.unlink(missing_ok=True)
        go.unlink(missing_ok=True)
        with (
            started(*words) as a, started(*words) as b, started(*words) as c,
            started(*words) as d, started(*words) as e, started(*words) as f,
        ):  # fmt: skip
            processes = (a, b, c, d, e, f)
            for process in processes:
                assert process.stdout is not None
                assert process.stdout.readline() == "ready\n"
            go.touch()
            secrets = {process.communicate()[0].strip() for process in processes}
        assert secrets == {path.read_bytes().hex()}
        assert [*path.parent.iterdir()] == [path]


def unlike(path: Path, content: bytes = bytes(range(32)), mode: int = 0o600) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    path.chmod(mode)


def linked(path: Path) -> None:
    unlike(path)
    target = path.rename(path.with_name("elsewhere"))
    path.symlink_to(target)


def dangling(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.symlink_to(path.with_name("nothing"))


def fifo(path: Path) -> None:
    path.parent.mkdir(parents=True)
    os.mkfifo(path, 0o600)


def file_in_place_of_folder(path: Path) -> None:
    path.parent.parent.mkdir(parents=True)
    path.parent.write_text("a file")


UNUSABLE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a symbolic link": (linked, "is a symbolic link"),
    "a dangling link": (dangling, "is a symbolic link"),
    "a folder": (lambda path: path.mkdir(mode=0o700, parents=True), "is not a regular file"),
    "a FIFO": (fifo, "is not a regular file"),
    "readable by the group": (lambda path: unlike(path, mode=0o640), "has the mode 0640, not 0600"),
    "writable by others": (lambda path: unlike(path, mode=0o602), "has the mode 0602, not 0600"),
    "read-only": (lambda path: unlike(path, mode=0o400), "0400, not 0600"),
    "setuid": (lambda path: unlike(path, mode=0o4600), "has the mode 4600, not 0600"),
    "empty": (lambda path: unlike(path, b""), "has 0 bytes, not 32"),
    "short": (lambda path: unlike(path, bytes(31)), "has 31 bytes, not 32"),
    "long": (lambda path: unlike(path, bytes(33)), "has 33 bytes, not 32"),
    "no folder": (file_in_place_of_folder, "Not a directory"),
}


@pytest.mark.parametrize("kind", UNUSABLE)
def test_files_that_are_not_accepted_as_keys(kind: str, path: Path) -> None:
    make, reason = UNUSABLE[kind]
    make(path)
    before = [(entry, entry.lstat().st_mode) for entry in sorted(path.parent.parent.rglob("*"))]
    key = read_key()
    assert isinstance(key, Unusable)
    assert reason in str(key)
    assert [
        (entry, entry.lstat().st_mode) for entry in sorted(path.parent.parent.rglob("*"))
    ] == before


def test_a_key_of_another_user(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unlike(path)
    mine = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: mine + 1)
    assert str(read_key()) == f"no usable key ({path} belongs to another user)"


def test_no_data_directory(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    monkeypatch.setattr(user_key, "user_data_path", lambda: Path("relative"))
    assert str(read_key()) == "no usable key (the user's data directory is not known)"


def test_a_disk_without_links(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    assert str(read_key()) == f"no usable key ({path}: Operation not permitted)"
    assert not [*path.parent.iterdir()]


SPEC = "var n: 0..3 = 0\naction up:\n    require n < 3\n    n += 1\nterminal: n == 3\n"


def test_a_run_without_a_key_says_so_and_caches_nothing(path: Path, tmp_path: Path) -> None:
    unlike(path, b"")
    (tmp_path / "s.fence").write_text(SPEC, encoding="utf-8")
    cache = tmp_path / "cache"
    words = ("s.fence", "--no-progress")
    variables = {"XDG_CACHE_HOME": str(cache)}
    ran = run("check", *words, "--checkpoint", "saved", "--depth", "1", folder=tmp_path,
              environment=variables)  # fmt: skip
    note = f"note: no usable key ({path} has 0 bytes, not 32): nothing is cached, and checkpoints"
    assert ran.stderr == f"{note} are not signed\n"
    assert not [*cache.rglob("code/*")]
    assert run("fmt", "s.fence", folder=tmp_path, environment=variables).stderr == ""
    path.unlink()
    ran = run("check", *words, folder=tmp_path, environment=variables)
    assert ran.stderr == ""
    assert [*cache.rglob("code/*")]


def test_doctor(path: Path, tmp_path: Path) -> None:
    words = (sys.executable, "-m", "fencepost.checker.cli.main", "doctor")
    assert f"key                 works    {path}" in finished(*words, folder=tmp_path).stdout
    path.chmod(0o644)
    printed = " ".join(finished(*words, folder=tmp_path).stdout.split())
    assert f"key missing no usable key ({path} has the mode 0644, not 0600)" in printed
    assert "nothing is cached" in printed
