"""Applies limits and signals while a chosen kernel call runs."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from dataclasses import fields, replace
from typing import Any, ClassVar
from unittest import mock

from fencepost.checker.native import behaviours
from fencepost.checker.native.machine import build, memory
from fencepost.checker.search import limits
from fencepost.checker.search.account import Account, Candidate
from fencepost.checker.temporal.verdict import NOTHING_HOLDS
from fencepost.spec.core.formulas import Formula

LIMITS = {
    "timeout": ("--timeout", "600s"),
    "signal": (),
    "memory": ("--memory", "8G"),
}
"""The kinds of stop, each with the options that enable it; the limits are too large to take
effect.
"""
SECONDS_TO_ARRIVE = 5.0
"""The maximal time until the process has handled a signal that it sent to itself."""


class _Timer:
    """A timer that fires only when the test makes it fire."""

    armed: ClassVar[list[_Timer]] = []

    def __init__(self, ring: Callable[[], None]) -> None:
        self.ring = ring

    def start(self) -> None:
        self.armed.append(self)

    def cancel(self) -> None:
        if self in self.armed:
            self.armed.remove(self)


@contextmanager
def _stopped_after(
    seconds: float | None, stop: Callable[[BaseException], None], error: type[BaseException]
) -> Generator[None]:
    timer = _Timer(lambda: stop(error()))
    if seconds is not None:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


class KernelCalls:
    """Counts the kernel calls of a run, and stops the run during call ``number``.

    The first call has number 1; with 0, the run is never stopped. ``within`` is a class and its
    method: then only the calls during that method count. ``stopped`` is set if there was something
    to stop the run, and ``known`` if a violation had been reported before the stop.
    """

    def __init__(self, kind: str, number: int, within: tuple[type, str] | None = None) -> None:
        self.count = 0
        self.stopped = False
        self.known = False
        self._kind = kind
        self._number = number
        self._within = within
        self._counting = within is None
        self._violated = False
        self._memories: list[memory.Memory] = []

    @contextmanager
    def counted(self) -> Generator[None]:
        """Counts the kernel calls of runs within the block, and stops the runs."""
        _Timer.armed.clear()
        load, take_memory = build.load, memory.Memory.__init__

        def loaded(*arguments: Any) -> Any:
            code = load(*arguments)
            names = [f.name for f in fields(code) if f.name not in ("engine", "size")]
            kernels = {name: getattr(code, name) for name in names}
            return replace(code, **{n: self._wrapped(k) for n, k in kernels.items() if k})

        def remembered(new: memory.Memory, *arguments: Any, **words: Any) -> None:
            take_memory(new, *arguments, **words)
            self._memories.append(new)

        with (
            mock.patch.object(build, "load", loaded),
            mock.patch.object(memory.Memory, "__init__", remembered),
            mock.patch.object(limits, "stopped_after", _stopped_after),
            self._violations_noticed(),
            nullcontext() if self._within is None else self._counted_within(*self._within),
        ):
            yield

    @contextmanager
    def _violations_noticed(self) -> Generator[None]:
        offer, decide = Account.offer, behaviours.Behaviours.violation

        def offered(account: Account, problem: Candidate) -> None:
            offer(account, problem)
            self._violated |= bool(account.candidates)

        def decided(decider: behaviours.Behaviours, formula: Formula) -> Any:
            lasso = decide(decider, formula)
            self._violated |= lasso is not None and formula is not NOTHING_HOLDS
            return lasso

        with (
            mock.patch.object(Account, "offer", offered),
            mock.patch.object(behaviours.Behaviours, "violation", decided),
        ):
            yield

    @contextmanager
    def _counted_within(self, owner: type, name: str) -> Generator[None]:
        method = getattr(owner, name)

        def called(*arguments: Any) -> Any:
            self._counting = True
            try:
                return method(*arguments)
            finally:
                self._counting = False

        with mock.patch.object(owner, name, called):
            yield

    def _wrapped(self, kernel: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            self.count += self._counting
            if self._counting and self.count == self._number:
                self.known = self._violated
                self._stop()
            return kernel(*arguments)

        return call

    def _stop(self) -> None:
        if self._kind == "timeout":
            self.stopped = bool(_Timer.armed)
            for timer in list(_Timer.armed):
                timer.ring()
        elif self._kind == "memory":
            for taken in self._memories:
                self.stopped = True
                taken.limit = 1
        else:
            self.stopped = True
            _raise_interrupt()


def _raise_interrupt() -> None:
    """Sends SIGINT to this process, and returns once Python has handled it."""
    came: list[int] = []
    handler = signal.getsignal(signal.SIGINT)
    assert callable(handler)

    def handle(number: int, frame: Any) -> None:
        handler(number, frame)
        came.append(number)

    signal.signal(signal.SIGINT, handle)
    try:
        os.kill(os.getpid(), signal.SIGINT)
        until = time.monotonic() + SECONDS_TO_ARRIVE
        while not came and time.monotonic() < until:
            time.sleep(0.0005)
    finally:
        signal.signal(signal.SIGINT, handler)
