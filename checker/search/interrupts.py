"""Requests to end a search: an interrupt from the keyboard, or a signal to terminate (SIGTERM, and
SIGHUP where the terminal closes).

Python runs its handlers in the main thread, and none while that is in machine code. So a thread of
its own receives the signals, by way of a pipe, and stops the machine code at once.
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
"""What is written into the pipe beside the numbers of signals."""


class Interrupts:
    """``asked``: whether the user wants the search to end; `forget` drops the request."""

    def __init__(self) -> None:
        self.asked = False
        self._lock = threading.Lock()
        self._stop: Callable[[], None] | None = None
        self._sink: int | None = None
        self._caught_up = threading.Event()

    def stop_by(self, stop: Callable[[], None] | None) -> None:
        """A request calls ``stop`` from now on, in another thread; with None, nothing."""
        with self._lock:
            self._stop = stop

    def forget(self) -> None:
        """What has been asked for until now has been seen to, and stops nothing any more."""
        if self._sink is not None:
            self._caught_up.clear()
            os.write(self._sink, _MARK)
            self._caught_up.wait()
        self.asked = False

    @contextmanager
    def heard(self) -> Generator[None]:
        """Meanwhile a request sets ``asked`` and calls what stops, and does nothing else.

        Handlers of the program's own stay, and outside the main thread all do.
        """
        usual = (signal.SIG_DFL, signal.default_int_handler)
        heard = [number for number in SIGNALS if signal.getsignal(number) in usual]
        if threading.current_thread() is not threading.main_thread() or not heard:
            yield
            return
        source, sink = os.pipe()
        if hasattr(os, "set_blocking"):
            # Where it is missing, Python does not ask for it.
            os.set_blocking(sink, False)
        self._sink = sink
        listener = threading.Thread(target=self._listen, args=(source, heard), daemon=True)
        try:
            listener.start()
        except RuntimeError:  # There is no room for its stack.
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
    """Meanwhile interrupts wait; then the one that came, if any, raises `KeyboardInterrupt`."""
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
    """Meanwhile an interrupt that Python meets where it can raise nothing comes again."""
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
