"""Stops a symbolic run at its time limit, or when the user interrupts it."""

from __future__ import annotations

import time
from collections.abc import Callable

from fencepost.checker.outcome import INTERRUPTED, Limit
from fencepost.checker.request import Progress, Request
from fencepost.checker.resources import peak_bytes
from fencepost.checker.search.account import PROGRESS_SECONDS, Cut
from fencepost.checker.search.deciding import Decision
from fencepost.checker.search.interrupts import Interrupts
from fencepost.spec.core.ir import Model
from fencepost.spec.semantics.choice_points import Run
from fencepost.spec.semantics.stepper import Runner


class Watch:
    """Watches the limits of a run that starts when this object is created. ``look`` is called
    regularly while formulas are built and while the solver runs. ``level`` is the level that is
    reported as progress.
    """

    def __init__(self, request: Request) -> None:
        self.limits = request.limits
        self.level = 0
        self.decision = Decision(request.model)
        self.interrupts = Interrupts()
        self.started = self._told = time.monotonic()
        self._progress = request.progress

    @property
    def seconds(self) -> float:
        """The duration of the run so far, in seconds."""
        return time.monotonic() - self.started

    def hear(self) -> None:
        """Raises `Cut` if the user has interrupted the run."""
        if self.interrupts.asked:
            raise Cut(INTERRUPTED)

    def look(self) -> None:
        """Raises `Cut` if the run must end, and reports progress."""
        self.hear()
        now = time.monotonic()
        timeout = self.limits.timeout
        if timeout is not None and now - self.started >= timeout:
            raise Cut(Limit("timeout", timeout))
        if now - self._told > PROGRESS_SECONDS:
            self._told = now
            passed = now - self.started
            deciding = None if self.decision.property is None else self.decision.now()
            self._progress(
                Progress(
                    self.level, 0, 0, 0, passed, peak_bytes(), counted=False, deciding=deciding
                )
            )

    def left(self) -> float | None:
        """Returns the remaining seconds, or None if time is not limited. Raises `Cut` if no time
        remains.
        """
        self.look()
        timeout = self.limits.timeout
        return None if timeout is None else timeout - self.seconds


class WatchedRunner(Runner):
    """An interpreter that calls ``look`` for each vector of choices that it tries."""

    def __init__(self, model: Model, look: Callable[[], None]) -> None:
        self._looked = look
        super().__init__(model)

    def _fresh(self) -> Run:
        return _WatchedRun(self._looked)


class _WatchedRun(Run):
    __slots__ = ("_look",)

    def __init__(self, look: Callable[[], None]) -> None:
        super().__init__()
        self._look = look

    def advance(self) -> bool:
        self._look()
        return super().advance()
