"""Requests to end a search: an interrupt from the keyboard, or a signal to terminate."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """``asked``: whether somebody wants the search to end. The one who looks resets it."""

    def __init__(self) -> None:
        self.asked = False

    @contextmanager
    def heard(self) -> Generator[None]:
        """Meanwhile a request sets ``asked``, and does nothing else: nothing is left half done.

        Handlers of the program's own stay, and outside the main thread all do.
        """
        usual = (signal.SIG_DFL, signal.default_int_handler)
        heard = [number for number in SIGNALS if signal.getsignal(number) in usual]
        if threading.current_thread() is not threading.main_thread():
            heard = []
        kept = [signal.signal(number, self._ask) for number in heard]
        try:
            yield
        finally:
            for number, handler in zip(heard, kept, strict=True):
                signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
