"""The columns in the table of integer operators agree with each other and with Python."""

from __future__ import annotations

from itertools import combinations_with_replacement, product

import pytest
from tests.support.core_builders import python_value

from fencepost.spec.core.operators import Interval, Operator, result_range

RANGES = tuple(combinations_with_replacement(range(-4, 5), 2))


def results(sign: Operator, left: Interval, right: Interval) -> list[int]:
    numbers = product(range(left[0], left[1] + 1), range(right[0], right[1] + 1))
    return [sign.row.apply(a, b) for a, b in numbers if b != 0 or not sign.row.divides]


@pytest.mark.parametrize("sign", Operator)
def test_all_results_lie_in_the_range(sign: Operator) -> None:
    for left, right in product(RANGES, RANGES):
        values = results(sign, left, right)
        low, high = result_range(sign, left, right)
        if not values:
            assert (low, high) == (0, 0)
        elif sign is Operator.REMAINDER:
            assert low <= min(values) <= max(values) <= high
            assert high - low < max(abs(right[0]), abs(right[1])) * 2
        else:
            assert (low, high) == (min(values), max(values)), (left, right)


@pytest.mark.parametrize("sign", Operator)
def test_columns_agree(sign: Operator) -> None:
    row = sign.row
    for a, b in product(range(-9, 10), range(-9, 10)):
        if b == 0 and row.divides:
            continue
        assert row.apply(a, b) == python_value(sign, a, b)
        if row.lowered is not None:
            assert row.lowered(lambda op, x, y: op.row.apply(x, y), a, b) == row.apply(a, b)


@pytest.mark.parametrize("sign", Operator)
def test_every_engine_can_compute_it(sign: Operator) -> None:
    row = sign.row
    assert row.lowered is not None or row.native is not None
    assert row.lowered is not None or row.ring or sign is Operator.DIVIDE
