"""Unwritable output leads to a clear error and the right exit code, and leaves no partial files."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TextIO
from unittest import mock

import pytest
from tests.support.command import run
from tests.support.processes import finished

from fencepost.checker.cli.main import main
from fencepost.checker.cli.progress import Reporter
from fencepost.checker.request import Progress

SPEC = """\
var x: 0..3 = 0
action up:
    require x < 3
    x += 1
terminal: true
invariant I: x < 3
check c:
    expect violated I
"""
COMMANDS = {
    "check": ["check", "s.fence"],
    "check-json": ["check", "s.fence", "--format", "json"],
    "check-html": ["check", "s.fence", "--format", "html"],
    "check-github": ["check", "bad.fence", "--format", "github"],
    "check-list": ["check", "s.fence", "--list"],
    "info": ["info", "s.fence"],
    "fmt": ["fmt", "s.fence", "--check"],
    "graph": ["graph", "s.fence"],
    "graph-html": ["graph", "s.fence", "--as", "html"],
    "explore": ["explore", "s.fence"],
    "mutate": ["mutate", "s.fence"],
    "mutate-json": ["mutate", "s.fence", "--format", "json"],
    "simulate": ["simulate", "s.fence", "--runs", "9"],
    "simulate-json": ["simulate", "s.fence", "--runs", "9", "--format", "json"],
    "export": ["export", "s.fence", "--to", "tla", "--output", "out"],
    "trace": ["trace", "show", "t.itf.json"],
    "trace-html": ["trace", "show", "t.itf.json", "--as", "html"],
    "replay": ["trace", "replay", "t.itf.json", "s.fence"],
    "completion": ["completion", "bash"],
    "help": ["--help"],
    "check-help": ["check", "--help"],
    "version": ["--version"],
}


@pytest.fixture(name="saved", scope="module")
def _saved(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("saved")
    (folder / "s.fence").write_text(SPEC, encoding="utf-8")
    assert run("check", "s.fence", "--trace", "t.itf.json", folder=folder).code == 0
    return (folder / "t.itf.json").read_text("utf-8")


@pytest.fixture(name="folder")
def _folder(tmp_path: Path, saved: str) -> Path:
    (tmp_path / "s.fence").write_text(SPEC, encoding="utf-8")
    (tmp_path / "bad.fence").write_text(SPEC.replace("violated I", "ok"), encoding="utf-8")
    (tmp_path / "t.itf.json").write_text(saved, encoding="utf-8")
    return tmp_path


def full(stack: ExitStack) -> TextIO | None:
    file = open("/dev/full", "w", encoding="utf-8")  # noqa: SIM115

    def close() -> None:
        # The buffered data is lost, just as when a process ends.
        with suppress(OSError):
            file.close()

    stack.callback(close)
    return file


def closed(stack: ExitStack) -> TextIO | None:
    with open(os.devnull, "w", encoding="utf-8") as file:
        return file


def absent(stack: ExitStack) -> TextIO | None:
    return None


Outlet = Callable[[ExitStack], "TextIO | None"]
REASONS: dict[Outlet, str] = {
    full: "No space left on device",
    closed: "it is closed",
    absent: "it is closed",
}


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
@pytest.mark.parametrize("outlet", REASONS, ids=lambda outlet: outlet.__name__)
@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_every_command_with_an_output_that_cannot_be_written(
    folder: Path, words: list[str], outlet: Outlet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    with ExitStack() as stack:
        stderr = io.StringIO()
        stack.enter_context(mock.patch.object(sys, "stdin", io.StringIO("1\nquit\n")))
        stack.enter_context(mock.patch.object(sys, "stderr", stderr))
        stack.enter_context(mock.patch.object(sys, "stdout", outlet(stack)))
        code = main(words)
    message = f"error[F027]: cannot write to standard output: {REASONS[outlet]}\n"
    assert (code, stderr.getvalue()) == (151, message)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
@pytest.mark.parametrize("outlet", REASONS, ids=lambda outlet: outlet.__name__)
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["check", "s.fence"], 0),
        (["check", "bad.fence"], 12),
        (["check", "nowhere.fence"], 151),
        (["mutate", "bad.fence"], 12),
        (["graph", "s.fence", "--output", "g.dot"], 0),
        (["explore", "nowhere.fence"], 151),
        (["chek"], 151),
    ],
)
def test_an_error_stream_that_cannot_be_written_changes_nothing(
    folder: Path, words: list[str], code: int, outlet: Outlet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(sys, "stdout", io.StringIO()))
        stack.enter_context(mock.patch.object(sys, "stderr", outlet(stack)))
        assert main(words) == code


FILES = {
    "check-output": ["check", "s.fence", "--output", "@"],
    "check-format": ["check", "s.fence", "--format", "sarif=@"],
    "check-trace": ["check", "s.fence", "--trace", "@"],
    "dump": ["check", "s.fence", "--engine", "bmc", "--depth", "4", "--dump-smt2", "@"],
    "graph": ["graph", "s.fence", "--output", "@"],
    "mutate": ["mutate", "s.fence", "--output", "@"],
    "simulate": ["simulate", "s.fence", "--output", "@"],
    "simulate-trace": ["simulate", "s.fence", "--trace", "@"],
    "show": ["trace", "show", "t.itf.json", "--output", "@"],
    "export": ["export", "s.fence", "--to", "tla", "--output", "@"],
}
LONG = "n" * 300


WRONG = ("/dev/full", LONG, "folder", f"no/{LONG}", "s.fence/x", "s.fence/x/y")


@pytest.mark.parametrize(
    ("kind", "name"),
    # The output of an export is a folder.
    [(k, n) for k in FILES for n in WRONG if k != "export" or ("/" not in n[1:] and n != "folder")],
)
def test_every_file_that_cannot_be_written(folder: Path, kind: str, name: str) -> None:
    (folder / "folder").mkdir()
    words = FILES[kind]
    ran = run(*[word.replace("@", name) for word in words], folder=folder)
    assert ran.code == 151, ran.stderr
    assert "error[F027]: cannot write " in ran.stderr
    assert "File exists" not in ran.stderr
    assert not list((folder / "folder").iterdir())
    assert not (folder / "no").exists()
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("kind", FILES)
def test_the_folder_of_a_file_is_created(folder: Path, kind: str) -> None:
    words = [word.replace("@", "new/folder/file") for word in FILES[kind]]
    ran = run(*words, folder=folder)
    assert "error" not in ran.stderr
    assert (folder / "new" / "folder" / "file").exists()


NAMED = {
    "check": ["check", "@.fence"],
    "folder": ["check", "@"],
    "path": ["check", "s.fence", "--path", "@"],
    "info": ["info", "@.fence"],
    "fmt": ["fmt", "@.fence"],
    "graph": ["graph", "@.fence"],
    "explore": ["explore", "@.fence"],
    "mutate": ["mutate", "@.fence"],
    "sweep": ["sweep", "@.fence", "--const", "N=1..2"],
    "simulate": ["simulate", "@.fence"],
    "export": ["export", "@.fence", "--to", "tla"],
    "show": ["trace", "show", "@"],
    "replay": ["trace", "replay", "@", "s.fence"],
    "replay-on": ["trace", "replay", "t.itf.json", "@.fence"],
    "check-name": ["check", "s.fence", "--check", "@"],
    "constant": ["check", "s.fence", "--const", "@=1"],
    "engine": ["check", "s.fence", "--engine", "@"],
    "invariant": ["check", "s.fence", "--invariant", "@"],
}


@pytest.mark.parametrize("words", NAMED.values(), ids=NAMED)
@pytest.mark.parametrize("name", [LONG, "x" * 5000, "a/" * 3000, "loop/x", "s.fence/x"])
def test_impossible_names(folder: Path, words: list[str], name: str) -> None:
    (folder / "loop").symlink_to("loop")
    ran = run(*[word.replace("@", name) for word in words], folder=folder)
    assert ran.code == 151, ran.stderr
    assert "error[F0" in ran.stderr


def test_long_names_inside_a_spec(folder: Path) -> None:
    spec = (
        SPEC.replace("check c", f"check {LONG}").replace("up", LONG * 10).replace(" I", f" {LONG}")
    )
    (folder / "long.fence").write_text(spec, encoding="utf-8")
    for words in (["check"], ["info"], ["graph"]):
        assert run(*words, "long.fence", folder=folder).code == 0
    ran = run("check", "long.fence", "--format", "junit=a", "--format", "sarif=b", folder=folder)
    assert ran.code == 0
    (folder / "import.fence").write_text(f"import {LONG}\nimport {LONG}.a\n", encoding="utf-8")
    ran = run("check", "import.fence", folder=folder)
    assert (ran.code, ran.stderr.count("error[F601]")) == (150, 2)


def test_a_failed_write_keeps_the_old_file(folder: Path) -> None:
    before = SPEC * 1000
    (folder / "report.txt").write_text(before, encoding="utf-8")
    with mock.patch("os.replace", side_effect=OSError(28, "No space left on device")):
        ran = run("check", "s.fence", "--output", "report.txt", folder=folder)
    assert (ran.code, "cannot write report.txt: No space left" in ran.stderr) == (151, True)
    assert (folder / "report.txt").read_text("utf-8") == before
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_progress_that_cannot_be_shown_does_not_end_the_search() -> None:
    for live in (False, True):
        for outlet in REASONS:
            with ExitStack() as stack:
                now = iter([0.0, 10.0, 20.0])
                reporter = Reporter(outlet(stack), live=live, clock=partial(next, now))
                reporter.start("c")
                reporter(Progress(1, 1, 1, 1, 1.0, 1))
                reporter(Progress(2, 1, 1, 1, 1.0, 1))
                reporter.stop()


@pytest.mark.parametrize(
    ("command", "redirection", "code", "message"),
    [
        ("check", ">&-", 151, "it is closed"),
        ("explore", "> /dev/full", 151, "No space left on device"),
        ("check", "2>&-", 0, ""),
        ("explore", ">&- 2>&-", 151, ""),
        ("check", "| true", 0, ""),
        ("explore", "< /dev/null", 0, ""),
        ("explore", "<&-", 0, ""),
    ],
)
def test_as_a_process(
    folder: Path, command: str, redirection: str, code: int, message: str
) -> None:
    program = "from fencepost.checker.cli.start import entry; entry()"
    line = f'set -o pipefail; "$0" -c "{program}" {command} s.fence {redirection}'
    done = finished("bash", "-c", line, sys.executable, folder=folder)
    assert done.returncode == code
    assert message in done.stderr
    assert done.stderr.count("\n") == bool(message)
