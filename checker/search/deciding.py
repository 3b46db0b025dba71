"""Tracks the progress of the decision phase: the current liveness property, the work done, and an
estimate of the remaining time.

This module enforces no limits. Every part of the phase calls ``look``, which does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import get_args

from fencepost.checker.request import Deciding, Phase
from fencepost.spec.core.ir import Model

MIN_SECONDS = 1.0
"""Minimum time that a property must have taken before its remaining time is estimated."""


def _ignore() -> None:
    """Does nothing: the default for ``look``, without limits."""


class Decision:
    """The decision phase of one search.

    ``shares`` are the expected shares of the phases in the time for a property; the estimate uses
    them. The deciding code calls `begin` for each property, and `enter` and `advance` for each
    phase. It counts ``edges`` and ``components``, and calls ``look`` often; ``look`` may raise
    `Cut` or `Exhausted`. ``clock`` returns seconds, and tests pass their own.
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
        """Ends the decision of a property."""
        self.property = None

    def enter(self, phase: Phase, total: int = 0) -> None:
        """Starts a phase. ``total`` is the amount of work in it, or 0 if that is unknown."""
        now = self._clock()
        self._spent[self.phase] = self._spent.get(self.phase, 0.0) + now - self._entered_at
        self.phase, self._entered_at = phase, now
        self._total, self._done = total, 0

    def advance(self, done: int) -> None:
        """Adds ``done`` to the completed work of the phase, if the total of the phase is known."""
        self._done += done if self._total else 0

    def now(self) -> Deciding:
        """Returns the current state of the phase, for a progress line."""
        return Deciding(self._title, self.phase, self.edges, self.components, self.seconds_left())

    def seconds_left(self) -> tuple[float, float] | None:
        """Estimates the seconds that this property may still take, as a lower and an upper bound.
        The lower bound covers the rest of the current phase at its own rate. The upper bound adds
        all later phases, according to their shares. Returns None if no estimate is possible.
        """
        shares, phases = self._shares, get_args(Phase)
        later = sum(shares.get(phase, 0.0) for phase in phases[phases.index(self.phase) + 1 :])
        measured = measured_share = 0.0
        for phase, seconds in self._spent.items():
            if phase != self.phase and phase in shares:
                measured, measured_share = (
                    measured + seconds,
                    measured_share + shares.get(phase, 0.0),
                )
        current, share = self._clock() - self._entered_at, shares.get(self.phase, 0.0)
        low = 0.0
        if self._done:
            fraction = min(1.0, self._done / self._total)
            low = current * (1 - fraction) / fraction
            measured, measured_share = measured + current, measured_share + share * fraction
        if measured < MIN_SECONDS or not measured_share:
            return None
        high = (
            low + measured / measured_share * later
            if self._done
            else measured / measured_share * (share + later) - current
        )
        return (low, high) if high > 0 else None
