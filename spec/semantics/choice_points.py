"""The state of one run of staged code besides values: choices, marks, failures.

An odometer enumerates the vectors of choices of an action in lexicographic order: `Run` holds the
index chosen at each `Pick`, the code is run for each vector, and `advance` increments the last
index that can be incremented.
"""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.spec.core import ir, types
from fencepost.spec.core.types import Type, Value


class EvaluationError(Exception):
    """Evaluation is undefined; ``site`` is the number of the site."""

    def __init__(self, site: int) -> None:
        super().__init__(site)
        self.site = site


class AssertionFailed(Exception):
    """An assertion failed; ``site`` is the number of the site."""

    def __init__(self, site: int) -> None:
        super().__init__(site)
        self.site = site


class Run:
    """The state of a run, stored as the last element of a frame.

    The first ``position`` choices have been made; ``indices`` is the present vector, with one index
    into each of ``offers``. ``marks`` are coverage marks that count if the step completes, ``seen``
    those that count in any case. ``guard`` is the false guard of a disabled action. The first
    choices are restricted to the values in ``wanted``.
    """

    __slots__ = ("guard", "indices", "marks", "offers", "picks", "position", "seen", "wanted")

    def __init__(self) -> None:
        self.position = 0
        self.indices: list[int] = []
        self.offers: list[Sequence[Value]] = []
        self.picks: list[ir.Pick] = []
        self.marks: list[int] = []
        self.seen: list[int] = []
        self.guard = -1
        self.wanted: tuple[Value, ...] = ()

    def restart(self) -> None:
        """Restarts with the first vector."""
        self.position = 0
        self.indices.clear()
        self.offers.clear()
        self.picks.clear()
        self.marks.clear()
        self.seen.clear()

    def offer(self, offer: Sequence[Value], pick: ir.Pick) -> bool:
        """Adds a choice under the present vector; false if it is empty."""
        if self.position < len(self.wanted):
            wanted = self.wanted[self.position]
            offer = [value for value in offer if value == wanted]
        if not offer:
            self.guard = pick.guard
            return False
        self.indices.append(0)
        self.offers.append(offer)
        self.picks.append(pick)
        return True

    def advance(self) -> bool:
        """Advances to the next vector; false at the end, when the run restarts."""
        self.position = 0
        indices, offers = self.indices, self.offers
        while indices:
            if indices[-1] + 1 < len(offers[-1]):
                indices[-1] += 1
                return True
            indices.pop()
            offers.pop()
            self.picks.pop()
        return False

    def choices(self) -> tuple[tuple[str, Type, Value], ...]:
        """The visible choices made: label, type and value."""
        result: list[tuple[str, Type, Value]] = []
        for pick, offer, index in zip(self.picks, self.offers, self.indices, strict=True):
            if pick.label is not None:
                kind = types.as_collection(pick.domain.type)
                result.append((pick.label, kind.element, offer[index]))
        return tuple(result)
