"""Commands whose input files are replaced by special, dangling or oversized files.

A FIFO is tested in a separate process, so that a command that waits for it fails the test.
"""

from __future__ import annotations

import os
import shutil
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from tests.support.command import Ran, run
from tests.support.lease import folder_with
from tests.support.processes import COMMAND, finished

SPEC = """\
var x: 0..9 = 0
action up:
    require x < 9
    x += 1
terminal: x == 9
check c:
    expect ok
"""
SECONDS = 30
STATES = "saved/s-c/states-*"

INPUTS: dict[str, tuple[tuple[str, ...], int, str]] = {
    # Each entry maps a file to the command that reads it, the exit code and the problem code.
    "saved/s-c/manifest.json": (("check", "s.fence", "--resume", "saved"), 151, "F035"),
    STATES: (("check", "s.fence", "--resume", "saved"), 151, "F035"),
    "r.jsonl": (("conform", "map.fence", "r.jsonl"), 151, "F047"),
    "recordings/r.jsonl": (("conform", "map.fence", "recordings"), 151, "F047"),
    "a.itf.json": (("trace", "show", "a.itf.json"), 151, "F026"),
    "b.itf.json": (("trace", "replay", "b.itf.json", "s.fence"), 151, "F026"),
    "c.itf.json": (("eval", "s.fence", "x", "--trace", "c.itf.json"), 151, "F026"),
    "u.fence": (("check", "u.fence"), 151, "F00"),
    "modules/lib.fence": (("check", "t.fence", "--path", "modules"), 150, "F601"),
    "lib.fence": (("check", "t.fence"), 150, "F601"),
    "logs/__transaction_state-0/00000000000000000000.log": (
        ("record", "kafka", "--segments", "logs", "--out", "new"), 151, "F850",
    ),
    "settings": (
        ("record", "kafka", "--bootstrap", "localhost:1", "--topics", "t", "--config", "settings",
         "--out", "new"),
        151, "F851",
    ),
}  # fmt: skip


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _oversized(path: Path) -> None:
    # A sparse file occupies no disk blocks.
    path.touch()
    os.truncate(path, (4 << 40) + 1)


HOSTILE: dict[str, Callable[[Path], None]] = {
    "fifo": os.mkfifo,
    "device": _device,
    "folder": Path.mkdir,
    "oversized": _oversized,
    "dangling": lambda path: path.symlink_to("gone"),
}
OTHERWISE = {
    # A recording or a spec may be a directory, but these directories are empty.
    ("u.fence", "folder"): (151, "F025"),
    # An oversized module counts as existing, and has its own problem code.
    ("lib.fence", "oversized"): (151, "F005"),
    ("modules/lib.fence", "oversized"): (151, "F005"),
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with specs and a checkpoint."""
    folder = folder_with(tmp_path_factory.mktemp("inputs"))
    (folder / "s.fence").write_text(SPEC, "utf-8")
    (folder / "t.fence").write_text("import lib\nvar x: bool = false\n", "utf-8")
    saved = run("check", "s.fence", "--checkpoint", "saved", "--depth", "2", folder=folder)
    assert saved.code == 3
    return folder


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("name", INPUTS)
def test_a_hostile_file(name: str, hostile: str, prepared: Path, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    shutil.copytree(prepared, folder)
    path = next(folder.glob(name)) if name == STATES else folder / name
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    HOSTILE[hostile](path)
    words, code, problem = INPUTS[name]
    code, problem = OTHERWISE.get((name, hostile), (code, problem))
    if hostile == "fifo":
        ended = finished(*COMMAND, *words, folder=folder, patience=SECONDS)
        ran = Ran(ended.returncode, ended.stdout, ended.stderr)
    else:
        ran = run(*words, folder=folder)
    assert (ran.code, f"error[{problem}" in ran.stderr) == (code, True), ran
    assert "Traceback" not in ran.stderr
    if code == 151:
        assert path.name in ran.stderr or problem == "F035", ran.stderr


@pytest.mark.parametrize(("empty", "code"), [(True, 0), (False, 151)])
def test_nothing_to_resume(empty: bool, code: int, prepared: Path, tmp_path: Path) -> None:
    """Resuming from an empty directory, as in a first build, yields a note; a missing directory is
    an error.
    """
    if empty:
        (tmp_path / "saved").mkdir()
    shutil.copy(prepared / "s.fence", tmp_path)
    ran = run("check", "s.fence", "--resume", "saved", "--format", "json", folder=tmp_path)
    assert ran.code == code
    assert ("Nothing was saved in saved/s-c" in ran.stdout) == empty
    assert '"resumed"' not in ran.stdout


def test_a_broker_that_announces_more_than_it_sends(tmp_path: Path) -> None:
    """The client library allocates the announced size, so the command must check the size first."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        broker = threading.Thread(target=_announce, args=(server,), daemon=True)
        broker.start()
        bootstrap = f"127.0.0.1:{server.getsockname()[1]}"
        words = ("record", "kafka", "--bootstrap", bootstrap, "--topics", "t", "--out", "new")
        # The address space limit is below the announced size.
        line = 'ulimit -v 2000000; exec "$0" "$@"'
        ended = finished("bash", "-c", line, *COMMAND, *words, folder=tmp_path, patience=SECONDS)
        server.shutdown(socket.SHUT_RDWR)
        broker.join(SECONDS)
    assert ended.returncode == 151
    assert "error[F851]" in ended.stderr, ended.stderr
    assert not (tmp_path / "new").exists()


def _announce(server: socket.socket) -> None:
    with suppress(OSError):
        while True:
            client, _ = server.accept()
            with client, suppress(OSError):
                client.recv(1 << 16)
                client.sendall(((1 << 31) - 1).to_bytes(4, "big") + b"\0" * 64)
                client.recv(1)
