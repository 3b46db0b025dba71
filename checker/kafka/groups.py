"""The consumer group of a history: at most one member at a time, with members and generations
numbered as in the model.
"""

from __future__ import annotations

from typing import Any

from fencepost.checker.kafka import group_requests
from fencepost.checker.kafka.cluster import Unreachable
from fencepost.checker.kafka.events import OFFSETS
from fencepost.checker.kafka.nodes import Nodes, check
from fencepost.checker.kafka.requests import Connection
from fencepost.checker.kafka.transaction_log import partition_of

_STRANGE = 1_000
"""Offset for numbers of generations that do not exist."""
_LOADED = ("NONE", "UNSTABLE_OFFSET_COMMIT")
_ID_REQUIRED = "MEMBER_ID_REQUIRED"


class Group:
    """A new group. ``leader`` is its coordinator, ``partition`` its partition of
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
        """The id of a member, also after it has left; -1 denotes none."""
        return "" if number == -1 else self._ids.get(number, f"nobody-{number}")

    def generation(self, number: int) -> int:
        """The generation with a number of the model."""
        if number < len(self._generations):
            return -1 if number == -1 else self._generations[number]
        return max(self._generations, default=0) + _STRANGE + number

    def joined(self, number: int) -> None:
        """Makes a member join, as the only member."""
        if self._member != number:
            self.left()
            self._ids.pop(number, None)
        connection = self._connection(f"member-{number}")
        # Changed metadata, so that a rejoining member starts a new generation, too.
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
        """Makes the member leave, if there is one."""
        if self._member is not None:
            connection = self._connection(f"member-{self._member}")
            left = group_requests.leave(self.name, self._ids[self._member])
            check(connection, connection.ask(left))
            self._member = None

    def fetched(self, who: str) -> dict[str, Any]:
        """The answer to a fetch of the stable offset."""
        connection = self._connection(who)
        answer = connection.ask(group_requests.fetch_offset(self.name, self._topic))
        error = connection.error(answer)
        if error != "NONE":
            # An error of the group has no partitions.
            return {"error": error, "offset": -1}
        every = (group.topics for group in answer.groups)
        offsets = [one for topics in every for topic in topics for one in topic.partitions]
        if len(offsets) != 1:
            count = len(offsets)
            message = f"OffsetFetch: {count} offsets of {self.name} are in the answer, and not 1"
            raise Unreachable(message)
        return {"error": error, "offset": offsets[0].committed_offset}

    def commit(self, who: tuple[str, int, int], arguments: dict[str, Any], version: int) -> Any:
        """TxnOffsetCommit for a transactional id, producer id and epoch."""
        member, generation = (
            self.member(arguments["member"]),
            self.generation(arguments["generation"]),
        )
        offset_arguments = self._topic, arguments["offset"], version
        return group_requests.commit_offset(*who, self.name, member, generation, *offset_arguments)

    def _connection(self, who: str) -> Connection:
        return self._nodes.to(self.leader, who)
