"""Tracks the coordinator of a history's transactional id, its producer ids, and its consumer group.

The coordinator of a transactional id is the broker that leads the id's partition of the transaction
log. It can be moved to another broker. The group has at most one member at a time; members and
generations are numbered as in the model.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from fencepost.checker.systems.kafka import group_requests, requests
from fencepost.checker.systems.kafka.cluster import Unreachable
from fencepost.checker.systems.kafka.events import OFFSETS, TRANSACTION_LOG
from fencepost.checker.systems.kafka.nodes import Nodes, check, until
from fencepost.checker.systems.kafka.requests import Connection
from fencepost.checker.systems.kafka.transaction_log import partition_of

_STRANGE = 1_000
"""Offset that is added to the numbers of generations that do not exist."""
_LOADED = ("NONE", "UNSTABLE_OFFSET_COMMIT")
_ID_REQUIRED = "MEMBER_ID_REQUIRED"


class Group:
    """A new group. ``leader`` is its coordinator, and ``partition`` is its partition of
    `__consumer_offsets`.
    """

    def __init__(self, nodes: Nodes, name: str, topic: str) -> None:
        self.name = name
        self._nodes = nodes
        self._topic = topic
        self._ids: dict[int, str] = {}
        self._member: int | None = None
        self._generations: list[int] = []
        self.leader, self.partition = 0, 0

    def find(self) -> None:
        """Waits for a coordinator that has loaded its log."""
        self.leader = self._nodes.group_coordinator(self.name)
        self.partition = partition_of(self.name, len(self._nodes.leaders(OFFSETS)))
        self._nodes.done(
            self._connection("group"),
            lambda: group_requests.fetch_offset(self.name, self._topic),
            _LOADED,
        )

    def member(self, number: int) -> str:
        """Returns the id of a member, even if the member has left. The number -1 denotes no
        member.
        """
        return "" if number == -1 else self._ids.get(number, f"nobody-{number}")

    def generation(self, number: int) -> int:
        """Returns the generation that has this number in the model."""
        if number < len(self._generations):
            return -1 if number == -1 else self._generations[number]
        return max(self._generations, default=0) + _STRANGE + number

    def joined(self, number: int) -> None:
        """Makes a member join. It then is the only member."""
        if self._member != number:
            self.left()
            self._ids.pop(number, None)
        connection = self._connection(f"member-{number}")
        # The metadata is changed so that a rejoining member starts a new generation, too.
        metadata = len(self._generations).to_bytes(4, "big")
        id_ = self._ids.get(number, "")
        answer = connection.ask(group_requests.join(self.name, id_, metadata))
        if connection.error(answer) == _ID_REQUIRED:
            again = group_requests.join(self.name, answer.member_id, metadata)
            answer = connection.ask(again)
        check(connection, answer)
        self._ids[number], self._member = answer.member_id, number
        self._generations.append(answer.generation_id)
        synced = group_requests.sync(self.name, answer.member_id, answer.generation_id)
        check(connection, connection.ask(synced))

    def left(self) -> None:
        """Makes the member leave, if the group has one."""
        if self._member is not None:
            connection = self._connection(f"member-{self._member}")
            left = group_requests.leave(self.name, self._ids[self._member])
            check(connection, connection.ask(left))
            self._member = None

    def fetched(self, who: str) -> dict[str, Any]:
        """Returns the answer to a fetch of the stable offset."""
        connection = self._connection(who)
        answer = connection.ask(group_requests.fetch_offset(self.name, self._topic))
        error = connection.error(answer)
        if error != "NONE":
            # A response with an error of the group contains no partitions.
            return {"error": error, "offset": -1}
        every = (group.topics for group in answer.groups)
        offsets = [
            partition for topics in every for topic in topics for partition in topic.partitions
        ]
        if len(offsets) != 1:
            count = len(offsets)
            message = f"OffsetFetch: {count} offsets of {self.name} are in the answer, not 1"
            raise Unreachable(message)
        return {"error": error, "offset": offsets[0].committed_offset}

    def commit(self, who: tuple[str, int, int], arguments: dict[str, Any], version: int) -> Any:
        """Builds TxnOffsetCommit for a transactional id, a producer id and an epoch."""
        member, generation = (
            self.member(arguments["member"]),
            self.generation(arguments["generation"]),
        )
        offset_arguments = self._topic, arguments["offset"], version
        return group_requests.commit_offset(*who, self.name, member, generation, *offset_arguments)

    def _connection(self, who: str) -> Connection:
        return self._nodes.to(self.leader, who)


# ---------------------------------------------------------------- coordinators and producer ids


STRANGERS = 1 << 60
"""The least producer id that coordinators do not assign."""
BROKER = "broker"
"""The client name for requests that brokers make."""


class Coordinator:
    """The coordinator of one transactional id at a time. ``partition`` is the partition with the
    records of the id, and ``epoch`` is its leader epoch.
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
            raise Unreachable("coordinators can move only in a cluster of two or more brokers")
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
    """The producer ids of a history, numbered as in the model, and the client instances that
    received them.

    ``epoch`` is the initial epoch of the first producer id. ``stranger`` is the number of an id
    that does not exist.
    """

    def __init__(self, stranger: int, epoch: int, first: int = -1) -> None:
        self._stranger = stranger
        self._numbers = {first: 0}
        # This id is unique, because partitions remember the ids that they have seen.
        self._nobody = STRANGERS + time.time_ns()
        self._given = {(0, epoch): 0}
        self._instance = 0

    def __len__(self) -> int:
        return len(self._numbers)

    def knows(self, number: int) -> bool:
        """Checks whether an id with this number has been assigned."""
        return 0 <= number < len(self._numbers)

    def id_of(self, number: int) -> int:
        """Returns the producer id that has this number in the model."""
        ids = {own: id_ for id_, own in self._numbers.items()}
        return ids.get(number, self._nobody)

    def number_of(self, id_: int) -> int:
        """Returns the number of a producer id. Ids are numbered in the order of their first use."""
        return self._numbers.setdefault(id_, len(self._numbers))

    def may_say(self, pair: Mapping[str, Any]) -> bool:
        """Checks whether a client can name this producer id and epoch. The id must have been
        assigned, or be the one that no producer ever gets.

        Ids that are assigned later cannot be named yet, because their values are unknown.
        """
        number = pair["producer_id"]
        return bool((self.knows(number) or number == self._stranger) and pair["epoch"] >= 0)

    def who(self, request: str, pair: Mapping[str, Any] | None) -> str:
        """Returns the instance that makes a request: a new instance, or the one that received the
        pair. A pair that no instance received belongs to the older instance.
        """
        if request in ("addv5", "marker", "late_marker"):
            return BROKER
        if pair is None:
            self._instance = 1 - self._instance
            return str(self._instance)
        return str(self._given.get((pair["producer_id"], pair["epoch"]), 1 - self._instance))

    def give(self, id_: int, epoch: int, who: str) -> int:
        """Records the answer to an instance. Returns the number of the producer id."""
        number = self.number_of(id_)
        self._given[number, epoch] = self._instance if who == BROKER else int(who)
        return number
