"""Representation of a step's choices as unknowns: parameters, picks, messages, losses.

An explicit search tries the alternatives one by one. Here a choice is a few unknown truth values
that select one of the alternatives; only where unknowns are not allowed (is an action enabled?) an
`Odometer` enumerates them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fencepost.checker.symbolic import terms
from fencepost.checker.symbolic.terms import Truth


@dataclass(slots=True)
class Odometer:
    """The choices of one run: the index of each, and the number of its alternatives."""

    indices: list[int] = field(default_factory=list[int])
    counts: list[int] = field(default_factory=list[int])
    position: int = 0

    def take(self, count: int) -> int:
        """The index of the next choice among ``count`` alternatives (at least one)."""
        if self.position == len(self.indices):
            self.indices.append(0)
            self.counts.append(count)
        self.position += 1
        return self.indices[self.position - 1]

    def advance(self) -> bool:
        """Moves to the next vector of choices. Returns False if there is none."""
        self.position = 0
        while self.indices:
            if self.indices[-1] + 1 < self.counts[-1]:
                self.indices[-1] += 1
                return True
            self.indices.pop()
            self.counts.pop()
        return False


@dataclass(slots=True)
class Bits:
    """Unknown truth values for the choices of a step. A step takes one action, so all actions share
    them: each starts again with the first (`again`).
    """

    known: list[Truth] = field(default_factory=list[Truth])
    position: int = 0

    def again(self) -> Bits:
        """The same object, rewound for another action."""
        self.position = 0
        return self

    def take(self, count: int) -> list[Truth]:
        """The unknowns needed to select one of ``count`` alternatives (see `values.picked`)."""
        need = (count - 1).bit_length()
        start, self.position = self.position, self.position + need
        while len(self.known) < self.position:
            self.known.append(terms.fresh_truth("choice"))
        return self.known[start : self.position]
