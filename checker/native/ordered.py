"""The states of a level, the least first.

Addresses of all of them make a heap, so that who wants only the first ones need not wait until all
are sorted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fencepost.checker.native.machine.build import Code
from fencepost.checker.native.machine.memory import Memory, Region, words

AT_ONCE = 1 << 16
"""The addresses that one call of machine code puts into the heap."""
MOST = 1 << 13
"""The states that are given at once."""


class Ordered:
    """``pieces`` are addresses and numbers of states of ``size`` words; ``pause`` is called often.
    ``room`` is memory that they are in, to be given back, too. Raises `Exhausted`.
    """

    def __init__(
        self,
        code: Code,
        memory: Memory,
        size: int,
        pieces: Sequence[tuple[int, int]],
        pause: Callable[[], None],
        room: Region | None = None,
    ) -> None:
        self._code = code
        self._memory = memory
        self._pause = pause
        self._room = room
        self.left = count = sum(states for _, states in pieces)
        self._heap = memory.take(8 * count)
        self._given = memory.take(8 * size * min(MOST, max(count, 1)))
        place = self._heap.address
        for address, states in pieces:
            behind = address + 8 * size * states
            words(place, states)[:] = [*range(address, behind, 8 * size)]
            place += 8 * states
            pause()
        last = count
        while last:
            first = max(0, last - AT_ONCE)
            code.heap(self._heap.address, first, last, count)
            last = first
            pause()

    def take(self) -> tuple[int, int]:
        """The address and the number of the states that come next; they are overwritten by the next
        call.
        """
        count = min(MOST, self.left)
        self._code.least(self._heap.address, self.left, count, self._given.address)
        self.left -= count
        self._pause()
        return self._given.address, count

    def close(self) -> None:
        """Gives the memory back."""
        self._memory.give(self._heap)
        self._memory.give(self._given)
        if self._room is not None:
            self._memory.give(self._room)
