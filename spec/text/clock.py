"""A limit of time for work on a spec: an exception says when it is over.

Whatever may take long while a spec is read and checked asks `tick` now and then.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

_END: ContextVar[float | None] = ContextVar("_END", default=None)


class TimeUp(Exception):
    """The time is over."""


@contextmanager
def limited(seconds: float | None) -> Generator[None]:
    """Meanwhile `tick` raises `TimeUp` once ``seconds`` have passed (None: never)."""
    token = _END.set(None if seconds is None else time.monotonic() + seconds)
    try:
        yield
    finally:
        _END.reset(token)


def tick() -> None:
    """Raises `TimeUp` if the time is over."""
    end = _END.get()
    if end is not None and time.monotonic() > end:
        raise TimeUp
