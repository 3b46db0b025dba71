"""Raises an exception in a thread after a given time, at any point of the thread's work. This
enforces time limits in Python code that does not poll.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

AGAIN_SECONDS = 0.02
"""Interval at which the exception is raised again if Python dropped it, as Python does in a
destructor.
"""


@contextmanager
def raised_after(seconds: float | None, error: type[BaseException]) -> Generator[None]:
    """Raises ``error`` in this thread unless the body ends within ``seconds``. If ``seconds`` is
    None, there is no limit.

    The exception may be raised between any two instructions of the body, like `KeyboardInterrupt`,
    and by the ``with`` statement itself, but not after that statement.
    """
    if seconds is None:
        yield
        return
    thread, unraisable = threading.get_ident(), sys.unraisablehook
    armed, over, lost = threading.Event(), threading.Event(), threading.Event()

    def ring() -> None:
        # Wait until Python has started the timer completely; the exception must not interrupt that.
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
        # The exception may be raised while the timer is being cancelled.
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
    (no limit if None). Raises `MemoryError` if there is not enough memory for the thread.
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
    """Creates a timer, without starting it. Any number of seconds is allowed. The timer does not
    keep the process alive.
    """
    timer = threading.Timer(min(max(0.0, seconds), threading.TIMEOUT_MAX), ring)
    timer.daemon = True
    return timer


def started(thread: threading.Thread) -> None:
    """Starts a thread. Raises `MemoryError` if there is not enough memory for its stack."""
    try:
        thread.start()
    except RuntimeError:
        raise MemoryError from None


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    """Makes a thread raise an exception at its next instruction. With None, cancels an exception
    that the thread has not raised yet.
    """
    exception = None if error is None else ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), exception)
