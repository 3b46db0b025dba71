"""Estimates how many states a search would have without a variable, from a sample of its states.

States that differ only in the variable form a *group*; without the variable, each group would be
one state. Two states of a sample that belong to one group show the average size of the groups, and
three show how much the sizes vary. The number of groups is estimated from these two moments, as if
the sizes had a log-normal distribution. It is exact if the sample contains all states.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from math import comb
from random import Random
from typing import TypeVar

from fencepost.spec.core.types import State
from fencepost.spec.records import dataclass

MIN_CUT_STATES = 10_000
"""A search that was cut explains its size if it has at least this many states."""
EXAMPLES = 400
"""The approximate number of states of a sample that are kept for a profile."""
MIN_SAMPLE, MAX_SAMPLE = 10_000, 100_000
SAMPLED_SHARE = 1_000
"""One of this many states is in the sample, within the limits above."""
SEED = 36
"""The seed of a sample."""
MIN_TRIPLES = 10
"""The minimum number of triples in one group for an estimate of the variation of sizes."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Part:
    """A variable of a model by its number, with the number of its ``values`` in the sample, and an
    estimate of the number of states ``without`` it.
    """

    variable: int
    values: int
    without: int


@dataclass(frozen=True, slots=True)
class Growth:
    """The contribution of each variable to ``states`` states, with the largest contribution first.

    ``sampled`` is the number of states in the sample. ``examples`` are some of its states.
    """

    states: int
    sampled: int
    parts: tuple[Part, ...]
    examples: tuple[State, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether the sample contains all states."""
        return self.sampled == self.states


def sample_size(states: int) -> int:
    """Returns the size of a sample of this many states."""
    return min(states, max(MIN_SAMPLE, min(states // SAMPLED_SHARE, MAX_SAMPLE)))


def drawn(states: int) -> list[int]:
    """Returns the numbers of the states in a sample, out of ``range(states)``, in ascending order.

    They are random and differ from each other. The sample is a little smaller than `sample_size`,
    unless it contains all states.
    """
    size = sample_size(states)
    if size == states:
        return list(range(states))
    draw = Random(SEED).random
    return sorted({int(draw() * states) for _ in range(size)})


def growth(
    states: int,
    sample: Sequence[T],
    keep: Sequence[Callable[[T], Hashable]],
    drop: Sequence[Callable[[T], Hashable]],
    examples: Sequence[State] = (),
) -> Growth:
    """Returns the contribution of each variable. ``sample`` has distinct states. For each variable,
    ``keep`` returns its value in a state, and ``drop`` the rest of the state.
    """
    parts = [
        Part(number, len(set(map(kept, sample))), _groups(states, Counter(map(rest, sample))))
        for number, (kept, rest) in enumerate(zip(keep, drop, strict=True))
    ]
    parts.sort(key=lambda part: (part.without, -part.values, part.variable))
    return Growth(states, len(sample), tuple(parts), tuple(examples))


def _groups(states: int, counts: Counter[Hashable]) -> int:
    """Estimates the number of groups among all states. ``counts`` has the number of states in the
    sample for each group.
    """
    size = counts.total()
    if size == states or len(counts) < 2:
        return len(counts)
    repeated = Counter(count for count in counts.values() if count > 1)
    pairs = sum(comb(count, 2) * times for count, times in repeated.items())
    triples = sum(comb(count, 3) * times for count, times in repeated.items())
    # The mean of the size c of a state's group, and of c squared.
    mean = 1 + pairs / comb(size, 2) * (states - 1)
    square = mean**2
    if triples >= MIN_TRIPLES:
        moment = triples / comb(size, 3) * (states - 1) * (states - 2)
        square = max(square, moment + 3 * mean - 2)
    # The mean of 1 / c is the number of groups per state.
    groups = states * square / mean**3
    return max(len(counts), min(states, round(groups)))
