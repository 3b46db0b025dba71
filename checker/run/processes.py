"""Checks side by side: each in a process of its own, as many at a time as there are processors.

Such a process is a copy of this one, which has the models already; it sends back what it found, and
its memory ends with it. Where many checks wait it takes a few in turn, for a copy takes as long as
a small check. Results are asked for in any order. This module knows no engine and prints nothing.
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
"""The memory that a check is thought to take, where the user does not say how many there may be."""
PROGRESS_SECONDS = 0.1
"""A process says how far it is at most this often."""
GRACE_SECONDS = 10.0
"""What was asked to end has this long to say how far it came."""

COLLECT_AFTER = 1_000_000
"""Meanwhile each process looks for garbage when this many objects are new: most of them end before
that, and models stay.
"""

MOST_IN_TURN = 8
"""The checks that a process takes at once."""
TURN_SECONDS = 1.0
"""A process that has used more processor time gives back what it has not begun."""

PIECE = 1 << 20
"""The bytes that are read at once."""

Run: TypeAlias = Callable[[Job, Callable[[Progress], None]], Any]
"""Runs a check: the answer may hold results, problems and whatever else is data."""


class Died(Exception):
    """A process ended before it had an answer: a mistake of ours."""


def most(settings: Settings, jobs: int | None) -> int:
    """How many checks may run side by side; ``jobs`` is what the user says, if anything.

    A limit on threads or memory is for one check at a time, a cluster has room for one, and a
    search that is worth saving takes the machine.
    """
    if not _possible() or settings.cluster is not None or settings.saving is not None:
        return 1
    if jobs is not None:
        return jobs
    if settings.limits.workers is not None or settings.limits.memory is not None:
        return 1
    return max(1, min(processors(), memory_bytes() // EACH_BYTES))


def _possible() -> bool:
    """Whether this process can be copied: not on every system, nor while it has threads."""
    return hasattr(os, "fork") and threading.active_count() == 1


@dataclass(slots=True, eq=False)
class _Process:
    """A process at work on the first of some ``jobs``. ``heard`` is how far it was when it said so
    last, ``data`` what has come out of its pipe and is no whole message yet. ``worker`` is its
    position among the processes that run at the same time, from 1.
    """

    number: int
    worker: int
    jobs: list[Job]
    pipe: int
    heard: Progress | None = None
    data: bytearray = field(default_factory=bytearray)

    @property
    def job(self) -> Job:
        """The one that it is at work on."""
        return self.jobs[0]


@dataclass(slots=True, eq=False)
class Crew:
    """Runs at most ``count`` jobs at a time; a job is known by its identity, and held.

    Whoever makes one has to `close` it.
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
        """Has these jobs run behind the others."""
        self._waiting += jobs
        self.poll()

    def poll(self, seconds: float = 0.0) -> None:
        """Sees to the processes; waits up to ``seconds`` for one to say something."""
        while self._waiting and len(self._working) < self.count and not self._asked_to_end:
            count = len(self._waiting) // (4 * self.count)
            jobs = self._waiting[: max(1, min(MOST_IN_TURN, count))]
            del self._waiting[: len(jobs)]
            taken = {one.worker for one in self._working}
            worker = next(n for n in range(1, self.count + 1) if n not in taken)
            self._working.append(_started(worker, jobs, self.run))
        for pipe in select.select([one.pipe for one in self._working], [], [], seconds)[0]:
            self._hear(next(one for one in self._working if one.pipe == pipe))

    def result(self, job: Job, progress: Callable[[Progress], None]) -> Any:
        """The answer for a job, once it is there. An interrupt ends every search, and the answer is
        how far this one came. Raises what running it here would have raised, `WorkerKilled`, or
        `Died`.
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
        """Ends what still runs."""
        gc.set_threshold(*self._collecting)
        self._waiting.clear()
        for one in self._working:
            with suppress(ProcessLookupError):
                os.kill(one.number, signal.SIGKILL)
            os.waitpid(one.number, 0)
            os.close(one.pipe)
        self._working.clear()

    def _wait_for(
        self, job: Job, progress: Callable[[Progress], None], until: float | None
    ) -> None:
        while id(job) not in self._answers:
            self.poll(PROGRESS_SECONDS)
            mine = next((one for one in self._working if one.job is job), None)
            if mine is not None and mine.heard is not None:
                progress(mine.heard)
            late = until is not None and time.monotonic() > until
            if late or (self._asked_to_end and job in self._waiting):
                raise KeyboardInterrupt

    def _ask_to_end(self) -> None:
        self._asked_to_end = True
        for one in self._working:
            with suppress(ProcessLookupError):
                os.kill(one.number, signal.SIGINT)

    def _hear(self, one: _Process) -> None:
        content = os.read(one.pipe, PIECE)
        one.data += content
        if not content:
            _, status = os.waitpid(one.number, 0)
            ended = os.waitstatus_to_exitcode(status)
            died: tuple[str, Any] = ("died", f"its process ended: {ended}")
            if killed_from_outside(ended):
                died = ("killed", (one.worker, one.number, -ended))
            self._answers[id(one.jobs.pop(0))] = ("interrupt", None) if self._asked_to_end else died
            self._end(one)
            return
        while len(one.data) >= 8:
            size = 8 + int.from_bytes(one.data[:8], "little")
            if len(one.data) < size:
                return
            kind, answer = _Reader(bytes(one.data[8:size]), one.job).load()
            del one.data[:size]
            if kind == "progress":
                one.heard = answer
                continue
            if kind != "left":
                self._answers[id(one.jobs.pop(0))] = (kind, answer)
                one.heard = None
            if self._asked_to_end and one.jobs:
                with suppress(ProcessLookupError):
                    os.kill(one.number, signal.SIGKILL)
            if self._asked_to_end or kind == "left" or not one.jobs:
                os.waitpid(one.number, 0)
                self._end(one)
                return

    def _end(self, one: _Process) -> None:
        """A process is gone; what it has not begun waits again."""
        os.close(one.pipe)
        self._working.remove(one)
        self._waiting[:0] = one.jobs


# ---------------------------------------------------------------- the other process


def _started(worker: int, jobs: list[Job], run: Run) -> _Process:
    source, sink = os.pipe()
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):
            stream.flush()
    with warnings.catch_warnings():
        # It has no threads; libraries that it has loaded may.
        warnings.simplefilter("ignore", DeprecationWarning)
        number = os.fork()
    if number == 0:
        _work(jobs, run, sink)
    os.close(sink)
    return _Process(number, worker, jobs, source)


def _work(jobs: Sequence[Job], run: Run, sink: int) -> NoReturn:
    """What the copy does. It is in a group of its own: an interrupt from the keyboard is for the
    process that asks for results.
    """
    try:
        # To look for garbage in what both have would copy all of it.
        gc.freeze()
        parent = os.getppid()
        os.setpgid(0, 0)
        kind = "answer"
        for job in jobs:
            # A compiler may be at work still on what nobody wants any more.
            late = time.process_time() > TURN_SECONDS or threading.active_count() > 1
            if (late and job is not jobs[0]) or kind != "answer":
                send(sink, ("left", None), job)
                break
            kind, answer = answered(job, run, sink, parent)
            send(sink, (kind, answer), job)
    except BaseException:
        # A copy must never go on as if it were the command, whatever happens to it; the process
        # that asks sees that no answer came.
        os._exit(1)
    os._exit(0)


def answered(job: Job, run: Run, sink: int, parent: int) -> tuple[str, Any]:
    """The kind of an answer to a job, and the answer; meanwhile its progress is sent."""
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
        # A bug ends the copy alone; the process that asks reports it, with these lines.
        return "died", traceback.format_exc()


# ---------------------------------------------------------------- what is sent


def send(sink: int, message: tuple[str, Any], job: Job) -> None:
    """Writes a message behind its size."""
    file = io.BytesIO()
    _Writer(file, job).dump(message)
    content = file.getvalue()
    rest = memoryview(len(content).to_bytes(8, "little") + content)
    while rest:
        rest = rest[os.write(sink, rest) :]


def _shared(job: Job) -> list[object]:
    """What both processes have, in the same order: a message only names it."""
    sources = [tree.source for tree in job.program.files.files.values()]
    return [job, job.program, job.model, *sources]


class _Writer(pickle.Pickler):
    def __init__(self, file: io.BytesIO, job: Job) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._places = {id(one): place for place, one in enumerate(_shared(job))}

    def persistent_id(self, obj: object) -> int | None:
        return self._places.get(id(obj))


class _Reader(pickle.Unpickler):
    """Reads what a copy of this process has written."""

    def __init__(self, message: bytes, job: Job) -> None:
        super().__init__(io.BytesIO(message))
        self._known = _shared(job)

    def persistent_load(self, pid: int) -> object:
        return self._known[pid]
