"""Runs a command as a whole process, and reports its resource use according to the operating
system.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Ran:
    """A completed command. Times are in seconds, ``peak`` is the memory of the largest process in
    bytes.

    ``others`` is the average number of processors that did other work during the command.
    """

    command: tuple[str, ...]
    code: int
    output: str
    errors: str
    wall: float
    user: float
    system: float
    peak: int
    others: float


class Failed(Exception):
    """A command failed. The argument contains the command and its output."""


def run(
    command: Sequence[str],
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    codes: Sequence[int] = (0,),
) -> Ran:
    """Runs a command to its end. Raises `Failed` if its exit code is not among ``codes``."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        busy = _busy_seconds()
        began = time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=None if environment is None else {**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            # Also kills the processes that the command has started, since SPIN's workers would
            # continue otherwise.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        wall = time.perf_counter() - began
        busy = _busy_seconds() - busy
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        printed = output.read().decode(errors="replace")
        diagnostics = errors.read().decode(errors="replace")
    others = max(0.0, busy - usage.ru_utime - usage.ru_stime) / wall
    ran = Ran(
        tuple(command),
        process.returncode,
        printed,
        diagnostics,
        wall,
        usage.ru_utime,
        usage.ru_stime,
        usage.ru_maxrss * 1024,
        others,
    )
    if ran.code not in codes:
        last = (ran.errors or ran.output).strip()[-2000:]
        raise Failed(f"{' '.join(command)}: exit code {ran.code}\n{last}")
    return ran


def family_seconds() -> float:
    """Returns the processor time of this process and all its descendants, including those that have
    ended.
    """
    ticks, parents = dict[int, int](), dict[int, int]()
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with suppress(OSError):
                stat = (folder / "stat").read_text(encoding="utf-8", errors="replace")
                fields = stat.rpartition(")")[2].split()
                parents[int(folder.name)] = int(fields[1])
                # User and system time, of the process and of the children that it has waited for.
                ticks[int(folder.name)] = sum(int(field) for field in fields[11:15])
    ticks_used, left = 0, {os.getpid()}
    while left:
        ticks_used += sum(ticks[process] for process in left)
        left = {process for process, parent in parents.items() if parent in left}
    return ticks_used / os.sysconf("SC_CLK_TCK")


def _busy_seconds() -> float:
    """Returns the processor time that this machine has used or that was stolen from it; 0 if
    unknown.
    """
    try:
        words = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()
    except OSError:
        return 0.0
    user, nice, system, _, _, interrupts, soft, stolen = map(int, words[1:9])
    ticks = user + nice + system + interrupts + soft + stolen
    return ticks / os.sysconf("SC_CLK_TCK")
