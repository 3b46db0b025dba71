"""Interrupts (Ctrl-C, SIGTERM) where Python cannot bear them.

While a library is loaded, an interrupt may leave it half made, or come out as an error of its own.
In a finalizer or a callback Python shows a traceback and goes on.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def deferred() -> Generator[None]:
    """Meanwhile interrupts wait; then the one that came, if any, raises `KeyboardInterrupt`."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {
        number: handler
        for number in (signal.SIGINT, signal.SIGTERM)
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
