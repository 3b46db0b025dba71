"""The decisions of the strategies, drawn from Hypothesis, with the simplest answer first.

Hypothesis shrinks numbers towards 0, so every list of alternatives begins with the simplest one,
and every chance shrinks to "no". All decisions use numbers from one range, so that later decisions
keep their meaning when Hypothesis changes or removes an earlier one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T")

LOTS = 100
"""Every decision is a number below this one. Hypothesis draws all numbers of a range about equally
often if the range is not much larger.
"""

_NUMBERS = st.integers(0, LOTS - 1)


class Drawing:
    """One example being drawn. ``names`` counts the names used so far."""

    def __init__(self, lot: Callable[[], int]) -> None:
        self._lot = lot
        self._names: dict[str, int] = {}

    @classmethod
    def by_hypothesis(cls, draw: st.DrawFn) -> Drawing:
        """Draws decisions that Hypothesis can shrink."""
        return cls(lambda: draw(_NUMBERS))

    @classmethod
    def by_chance(cls, seed: int) -> Drawing:
        """Draws decisions from a plain random number generator: cheaper, and examples are not
        repeated.
        """
        random = Random(seed)
        return cls(lambda: random.randrange(LOTS))

    def _below(self, count: int) -> int:
        return self._lot() * count // LOTS

    def number(self, low: int, high: int) -> int:
        """Draws an integer of ``low..high``; ``low`` is the simplest."""
        return low if high <= low else low + self._below(high - low + 1)

    def chance(self, percent: int) -> bool:
        """Returns True in ``percent`` of a hundred cases; False is simpler."""
        return self._below(100) >= 100 - percent

    def pick(self, options: Sequence[T]) -> T:
        """Draws one of the options; the first is the simplest."""
        return options[self.number(0, len(options) - 1)]

    def weighted(self, options: Sequence[tuple[int, Callable[[], T | None]]]) -> T:
        """Chooses one of the options by weight and returns its result.

        An option that returns None is not available here; then the options after it are tried,
        cyclically. Those of weight 0 are a last resort.
        """
        likely = [option for option in options if option[0]]
        lot = self.number(1, sum(weight for weight, _ in likely))
        start = 0
        while lot > likely[start][0]:
            lot -= likely[start][0]
            start += 1
        unlikely = [option for option in options if not option[0]]
        for _, make in (*likely[start:], *likely[:start], *unlikely):
            value = make()
            if value is not None:
                return value
        raise AssertionError("no option can be had here")

    def several(self, make: Callable[[], T], least: int, most: int, percent: int = 50) -> list[T]:
        """Returns between ``least`` and ``most`` results of ``make``; each optional one is made by
        chance.
        """
        values = [make() for _ in range(least)]
        while len(values) < most and self.chance(percent):
            values.append(make())
        return values

    def name(self, stem: str) -> str:
        """Returns a name that is unique in the spec."""
        count = self._names[stem] = self._names.get(stem, -1) + 1
        return f"{stem}{count}"
