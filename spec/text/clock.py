"""A time limit for work on a spec.

Code that may run for a long time while a spec is read and checked calls `tick` regularly.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

_END: ContextVar[float | None] = ContextVar("_END", default=None)
_UNWANTED: ContextVar[Callable[[], bool] | None] = ContextVar("_UNWANTED", default=None)


class TimeUp(Exception):
    """The time limit has passed, or the work has been cancelled."""


@contextmanager
def limited(seconds: float | None, unwanted: Callable[[], bool] | None = None) -> Generator[None]:
    """Within the block, makes `tick` raise `TimeUp` after ``seconds`` (never if None), or as soon
    as ``unwanted`` returns true.
    """
    token = _END.set(None if seconds is None else time.monotonic() + seconds)
    other = _UNWANTED.set(unwanted)
    try:
        yield
    finally:
        _END.reset(token)
        _UNWANTED.reset(other)


def tick() -> None:
    """Raises `TimeUp` if the time limit has passed or the work has been cancelled."""
    end = _END.get()
    if end is not None and time.monotonic() > end:
        raise TimeUp
    unwanted = _UNWANTED.get()
    if unwanted is not None and unwanted():
        raise TimeUp
