"""Handles requests to end a search: an interrupt from the keyboard, or a termination signal
(SIGTERM, or SIGHUP when the terminal closes).

Python runs signal handlers in the main thread, but not while that thread executes machine code. A
separate thread therefore receives the signals through a pipe and stops the machine code at once.
"""

from __future__ import annotations

import _thread
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
"""Bytes that are written into the pipe in addition to signal numbers."""


RAISED_AGAIN_SECONDS = 0.01
"""The time after which an interrupt that Python could not raise is raised again."""


class Interrupts:
    """Receives requests to end the search. ``asked`` says whether the user has requested the end,
    and `forget` drops the request.
    """

    def __init__(self) -> None:
        self.asked = False
        self._lock = threading.Lock()
        self._stop: Callable[[], None] | None = None
        self._sink: int | None = None
        self._caught_up = threading.Event()

    def stop_by(self, stop: Callable[[], None] | None) -> None:
        """Makes requests call ``stop`` in another thread. With None, requests no longer call
        anything.
        """
        with self._lock:
            self._stop = stop

    def forget(self) -> None:
        """Drops all earlier requests; they no longer stop anything."""
        if self._sink is not None:
            self._caught_up.clear()
            os.write(self._sink, _MARK)
            self._caught_up.wait()
        self.asked = False

    @contextmanager
    def heard(self) -> Generator[None]:
        """While active, makes a request set ``asked`` and call the stop function, and do nothing
        else.

        Custom signal handlers of the program remain in place. Outside the main thread, all handlers
        remain in place.
        """
        usual = (signal.SIG_DFL, signal.default_int_handler)
        heard = [number for number in SIGNALS if signal.getsignal(number) in usual]
        if threading.current_thread() is not threading.main_thread() or not heard:
            yield
            return
        source, sink = os.pipe()
        if hasattr(os, "set_blocking"):
            # Platforms without this function do not need a nonblocking pipe.
            os.set_blocking(sink, False)
        self._sink = sink
        listener = threading.Thread(target=self._listen, args=(source, heard), daemon=True)
        try:
            listener.start()
        except RuntimeError:  # There is not enough memory for its stack.
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
    """Defers interrupts while the context is active. If interrupts were deferred, raises
    `KeyboardInterrupt` at the end.
    """
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


def _interrupt_main() -> None:
    """Sends an interrupt to the main thread, even if it waits in the system."""
    main = threading.main_thread().ident
    if main is not None and hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main, signal.SIGINT)
    else:
        _thread.interrupt_main()


@contextmanager
def not_swallowed() -> Generator[None]:
    """Raises an interrupt again if Python receives it at a point where it cannot raise it, such as
    a finalizer.
    """
    before = sys.unraisablehook

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        if isinstance(unraisable.exc_value, KeyboardInterrupt):
            # An interrupt that is raised within the hook is lost, too. If it arrives in another
            # finalizer, the hook is called again.
            threading.Timer(RAISED_AGAIN_SECONDS, _interrupt_main).start()
        else:
            before(unraisable)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before
