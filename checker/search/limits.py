"""Enforces the limits and interrupts of a level search, which polls them often, and reports its
progress.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager

from fencepost.checker.estimate import estimated
from fencepost.checker.outcome import INTERRUPTED, Limit
from fencepost.checker.request import Limits, Phase, Progress, Request
from fencepost.checker.resources import Exhausted, memory_bound, peak_bytes, resident_bytes
from fencepost.checker.search.account import PROGRESS_SECONDS, Account, Cut, Expired
from fencepost.checker.search.alarm import raised_after, stopped_after
from fencepost.checker.search.deciding import Decision
from fencepost.checker.search.interrupts import Interrupts
from fencepost.checker.search.states import States, Stoppable

WEIGH_SECONDS = 0.02
"""Interval in seconds at which the memory of the process is measured, if it is limited."""


class Watch:
    """Watches the limits and interrupts of a search.

    The followed states call ``look`` and ``heed`` often; both raise `Cut` if the search has to end.
    ``stoppable`` holds the followed states if they are `Stoppable`, and None otherwise. ``depth``
    is the level being expanded, or 0 before the first level. ``looking_back`` is set once the
    search is over. While ``decision`` is set, liveness is being decided, and the limits on time and
    memory apply again.
    """

    _states: States
    stoppable: Stoppable | None = None
    depth: int = 0

    def __init__(self, request: Request, account: Account, interrupts: Interrupts) -> None:
        self.account = account
        self.deadlock = request.deadlock
        self.limits = request.limits
        self._progress = request.progress
        self._interrupts = interrupts
        self._reported_at = self._weighed_at = account.started
        self.looking_back = False
        self.decision: Decision | None = None
        self._deadline: float | None = None

    def follow(self, states: States) -> None:
        """Starts watching these states. A request to end stops them."""
        self._states = states
        if isinstance(states, Stoppable):
            self.stoppable = states
            self._interrupts.stop_by(lambda: states.stop(Cut(INTERRUPTED)))

    def close(self) -> None:
        """Frees the states. Later requests to end stop nothing."""
        self._interrupts.stop_by(None)
        stoppable, self.stoppable = self.stoppable, None
        del self._states
        if stoppable is not None:
            stoppable.close()

    def timed(self, seconds: float | None) -> AbstractContextManager[None]:
        """While active, limits the work of the states to ``seconds`` by `Expired`, even within the
        work on one state. There is no limit if ``seconds`` is None. Raises `MemoryError` if there
        is not enough memory for the timer.
        """
        if self.stoppable is None:
            return raised_after(seconds, Expired)
        return stopped_after(seconds, self.stoppable.stop, Expired)

    def look_back(self) -> None:
        """Marks the search as over. After this, only a request to end cuts the processing of its
        result.
        """
        self.looking_back = True

    @contextmanager
    def deciding(self, shares: Mapping[Phase, float]) -> Generator[Decision]:
        """Enters the decision phase after the search. The limits on time and memory apply again,
        and the progress shown is that of the decision. ``shares`` are the expected shares of the
        phases in the time.
        """
        self.decision = Decision(self.account.model, self.look, shares)
        try:
            yield self.decision
        finally:
            self.decision = None

    def be_patient(self, seconds: float) -> None:
        """Drops earlier requests to end. If there were any, the following work may take up to
        ``seconds``.
        """
        if self._interrupts.asked or self._deadline is not None:
            self._deadline = time.monotonic() + seconds
        self._interrupts.forget()

    def look(self) -> None:
        """Enforces all limits and reports progress."""
        self.heed()
        if self.looking_back and self.decision is None:
            return
        now = time.monotonic()
        if not self.depth and not self.looking_back and not self.account.searched.constraints:
            self.check_states()
        if self.limits.memory is not None and now - self._weighed_at >= WEIGH_SECONDS:
            self._weighed_at = now
            self._weigh(self.limits.memory)
        if now - self._reported_at >= PROGRESS_SECONDS:
            extent, seconds = self._states.extent, now - self.account.started
            queue = extent.states - extent.expanded
            deciding = None if self.decision is None else self.decision.now()
            estimate = None if deciding else estimated(self.account.visited_levels)
            self._progress(
                Progress(
                    self.depth, extent.states, extent.generated, queue, seconds, peak_bytes(),
                    remark=extent.remark, estimate=estimate, deciding=deciding,
                )
            )  # fmt: skip
            # An estimate that takes longer than the interval must not follow every batch.
            self._reported_at = time.monotonic()

    def _weigh(self, max_bytes: int) -> None:
        if self.stoppable is not None:
            self.stoppable.weigh()
        elif resident_bytes() > max_bytes:
            raise Exhausted

    def heed(self) -> None:
        """Enforces the time limit and obeys requests to end."""
        now = time.monotonic()
        if self._interrupts.asked or (self._deadline is not None and now > self._deadline):
            raise Cut(INTERRUPTED)
        if self.limits.timeout is None or (self.looking_back and self.decision is None):
            return
        if now - self.account.started > self.limits.timeout:
            raise Expired

    def check_states(self) -> None:
        """Raises `Cut` if there are more states than ``--max-states`` allows. Precondition: the
        states outside the constraints have been dropped.
        """
        max_states = self.limits.max_states
        if max_states is not None and self._states.extent.states > max_states:
            raise Cut(Limit("max-states", max_states))


def out_of_memory(limits: Limits) -> Limit:
    """Returns the limit for a search that exceeds ``--memory`` or cannot get more memory from the
    system.
    """
    return no_memory() if limits.memory is None else Limit("memory", limits.memory)


def no_memory() -> Limit:
    """Returns the limit for a search that cannot get more memory from the system."""
    return Limit("machine", reason=memory_bound())
