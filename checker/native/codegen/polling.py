"""Where machine code asks whether it is to stop: in loops that may take long, and in no others.

The search asks between states. One state is enough for minutes, where loops or choices stand
inside each other.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

BUSY = 256
"""A loop asks in each round if a round goes through this many rounds of inner loops."""
LONG = 1 << 22
"""So does a loop with this many rounds, those inside it included."""


class Polling:
    """The loops of a function under construction. ``leave`` emits code that leaves the function if
    the search is to stop; ``asks`` is whether there is such code.
    """

    def __init__(self) -> None:
        self.leave: Callable[[], None] | None = None
        self.asks = False
        self._rounds = 1

    def ask(self) -> None:
        """Leaves the function here if the search is to stop."""
        if self.leave is not None:
            self.leave()
            self.asks = True

    @contextmanager
    def loop(self, most: int) -> Generator[None]:
        """Stands around the code of one round of a loop of at most ``most``."""
        outer, self._rounds = self._rounds, 1
        yield
        inner = self._rounds
        if inner >= BUSY or most * inner >= LONG:
            self.ask()
        self._rounds = outer + most * inner
