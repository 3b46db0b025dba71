"""What one run of staged code reads and leaves behind beside values: choices, marks, failures.

The vectors of choices of an action are tried in lexicographic order by an odometer: `Run` holds
the index chosen at each `Pick` met so far, the code is run again for each vector, and `advance`
turns the last index that can still move.
"""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.spec.core import ir, types
from fencepost.spec.core.types import Type, Value


class EvaluationError(Exception):
    """Evaluation is not defined; ``site`` is the number of the place."""

    def __init__(self, site: int) -> None:
        super().__init__(site)
        self.site = site


class AssertionFailed(Exception):
    """An assertion of a step was false; ``site`` is the number of the place."""

    def __init__(self, site: int) -> None:
        super().__init__(site)
        self.site = site


class Run:
    """The last element of a frame.

    The first ``position`` choices have been made; the vector is ``indices``, each into the offer
    of the same position. ``marks`` are the coverage marks that count if the step completes,
    ``seen`` those that count as they are. ``guard`` is the guard that was false when the code was
    disabled. The first choices may take only the values of ``wanted``, one each.
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
        """Begins with the first vector, wherever the run was left."""
        self.position = 0
        self.indices.clear()
        self.offers.clear()
        self.picks.clear()
        self.marks.clear()
        self.seen.clear()

    def offer(self, offer: Sequence[Value], pick: ir.Pick) -> bool:
        """Meets a choice for the first time under the present vector; false if it is empty."""
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
        """Moves on to the next vector; false when there is none, and the run begins anew."""
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
        """The choices made, but for the hidden ones: label, type and value."""
        made: list[tuple[str, Type, Value]] = []
        for pick, offer, index in zip(self.picks, self.offers, self.indices, strict=True):
            if pick.label is not None:
                kind = types.as_collection(pick.domain.type)
                made.append((pick.label, kind.element, offer[index]))
        return tuple(made)
