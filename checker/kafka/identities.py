"""Producer ids of a history, numbered as the model numbers them, and which of two instances of a
client each was given to.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

STRANGERS = 1 << 60
"""Producer ids from here on no coordinator gives away."""
BROKER = "broker"
"""Who asks in the name of a broker."""


class Identities:
    """Those of a history whose producer id has an ``epoch`` in the beginning. ``stranger`` is the
    number that stands for an id that nobody has.
    """

    def __init__(self, stranger: int, epoch: int, first: int = -1) -> None:
        self._stranger = stranger
        self._numbers = {first: 0}
        # Partitions remember what they have heard of.
        self._nobody = STRANGERS + time.time_ns()
        self._given = {(0, epoch): 0}
        self._instance = 0

    def __len__(self) -> int:
        return len(self._numbers)

    def knows(self, number: int) -> bool:
        """Whether an id with this number has appeared."""
        return 0 <= number < len(self._numbers)

    def id_of(self, number: int) -> int:
        """The producer id that a number of the model stands for."""
        known = {own: id_ for id_, own in self._numbers.items()}
        return known.get(number, self._nobody)

    def number_of(self, id_: int) -> int:
        """Producer ids are numbered in the order in which they appear."""
        return self._numbers.setdefault(id_, len(self._numbers))

    def may_say(self, pair: Mapping[str, Any]) -> bool:
        """Whether a client can name a producer id and an epoch: an id that it knows, or that nobody
        has. What number an id will have that is given away later, nobody knows yet.
        """
        number = pair["producer_id"]
        return bool((self.knows(number) or number == self._stranger) and pair["epoch"] >= 0)

    def who(self, request: str, pair: Mapping[str, Any] | None) -> str:
        """The instance that asks: a new one, or the one that was given the pair. A pair that nobody
        was given is the older one's.
        """
        if request in ("addv5", "marker", "late_marker"):
            return BROKER
        if pair is None:
            self._instance = 1 - self._instance
            return str(self._instance)
        return str(self._given.get((pair["producer_id"], pair["epoch"]), 1 - self._instance))

    def give(self, id_: int, epoch: int, who: str) -> int:
        """Notes that an instance was answered with a pair; the number of the id."""
        number = self.number_of(id_)
        self._given[number, epoch] = self._instance if who == BROKER else int(who)
        return number
