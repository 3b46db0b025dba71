"""How many states a search may find in all, worked out from the sizes of the levels that it has.

From one level to the next the states become more by a factor, which in most models falls about
evenly on a scale of logarithms: first there are ever more states, then ever fewer. This module
carries that line on. It does not know a model, and a model of several phases deceives it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from fencepost.spec.records import dataclass

FEWEST_LEVELS = 8
"""From fewer levels nothing is concluded."""
FEWEST_RATIOS = 5
"""The least number of points that a line is fitted to."""
MOST_APART = 3.0
"""Where lines through fewer and through more points differ by more than this factor, none is
believed.
"""
MOST_LEVELS = 100_000
MOST_STATES = 1e15


@dataclass(frozen=True, slots=True)
class Estimate:
    """Between ``low`` and ``high`` states in all, perhaps."""

    low: int
    high: int

    def __str__(self) -> str:
        """``60,000 to 90,000``."""
        low, high = f"{self.low:,}", f"{self.high:,}"
        return low if low == high else f"{low} to {high}"


def estimated(levels: Sequence[int]) -> Estimate | None:
    """The states of a search that found levels of these sizes, each whole; None: it cannot be told,
    mostly because they grow as fast as ever.
    """
    found, count = sum(levels), len(levels)
    if count < FEWEST_LEVELS or min(levels) < 1:
        return None
    ratios = [math.log(after / before) for before, after in pairwise(levels)]
    lengths = {FEWEST_RATIOS, count // 3, count // 2, 2 * count // 3}
    totals: list[float] = []
    for length in lengths:
        if FEWEST_RATIOS <= length <= len(ratios):
            total = _carried_on(ratios[-length:], levels[-1])
            if total is None:
                return None
            totals.append(found + total)
    low, high = min(totals), max(totals)
    if high > MOST_APART * low:
        return None
    # What has been found is certain; two digits are more than anybody may rely on.
    least = math.floor(low / _unit(low)) * _unit(low)
    most = math.ceil(high / _unit(high)) * _unit(high)
    return Estimate(max(found, least), max(found, most))


def _carried_on(ratios: Sequence[float], last: int) -> float | None:
    """How many states follow on a level of ``last``, by the line through the logarithms of some
    ratios; None: it does not fall.
    """
    count = len(ratios)
    middle, mean = (count - 1) / 2, sum(ratios) / count
    moments = sum((place - middle) * ratio for place, ratio in enumerate(ratios))
    slope = moments / sum((place - middle) ** 2 for place in range(count))
    if slope >= 0:
        return None
    total, size, ratio = 0.0, float(last), mean + slope * (count - middle)
    for _ in range(MOST_LEVELS):
        size *= math.exp(min(ratio, 50.0))
        if size < 0.5:
            return total
        total += size
        if total > MOST_STATES:
            return None
        ratio += slope
    return None


def _unit(number: float) -> int:
    """What a number is rounded to, so that two of its digits are left."""
    return int(10 ** max(0, len(str(int(number))) - 2))
