"""Requests to end a search: an interrupt from the keyboard, or a termination signal (SIGTERM, and
SIGHUP when the terminal closes).

Python runs its handlers in the main thread, and not while that executes machine code. So a separate
thread receives the signals through a pipe and stops the machine code at once.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""The signals that ask the command to end; Windows has no SIGHUP."""
_END, _MARK = b"\0", b"\xff"
"""Bytes written into the pipe besides signal numbers."""


class Interrupts:
    """``asked`` says whether the user wants the search to end; `forget` drops the request."""

    def __init__(self) -> None:
        self.asked = False
        self._lock = threading.Lock()
        self._stop: Callable[[], None] | None = None
        self._sink: int | None = None
        self._caught_up = threading.Event()

    def stop_by(self, stop: Callable[[], None] | None) -> None:
        """Makes requests call ``stop`` from now on, in another thread; None disables this."""
        with self._lock:
            self._stop = stop

    def forget(self) -> None:
        """Drops all requests so far; they no longer stop anything."""
        if self._sink is not None:
            self._caught_up.clear()
            os.write(self._sink, _MARK)
            self._caught_up.wait()
        self.asked = False

    @contextmanager
    def heard(self) -> Generator[None]:
        """While active, a request sets ``asked`` and calls the stop function, and does nothing
        else.

        Custom handlers of the program remain in place; outside the main thread, all handlers do.
        """
        usual = (signal.SIG_DFL, signal.default_int_handler)
        heard = [number for number in SIGNALS if signal.getsignal(number) in usual]
        if threading.current_thread() is not threading.main_thread() or not heard:
            yield
            return
        source, sink = os.pipe()
        if hasattr(os, "set_blocking"):
            # Platforms without it do not need it in Python.
            os.set_blocking(sink, False)
        self._sink = sink
        listener = threading.Thread(target=self._listen, args=(source, heard), daemon=True)
        try:
            listener.start()
        except RuntimeError:  # Its stack does not fit.
            self._sink = None
            os.close(sink)
            os.close(source)
            raise MemoryError from None
        before = signal.set_wakeup_fd(sink, warn_on_full_buffer=False)
        kept = [signal.signal(number, self._ask) for number in heard]
        try:
            yield
        finally:
            for number, handler in zip(heard, kept, strict=True):
                signal.signal(number, handler)
            signal.set_wakeup_fd(before)
            self._sink = None
            os.write(sink, _END)
            listener.join()
            os.close(sink)
            os.close(source)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = True

    def _listen(self, source: int, heard: list[signal.Signals]) -> None:
        while True:
            for number in os.read(source, 64):
                if number == _END[0]:
                    return
                if number == _MARK[0]:
                    self._caught_up.set()
                elif number in heard:
                    self.asked = True
                    with self._lock:
                        if self._stop is not None:
                            self._stop()


@contextmanager
def deferred() -> Generator[None]:
    """A context that defers interrupts; at its end, a deferred one raises `KeyboardInterrupt`."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {
        number: handler
        for number in SIGNALS
        if (handler := signal.getsignal(number)) is signal.default_int_handler
    }
    came: list[int] = []
    for number in before:
        signal.signal(number, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        raise KeyboardInterrupt


@contextmanager
def not_swallowed() -> Generator[None]:
    """A context that raises an interrupt again if Python receives it where it cannot raise it."""
    before = sys.unraisablehook

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        if isinstance(unraisable.exc_value, KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        else:
            before(unraisable)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before
