"""What the system gives this process."""

from __future__ import annotations

import inspect

import pytest

from fencepost.checker.resources import ROOM, roomy


def test_a_roomy_function_is_the_same_function() -> None:
    def divided(number: int, *, by: int = 1) -> float:
        """Divides."""
        frame = inspect.currentframe()
        assert frame is not None
        assert frame.f_back is not None
        assert frame.f_back.f_code.co_stacksize == ROOM
        return number / by

    wide = roomy(divided)
    assert (wide(6, by=4), wide(6)) == (1.5, 6)
    assert (wide.__name__, wide.__doc__) == ("divided", "Divides.")
    assert inspect.signature(wide) == inspect.signature(divided)
    with pytest.raises(ZeroDivisionError):
        wide(1, by=0)


def test_calls_nest_in_it_as_deep_as_elsewhere() -> None:
    def nested(depth: int) -> int:
        return 0 if depth == 0 else 1 + nested(depth - 1)

    assert roomy(nested)(500) == 500
