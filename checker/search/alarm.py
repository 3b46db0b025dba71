"""Raises an exception after a given time, wherever the thread is: enforces time limits in Python
code that does not poll.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

AGAIN_SECONDS = 0.02
"""Interval for raising the exception again if Python dropped it, as it does in a destructor."""


@contextmanager
def raised_after(seconds: float | None, error: type[BaseException]) -> Generator[None]:
    """Raises ``error`` in this thread unless the body ends within ``seconds`` (never if None).

    It may be raised between any two instructions of the body, like `KeyboardInterrupt`, and by the
    ``with`` statement itself, but not after it.
    """
    if seconds is None:
        yield
        return
    thread, unraisable = threading.get_ident(), sys.unraisablehook
    armed, over, lost = threading.Event(), threading.Event(), threading.Event()

    def ring() -> None:
        # Not while Python starts the timer, which it must not do partially.
        armed.wait()
        _raise_in(thread, error)
        while not over.wait(AGAIN_SECONDS):
            if lost.is_set():
                lost.clear()
                _raise_in(thread, error)

    def note(dropped: sys.UnraisableHookArgs) -> None:
        if dropped.exc_type is error:
            lost.set()
        else:
            unraisable(dropped)

    timer = timer_after(seconds, ring)
    started(timer)
    try:
        sys.unraisablehook = note
        armed.set()
        yield
    finally:
        # The exception may come while it is being cancelled.
        while True:
            try:
                armed.set()
                over.set()
                timer.cancel()
                timer.join()
                _raise_in(thread, None)
                sys.unraisablehook = unraisable
                break
            except error:
                continue


@contextmanager
def stopped_after(
    seconds: float | None, stop: Callable[[BaseException], None], error: type[BaseException]
) -> Generator[None]:
    """Calls ``stop`` with an ``error``, in another thread, unless the body ends within ``seconds``
    (no limit if None). Raises `MemoryError` if the thread does not fit into memory.
    """
    if seconds is None:
        yield
        return
    timer = timer_after(seconds, lambda: stop(error()))
    started(timer)
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def timer_after(seconds: float, ring: Callable[[], None]) -> threading.Timer:
    """A timer, not yet started, that keeps no process alive; any number of seconds is allowed."""
    timer = threading.Timer(min(max(0.0, seconds), threading.TIMEOUT_MAX), ring)
    timer.daemon = True
    return timer


def started(thread: threading.Thread) -> None:
    """Starts a thread. Raises `MemoryError` if its stack does not fit into memory."""
    try:
        thread.start()
    except RuntimeError:
        raise MemoryError from None


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    """Makes a thread raise an exception at its next instruction; None cancels one."""
    exception = None if error is None else ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), exception)
