"""Every input is refused without blocking, unless it is a regular file of bounded size."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fencepost.spec.text import inputs
from fencepost.spec.text.inputs import Kind

SECONDS = 60


def _fifo(path: Path, _: Kind) -> None:
    os.mkfifo(path)


def _device(path: Path, _: Kind) -> None:
    path.symlink_to("/dev/zero")


def _folder(path: Path, _: Kind) -> None:
    path.mkdir()


def _oversized(path: Path, kind: Kind) -> None:
    # A sparse file takes up no space.
    path.touch()
    os.truncate(path, kind.max_bytes + 1)


def _dangling(path: Path, _: Kind) -> None:
    path.symlink_to(path.with_name("missing"))


HOSTILE: dict[str, Callable[[Path, Kind], None]] = {
    "FIFO": _fifo,
    "device": _device,
    "folder": _folder,
    "oversized": _oversized,
    "dangling link": _dangling,
}


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_hostile_file_is_refused(tmp_path: Path, hostile: str) -> None:
    for kind in Kind:
        HOSTILE[hostile](tmp_path / kind.name, kind)
    # A separate process, so that a call that blocks makes the test fail instead of hang.
    code = (
        "import sys; from pathlib import Path; from fencepost.spec.text import inputs\n"
        "for kind in inputs.Kind:\n"
        "    try: inputs.opened(Path(sys.argv[1], kind.name), kind)\n"
        "    except OSError as error: assert error.strerror; print(kind.name)"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    ended = subprocess.run(command, timeout=SECONDS, check=True, capture_output=True, text=True)
    assert ended.stdout.split() == [kind.name for kind in Kind]


@pytest.mark.parametrize("kind", Kind)
def test_links_are_followed_only_where_users_name_files(tmp_path: Path, kind: Kind) -> None:
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("file")
    assert inputs.content(tmp_path / "file", kind) == b"content"
    if kind.follow_links:
        assert inputs.content(tmp_path / "link", kind) == b"content"
    else:
        with pytest.raises(inputs.Refused, match="symbolic link"):
            inputs.content(tmp_path / "link", kind)


def test_content_that_grows_beyond_the_limit_is_refused() -> None:
    # The size of this file is 0 until it is read.
    class Small:
        max_bytes, follow_links = 4, True

    with pytest.raises(inputs.Refused, match="more than 4 bytes"):
        inputs.content(Path("/proc/self/status"), Small)  # type: ignore[arg-type]
