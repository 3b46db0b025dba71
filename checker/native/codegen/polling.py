"""Polling for a stop request in machine code, only in loops that may take long.

The search polls between states. Nested loops or choices can take minutes for one state.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

BUSY = 256
"""A loop polls in each iteration if that includes this many iterations of inner loops."""
POLL_INTERVAL = 1 << 22
"""A loop with this many iterations, including inner ones, also polls."""


class Polling:
    """The loops of a function under construction. ``leave`` emits code that returns from the
    function if the search is stopping; ``asks`` says whether there is such code.
    """

    def __init__(self) -> None:
        self.leave: Callable[[], None] | None = None
        self.asks = False
        self._rounds = 1

    def ask(self) -> None:
        """Returns from the function here if the search is stopping."""
        if self.leave is not None:
            self.leave()
            self.asks = True

    @contextmanager
    def loop(self, most: int) -> Generator[None]:
        """A context for the code of one iteration of a loop of at most ``most`` iterations."""
        outer, self._rounds = self._rounds, 1
        yield
        inner = self._rounds
        if inner >= BUSY or most * inner >= POLL_INTERVAL:
            self.ask()
        self._rounds = outer + most * inner
