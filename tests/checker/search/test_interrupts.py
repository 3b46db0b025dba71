"""Interrupts that Python receives where it cannot raise them."""

from __future__ import annotations

import signal
import time

import pytest

from fencepost.checker.search.interrupts import not_swallowed


class Finalized:
    """An object whose finalizer is interrupted ``times`` times."""

    times = 0

    def __del__(self) -> None:
        Finalized.times -= 1
        if Finalized.times > 0:
            Finalized()
        signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("times", [1, 3])
def test_an_interrupt_in_a_finalizer_is_raised_later(times: int) -> None:
    Finalized.times = times
    raised = 0
    with not_swallowed():
        # The interrupts may be raised together or one after another.
        for _ in range(times + 1):
            try:
                if not raised:
                    Finalized()
                time.sleep(5 if not raised else 0.2)
            except KeyboardInterrupt:
                raised += 1
    assert 0 < raised <= times
