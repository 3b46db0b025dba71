"""Limits and signals that take effect while a chosen kernel call runs."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any, ClassVar
from unittest import mock

from fencepost.checker.native import states
from fencepost.checker.native.machine import build, memory

LIMITS = {
    "timeout": ("--timeout", "600s"),
    "signal": (),
    "memory": ("--memory", "8G"),
}
"""The kinds of stop, with the options that arm them; the limits are too large to take effect."""
SECONDS_TO_ARRIVE = 5.0
"""Maximum time until the process has handled a signal that it sent to itself."""


class _Timer:
    """A timer that rings only when the test rings it."""

    armed: ClassVar[list[_Timer]] = []

    def __init__(self, seconds: float, ring: Callable[[], None]) -> None:
        self.ring = ring

    def start(self) -> None:
        self.armed.append(self)

    def cancel(self) -> None:
        if self in self.armed:
            self.armed.remove(self)

    def join(self) -> None:
        """Does nothing: there is no thread."""


class KernelCalls:
    """Counts the kernel calls of a run; during call ``number`` (from 1; 0: never) the run is
    stopped. ``stopped``: whether something was there to stop it.
    """

    def __init__(self, kind: str, number: int) -> None:
        self.count = 0
        self.stopped = False
        self._kind = kind
        self._number = number
        self._memories: list[memory.Memory] = []

    @contextmanager
    def counted(self) -> Generator[None]:
        """Counts, and stops, the runs within the block."""
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
            mock.patch.object(states, "timer_after", _Timer),
        ):
            yield

    def _wrapped(self, kernel: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            self.count += 1
            if self.count == self._number:
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
