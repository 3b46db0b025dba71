"""Where a search by levels has to end: limits and interrupts, looked at often; and its progress.

It does not know how a level is searched, nor what counts of one that is cut.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager

from fencepost.checker.estimate import estimated
from fencepost.checker.outcome import INTERRUPTED, Limit
from fencepost.checker.request import Limits, Phase, Progress, Request
from fencepost.checker.resources import memory_bound, peak_bytes
from fencepost.checker.search.account import PROGRESS_SECONDS, Account, Cut, Expired
from fencepost.checker.search.deciding import Decision
from fencepost.checker.search.interrupts import Interrupts
from fencepost.checker.search.states import States

WEIGH_SECONDS = 0.02
"""How often it looks how much memory the process has, where that is limited."""


class Watch:
    """``look`` and ``heed`` are called often, by the states that it was made to follow; both raise
    `Cut` where the search has to end. ``looking_back``: the search is over. While ``decision`` is
    set, properties of behaviours are decided, and the limits on time and memory hold again.
    """

    _states: States
    _depth: int

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

    def follow(self, states: States, depth: int) -> None:
        """From now on, these states expand level ``depth``; a request to end stops them."""
        self._states, self._depth = states, depth
        self._interrupts.stop_by(lambda: states.stop(Cut(INTERRUPTED)))

    def close(self) -> None:
        """Requests to end stop nothing any more, and the states can be freed."""
        self._interrupts.stop_by(None)
        del self._states

    def look_back(self) -> None:
        """The search is over: nothing but a request to end cuts what is done with its result."""
        self.looking_back = True

    @contextmanager
    def deciding(self, shares: Mapping[Phase, float]) -> Generator[Decision]:
        """The decision phase, after the search: limits on time and memory hold again, and progress
        is that of the decision. ``shares`` are those of its phases.
        """
        self.decision = Decision(self.account.model, self.look, shares)
        try:
            yield self.decision
        finally:
            self.decision = None

    def be_patient(self, seconds: float) -> None:
        """What was asked for until now has been seen to; what follows may take so long then."""
        if self._interrupts.asked or self._deadline is not None:
            self._deadline = time.monotonic() + seconds
        self._interrupts.forget()

    def look(self) -> None:
        """Heeds all limits, and reports progress."""
        self.heed()
        if self.looking_back and self.decision is None:
            return
        now, states = time.monotonic(), self._states
        if not self._depth and not self.looking_back and not self.account.searched.constraints:
            self.check_states()
        if self.limits.memory is not None and now - self._weighed_at >= WEIGH_SECONDS:
            self._weighed_at = now
            states.weigh()
        if now - self._reported_at >= PROGRESS_SECONDS:
            self._reported_at = now
            distinct, seconds = states.states, now - self.account.started
            queue = distinct - states.expanded
            deciding = None if self.decision is None else self.decision.now()
            estimate = None if deciding else estimated(self.account.visited_levels)
            self._progress(
                Progress(
                    self._depth, distinct, states.generated, queue, seconds, peak_bytes(),
                    remark=states.remark, estimate=estimate, deciding=deciding,
                )
            )  # fmt: skip

    def heed(self) -> None:
        """Heeds requests to end and the limit on time."""
        now = time.monotonic()
        if self._interrupts.asked or (self._deadline is not None and now > self._deadline):
            raise Cut(INTERRUPTED)
        if self.limits.timeout is None or (self.looking_back and self.decision is None):
            return
        if now - self.account.started > self.limits.timeout:
            raise Expired

    def check_states(self) -> None:
        """Raises `Cut` if there are more states than ``--max-states`` allows. Precondition: those
        outside constraints have been dropped.
        """
        most = self.limits.max_states
        if most is not None and self._states.states > most:
            raise Cut(Limit("max-states", most))


def out_of_memory(limits: Limits) -> Limit:
    """What cuts a search that passes ``--memory``, or gets no more memory from the system."""
    return no_memory() if limits.memory is None else Limit("memory", limits.memory)


def no_memory() -> Limit:
    """What cuts a search to which the system gives no more memory."""
    return Limit("machine", reason=memory_bound())
