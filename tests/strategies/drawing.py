"""Decisions: what the strategies ask of Hypothesis, with the simplest answer first.

Hypothesis shrinks numbers towards 0, so every list of alternatives begins with the simplest one,
and every chance shrinks to "no". All decisions are made from numbers of one range: so, when it
changes or leaves out one of them, those that follow still mean something.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T")

LOTS = 100
"""Decisions are numbers below this one: from ranges that are not much larger, Hypothesis takes
all numbers about equally often.
"""

_NUMBERS = st.integers(0, LOTS - 1)


class Drawing:
    """One example being drawn; ``names`` counts the names handed out so far."""

    def __init__(self, lot: Callable[[], int]) -> None:
        self._lot = lot
        self._names: dict[str, int] = {}

    @classmethod
    def by_hypothesis(cls, draw: st.DrawFn) -> Drawing:
        """Decisions that Hypothesis can shrink."""
        return cls(lambda: draw(_NUMBERS))

    @classmethod
    def by_chance(cls, seed: int) -> Drawing:
        """Decisions of a plain generator of random numbers: cheaper, and never alike."""
        random = Random(seed)
        return cls(lambda: random.randrange(LOTS))

    def _below(self, count: int) -> int:
        return self._lot() * count // LOTS

    def number(self, low: int, high: int) -> int:
        """An integer of ``low..high``; ``low`` is the simplest."""
        return low if high <= low else low + self._below(high - low + 1)

    def chance(self, percent: int) -> bool:
        """Yes in so many of a hundred cases; no is simpler."""
        return self._below(100) >= 100 - percent

    def pick(self, options: Sequence[T]) -> T:
        """One of the options; the first is the simplest."""
        return options[self.number(0, len(options) - 1)]

    def weighted(self, options: Sequence[tuple[int, Callable[[], T | None]]]) -> T:
        """What one of the options makes, as often as its weight says.

        An option that makes None cannot be had here; then the next ones are tried, in a circle.
        Those of weight 0 are a last resort.
        """
        likely = [option for option in options if option[0]]
        lot = self.number(1, sum(weight for weight, _ in likely))
        start = 0
        while lot > likely[start][0]:
            lot -= likely[start][0]
            start += 1
        unlikely = [option for option in options if not option[0]]
        for _, make in (*likely[start:], *likely[:start], *unlikely):
            made = make()
            if made is not None:
                return made
        raise AssertionError("no option can be had here")

    def several(self, make: Callable[[], T], least: int, most: int, percent: int = 50) -> list[T]:
        """Some of what ``make`` makes; after the least number, each goes on with a chance."""
        made = [make() for _ in range(least)]
        while len(made) < most and self.chance(percent):
            made.append(make())
        return made

    def name(self, stem: str) -> str:
        """A name that nothing else in the spec has."""
        count = self._names[stem] = self._names.get(stem, -1) + 1
        return f"{stem}{count}"
