"""Estimates of the number of reachable states from the sizes of the levels searched so far.

The ratios of successive level sizes are extrapolated by several curves, because state graphs grow
in different ways: a grid polynomially, a hypercube binomially, a random graph until it is
saturated. The estimate is the interval that the well-fitting curves span. It uses no knowledge of
the model, so a model with several phases can still deceive it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise, takewhile

from fencepost.spec.records import dataclass

MIN_LEVELS = 8
"""There is no estimate from fewer levels."""
MIN_RATIOS = 5
"""Minimum number of ratios that a curve is fitted to."""
MAX_RATIOS = 2_000
"""Maximum number of ratios that a curve is fitted to; bounds the time of an estimate."""
MAX_SPREAD = 3.0
"""If the largest extrapolation exceeds the smallest by more than this factor, there is no upper
bound.
"""
MAX_GROWTH = 1.3
"""If the last level grew by more than this factor, there is no upper bound: growth that has only
begun to slow down is underestimated by most curves.
"""
MAX_MISFIT, MISFIT_SLACK = 4.0, 0.003
"""A curve is dropped if its root mean square error exceeds that of the best curve by more than
this factor and this constant.
"""
MAX_LEVELS = 20_000
"""Maximum number of levels that a curve is extrapolated by."""
MAX_STATES = 1e15

Curve = Callable[[int, float], float]
"""Maps a level, counted from 1, and the number of states up to it to the ratio of the size of the
next level to its own.
"""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Probably between ``low`` and ``high`` states; ``high`` is None without an upper bound."""

    low: int
    high: int | None

    def __str__(self) -> str:
        """``60,000 to 90,000`` or ``at least 60,000``."""
        if self.high is None:
            return f"at least {self.low:,}"
        return f"{self.low:,}" if self.low == self.high else f"{self.low:,} to {self.high:,}"


def estimated(levels: Sequence[int]) -> Estimate | None:
    """Estimates the total number of states from the sizes of the first levels, all complete.
    Returns None if no curve bounds the total, as while levels grow by a constant factor.
    """
    if len(levels) < MIN_LEVELS or min(levels) < 1:
        return None
    visited, last = sum(levels), levels[-1]
    totals = list(_totals(levels))
    bounded = [total for total in totals if total is not None]
    if not bounded:
        return None
    # Levels may start to shrink at once and to end, but seldom faster than they grew to this size.
    bounded.append(visited + sum(takewhile(lambda size: size < last, levels)))
    low, high = min(bounded), max(bounded)
    # Two digits are as many as an estimate supports; the states already found are certain.
    lower = max(visited, math.floor(low / _unit(low)) * _unit(low))
    certain = None not in totals and high <= MAX_SPREAD * low
    if certain and last <= MAX_GROWTH * levels[-2]:
        return Estimate(lower, max(visited, math.ceil(high / _unit(high)) * _unit(high)))
    return Estimate(lower, None) if lower > visited else None


def _totals(levels: Sequence[int]) -> Iterator[float | None]:
    """The totals of the well-fitting curves, fitted to fewer and to more of the last ratios; None
    for a curve without a bound.
    """
    count, sums = len(levels), list(accumulate(levels))
    ratios = [after / before for before, after in pairwise(levels)]
    for length in {MIN_RATIOS, count // 3, count // 2, 2 * count // 3}:
        if not MIN_RATIOS <= length < count:
            continue
        first = count - min(length, MAX_RATIOS)
        points = [(level, sums[level - 1], ratios[level - 1]) for level in range(first, count)]
        curves = [(_misfit(curve, points), curve) for curve in _curves(points)]
        limit = MAX_MISFIT * min(misfit for misfit, _ in curves) + MISFIT_SLACK
        for misfit, curve in curves:
            if misfit <= limit:
                yield _extrapolated(curve, count, levels[-1], sums[-1])


def _curves(points: Sequence[tuple[int, float, float]]) -> Iterator[Curve]:
    """Curves fitted to points of a level, the states up to it, and the ratio."""
    levels = [float(level) for level, _, _ in points]
    ratios = [ratio for _, _, ratio in points]
    logs = [math.log(ratio) for ratio in ratios]
    # Level sizes like a normal distribution.
    n0, n1 = _line(levels, logs)
    yield lambda level, _: math.exp(min(50.0, n0 + n1 * level))
    # Level sizes like a binomial, Poisson or negative binomial distribution. Growth like a power
    # of the level, as in a grid, is the limit p0 = 1, without a bound.
    p0, p1 = _line([1 / level for level in levels], ratios)
    yield lambda level, _: p0 + p1 / level
    # Saturation: the more states have been found, the fewer successors are new.
    s0, s1 = _line([states for _, states, _ in points], ratios)
    yield lambda _, states: s0 + s1 * states
    if max(ratios) < 1:
        # Levels that shrink like a power of the distance to the last level.
        d0, d1 = _line(levels, [1 / log for log in logs])
        yield lambda level, _: math.exp(1 / (d0 + d1 * level)) if d0 + d1 * level < 0 else 0.0


def _line(xs: Sequence[float], ys: Sequence[float]) -> tuple[float, float]:
    """Intercept and slope of the least-squares line."""
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    moment = sum((x - mean_x) * y for x, y in zip(xs, ys, strict=True))
    slope = moment / sum((x - mean_x) ** 2 for x in xs)
    return mean_y - slope * mean_x, slope


def _misfit(curve: Curve, points: Sequence[tuple[int, float, float]]) -> float:
    """Root mean square error of the ratios."""
    errors = (max(0.0, curve(level, states)) - ratio for level, states, ratio in points)
    return math.sqrt(sum(error**2 for error in errors) / len(points))


def _extrapolated(curve: Curve, level: int, size: float, total: float) -> float | None:
    """The total number of states by a curve, from a level of this size and the total up to it.
    Returns None if the levels do not end within the limits.
    """
    for number in range(level, level + MAX_LEVELS):
        size *= max(0.0, curve(number, total))
        if size < 0.5:
            return total
        total += size
        if total > MAX_STATES:
            return None
    return None


def _unit(number: float) -> int:
    """The unit to which a number is rounded, so that two digits remain."""
    return int(10 ** max(0, len(str(int(number))) - 2))
