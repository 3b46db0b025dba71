"""Estimates the number of reachable states from the sizes of the levels searched so far.

Several curves extrapolate the ratios of successive level sizes, because state graphs grow in
different ways: a grid grows polynomially, a hypercube binomially, and a random graph until it is
saturated. The estimate is the interval that the well-fitting curves span. It uses no knowledge of
the model, so it can be wrong for a model with several phases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise, takewhile

from fencepost.spec.records import dataclass

MIN_LEVELS = 8
"""The minimum number of levels for an estimate."""
MIN_RATIOS = 5
"""The minimum number of ratios that a curve is fitted to."""
MAX_RATIOS = 2_000
"""The maximum number of ratios that a curve is fitted to. It bounds the time for an estimate."""
MAX_SPREAD = 3.0
"""If the largest extrapolation exceeds the smallest by more than this factor, the estimate has no
upper bound.
"""
MAX_GROWTH = 1.3
"""If the last level grew by more than this factor, the estimate has no upper bound: most curves
underestimate growth that has only begun to slow down.
"""
MAX_MISFIT, MISFIT_SLACK = 4.0, 0.003
"""A curve is dropped if its root mean square error exceeds that of the best curve by more than this
factor plus this constant.
"""
MAX_LEVELS = 20_000
"""The maximum number of levels by which a curve is extrapolated."""
MAX_STATES = 1e15

Curve = Callable[[int, float], float]
"""Predicts the size of the next level divided by the size of a given level. The arguments are the
given level's number, counted from 1, and the number of states up to and including it.
"""


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate: probably between ``low`` and ``high`` states. If ``high`` is None, there is no
    upper bound.
    """

    low: int
    high: int | None

    def __str__(self) -> str:
        """Formats the estimate, as in ``60,000 to 90,000`` or ``at least 60,000``."""
        if self.high is None:
            return f"at least {self.low:,}"
        return f"{self.low:,}" if self.low == self.high else f"{self.low:,} to {self.high:,}"


def estimated(levels: Sequence[int]) -> Estimate | None:
    """Estimates the total number of states from the sizes of the first levels. All these levels
    must be complete. Returns None if no curve bounds the total, for example while levels grow by a
    constant factor.
    """
    if len(levels) < MIN_LEVELS or min(levels) < 1:
        return None
    visited, last = sum(levels), levels[-1]
    totals = list(_totals(levels))
    bounded = [total for total in totals if total is not None]
    if not bounded:
        return None
    # Levels may start to shrink at once and die out, but they seldom shrink faster than they grew
    # to this size.
    bounded.append(visited + sum(takewhile(lambda size: size < last, levels)))
    low, high = min(bounded), max(bounded)
    # An estimate supports no more than two digits. The states that were already visited are
    # certain.
    lower = max(visited, math.floor(low / _unit(low)) * _unit(low))
    certain = None not in totals and high <= MAX_SPREAD * low
    if certain and last <= MAX_GROWTH * levels[-2]:
        return Estimate(lower, max(visited, math.ceil(high / _unit(high)) * _unit(high)))
    return Estimate(lower, None) if lower > visited else None


def _totals(levels: Sequence[int]) -> Iterator[float | None]:
    """Yields the totals that the well-fitting curves predict. The curves are fitted to the last
    ratios, in windows of several lengths. Yields None for a curve without a bound.
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
    """Yields curves fitted to ``points``. Each point is a level, the number of states up to it, and
    the ratio.
    """
    levels = [float(level) for level, _, _ in points]
    ratios = [ratio for _, _, ratio in points]
    logs = [math.log(ratio) for ratio in ratios]
    # The sizes of the levels follow a normal distribution.
    n0, n1 = _line(levels, logs)
    yield lambda level, _: math.exp(min(50.0, n0 + n1 * level))
    # The sizes of the levels follow a binomial, Poisson or negative binomial distribution. If they
    # grow like a power of the level's number, as in a grid, p0 is 1 and there is no bound.
    p0, p1 = _line([1 / level for level in levels], ratios)
    yield lambda level, _: p0 + p1 / level
    # Saturation: the more states have been visited, the fewer successors are new.
    s0, s1 = _line([states for _, states, _ in points], ratios)
    yield lambda _, states: s0 + s1 * states
    if max(ratios) < 1:
        # The levels shrink like a power of the distance to the last level.
        d0, d1 = _line(levels, [1 / log for log in logs])
        yield lambda level, _: math.exp(1 / (d0 + d1 * level)) if d0 + d1 * level < 0 else 0.0


def _line(xs: Sequence[float], ys: Sequence[float]) -> tuple[float, float]:
    """Returns the intercept and the slope of the least-squares line."""
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    moment = sum((x - mean_x) * y for x, y in zip(xs, ys, strict=True))
    slope = moment / sum((x - mean_x) ** 2 for x in xs)
    return mean_y - slope * mean_x, slope


def _misfit(curve: Curve, points: Sequence[tuple[int, float, float]]) -> float:
    """Returns the root mean square error of the predicted ratios."""
    errors = (max(0.0, curve(level, states)) - ratio for level, states, ratio in points)
    return math.sqrt(sum(error**2 for error in errors) / len(points))


def _extrapolated(curve: Curve, level: int, size: float, total: float) -> float | None:
    """Returns the total number of states that a curve predicts. ``size`` is the size of the level
    with number ``level``, and ``total`` the number of states up to it. Returns None if the levels
    do not end within the limits.
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
    """Returns the unit to which a number is rounded to keep two digits."""
    return int(10 ** max(0, len(str(int(number))) - 2))
