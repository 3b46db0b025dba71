"""The coordinator of a transactional id, and the numbering of producer ids.

The coordinator is the broker that leads the id's partition of the transaction log. It can be moved
to another broker.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from fencepost.checker.kafka import requests
from fencepost.checker.kafka.cluster import Unreachable
from fencepost.checker.kafka.events import TRANSACTION_LOG
from fencepost.checker.kafka.nodes import Nodes, check, until
from fencepost.checker.kafka.requests import Connection
from fencepost.checker.kafka.transaction_log import partition_of

STRANGERS = 1 << 60
"""Coordinators do not assign producer ids from here on."""
BROKER = "broker"
"""The client name for requests that brokers make."""


class Coordinator:
    """The coordinator of one id at a time. ``partition`` has its records; ``epoch`` is the leader
    epoch.
    """

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._name = ""
        self._node = -1
        self.partition = self.epoch = 0

    def find(self, name: str) -> None:
        self._name = name
        self._node = self._nodes.coordinator(name)
        logs = self._nodes.leaders(TRANSACTION_LOG)
        self.partition = partition_of(name, len(logs))
        self.epoch = logs[self.partition][1]

    def connection(self, who: str) -> Connection:
        return self._nodes.to(self._node, who)

    def move(self) -> None:
        """Makes the next broker the leader of the partition, and waits until it has loaded the
        log.
        """
        self._nodes.leaders(TRANSACTION_LOG)
        others = [node for node in self._nodes.numbers if node != self._node]
        if not others:
            raise Unreachable("a coordinator moves in a cluster of two brokers or more")
        target = next((node for node in others if node > self._node), others[0])
        where = TRANSACTION_LOG, self.partition
        first = self._nodes.first
        check(first, first.ask(requests.reassign(*where, [target, self._node])))

        def follows() -> bool:
            return target in self._nodes.in_sync(*where)

        until(follows, f"broker {target} has the log of transactions")
        self._nodes.done(first, lambda: requests.elect(*where), ("NONE", "ELECTION_NOT_NEEDED"))

        def leads() -> bool:
            return self._nodes.leaders(TRANSACTION_LOG)[self.partition][0] == target

        until(leads, f"broker {target} leads the log of transactions")
        # The previous leader may still claim to be the coordinator for a while.
        until(lambda: self._nodes.coordinator(self._name) == target, f"broker {target} coordinates")
        self.find(self._name)
        self._nodes.done(
            self.connection("observer"), lambda: requests.describe_transaction(self._name)
        )


class Identities:
    """The producer ids of a history by the model's numbers, and the instances they were given to.

    ``epoch`` is the initial epoch of the first producer id. ``stranger`` is the number of an id
    that does not exist.
    """

    def __init__(self, stranger: int, epoch: int, first: int = -1) -> None:
        self._stranger = stranger
        self._numbers = {first: 0}
        # Unique, since partitions remember the ids they have seen.
        self._nobody = STRANGERS + time.time_ns()
        self._given = {(0, epoch): 0}
        self._instance = 0

    def __len__(self) -> int:
        return len(self._numbers)

    def knows(self, number: int) -> bool:
        """Whether an id with this number has been assigned."""
        return 0 <= number < len(self._numbers)

    def id_of(self, number: int) -> int:
        """The producer id with a number of the model."""
        ids = {own: id_ for id_, own in self._numbers.items()}
        return ids.get(number, self._nobody)

    def number_of(self, id_: int) -> int:
        """The number of a producer id, in order of first use."""
        return self._numbers.setdefault(id_, len(self._numbers))

    def may_say(self, pair: Mapping[str, Any]) -> bool:
        """Whether a client can name this producer id and epoch: an assigned id, or one that does
        not exist.

        The numbers of ids assigned later are unknown.
        """
        number = pair["producer_id"]
        return bool((self.knows(number) or number == self._stranger) and pair["epoch"] >= 0)

    def who(self, request: str, pair: Mapping[str, Any] | None) -> str:
        """The instance that makes a request: a new one, or the one that was given the pair. An
        unassigned pair belongs to the older instance.
        """
        if request in ("addv5", "marker", "late_marker"):
            return BROKER
        if pair is None:
            self._instance = 1 - self._instance
            return str(self._instance)
        return str(self._given.get((pair["producer_id"], pair["epoch"]), 1 - self._instance))

    def give(self, id_: int, epoch: int, who: str) -> int:
        """Records the answer to an instance; returns the number of the id."""
        number = self.number_of(id_)
        self._given[number, epoch] = self._instance if who == BROKER else int(who)
        return number
