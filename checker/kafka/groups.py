"""The consumer group of a history: its members, one at a time, and its generations, as the model
numbers them; and the partition that has its records.
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
"""Generations from here on above the last no group has."""
_LOADED = ("NONE", "UNSTABLE_OFFSET_COMMIT")
_ID_REQUIRED = "MEMBER_ID_REQUIRED"


class Group:
    """A group that nobody has heard of yet. ``leader`` is the broker that coordinates it, and
    ``partition`` the one of `__consumer_offsets` that has its records.
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
        """Waits until it has a coordinator that has read its log."""
        self.leader = self._nodes.group_coordinator(self.name)
        self.partition = partition_of(self.name, len(self._nodes.leaders(OFFSETS)))
        self._nodes.done(
            self._connection("group"),
            lambda: group_requests.fetch_offset(self.name, self._topic),
            _LOADED,
        )

    def member(self, number: int) -> str:
        """The id of a member: the last it had, if it has left; -1 is none."""
        return "" if number == -1 else self._ids.get(number, f"nobody-{number}")

    def generation(self, number: int) -> int:
        """The generation that a number of the model stands for."""
        if number < len(self._generations):
            return -1 if number == -1 else self._generations[number]
        return max(self._generations, default=0) + _STRANGE + number

    def joined(self, number: int) -> None:
        """A member joins, and is the only one then."""
        if self._member != number:
            self.left()
            self._ids.pop(number, None)
        connection = self._connection(f"member-{number}")
        # Other metadata each time: so one that is a member already begins a new generation, too.
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
        """The member leaves, if there is one."""
        if self._member is not None:
            connection = self._connection(f"member-{self._member}")
            left = group_requests.leave(self.name, self._ids[self._member])
            check(connection, connection.ask(left))
            self._member = None

    def fetched(self, who: str) -> dict[str, Any]:
        """What a fetch of the stable offset is answered."""
        connection = self._connection(who)
        answer = connection.ask(group_requests.fetch_offset(self.name, self._topic))
        error = connection.error(answer)
        if error != "NONE":
            # Where the error is that of the group, nothing is said of its partitions.
            return {"error": error, "offset": -1}
        every = (group.topics for group in answer.groups)
        found = [one for topics in every for topic in topics for one in topic.partitions]
        if len(found) != 1:
            what = f"OffsetFetch: {len(found)} offsets of {self.name} are in the answer, and not 1"
            raise Unreachable(what)
        return {"error": error, "offset": found[0].committed_offset}

    def commit(self, who: tuple[str, int, int], said: dict[str, Any], version: int) -> Any:
        """TxnOffsetCommit of a transactional id, a producer id and its epoch."""
        member, generation = self.member(said["member"]), self.generation(said["generation"])
        what = self._topic, said["offset"], version
        return group_requests.commit_offset(*who, self.name, member, generation, *what)

    def _connection(self, who: str) -> Connection:
        return self._nodes.to(self.leader, who)
