"""Judges many histories, using several processes where this saves time.

Each process is a copy of this one, so it already has the histories. It sends back its verdicts.
"""

from __future__ import annotations

import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from copy import copy
from functools import partial
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from typing import Any

from fencepost.checker.resources import (
    WorkerKilled,
    killed_from_outside,
    processors,
    roomy,
    without_collection,
)
from fencepost.checker.search.interrupts import SIGNALS, deferred
from fencepost.checker.systems.conform.lines import History
from fencepost.checker.systems.conform.mapping import MappedModel
from fencepost.checker.systems.conform.verdicts import Effort, Judge, Judgement

MIN_EVENTS = 5_000
"""Minimum number of events for several processes and machine code. With fewer events, starting them
takes longer than they save.
"""
IN_MACHINE_CODE = "fencepost.checker.systems.conform.native_search"
BATCH = 16
"""Number of histories that are given to a process at a time."""
JOIN_SECONDS = 5.0
"""Maximum time, in seconds, to wait for each process of a broken pool."""


def most(workers: int | None, events: int) -> int:
    """Returns the number of processes to use for histories with this total number of events.
    ``workers`` is the number that the user requested, or None.
    """
    if not _possible():
        return 1
    if workers is not None:
        return workers
    return processors() if events >= MIN_EVENTS else 1


def _possible() -> bool:
    """Checks whether this process can be copied. Not every system supports this, and the process
    must not have threads.
    """
    return sys.platform != "win32" and threading.active_count() == 1


def in_machine_code(mapped: MappedModel) -> Judge:
    """Creates a judge that compares histories with the engine `local`, which must be available.
    Raises `Unsupported` if the engine cannot run this model.
    """
    judge: Judge = roomy(import_module(IN_MACHINE_CODE).PackedMapping)(mapped)
    return judge


def every(
    judging: Judge, histories: Sequence[History], effort: Effort, workers: int
) -> Iterator[Judgement]:
    """Yields the verdicts on histories, in their order. Runs that are not shown as traces are
    omitted. Raises `WorkerKilled` if a process was killed.
    """
    # The garbage collector must not traverse the recorded events and the cached states repeatedly.
    with without_collection():
        yield from _every(partial(_judged, judging, histories, effort), len(histories), workers)


def _every(judged: partial[Judgement], count: int, workers: int) -> Iterator[Judgement]:
    if workers == 1:
        yield from map(judged, range(count))
        return
    children = list[BaseProcess]()
    crew = ProcessPoolExecutor(workers, _recorded(children), _begin, (judged,))
    try:
        # An interrupt while processes start would leave some of them out of ``children``.
        with deferred(), warnings.catch_warnings():
            # This process has no threads of its own, but libraries that it has loaded may have
            # some.
            warnings.simplefilter("ignore", DeprecationWarning)
            results = crew.map(_next, range(count), chunksize=BATCH)
        yield from results
    except BrokenProcessPool:
        # The pool waits for its processes in a thread. If two threads wait for a process, one of
        # them gets no exit code.
        crew.shutdown(cancel_futures=True)
        killed = _killed(children)
        if killed is None:
            raise
        raise killed from None
    except BaseException:
        # `shutdown` would wait until the current histories are judged.
        for child in children:
            if child.pid is not None:
                child.terminate()
        raise
    finally:
        crew.shutdown(cancel_futures=True)


def _recorded(children: list[BaseProcess]) -> BaseContext:
    """Returns a context that adds its processes to ``children`` before they start. A process that
    is killed immediately would be missing from the list of active children.
    """
    context = copy(get_context("fork"))
    process = context.Process

    def recorded(*args: Any, **options: Any) -> BaseProcess:
        children.append(process(*args, **options))
        return children[-1]

    vars(context)["Process"] = recorded
    return context


def _killed(children: Sequence[BaseProcess]) -> WorkerKilled | None:
    """Returns the error for the process that broke the pool, or None if no process was killed from
    outside.
    """
    for worker, child in enumerate(sorted(children, key=lambda child: child.pid or 0), 1):
        child.join(JOIN_SECONDS)
        code = child.exitcode or 0
        # The pool itself ends the remaining processes by SIGTERM.
        if killed_from_outside(code) and code != -signal.SIGTERM:
            return WorkerKilled(worker, child.pid or 0, -code, "before all histories were judged")
    return None


def _judged(judging: Judge, histories: Sequence[History], effort: Effort, number: int) -> Judgement:
    return judging.judge(histories[number], effort)


# ---------------------------------------------------------------- the other process

_work: list[partial[Judgement]] = []


def _begin(judged: partial[Judgement]) -> None:
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    _work.append(judged)


def _next(number: int) -> Judgement:
    return _work[-1](number)
