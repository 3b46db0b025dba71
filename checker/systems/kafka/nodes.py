"""Manages the brokers of a cluster by number and the connections to them. Also defines their
outages: the user's commands, and how frequently they are run.

Each client has its own connection to each broker, as real clients and brokers do.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from fencepost.checker.systems.kafka import group_requests, requests
from fencepost.checker.systems.kafka.cluster import GREETING, Unreachable, address
from fencepost.checker.systems.kafka.requests import Connection
from fencepost.spec.text.problem import Problem, Rejected

TIMEOUT_SECONDS = 60.0
"""Seconds after which retriable errors are reported."""
PAUSE = 0.02
_KNOWN = ("NONE", "TOPIC_ALREADY_EXISTS")


class Nodes:
    """The cluster at ``bootstrap``, which is HOST:PORT of a broker. ``greeting`` is the latest
    ApiVersions response of that broker. Raises `Unreachable`.
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
        """The brokers that are known since the last metadata response."""
        return sorted(self._addresses)

    def close(self) -> None:
        for connection in (self.first, *self._open.values()):
            connection.close()
        self._open = {}

    def again(self) -> None:
        """Reconnects as soon as a broker answers."""

        def connected() -> bool:
            try:
                self.first, self.greeting = self._greeted()
            except Unreachable:
                return False
            return True

        until(connected, f"{':'.join(map(str, self._bootstrap))} answers")

    def answer(self) -> bool:
        """Checks whether a broker answers."""
        try:
            connection, _ = self._greeted()
        except Unreachable:
            return False
        connection.close()
        return True

    def _greeted(self) -> tuple[Connection, Any]:
        """Connects to the first broker. Returns the connection and the broker's ApiVersions
        response.
        """
        connection = Connection(*self._bootstrap, GREETING)
        try:
            answer = connection.ask(requests.features())
        except BaseException:
            connection.close()
            raise
        connection.wait(requests.TIMEOUT_SECONDS)
        return connection, answer

    def to(self, node: int, who: str) -> Connection:
        """Returns the connection of client ``who`` to a broker. Opens it if necessary."""
        if (node, who) not in self._open:
            self._open[node, who] = Connection(*self._addresses[node])
        return self._open[node, who]

    def has_topic(self, name: str, replicas: list[list[int]]) -> None:
        """Creates a topic unless it exists."""
        self.done(self.first, lambda: requests.create_topic(name, replicas), _KNOWN)

    def leaders(self, topic: str) -> list[tuple[int, int]]:
        """Returns the leader of each partition of a topic (-1 if it has none), with its leader
        epoch.
        """
        return [
            (partition.leader_id, partition.leader_epoch) for partition in self._partitions(topic)
        ]

    def in_sync(self, topic: str, partition: int) -> list[int]:
        """Returns the in-sync replicas of a partition."""
        return [int(replica) for replica in self._partitions(topic)[partition].isr_nodes]

    def _partitions(self, topic: str) -> list[Any]:
        answer = self.done(self.first, lambda: requests.metadata(topic))
        self._addresses = {broker.node_id: (broker.host, broker.port) for broker in answer.brokers}
        [topic_metadata] = answer.topics
        return sorted(topic_metadata.partitions, key=lambda broker: broker.partition_index)

    def coordinator(self, name: str) -> int:
        """Returns the coordinator of a transactional id."""
        return self._found(lambda: requests.find_coordinator(name))

    def group_coordinator(self, name: str) -> int:
        """Returns the coordinator of a consumer group."""
        return self._found(lambda: group_requests.find_coordinator(name))

    def _found(self, request: Callable[[], Any]) -> int:
        answer = self.done(self.first, request)
        [coordinator] = answer.coordinators
        self._addresses[coordinator.node_id] = (coordinator.host, coordinator.port)
        return int(coordinator.node_id)

    def done(
        self,
        where: Connection,
        request: Callable[[], Any],
        accepted: tuple[str, ...] = ("NONE",),
    ) -> Any:
        """Repeats a request until its error is accepted, because a starting broker returns
        retriable errors. Raises `Unreachable` if this takes too long.
        """
        end = time.monotonic() + TIMEOUT_SECONDS
        while True:
            answer = where.ask(request())
            error = where.error(answer)
            if error in accepted:
                return answer
            if time.monotonic() > end:
                raise Unreachable(f"{type(answer).__name__}: {error}")
            time.sleep(PAUSE)


@contextmanager
def plainly() -> Generator[None]:
    """Converts `Unreachable` to a problem without a location."""
    try:
        yield
    except Unreachable as why:
        raise Rejected([Problem("F864", None, str(why))]) from None


def check(connection: Connection, answer: Any) -> None:
    """Raises `Unreachable` if a response contains an error."""
    error = connection.error(answer)
    if error != "NONE":
        raise Unreachable(f"{type(answer).__name__}: {error}")


def until(holds: Callable[[], bool], condition: str) -> None:
    """Waits until a condition holds. Raises `Unreachable` if this takes too long."""
    end = time.monotonic() + TIMEOUT_SECONDS
    while not holds():
        if time.monotonic() > end:
            raise Unreachable(f"not within {TIMEOUT_SECONDS:.0f} s: {condition}")
        time.sleep(PAUSE)


# ---------------------------------------------------------------- outages


DEFAULT_PROBABILITY = "0.02"
_MOVES = 0.3
"""Relative frequency of moving the coordinator, which takes a second."""


class Outages:
    """Options of a driver, given as text on the command line. Raises `Unreachable`.

    ``kill`` and ``start`` are commands that kill and start the only broker. Without ``start``, the
    broker must be restarted in another way. ``second`` is the number of the broker that leads the
    second partition, and the commands ``pause`` and ``resume`` stop and continue this broker.
    ``levels=yes`` changes transaction.version, and ``moves=yes`` moves the coordinator. ``often``
    is the frequency of kills relative to each request.
    """

    def __init__(
        self,
        kill: str,
        start: str,
        second: str,
        pause: str,
        resume: str,
        levels: str,
        often: str,
        moves: str,
    ) -> None:
        if len({bool(second), bool(pause), bool(resume)}) > 1:
            raise Unreachable("second, pause and resume are given together, or none of them")
        if start and not kill:
            raise Unreachable("start requires a broker that was stopped with kill")
        if kill and second:
            raise Unreachable("kill requires a cluster of one broker, and second a cluster of two")
        self.kill, self.start = kill, start
        self.second = whole("second", second) if second else None
        self.pause, self.resume = pause, resume
        self.levels = yes("levels", levels)
        self._often = _share("outages", often)
        self.moves = yes("moves", moves)
        if self.moves and (kill or second):
            raise Unreachable("moves requires a cluster without killed or stopped brokers")

    def weight(self, request: str) -> float:
        """Returns the relative frequency of a request or outage. Slow ones are rare."""
        if request in ("killed", "put"):
            # Most invented records are ones that a coordinator would not write.
            return self._often * (1 if request == "killed" else 4) if self.kill else 0.0
        if request == "moved":
            return _MOVES if self.moves else 0.0
        if request in ("stopped", "continued"):
            return 0.0 if self.second is None else 1.0
        return float(request != "level" or self.levels)


def run(command: str) -> None:
    """Runs a command of the user in a shell. Raises `Unreachable`."""
    # The output goes to a file, because a background process would keep a pipe open.
    with tempfile.TemporaryFile() as errors:
        try:
            done = subprocess.run(
                command, shell=True, check=False, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=errors, timeout=TIMEOUT_SECONDS,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise Unreachable(f"`{command}` has not ended within {TIMEOUT_SECONDS:.0f} s") from None
        errors.seek(0)
        output = errors.read().decode(errors="replace").strip().splitlines()
    if done.returncode:
        why = f": {output[-1]}" if output else ""
        raise Unreachable(f"`{command}` ended with {done.returncode}{why}")


def whole(name: str, text: str) -> int:
    """Parses an option whose value is a number. Raises `Unreachable`."""
    if not text.isdecimal():
        raise Unreachable(f"{name}={text} is not a number")
    return int(text)


def yes(name: str, text: str) -> bool:
    """Parses an option whose value is yes or no. Raises `Unreachable`."""
    if text not in ("yes", "no"):
        raise Unreachable(f"{name}={text} is neither yes nor no")
    return text == "yes"


def _share(name: str, text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise Unreachable(f"{name}={text} is not a number from 0 to 1")
    return share
