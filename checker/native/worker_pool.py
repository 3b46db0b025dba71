"""The workers of a search, one after another in this thread, or each in its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TypeAlias

from fencepost.checker.native.machine.build import Code
from fencepost.checker.native.machine.memory import Memory
from fencepost.checker.native.machine.worker_context import Sizes
from fencepost.checker.native.worker import WAIT_SECONDS, Worker
from fencepost.checker.resources import Exhausted

Phase: TypeAlias = Callable[[Worker], None]


class Stopped(Exception):
    """The work is being stopped, for a reason raised elsewhere."""


class Crew:
    """``owners`` workers. ``look`` is called often, always in the thread that calls `run`; an
    exception that it raises stops the work.
    """

    def __init__(
        self, owners: int, code: Code, memory: Memory, sizes: Sizes, look: Callable[[], None]
    ) -> None:
        self.threaded = False
        self.workers: list[Worker] = []
        self._look = look
        self._error: BaseException | None = None
        # `fail` may be called from any thread at any time, but must not overlap with `resume`:
        # otherwise workers would be stopped without an error, and return partial results as
        # complete ones. would be stopped without an error, and return partial results as whole
        # ones.
        self._failing = threading.Lock()
        self._running = False
        self._tasks: list[SimpleQueue[Phase | None]] = []
        self._done: SimpleQueue[int] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        for number in range(owners):
            self.workers.append(Worker(number, owners, code, memory, sizes, self))

    def run(self, phase: Phase, threaded: bool) -> None:
        """Runs a phase on every worker. Raises the error that stopped it, once all have stopped."""
        self._running = True
        try:
            self._run(phase, threaded)
        finally:
            self._running = False

    def _run(self, phase: Phase, threaded: bool) -> None:
        self.threaded = threaded and len(self.workers) > 1
        waiting = 0
        if self.threaded:
            try:
                self._begin()
            except Exhausted as error:
                self.fail(error)
                raise
            waiting = len(self._tasks)
            for tasks in self._tasks:
                tasks.put(phase)
        try:
            for worker in self.workers[:1] if self.threaded else self.workers:
                phase(worker)
        except BaseException as error:
            self.fail(error)
        while waiting:
            try:
                self._done.get(timeout=WAIT_SECONDS)
                waiting -= 1
            except Empty:
                self._check()
        if self._error is not None:
            raise self._error

    def resume(self) -> None:
        """Prepares the workers for another phase, after one that was stopped."""
        with self._failing:
            self._error = None
            for worker in self.workers:
                worker.forget_messages()
                worker.stop(False)

    def pause(self) -> None:
        """Checks whether to continue, while no worker is running; raises the reason for
        stopping.
        """
        if self._error is not None:
            raise self._error
        self._look()

    def close(self) -> None:
        """Ends the threads."""
        for tasks in self._tasks:
            tasks.put(None)
        for thread in self._threads:
            thread.join()

    # ------------------------------------------------------------ called by workers

    def tick(self, worker: Worker) -> None:
        """Called often. Raises if every worker has to return: `Stopped` within `run`, which itself
        raises the error; otherwise, when a worker is called directly, the error.
        """
        if self._error is not None:
            raise Stopped if self._running else self._error
        if worker.number == 0 or not self.threaded:
            self._look()

    def fail(self, error: BaseException) -> None:
        """Stops all workers; `run` raises the first error."""
        with self._failing:
            if self._error is None and not isinstance(error, Stopped):
                self._error = error
                for worker in self.workers:
                    worker.stop()

    # ------------------------------------------------------------ threads

    def _begin(self) -> None:
        for worker in self.workers[len(self._tasks) + 1 :]:
            tasks: SimpleQueue[Phase | None] = SimpleQueue()
            name = f"fencepost worker {worker.number}"
            thread = threading.Thread(target=self._work, args=(worker, tasks), name=name)
            thread.daemon = True
            try:
                thread.start()
            except RuntimeError:  # Its stack does not fit.
                raise Exhausted from None
            self._tasks.append(tasks)
            self._threads.append(thread)

    def _work(self, worker: Worker, tasks: SimpleQueue[Phase | None]) -> None:
        while True:
            phase = tasks.get()
            if phase is None:
                return
            try:
                phase(worker)
            except BaseException as error:
                self.fail(error)
            self._done.put(worker.number)

    def _check(self) -> None:
        try:
            self._look()
        except BaseException as error:
            self.fail(error)
