"""The range of a result holds every result, and not much else."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations_with_replacement, product

import pytest

from fencepost.spec.core.intervals import Interval, result_range
from fencepost.spec.core.ir import Operator

MEANING: dict[Operator, Callable[[int, int], int]] = {
    Operator.ADD: int.__add__,
    Operator.SUBTRACT: int.__sub__,
    Operator.MULTIPLY: int.__mul__,
    Operator.DIVIDE: int.__floordiv__,
    Operator.REMAINDER: int.__mod__,
}
DIVISIONS = (Operator.DIVIDE, Operator.REMAINDER)
RANGES = tuple(combinations_with_replacement(range(-4, 5), 2))


def results(sign: Operator, left: Interval, right: Interval) -> list[int]:
    numbers = product(range(left[0], left[1] + 1), range(right[0], right[1] + 1))
    return [MEANING[sign](a, b) for a, b in numbers if b != 0 or sign not in DIVISIONS]


@pytest.mark.parametrize("sign", Operator)
def test_all_results_lie_in_the_range(sign: Operator) -> None:
    for left, right in product(RANGES, RANGES):
        found = results(sign, left, right)
        low, high = result_range(sign, left, right)
        if not found:
            assert (low, high) == (0, 0)
        elif sign is Operator.REMAINDER:
            assert low <= min(found) <= max(found) <= high
            assert high - low < max(abs(right[0]), abs(right[1])) * 2
        else:
            assert (low, high) == (min(found), max(found)), (left, right)
