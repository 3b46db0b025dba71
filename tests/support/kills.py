"""Kills one process of a run with SIGKILL, and compares the output with that of an undisturbed run.

When run as a program, this module is the command, except that it writes a line to the file
`FENCEPOST_KILL_LOG` whenever a worker of `checker.run.processes` begins a check or has sent its
result.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from tests.support.processes import COMMAND, environment

from fencepost.checker.cli.main import entry
from fencepost.checker.run import processes

LOG = "FENCEPOST_KILL_LOG"
LOGGED = (sys.executable, "-m", "tests.support.kills")
PATIENCE = 100.0
"""The timeout of a run in seconds."""
KILLED = "was killed by signal 9 (SIGKILL)"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of process to kill.

    ``words`` are the arguments of a run that has such processes, and ``chosen`` selects them among
    its descendants by their command lines. ``seen`` extracts the part of standard output to
    compare. ``refused`` is another acceptable end of the run: an exit code and a text on standard
    error.
    """

    name: str
    words: tuple[str, ...]
    chosen: Callable[[str], bool]
    seen: Callable[[str], object]
    refused: tuple[int, str] = (3, KILLED)
    command: tuple[str, ...] = COMMAND


@dataclass(frozen=True, slots=True)
class Kill:
    """One kill: the process, the time in seconds, and how the run ended.

    ``begun`` and ``delivered`` are the checks that the process had begun and delivered.
    """

    process: int
    seconds: float
    begun: tuple[str, ...]
    delivered: tuple[str, ...]
    code: int
    seen: object
    errors: str


@dataclass(slots=True)
class Harm:
    """Runs of one kind in a folder. `unharmed` is the output of an undisturbed run."""

    kind: Kind
    folder: Path
    kills: list[Kill] = field(default_factory=list[Kill])
    unharmed: tuple[int, object] = (0, None)
    seconds: float = 0.0

    def __post_init__(self) -> None:
        began = time.monotonic()
        with self._started() as run:
            output, errors = run.communicate(timeout=PATIENCE)
        self.seconds = time.monotonic() - began
        self.unharmed = run.returncode, self.kind.seen(output)
        assert KILLED not in errors, errors

    def kill(self, count: int, seed: int) -> None:
        """Kills ``count`` processes, at moments spread over the duration of a run."""
        chance = random.Random(seed)
        moment = 0
        while len(self.kills) < count:
            assert moment < 4 * count + 8, f"there is no {self.kind.name} to be killed"
            # Multiples of the golden ratio, so that early and late kills alternate.
            self._kill(self.seconds * ((moment * 0.618) % 1), chance)
            moment += 1

    def _started(self) -> subprocess.Popen[str]:
        log = str(self.folder / "log")
        with suppress(FileNotFoundError):
            Path(log).unlink()
        words = (*self.kind.command, *self.kind.words)
        return subprocess.Popen(
            words, cwd=self.folder, env=environment(**{LOG: log}), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def _kill(self, after: float, chance: random.Random) -> None:
        with self._started() as run:
            began = time.monotonic()
            while time.monotonic() < began + after and run.poll() is None:
                time.sleep(0.005)
            victims: list[int] = []
            while not victims and run.poll() is None:
                victims = [child for child, line in descendants(run.pid) if self.kind.chosen(line)]
                time.sleep(0.005)
            victim = chance.choice(victims) if victims else 0
            killed = False
            if victim:
                with suppress(ProcessLookupError):
                    os.kill(victim, signal.SIGKILL)
                    killed = True
            at = time.monotonic() - began
            try:
                output, errors = run.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                run.kill()
                raise
        if not killed:
            # The run ended first: the machine has become faster.
            self.seconds = min(self.seconds, at)
        else:
            seen = self.kind.seen(output) if run.returncode == self.unharmed[0] else None
            begun, delivered = self._log(victim)
            kill = Kill(victim, at, begun, delivered, run.returncode, seen, errors)
            print(
                self.kind.name,
                *(getattr(kill, n) for n in ("process", "seconds", "code")),
                sep="\t",
            )
            self.kills.append(kill)

    def _log(self, process: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        path = self.folder / "log"
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        mine = [line.split("\t")[1:] for line in lines if line.startswith(f"{process}\t")]
        begun, sent = (
            [name for event, name in mine if event == wanted] for wanted in ("began", "sent")
        )
        return tuple(begun), tuple(sent)

    def judge(self) -> Counter[str]:
        """Counts how the runs ended; requires that each end is acceptable."""
        ends: Counter[str] = Counter()
        code, text = self.kind.refused
        for kill in self.kills:
            assert "Traceback" not in kill.errors, kill
            if kill.code == self.unharmed[0]:
                # The victim's verdicts are there. Either it had delivered them, or another process
                # did its work.
                assert kill.seen == self.unharmed[1], kill
                assert kill.begun == kill.delivered, kill
                ends["as unharmed"] += 1
            else:
                assert (kill.code, text in kill.errors) == (code, True), kill
                if text == KILLED:
                    assert re.search(rf"\(process {kill.process}\) ", kill.errors), kill
                ends["refused"] += 1
        return ends


def descendants(process: int) -> list[tuple[int, str]]:
    """Returns the direct and indirect child processes of a process, with their command lines."""
    children: dict[int, list[int]] = {}
    lines: dict[int, str] = {}
    for entry_ in Path("/proc").iterdir():
        if entry_.name.isdigit():
            with suppress(OSError):
                status = (entry_ / "stat").read_text("utf-8").rpartition(")")[2].split()
                if status[0] != "Z":
                    children.setdefault(int(status[1]), []).append(int(entry_.name))
                    content = (entry_ / "cmdline").read_bytes()
                    lines[int(entry_.name)] = content.replace(b"\0", b" ").decode(
                        "utf-8", "replace"
                    )
    processes_: list[tuple[int, str]] = []
    waiting = [process]
    while waiting:
        below = children.get(waiting.pop(), [])
        processes_ += [(child, lines.get(child, "")) for child in below]
        waiting += below
    return processes_


def _logging() -> None:
    """Makes workers log each check that they begin and each one that they deliver."""
    answered, send = processes.answered, processes.send
    path = os.environ[LOG]

    def note(event: str, name: str) -> None:
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{os.getpid()}\t{event}\t{name}\n")

    def answers(job: Any, *rest: Any) -> Any:
        note("began", job.title)
        return answered(job, *rest)

    def sends(sink: int, message: tuple[str, Any], job: Any) -> None:
        send(sink, message, job)
        if message[0] == "answer":
            note("sent", job.title)

    mock.patch.object(processes, "answered", answers).start()
    mock.patch.object(processes, "send", sends).start()


if __name__ == "__main__":
    _logging()
    entry()
