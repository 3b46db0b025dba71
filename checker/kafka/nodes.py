"""The brokers of a cluster, by their numbers, and connections to them.

Who asks has a connection of its own to each broker, as clients and brokers have. This knows who
leads a partition and who coordinates an id, and nothing of transactions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from fencepost.checker.kafka import group_requests, requests
from fencepost.checker.kafka.cluster import GREETING, Unreachable, address
from fencepost.checker.kafka.requests import Connection
from fencepost.spec.text.problem import Problem, Rejected

PATIENCE = 60.0
"""Seconds in which a broker has to do what it says it cannot do yet."""
PAUSE = 0.02
_KNOWN = ("NONE", "TOPIC_ALREADY_EXISTS")


class Nodes:
    """The cluster at ``bootstrap``, HOST:PORT of one of its brokers; ``greeting`` is what this said
    last of its features when it was connected to. Raises `Unreachable`.
    """

    def __init__(self, bootstrap: str) -> None:
        try:
            self._bootstrap = address(bootstrap)
        except Unreachable as why:
            raise Unreachable(f"bootstrap={why}") from None
        self._addresses: dict[int, tuple[str, int]] = {}
        self._open: dict[tuple[int, str], Connection] = {}
        self.first, self.greeting = self._greeted()

    @property
    def numbers(self) -> list[int]:
        """The brokers that were known when partitions were last asked for."""
        return sorted(self._addresses)

    def close(self) -> None:
        for one in (self.first, *self._open.values()):
            one.close()
        self._open = {}

    def again(self) -> None:
        """Connects anew, as soon as there is somebody who answers."""

        def connected() -> bool:
            try:
                self.first, self.greeting = self._greeted()
            except Unreachable:
                return False
            return True

        until(connected, f"{':'.join(map(str, self._bootstrap))} answers")

    def answer(self) -> bool:
        """Whether there is somebody who answers."""
        try:
            made, _ = self._greeted()
        except Unreachable:
            return False
        made.close()
        return True

    def _greeted(self) -> tuple[Connection, Any]:
        """A connection to the first broker, and its first answer: the levels of its features."""
        made = Connection(*self._bootstrap, GREETING)
        try:
            answer = made.ask(requests.features())
        except BaseException:
            made.close()
            raise
        made.wait(requests.PATIENCE)
        return made, answer

    def to(self, node: int, who: str) -> Connection:
        """The connection of somebody to a broker."""
        if (node, who) not in self._open:
            self._open[node, who] = Connection(*self._addresses[node])
        return self._open[node, who]

    def has_topic(self, name: str, replicas: list[list[int]]) -> None:
        """Makes a topic, if it is not there."""
        self.done(self.first, lambda: requests.create_topic(name, replicas), _KNOWN)

    def leaders(self, topic: str) -> list[tuple[int, int]]:
        """The brokers that lead the partitions of a topic, -1 where there is none, and the epoch of
        each leader.
        """
        return [(one.leader_id, one.leader_epoch) for one in self._partitions(topic)]

    def in_sync(self, topic: str, partition: int) -> list[int]:
        """The brokers that have all of a partition."""
        return [int(one) for one in self._partitions(topic)[partition].isr_nodes]

    def _partitions(self, topic: str) -> list[Any]:
        answer = self.done(self.first, lambda: requests.metadata(topic))
        self._addresses = {one.node_id: (one.host, one.port) for one in answer.brokers}
        [found] = answer.topics
        return sorted(found.partitions, key=lambda one: one.partition_index)

    def coordinator(self, name: str) -> int:
        """The broker that coordinates a transactional id."""
        return self._found(lambda: requests.find_coordinator(name))

    def group_coordinator(self, name: str) -> int:
        """The broker that coordinates a consumer group."""
        return self._found(lambda: group_requests.find_coordinator(name))

    def _found(self, request: Callable[[], Any]) -> int:
        answer = self.done(self.first, request)
        [found] = answer.coordinators
        self._addresses[found.node_id] = (found.host, found.port)
        return int(found.node_id)

    def done(
        self,
        where: Connection,
        request: Callable[[], Any],
        said: tuple[str, ...] = ("NONE",),
    ) -> Any:
        """Asks until the answer has no error: a broker that has just started says "not yet"."""
        end = time.monotonic() + PATIENCE
        while True:
            answer = where.ask(request())
            error = where.error(answer)
            if error in said:
                return answer
            if time.monotonic() > end:
                raise Unreachable(f"{type(answer).__name__}: {error}")
            time.sleep(PAUSE)


@contextmanager
def plainly() -> Generator[None]:
    """What the cluster does not do is said without a place in this program."""
    try:
        yield
    except Unreachable as why:
        raise Rejected([Problem("F864", None, str(why))]) from None


def check(connection: Connection, answer: Any) -> None:
    """Raises `Unreachable` where an answer is an error."""
    error = connection.error(answer)
    if error != "NONE":
        raise Unreachable(f"{type(answer).__name__}: {error}")


def until(holds: Callable[[], bool], what: str) -> None:
    """Waits until something holds. Raises `Unreachable`."""
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            raise Unreachable(f"not within {PATIENCE:.0f} s: {what}")
        time.sleep(PAUSE)
