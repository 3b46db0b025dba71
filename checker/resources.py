"""The resources of this process: memory, processors, recursion depth and garbage collection."""

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
MIN_NANOSECONDS = 50_000_000
"""The minimum time of a thread from which the load of the processors is estimated."""
STACK_WORDS = 70_000
"""The stack size in words that makes Python allocate a megabyte for frames. Half of the megabyte is
left for callees.
"""
FAULTS = tuple(
    getattr(signal, name)
    for name in ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL")
    if hasattr(signal, name)
)
"""The signals that indicate a bug in the process itself."""


class WorkerKilled(Exception):
    """Raised when a signal from outside killed a worker process before it delivered its result.

    The text names the worker and the signal. The sender of the signal is unknown.
    """

    def __init__(self, worker: int, process: int, number: int, task: str) -> None:
        name = signal.Signals(number).name if number in signal.valid_signals() else "unknown"
        hint = ""
        if name == "SIGKILL":
            hint = "; the system may do that when memory runs out, which --memory SIZE prevents"
        victim = f"worker {worker} (process {process}) was killed by signal {number} ({name})"
        super().__init__(f"{victim} {task}{hint}")


def killed_from_outside(exit_code: int) -> bool:
    """Returns whether an exit code, as reported by Python, means a signal from outside. SIGSEGV,
    for example, does not.
    """
    return exit_code < 0 and -exit_code not in FAULTS


class Exhausted(Exception):
    """Raised when a memory limit would be exceeded, or when the machine has no more memory."""


def peak_bytes() -> int:
    """Returns the peak memory of this process in bytes, or 0 if it is unknown."""
    # The value from `resource` would include the peak of the parent process.
    if peak := _status("VmHWM"):
        return peak
    if resource is None:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def resident_bytes() -> int:
    """Returns the current memory of this process in bytes, or its peak if the system does not
    report the current value.
    """
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    except OSError:
        return peak_bytes()
    return int(pages) * mmap.PAGESIZE


def spare_addresses() -> int:
    """Returns the number of bytes of address space that can be reserved for later use.

    This is the size of the machine's memory, or 0 if reserved addresses count as used memory.
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
    """Returns the available memory in bytes. If the system does not report it, returns the size of
    the machine's memory, or `sys.maxsize` if that is unknown, too.
    """
    with suppress(OSError, StopIteration, ValueError):
        with open("/proc/meminfo", encoding="ascii") as info:
            line = next(line for line in info if line.startswith("MemAvailable:"))
        return min(int(line.split()[1]) * 1024, _spare_in_group())
    return _installed() or sys.maxsize


def memory_bound() -> str:
    """Names the tightest bound on this process's memory, for example ``the memory of this
    machine``.
    """
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
"""The memory limits of the shell. Each row holds the name in `resource`, the option of ``ulimit``,
the line of ``/proc/self/status`` that shows the current use, and the name in messages.
"""


def _status(name: str) -> int:
    """Returns the value in bytes of the line ``name`` of ``/proc/self/status``, or 0 if it is
    unknown.
    """
    with suppress(OSError, StopIteration, ValueError):
        with open("/proc/self/status", encoding="ascii") as status:
            line = next(line for line in status if line.startswith(f"{name}:"))
        return int(line.split()[1]) * 1024
    return 0


def _installed() -> int | None:
    """Returns the size of the machine's memory in bytes, or None if it is unknown."""
    with suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * mmap.PAGESIZE
    return None


GROUP = Path("/sys/fs/cgroup")
"""The folder that describes the control group of a container on Linux."""


def _spare_in_group() -> int:
    """Returns the number of bytes that this container may still allocate, or `sys.maxsize` if it
    has no limit. The page cache counts as free, because the kernel reclaims it.
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
    """Returns the number of processors that are available to this process."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def free_processors() -> int:
    """Returns the number of processors that this process can expect to use, at least 1.

    While other programs use the processors, a thread waits for its turn. The fraction of time that
    this thread did not wait so far is taken as the free fraction of each processor. If the system
    does not report waiting times, all processors count as free.
    """
    used, waited = _used_and_waited()
    if used + waited < MIN_NANOSECONDS:
        return processors()
    return max(1, round(processors() * used / (used + waited)))


def _used_and_waited() -> tuple[int, int]:
    """Returns how long this thread has used a processor and has waited for one, in nanoseconds."""
    try:
        report = Path("/proc/thread-self/schedstat").read_text(encoding="ascii").split()
        return int(report[0]), int(report[1])
    except (OSError, ValueError, IndexError):
        return 0, 0


@contextmanager
def without_collection() -> Generator[None]:
    """Disables the cyclic garbage collector during work that keeps many objects and creates no
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
    """Raises Python's recursion limit tenfold, for recursion whose depth is bounded by the depth of
    a model.
    """
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, MAX_FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def roomy(function: Callable[P, T]) -> Callable[P, T]:
    """Wraps a function so that Python allocates the stack memory for its nested calls only once.

    Python allocates frames in chunks of 16 KB and frees a chunk as soon as it is empty. Calls at
    the boundary of a chunk therefore allocate memory again and again, which took 10 % of the
    processor time of a suite of small checks. A wrapper with a large frame makes the chunk larger.
    """

    def wide(*args: P.args, **kwargs: P.kwargs) -> T:
        return function(*args, **kwargs)

    wide.__code__ = wide.__code__.replace(co_stacksize=STACK_WORDS)
    return wraps(function)(wide)
