"""Signals and `--timeout` take effect while a command reads a large or slow file, or judges what it
has read. The command ends as docs/ci.md says, long before it would have finished.
"""

from __future__ import annotations

import gzip
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support.command import run
from tests.support.kills import descendants
from tests.support.lease import HISTORIES, folder_with, written
from tests.support.processes import COMMAND, started
from tests.support.slow_reads import READING

SPEC = """\
var x: 0..10000 in 0..9999
var y: 0..9 = any
var z: 0..9 = 0
action up:
    require z < 9
    z += 1
invariant Low: x < 10000
terminal: y < 10
check c:
    expect ok
"""
"""A spec with 100,000 initial states, which fill 50 blocks of a checkpoint, so that all workers
read.
"""
HIDDEN = """\
var x: 0..999 = 0
var y: 0..999 = 0
action up:
    require x < 999
    x += 1
action right:
    require y < 999
    y += 1
action end:
    require x == 999 and y == 999
    x = 0
"""
HIDDEN_MAP = """\
import hidden as m
recording:
    key file
    source s ordered
event ended(n: int) from s
shows ended(0) on m.end
"""
"""A mapping whose only event is two thousand hidden steps away."""
TRACED = SPEC.replace("x < 10000", "x < 900").replace("expect ok", "expect violated Low")
PROMPT_SECONDS = 10.0
"""The time limit, in seconds, within which a stopped command must end: a quarter of the time that
reading takes. An idle machine needs less than 1 s.
"""
CHECK = ("check", "s.fence", "--engine", "local", "--no-progress", "--resume", "saved")
CONFORM = ("conform", "map.fence")
HUGE = 1 << 40
SLOW = (sys.executable, "-m", "tests.support.slow_reads")
INTERRUPTED = (130, "interrupted")
CUT = (3, "The run ended before it had read the checkpoint saved/s-c, which is unchanged.")


@dataclass(frozen=True, slots=True)
class Reading:
    """A command that reads a slow file, and its expected end.

    ``ends`` holds the exit code after a signal, and a text that the report or message contains.
    ``timeout`` is the text that it contains after a `--timeout`, or empty if that is not tested.
    """

    words: tuple[str, ...]
    file: str
    ends: tuple[int, str] = INTERRUPTED
    timeout: str = ""


READINGS = {
    "manifest": Reading((*CHECK, "--workers", "1"), "manifest.json", CUT, CUT[1]),
    "states": Reading((*CHECK, "--workers", "1"), "states-*", CUT, CUT[1]),
    "states, by two workers": Reading((*CHECK, "--workers", "2"), "states-*", CUT, CUT[1]),
    "spec": Reading(("check", "s.fence", "--no-progress"), "s.fence", timeout="error[F046]"),
    "recording": Reading((*CONFORM, "r.jsonl", "--workers", "1"), "r.jsonl"),
    "recording, by two workers": Reading((*CONFORM, "r.jsonl", "--workers", "2"), "r.jsonl"),
    "compressed recording": Reading((*CONFORM, "r.jsonl.gz"), "r.jsonl.gz"),
    "folder of recordings": Reading((*CONFORM, "recordings"), "recordings/r.jsonl"),
    "trace": Reading(("trace", "replay", "t.itf.json", "t.fence"), "t.itf.json"),
}
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with specs, a checkpoint, recordings and a trace."""
    folder = folder_with(tmp_path_factory.mktemp("reading"))
    for name, text in (("s", SPEC), ("t", TRACED), ("hidden", HIDDEN), ("hidden_map", HIDDEN_MAP)):
        (folder / f"{name}.fence").write_text(text, "utf-8")
    saved = run("check", "s.fence", "--checkpoint", "saved", "--depth", "2", folder=folder)
    assert saved.code == 3
    assert run("check", "t.fence", "--trace", "t.itf.json", folder=folder).code == 0
    events = [events for events, _, _ in HISTORIES.values()]
    lines = written({f"h{n}": events[n % len(events)] for n in range(500)}).encode()
    (folder / "r.jsonl").write_bytes(lines)
    (folder / "r.jsonl.gz").write_bytes(gzip.compress(lines))
    (folder / "recordings").mkdir()
    shutil.copy(folder / "r.jsonl", folder / "recordings")
    hidden = written({f"h{n}": [{"event": "ended", "n": 0}] for n in range(40)})
    (folder / "hidden.jsonl").write_text(hidden, "utf-8")
    return folder


@contextmanager
def reading(
    folder: Path, name: str, *more: str
) -> Generator[tuple[subprocess.Popen[str], Reading]]:
    """Yields a process that is reading its slow file."""
    case = READINGS[name]
    words = (*SLOW, *case.words, *more)
    with started(*words, folder=folder, FENCEPOST_SLOW_FILE=case.file) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        assert first == f"{READING}\n", first
        yield process, case


def ended(process: subprocess.Popen[str], patience: float = PROMPT_SECONDS) -> tuple[int, str]:
    """Returns the exit code of a process that must end soon, and both its outputs on one line."""
    output, errors = process.communicate(timeout=patience)
    assert "Traceback" not in errors
    return process.returncode, " ".join((output + errors).split())


@pytest.mark.parametrize("name", READINGS)
def test_a_signal_while_a_file_is_read(name: str, prepared: Path) -> None:
    number = SIGNALS[list(READINGS).index(name) % len(SIGNALS)]
    with reading(prepared, name) as (process, case):
        # By then, the process has read the first blocks, and others remain.
        time.sleep(0.2)
        process.send_signal(number)
        code, text = ended(process)
    assert (code, case.ends[1] in text) == (case.ends[0], True), text
    assert "interrupted" in text


@pytest.fixture(scope="module")
def seconds(prepared: Path) -> float:
    """Returns a timeout that expires while a file is read: twice the time until reading begins."""
    began = time.monotonic()
    with reading(prepared, "states"):
        return 2 * (time.monotonic() - began)


@pytest.mark.parametrize("name", [name for name, case in READINGS.items() if case.timeout])
def test_a_deadline_while_a_file_is_read(name: str, seconds: float, prepared: Path) -> None:
    with reading(prepared, name, "--timeout", f"{seconds:.1f}s") as (process, case):
        code, text = ended(process, seconds + PROMPT_SECONDS)
    assert (code, case.timeout in text) == (3, True), text
    assert "--timeout" in text


def test_a_signal_while_a_line_without_end_is_read(tmp_path: Path) -> None:
    """The recording is a sparse file with a single line of 1 TiB."""
    folder = folder_with(tmp_path)
    (folder / "huge.jsonl").touch()
    os.truncate(folder / "huge.jsonl", HUGE)
    words = (*COMMAND, *CONFORM, "huge.jsonl")
    with started(*words, folder=folder) as process:
        wait_until(process, lambda: has_open(process.pid, "huge.jsonl"))
        process.send_signal(signal.SIGTERM)
        assert ended(process) == INTERRUPTED


@pytest.mark.parametrize("engine", ["interpreter", "local"])
def test_a_signal_to_the_first_process_while_others_judge(engine: str, prepared: Path) -> None:
    words = (*COMMAND, "conform", "hidden_map.fence", "hidden.jsonl", "--engine", engine)
    more = ("--max-states", "1000000000", "--workers", "2")
    with started(*words, *more, folder=prepared) as process:
        wait_until(process, lambda: len(descendants(process.pid)) == 2)
        workers = [number for number, _ in descendants(process.pid)]
        process.send_signal(signal.SIGTERM)
        assert ended(process) == INTERRUPTED
    assert not [number for number in workers if Path(f"/proc/{number}").exists()]


def wait_until(process: subprocess.Popen[str], reached: Callable[[], bool]) -> None:
    """Waits until `reached` returns true, and fails if the process ends first."""
    while not reached():
        assert process.poll() is None
        time.sleep(0.02)


def has_open(process: int, name: str) -> bool:
    """Whether a process has a file of this name open."""
    files = Path(f"/proc/{process}/fd")
    return any(os.readlink(file).endswith(name) for file in files.iterdir() if file.is_symlink())
