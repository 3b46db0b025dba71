"""What the system says about this process: how much memory it has, or may have; and when Python
looks for what nobody holds.
"""

from __future__ import annotations

import gc
import mmap
import os
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

try:
    import resource
except ImportError:  # It is not everywhere.
    resource = None  # type: ignore[assignment]


P = ParamSpec("P")
T = TypeVar("T")

MAX_FRAMES = 10_000
ROOM = 70_000
"""The words of a frame for which Python takes a megabyte: half of it is left for other frames."""
FAULTS = tuple(
    getattr(signal, name)
    for name in ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL")
    if hasattr(signal, name)
)
"""The signals that a process causes by a bug of its own."""


class WorkerKilled(Exception):
    """A worker process was killed by a signal from outside before it delivered its result.

    The text names the worker and the signal. Who sent the signal is unknown.
    """

    def __init__(self, worker: int, process: int, number: int, task: str) -> None:
        name = signal.Signals(number).name if number in signal.valid_signals() else "unknown"
        hint = ""
        if name == "SIGKILL":
            hint = "; the system may do that when memory runs out, which --memory SIZE prevents"
        what = f"worker {worker} (process {process}) was killed by signal {number} ({name})"
        super().__init__(f"{what} {task}{hint}")


def killed_from_outside(exit_code: int) -> bool:
    """Whether an exit code, as Python reports it, is a signal that no fault of the process raises:
    not one like SIGSEGV, which shows a bug.
    """
    return exit_code < 0 and -exit_code not in FAULTS


class Exhausted(Exception):
    """A limit on memory would be passed, or the machine has no more memory."""


def peak_bytes() -> int:
    """The most memory that this process has held; 0 where the system does not tell."""
    # The figure of `resource` begins with what the process held that started this one.
    if peak := _status("VmHWM"):
        return peak
    if resource is None:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def resident_bytes() -> int:
    """The memory that this process has at present; where the system does not tell, the peak."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    except OSError:
        return peak_bytes()
    return int(pages) * mmap.PAGESIZE


def spare_addresses() -> int:
    """How many bytes of addresses this process may set aside for memory that it may take later:
    as many as the machine has memory, none where they count as memory already.
    """
    if resource is None:
        return 0
    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        return 0
    with suppress(OSError):
        if Path("/proc/sys/vm/overcommit_memory").read_text(encoding="ascii").strip() == "2":
            return 0
    return _installed() or 0


def memory_bytes() -> int:
    """How much memory there is to be had now; where the system does not tell, how much the machine
    has, or no end of it.
    """
    with suppress(OSError, StopIteration, ValueError):
        with open("/proc/meminfo", encoding="ascii") as info:
            line = next(line for line in info if line.startswith("MemAvailable:"))
        return min(int(line.split()[1]) * 1024, _spare_in_group())
    return _installed() or sys.maxsize


def memory_bound() -> str:
    """What bounds the memory of this process most closely now: ``the memory of this machine``."""
    rooms = [(memory_bytes(), "the memory of this machine")]
    group = _spare_in_group()
    if group < sys.maxsize:
        rooms.insert(0, (group, f"the memory of this container ({GROUP}/memory.max)"))
    for name, option, used, words in LIMITED:
        if resource is None:
            continue
        most = resource.getrlimit(getattr(resource, name))[0]
        if most != resource.RLIM_INFINITY:
            rooms.append((most - _status(used), f"{words} (ulimit -{option} {most // 1024})"))
    return min(rooms, key=lambda row: row[0])[1]


LIMITED = (
    ("RLIMIT_AS", "v", "VmSize", "the address space that this process may use"),
    ("RLIMIT_DATA", "d", "VmData", "the data that this process may have"),
)
"""The limits of the shell on memory: each by its name in Python, its option of ``ulimit``, the line
of ``/proc/self/status`` that says how much of it is used, and in words.
"""


def _status(name: str) -> int:
    """Bytes in a line of what Linux says about this process; 0 where it does not."""
    with suppress(OSError, StopIteration, ValueError):
        with open("/proc/self/status", encoding="ascii") as status:
            line = next(line for line in status if line.startswith(f"{name}:"))
        return int(line.split()[1]) * 1024
    return 0


def _installed() -> int | None:
    """How much memory the machine has, if the system tells."""
    with suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * mmap.PAGESIZE
    return None


GROUP = Path("/sys/fs/cgroup")
"""Where Linux tells a container what it may take."""


def _spare_in_group() -> int:
    """What a container may still take, as Linux tells those inside; no end of it elsewhere. What
    was read from files counts as its memory, and is given up where there is no other.
    """
    with suppress(OSError, ValueError, KeyError):
        most = int((GROUP / "memory.max").read_text(encoding="ascii"))
        used = int((GROUP / "memory.current").read_text(encoding="ascii"))
        lines = (GROUP / "memory.stat").read_text(encoding="ascii").splitlines()
        parts = dict(line.split(maxsplit=1) for line in lines)
        files = int(parts["active_file"]) + int(parts["inactive_file"])
        return max(0, most - max(0, used - files))
    return sys.maxsize


def processors() -> int:
    """How many processors this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def without_collection() -> Generator[None]:
    """Keeps Python from looking for cycles of objects that nobody holds, which takes long where
    many are held. For work that makes no such cycles, and ends.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def deep() -> Generator[None]:
    """Allows calls to nest ten times deeper than Python does, for work whose depth is bounded by
    the depth of models.
    """
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, MAX_FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def roomy(function: Callable[P, T]) -> Callable[P, T]:
    """The same function, with room for the frames of the calls in it, as they nest deep.

    Python takes memory for frames by 16 KB, and gives them back at once: a call that needs the
    first frame of such a piece asks the system for memory, and so does the next. A tenth of the
    processor time of a suite of small checks went there. The piece for a large frame is larger.
    """

    def wide(*given: P.args, **by_name: P.kwargs) -> T:
        return function(*given, **by_name)

    wide.__code__ = wide.__code__.replace(co_stacksize=ROOM)
    return wraps(function)(wide)
