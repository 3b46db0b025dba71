"""Arithmetic of intervals: in which range a result lies, known from the ranges of the operands."""

from __future__ import annotations

from itertools import product
from typing import TypeAlias, assert_never

from fencepost.spec.core.ir import Operator

Interval: TypeAlias = tuple[int, int]
"""The least and the greatest integer of a range, both included."""


def result_range(operator: Operator, left: Interval, right: Interval) -> Interval:
    """A range that holds every ``left operator right``; ``(0, 0)`` where no divisor is possible.

    It is the least such range, but for ``%`` where the divisor may be zero.
    """
    match operator:
        case Operator.ADD:
            return left[0] + right[0], left[1] + right[1]
        case Operator.SUBTRACT:
            return left[0] - right[1], left[1] - right[0]
        case Operator.MULTIPLY:
            corners = [a * b for a, b in product(left, right)]
            return min(corners), max(corners)
        case Operator.DIVIDE:
            # The quotient is greatest and least at the ends of both ranges, or next to zero.
            divisors = [d for d in (*right, -1, 1) if d != 0 and right[0] <= d <= right[1]]
            corners = [a // b for a, b in product(left, divisors)]
            return (min(corners), max(corners)) if corners else (0, 0)
        case Operator.REMAINDER:
            # The remainder has the sign of the divisor and is smaller.
            high = max(right[1] - 1, 0)
            if left[0] >= 0 and right[0] > 0:
                high = min(high, left[1])
            return min(right[0] + 1, 0), high
        case _:
            assert_never(operator)
