"""Resources of this process: memory, processors, recursion depth, garbage collection."""

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
except ImportError:  # not on every platform
    resource = None  # type: ignore[assignment]


P = ParamSpec("P")
T = TypeVar("T")

MAX_FRAMES = 10_000
STACK_WORDS = 70_000
"""The stack size in words that makes Python allocate a megabyte for frames, half of it for
callees.
"""
FAULTS = tuple(
    getattr(signal, name)
    for name in ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL")
    if hasattr(signal, name)
)
"""Signals that indicate a bug in the process itself."""


class WorkerKilled(Exception):
    """A worker process was killed by a signal from outside before it delivered its result.

    The text names the worker and the signal. Who sent the signal is unknown.
    """

    def __init__(self, worker: int, process: int, number: int, task: str) -> None:
        name = signal.Signals(number).name if number in signal.valid_signals() else "unknown"
        hint = ""
        if name == "SIGKILL":
            hint = "; the system may do that when memory runs out, which --memory SIZE prevents"
        victim = f"worker {worker} (process {process}) was killed by signal {number} ({name})"
        super().__init__(f"{victim} {task}{hint}")


def killed_from_outside(exit_code: int) -> bool:
    """Whether an exit code, as Python reports it, is a signal sent from outside, unlike SIGSEGV."""
    return exit_code < 0 and -exit_code not in FAULTS


class Exhausted(Exception):
    """A memory limit would be exceeded, or the machine has no more memory."""


def peak_bytes() -> int:
    """The peak memory of this process in bytes; 0 if unknown."""
    # `resource` includes the peak of the process that started this one.
    if peak := _status("VmHWM"):
        return peak
    if resource is None:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def resident_bytes() -> int:
    """The present memory of this process in bytes; the peak if the system does not report it."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    except OSError:
        return peak_bytes()
    return int(pages) * mmap.PAGESIZE


def spare_addresses() -> int:
    """The number of bytes of address space that can be reserved for later use.

    It is the machine's memory, or 0 if reserved addresses count as memory.
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
    """The available memory in bytes, as far as the system reports it: the machine's memory, or
    `sys.maxsize`, otherwise.
    """
    with suppress(OSError, StopIteration, ValueError):
        with open("/proc/meminfo", encoding="ascii") as info:
            line = next(line for line in info if line.startswith("MemAvailable:"))
        return min(int(line.split()[1]) * 1024, _spare_in_group())
    return _installed() or sys.maxsize


def memory_bound() -> str:
    """The tightest bound on this process's memory: ``the memory of this machine``."""
    rooms = [(memory_bytes(), "the memory of this machine")]
    group = _spare_in_group()
    if group < sys.maxsize:
        rooms.insert(0, (group, f"the memory of this container ({GROUP}/memory.max)"))
    for name, option, used, words in LIMITED:
        if resource is None:
            continue
        limit = resource.getrlimit(getattr(resource, name))[0]
        if limit != resource.RLIM_INFINITY:
            rooms.append((limit - _status(used), f"{words} (ulimit -{option} {limit // 1024})"))
    return min(rooms, key=lambda row: row[0])[1]


LIMITED = (
    ("RLIMIT_AS", "v", "VmSize", "the address space that this process may use"),
    ("RLIMIT_DATA", "d", "VmData", "the data that this process may have"),
)
"""Memory limits of the shell: the name in `resource`, the option of ``ulimit``, the line of
``/proc/self/status`` with the current use, and the name in messages.
"""


def _status(name: str) -> int:
    """The value of a line in ``/proc/self/status`` in bytes; 0 if unknown."""
    with suppress(OSError, StopIteration, ValueError):
        with open("/proc/self/status", encoding="ascii") as status:
            line = next(line for line in status if line.startswith(f"{name}:"))
        return int(line.split()[1]) * 1024
    return 0


def _installed() -> int | None:
    """The machine's memory in bytes, or None if unknown."""
    with suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * mmap.PAGESIZE
    return None


GROUP = Path("/sys/fs/cgroup")
"""The control group of a container on Linux."""


def _spare_in_group() -> int:
    """The memory that a container may still allocate; `sys.maxsize` without a limit. The page cache
    counts as free, since the kernel reclaims it.
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
    """The number of processors available to this process."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def without_collection() -> Generator[None]:
    """Disables the cyclic garbage collector, for work that keeps many objects and creates no
    cycles.
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
    """Raises Python's recursion limit tenfold, for work whose depth is bounded by a model's
    depth.
    """
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, MAX_FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def roomy(function: Callable[P, T]) -> Callable[P, T]:
    """Wraps a function so that Python allocates stack memory for its deep calls once.

    Python allocates frames in pieces of 16 KB and frees them at once, so calls at the boundary of a
    piece allocate memory again and again: 10 % of the processor time of a suite of small checks. A
    wrapper with a large frame makes the piece larger.
    """

    def wide(*args: P.args, **kwargs: P.kwargs) -> T:
        return function(*args, **kwargs)

    wide.__code__ = wide.__code__.replace(co_stacksize=STACK_WORDS)
    return wraps(function)(wide)
