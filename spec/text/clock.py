"""A limit of time for work on a spec: an exception says when it is over, or that nobody waits for
the work any more.

Whatever may take long while a spec is read and checked asks `tick` now and then.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

_END: ContextVar[float | None] = ContextVar("_END", default=None)
_UNWANTED: ContextVar[Callable[[], bool] | None] = ContextVar("_UNWANTED", default=None)


class TimeUp(Exception):
    """The time is over."""


@contextmanager
def limited(seconds: float | None, unwanted: Callable[[], bool] | None = None) -> Generator[None]:
    """Meanwhile `tick` raises `TimeUp` once ``seconds`` have passed (None: never), or what is
    done is ``unwanted``.
    """
    token = _END.set(None if seconds is None else time.monotonic() + seconds)
    other = _UNWANTED.set(unwanted)
    try:
        yield
    finally:
        _END.reset(token)
        _UNWANTED.reset(other)


def tick() -> None:
    """Raises `TimeUp` if the time is over."""
    end = _END.get()
    if end is not None and time.monotonic() > end:
        raise TimeUp
    unwanted = _UNWANTED.get()
    if unwanted is not None and unwanted():
        raise TimeUp
