"""An alarm raises an exception at a given time."""

from __future__ import annotations

import threading
import time

import pytest

from fencepost.checker.search import alarm


class Over(Exception):
    """Raised when the time limit has passed."""


def test_an_immediate_timeout_does_not_break_the_start_of_the_timer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[bool] = []

    def slowly(thread: threading.Thread) -> None:
        thread.start()
        time.sleep(0.1)
        begun.append(True)

    monkeypatch.setattr(alarm, "started", slowly)
    with pytest.raises(Over), alarm.raised_after(0.0, Over):
        idle()
    assert begun


def idle() -> None:
    while True:
        time.sleep(0.001)


class Slow:
    """An object with a slow destructor."""

    def __del__(self) -> None:
        until = time.monotonic() + 0.02
        while time.monotonic() < until:
            pass


def test_an_exception_lost_in_a_destructor_is_raised_again() -> None:
    with pytest.raises(Over), alarm.raised_after(0.05, Over):
        dropping()


def dropping() -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        Slow()
        time.sleep(0.005)
