"""Progress of the decision phase: which property of behaviours is being decided, how far that is,
and how long it may still take.

It observes no limit by itself: ``look``, which every part of the phase calls, does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import get_args

from fencepost.checker.request import Deciding, Phase
from fencepost.spec.core.ir import Model

MIN_SECONDS = 1.0
"""There is no estimate before a property has taken this long."""


def _ignore() -> None:
    """Observes no limit."""


class Decision:
    """The decision phase of one search.

    ``shares`` are the expected shares of the phases in the time that a property takes, for the
    estimate. Whoever decides calls `begin` per property, `enter` and `advance` per phase, counts
    ``edges`` and ``components``, and calls ``look`` often; it may raise `Cut` or `Exhausted`.
    ``clock`` counts seconds; tests give their own.
    """

    def __init__(
        self,
        model: Model,
        look: Callable[[], None] = _ignore,
        shares: Mapping[Phase, float] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.look = look
        self.edges = 0
        self.components = 0
        self.phase: Phase = "automaton"
        self.property: int | None = None
        self._model = model
        self._shares = shares or {}
        self._clock = clock
        self._title = ""
        self._total = self._done = 0
        self._entered_at = clock()
        self._spent: dict[Phase, float] = {}

    def begin(self, property: int) -> None:
        """Starts deciding a property of the model."""
        self.property, self._title = property, self._model.properties[property].title
        self.components = 0
        self.enter("automaton")
        self._spent = {}

    def end(self) -> None:
        """No property is being decided any more."""
        self.property = None

    def enter(self, phase: Phase, total: int = 0) -> None:
        """Starts a phase; ``total`` is the size of its work (0: unknown)."""
        now = self._clock()
        self._spent[self.phase] = self._spent.get(self.phase, 0.0) + now - self._entered_at
        self.phase, self._entered_at = phase, now
        self._total, self._done = total, 0

    def advance(self, done: int) -> None:
        """Counts work of the phase as done, if its total is known."""
        self._done += done if self._total else 0

    def now(self) -> Deciding:
        """The present state of the phase, for a progress line."""
        return Deciding(self._title, self.phase, self.edges, self.components, self.seconds_left())

    def seconds_left(self) -> tuple[float, float] | None:
        """Between how many seconds and how many this property may still take: the rest of the
        phase, at its own rate, and all later phases as well, by their shares. None if unknown.
        """
        shares, phases = self._shares, get_args(Phase)
        later = sum(shares.get(phase, 0.0) for phase in phases[phases.index(self.phase) + 1 :])
        taken = known = 0.0
        for phase, seconds in self._spent.items():
            if phase != self.phase and phase in shares:
                taken, known = taken + seconds, known + shares.get(phase, 0.0)
        here, share = self._clock() - self._entered_at, shares.get(self.phase, 0.0)
        low = 0.0
        if self._done:
            fraction = min(1.0, self._done / self._total)
            low = here * (1 - fraction) / fraction
            taken, known = taken + here, known + share * fraction
        if taken < MIN_SECONDS or not known:
            return None
        high = low + taken / known * later if self._done else taken / known * (share + later) - here
        return (low, high) if high > 0 else None
