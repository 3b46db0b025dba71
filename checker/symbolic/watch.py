"""When a run by formulas must end: its time is over, or somebody asks for it."""

from __future__ import annotations

import time
from collections.abc import Callable

from fencepost.checker.account import PROGRESS_SECONDS, Cut
from fencepost.checker.engine import Limits, Progress
from fencepost.checker.interrupts import Interrupts
from fencepost.checker.process import peak_bytes


class Watch:
    """The limits of a run that begins now. ``look`` is called now and then, while formulas are
    made and while the solver is at work; ``level`` is the level that is told as the progress.
    """

    def __init__(self, limits: Limits, progress: Callable[[Progress], None]) -> None:
        self.limits = limits
        self.level = 0
        self.interrupts = Interrupts()
        self.started = self._told = time.monotonic()
        self._progress = progress

    @property
    def seconds(self) -> float:
        """How long the run has taken."""
        return time.monotonic() - self.started

    def look(self) -> None:
        """Raises `Cut` where the run must end."""
        now = time.monotonic()
        if self.interrupts.asked:
            raise Cut("interrupted")
        timeout = self.limits.timeout
        if timeout is not None and now - self.started >= timeout:
            raise Cut(f"--timeout {timeout:g}")
        if now - self._told > PROGRESS_SECONDS:
            self._told = now
            passed = now - self.started
            self._progress(Progress(self.level, 0, 0, 0, passed, peak_bytes(), counted=False))

    def left(self) -> float | None:
        """The seconds that are left (None: any number). Raises `Cut` where none are."""
        self.look()
        timeout = self.limits.timeout
        return None if timeout is None else timeout - self.seconds
