"""The coordinator of a transactional id: the broker that leads the partition of the transaction log
with its records. It can be moved to another broker that has the log, too.
"""

from __future__ import annotations

from fencepost.checker.kafka import requests
from fencepost.checker.kafka.cluster import Unreachable
from fencepost.checker.kafka.events import TRANSACTION_LOG
from fencepost.checker.kafka.nodes import Nodes, check, until
from fencepost.checker.kafka.requests import Connection
from fencepost.checker.kafka.transaction_log import partition_of


class Coordinator:
    """That of one id at a time. ``partition`` has its records; ``epoch`` is that of its leader."""

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
        """Has the next broker lead the partition, and waits until it has read it."""
        self._nodes.leaders(TRANSACTION_LOG)
        others = [one for one in self._nodes.numbers if one != self._node]
        if not others:
            raise Unreachable("a coordinator moves in a cluster of two brokers or more")
        target = next((one for one in others if one > self._node), others[0])
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
        # The one that led it may say for a while that it does.
        until(lambda: self._nodes.coordinator(self._name) == target, f"broker {target} coordinates")
        self.find(self._name)
        self._nodes.done(
            self.connection("observer"), lambda: requests.describe_transaction(self._name)
        )
