"""The verdicts on many histories, by several processes where that is worth it.

Such a process is a copy of this one, which has the histories already, and sends back what it found.
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
"""With fewer events, processes and machine code take longer to begin than they save."""
IN_MACHINE_CODE = "fencepost.checker.systems.conform.native_search"
BATCH = 16
"""So many histories are given to a process at a time."""
JOIN_SECONDS = 5.0
"""Maximum time to wait for each process of a broken pool."""


def most(workers: int | None, events: int) -> int:
    """The number of processes that judge histories of this many events in sum; ``workers`` is the
    user's number, if there is one.
    """
    if not _possible():
        return 1
    if workers is not None:
        return workers
    return processors() if events >= MIN_EVENTS else 1


def _possible() -> bool:
    """Whether this process can be copied: not on every system, nor while it has threads."""
    return sys.platform != "win32" and threading.active_count() == 1


def in_machine_code(mapped: MappedModel) -> Judge:
    """The judge of histories that uses the engine `local`, which must be available. Raises
    `Unsupported`."""
    judge: Judge = roomy(import_module(IN_MACHINE_CODE).PackedMapping)(mapped)
    return judge


def every(
    judging: Judge, histories: Sequence[History], effort: Effort, workers: int
) -> Iterator[Judgement]:
    """The verdicts on histories, in their order; where no trace is shown, without the run. Raises
    `WorkerKilled` if a process was killed.
    """
    # Neither what has been read nor what is known of states is looked through again and again.
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
            # It has no threads; libraries that it has loaded may.
            warnings.simplefilter("ignore", DeprecationWarning)
            results = crew.map(_next, range(count), chunksize=BATCH)
        yield from results
    except BrokenProcessPool:
        # The pool waits for its processes in a thread: of two that wait, one gets no exit code.
        crew.shutdown(cancel_futures=True)
        killed = _killed(children)
        if killed is None:
            raise
        raise killed from None
    except BaseException:
        # `shutdown` would wait until the histories at hand are judged.
        for child in children:
            if child.pid is not None:
                child.terminate()
        raise
    finally:
        crew.shutdown(cancel_futures=True)


def _recorded(children: list[BaseProcess]) -> BaseContext:
    """A context that adds its processes to ``children`` before they start: a process that is killed
    at once would be missing from the list of active children.
    """
    context = copy(get_context("fork"))
    process = context.Process

    def recorded(*args: Any, **options: Any) -> BaseProcess:
        children.append(process(*args, **options))
        return children[-1]

    vars(context)["Process"] = recorded
    return context


def _killed(children: Sequence[BaseProcess]) -> WorkerKilled | None:
    """The death of the process that broke the pool; None if none was killed from outside."""
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
