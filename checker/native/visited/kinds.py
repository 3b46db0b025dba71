"""What a worker needs of the states that it has seen, whatever they are kept in."""

from __future__ import annotations

from typing import Protocol


class SeenStates(Protocol):
    """The states that a worker has seen. The store keeps ``entry_words`` words of each new one, its
    entry, in the order found.
    """

    entry_words: int

    @property
    def states(self) -> int:
        """How many states have been seen."""
        ...

    def merge(self, address: int, count: int) -> None:
        """Adds states, and to the store the entries of new ones, as `search_kernels.merge` does."""

    def grow(self) -> None:
        """Makes the room that machine code has asked for. Raises `Exhausted`."""

    def whole(self, address: int, count: int, room: int, rows: int) -> int:
        """Where the states of some entries are: written to ``room``, if need be. Any worker may ask
        for that, whose own rows are at ``rows``.
        """
        ...
