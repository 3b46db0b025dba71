"""A time limit for work on a spec.

Code that may take long while a spec is read and checked calls `tick` now and then.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

_END: ContextVar[float | None] = ContextVar("_END", default=None)
_UNWANTED: ContextVar[Callable[[], bool] | None] = ContextVar("_UNWANTED", default=None)


class TimeUp(Exception):
    """The time limit has passed, or the work was cancelled."""


@contextmanager
def limited(seconds: float | None, unwanted: Callable[[], bool] | None = None) -> Generator[None]:
    """Makes `tick` raise `TimeUp` within the block, after ``seconds`` (unlimited if None) or when
    ``unwanted`` returns true.
    """
    token = _END.set(None if seconds is None else time.monotonic() + seconds)
    other = _UNWANTED.set(unwanted)
    try:
        yield
    finally:
        _END.reset(token)
        _UNWANTED.reset(other)


def tick() -> None:
    """Raises `TimeUp` if the time limit has passed, or the work is unwanted."""
    end = _END.get()
    if end is not None and time.monotonic() > end:
        raise TimeUp
    unwanted = _UNWANTED.get()
    if unwanted is not None and unwanted():
        raise TimeUp
