"""Runs checks side by side, each in a forked process. There are as many processes at a time as
there are processors.

A fork already has the models. It sends its result back through a pipe and exits. If many checks are
waiting, a fork runs several in turn, since forking takes as long as a small check. Results can be
requested in any order.
"""

from __future__ import annotations

import gc
import io
import os
import pickle
import select
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias

from fencepost.checker.request import Progress
from fencepost.checker.resources import (
    WorkerKilled,
    killed_from_outside,
    memory_bytes,
    processors,
)
from fencepost.checker.run.cross_check import Disagreement
from fencepost.checker.run.job import Job
from fencepost.checker.run.settings import Settings

EACH_BYTES = 1 << 30
"""The memory that is reserved for each check if the user does not set the number of jobs."""
PROGRESS_SECONDS = 0.1
"""Minimum time between two progress messages of a process."""
GRACE_SECONDS = 10.0
"""The time that an interrupted process has to report its partial result."""

COLLECT_AFTER = 1_000_000
"""The first threshold of the garbage collector while processes run. Most objects die before this
many are allocated, and models stay alive.
"""

MAX_SEQUENTIAL = 8
"""Maximum number of checks per process."""
TURN_SECONDS = 1.0
"""A process that has used more processor time than this returns the checks that it has not
begun.
"""

PIECE_BYTES = 1 << 20
"""The number of bytes that are read at a time."""

Run: TypeAlias = Callable[[Job, Callable[[Progress], None]], Any]
"""Runs a check and returns data that can be pickled."""


class Died(Exception):
    """Raised if a process ended without an answer, which is a bug in Fencepost."""


def most(settings: Settings, jobs: int | None) -> int:
    """Returns how many checks may run side by side. ``jobs`` is the number that the user chose, if
    any.

    The result is 1 if workers or memory are limited, since these limits apply to one check at a
    time. It is also 1 on a cluster, and for a search that is saved, since such a search is expected
    to take the whole machine.
    """
    if not _possible() or settings.cluster is not None or settings.saving is not None:
        return 1
    if jobs is not None:
        return jobs
    if settings.limits.workers is not None or settings.limits.memory is not None:
        return 1
    return max(1, min(processors(), memory_bytes() // EACH_BYTES))


def _possible() -> bool:
    """Returns whether this process can fork. The system must support it, and there must be no other
    threads.
    """
    return hasattr(os, "fork") and threading.active_count() == 1


@dataclass(slots=True, eq=False)
class _Process:
    """A forked process that is running the first of its ``jobs``.

    ``heard`` is the last progress that the process reported, and ``data`` holds the bytes of an
    incomplete message. ``worker`` is the position of the process among the running ones, counted
    from 1.
    """

    number: int
    worker: int
    jobs: list[Job]
    pipe: int
    heard: Progress | None = None
    data: bytearray = field(default_factory=bytearray)

    @property
    def job(self) -> Job:
        """The job that the process is running."""
        return self.jobs[0]


@dataclass(slots=True, eq=False)
class Crew:
    """Runs jobs, at most ``count`` at a time. A job is identified by its `id`, so it must stay
    alive until its result is taken.

    The caller must `close` the crew.
    """

    count: int
    run: Run
    _waiting: list[Job] = field(default_factory=list[Job])
    _working: list[_Process] = field(default_factory=list[_Process])
    _answers: dict[int, tuple[str, Any]] = field(default_factory=dict[int, tuple[str, Any]])
    _asked_to_end: bool = False
    _collecting: tuple[int, int, int] = field(default_factory=gc.get_threshold)

    def __post_init__(self) -> None:
        gc.set_threshold(COLLECT_AFTER, *self._collecting[1:])

    def add(self, jobs: Sequence[Job]) -> None:
        """Appends jobs to the queue."""
        self._waiting += jobs
        self.poll()

    def poll(self, seconds: float = 0.0) -> None:
        """Starts processes and handles their messages. Waits up to ``seconds`` for the first
        message.
        """
        while self._waiting and len(self._working) < self.count and not self._asked_to_end:
            count = len(self._waiting) // (4 * self.count)
            jobs = self._waiting[: max(1, min(MAX_SEQUENTIAL, count))]
            del self._waiting[: len(jobs)]
            busy = {process.worker for process in self._working}
            worker = next(n for n in range(1, self.count + 1) if n not in busy)
            self._working.append(_started(worker, jobs, self.run))
        for pipe in select.select([process.pipe for process in self._working], [], [], seconds)[0]:
            self._hear(next(process for process in self._working if process.pipe == pipe))

    def result(self, job: Job, progress: Callable[[Progress], None]) -> Any:
        """Waits for the answer to a job.

        An interrupt stops every search, and the partial result of this job is its answer. Raises
        the exception that the job would have raised in this process, `WorkerKilled`, or `Died`.
        """
        try:
            self._wait_for(job, progress, None)
        except KeyboardInterrupt:
            self._ask_to_end()
            self._wait_for(job, progress, time.monotonic() + GRACE_SECONDS)
        kind, answer = self._answers.pop(id(job))
        if kind == "disagreement":
            raise Disagreement(answer)
        if kind == "memory":
            raise MemoryError
        if kind == "interrupt":
            raise KeyboardInterrupt
        if kind == "killed":
            worker, process, number = answer
            task = f"before it had the result of check {job.title}"
            raise WorkerKilled(worker, process, number, task)
        if kind == "died":
            raise Died(f"check {job.title}: {answer}")
        return answer

    def close(self) -> None:
        """Kills the running processes."""
        gc.set_threshold(*self._collecting)
        self._waiting.clear()
        for process in self._working:
            with suppress(ProcessLookupError):
                os.kill(process.number, signal.SIGKILL)
            os.waitpid(process.number, 0)
            os.close(process.pipe)
        self._working.clear()

    def _wait_for(
        self, job: Job, progress: Callable[[Progress], None], until: float | None
    ) -> None:
        while id(job) not in self._answers:
            self.poll(PROGRESS_SECONDS)
            own = next((task for task in self._working if task.job is job), None)
            if own is not None and own.heard is not None:
                progress(own.heard)
            late = until is not None and time.monotonic() > until
            if late or (self._asked_to_end and job in self._waiting):
                raise KeyboardInterrupt

    def _ask_to_end(self) -> None:
        self._asked_to_end = True
        for process in self._working:
            with suppress(ProcessLookupError):
                os.kill(process.number, signal.SIGINT)

    def _hear(self, process: _Process) -> None:
        content = os.read(process.pipe, PIECE_BYTES)
        process.data += content
        if not content:
            _, status = os.waitpid(process.number, 0)
            ended = os.waitstatus_to_exitcode(status)
            died: tuple[str, Any] = ("died", f"its process ended: {ended}")
            if killed_from_outside(ended):
                died = ("killed", (process.worker, process.number, -ended))
            self._answers[id(process.jobs.pop(0))] = (
                ("interrupt", None) if self._asked_to_end else died
            )
            self._end(process)
            return
        while len(process.data) >= 8:
            size = 8 + int.from_bytes(process.data[:8], "little")
            if len(process.data) < size:
                return
            kind, answer = _Reader(bytes(process.data[8:size]), process.job).load()
            del process.data[:size]
            if kind == "progress":
                process.heard = answer
                continue
            if kind != "left":
                self._answers[id(process.jobs.pop(0))] = (kind, answer)
                process.heard = None
            if self._asked_to_end and process.jobs:
                with suppress(ProcessLookupError):
                    os.kill(process.number, signal.SIGKILL)
            if self._asked_to_end or kind == "left" or not process.jobs:
                os.waitpid(process.number, 0)
                self._end(process)
                return

    def _end(self, process: _Process) -> None:
        """Handles the end of a process. Jobs that it has not begun return to the queue."""
        os.close(process.pipe)
        self._working.remove(process)
        self._waiting[:0] = process.jobs


# ---------------------------------------------------------------- in the fork


def _started(worker: int, jobs: list[Job], run: Run) -> _Process:
    source, sink = os.pipe()
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):
            stream.flush()
    with warnings.catch_warnings():
        # The fork has a single thread, but libraries that are loaded may have started others.
        warnings.simplefilter("ignore", DeprecationWarning)
        number = os.fork()
    if number == 0:
        _work(jobs, run, sink)
    os.close(sink)
    return _Process(number, worker, jobs, source)


def _work(jobs: Sequence[Job], run: Run, sink: int) -> NoReturn:
    """Runs jobs in the fork. The fork has its own process group, so that an interrupt from the
    keyboard reaches only the parent.
    """
    try:
        # A collection in the fork would copy all shared pages.
        gc.freeze()
        parent = os.getppid()
        os.setpgid(0, 0)
        kind = "answer"
        for job in jobs:
            # A background compiler may still be working for a job that is over.
            late = time.process_time() > TURN_SECONDS or threading.active_count() > 1
            if (late and job is not jobs[0]) or kind != "answer":
                send(sink, ("left", None), job)
                break
            kind, answer = answered(job, run, sink, parent)
            send(sink, (kind, answer), job)
    except BaseException:
        # The fork must never continue as the command. The parent notices that the answer is
        # missing.
        os._exit(1)
    os._exit(0)


def answered(job: Job, run: Run, sink: int, parent: int) -> tuple[str, Any]:
    """Runs a job and sends its progress. Returns the kind of the answer and the answer itself."""
    last = time.monotonic()

    def progress(now: Progress) -> None:
        nonlocal last
        if os.getppid() != parent:
            os._exit(1)
        if time.monotonic() - last >= PROGRESS_SECONDS:
            last = time.monotonic()
            send(sink, ("progress", now), job)

    try:
        return "answer", run(job, progress)
    except Disagreement as disagreement:
        return "disagreement", disagreement.results
    except MemoryError:
        return "memory", None
    except KeyboardInterrupt:
        return "interrupt", None
    except Exception:
        # A bug ends only the fork. The parent reports the bug with this traceback.
        return "died", traceback.format_exc()


# ---------------------------------------------------------------- messages


def send(sink: int, message: tuple[str, Any], job: Job) -> None:
    """Writes a message, preceded by its size."""
    file = io.BytesIO()
    _Writer(file, job).dump(message)
    content = file.getvalue()
    rest = memoryview(len(content).to_bytes(8, "little") + content)
    while rest:
        rest = rest[os.write(sink, rest) :]


def _shared(job: Job) -> list[object]:
    """Returns the objects that both processes have, in the same order. A message refers to these
    objects by index.
    """
    sources = [tree.source for tree in job.program.files.files.values()]
    return [job, job.program, job.model, *sources]


class _Writer(pickle.Pickler):
    def __init__(self, file: io.BytesIO, job: Job) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._places = {id(shared): index for index, shared in enumerate(_shared(job))}

    def persistent_id(self, obj: object) -> int | None:
        return self._places.get(id(obj))


class _Reader(pickle.Unpickler):
    """Reads a message that `_Writer` wrote."""

    def __init__(self, message: bytes, job: Job) -> None:
        super().__init__(io.BytesIO(message))
        self._known = _shared(job)

    def persistent_load(self, pid: int) -> object:
        return self._known[pid]
