"""How the choices of a step become unknowns: parameters, picks, messages, losses.

An explicit search tries one alternative after the other. Here a choice is a few unknown truth
values, which name one of the alternatives; only where no unknown may stand (is an action enabled?)
an `Odometer` goes through the alternatives.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fencepost.checker.symbolic import terms
from fencepost.checker.symbolic.terms import Truth


@dataclass(slots=True)
class Odometer:
    """The choices of one run: the index of each, and of how many."""

    indices: list[int] = field(default_factory=list[int])
    counts: list[int] = field(default_factory=list[int])
    position: int = 0

    def take(self, count: int) -> int:
        """The index of the next choice among ``count`` (at least one)."""
        if self.position == len(self.indices):
            self.indices.append(0)
            self.counts.append(count)
        self.position += 1
        return self.indices[self.position - 1]

    def advance(self) -> bool:
        """Moves on to the next vector; false when there is none."""
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
    """Unknown truth values for the choices of a step. Of the actions of a step one is taken, so all
    of them use the same ones: each begins anew with the first (`again`).
    """

    known: list[Truth] = field(default_factory=list[Truth])
    position: int = 0

    def again(self) -> Bits:
        """Itself, for another action."""
        self.position = 0
        return self

    def take(self, count: int) -> list[Truth]:
        """As many as it takes to name one of ``count`` alternatives (see `values.picked`)."""
        need = (count - 1).bit_length()
        start, self.position = self.position, self.position + need
        while len(self.known) < self.position:
            self.known.append(terms.fresh_truth("choice"))
        return self.known[start : self.position]
