"""Requests to end a search: an interrupt from the keyboard, or a signal to terminate.

Python runs its handlers in the main thread, and none while that is in machine code. So a thread of
its own is told of signals, by way of a pipe, and stops the machine code at once.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)
_NO_SIGNAL = b"\0"


class Interrupts:
    """``asked``: whether somebody wants the search to end. The one who looks resets it, with
    ``lock`` held, so that nobody is stopped by what has been heard before.
    """

    def __init__(self) -> None:
        self.asked = False
        self.lock = threading.Lock()
        self._stop: Callable[[], None] | None = None

    def stop_by(self, stop: Callable[[], None] | None) -> None:
        """A request calls ``stop`` from now on, in another thread; with None, nothing."""
        with self.lock:
            self._stop = stop

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
        os.set_blocking(sink, False)
        listener = threading.Thread(target=self._listen, args=(source, heard), daemon=True)
        listener.start()
        before = signal.set_wakeup_fd(sink, warn_on_full_buffer=False)
        kept = [signal.signal(number, _leave_it_to_the_listener) for number in heard]
        try:
            yield
        finally:
            for number, handler in zip(heard, kept, strict=True):
                signal.signal(number, handler)
            signal.set_wakeup_fd(before)
            os.write(sink, _NO_SIGNAL)
            listener.join()
            os.close(sink)
            os.close(source)

    def _listen(self, source: int, heard: list[signal.Signals]) -> None:
        while True:
            for number in os.read(source, 64):
                if number == _NO_SIGNAL[0]:
                    return
                if number in heard:
                    with self.lock:
                        self.asked = True
                        if self._stop is not None:
                            self._stop()


def _leave_it_to_the_listener(number: int, frame: FrameType | None) -> None:
    """Python writes into the pipe only for signals that have a handler."""
