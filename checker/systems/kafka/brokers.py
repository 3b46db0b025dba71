"""Kafka brokers as a system that can be driven.

The requests of `conform_answers_v1` and `conform_answers_v2` are sent one at a time, each after the
brokers have settled. Outages are injected between them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from functools import partial
from importlib.util import find_spec
from typing import Any, cast

from fencepost.checker.printing.json_values import Json
from fencepost.checker.systems.kafka import group_requests, requests
from fencepost.checker.systems.kafka.cluster import Unreachable
from fencepost.checker.systems.kafka.events import OFFSETS, TRANSACTION_LOG
from fencepost.checker.systems.kafka.groups import Coordinator, Group, Identities
from fencepost.checker.systems.kafka.nodes import (
    DEFAULT_PROBABILITY,
    Nodes,
    Outages,
    check,
    plainly,
    run,
    until,
    whole,
    yes,
)
from fencepost.checker.systems.kafka.requests import ADMINISTRATOR, Connection
from fencepost.checker.systems.kafka.transaction_log import written

PARTITIONS = 2
"""The number of partitions of the topic. As the number of a partition, this denotes the group's
partition of `__consumer_offsets`.
"""
REST, LONG = 3.0, 30.0
"""Seconds after which an incomplete transaction is considered settled. The first limit applies if a
partition may have refused its marker, and the second in all other cases.
"""
MAX_PIPELINED = 200
"""Maximum number of pipelined requests whose answers are independent of each other."""
LEVELS = {"V1": 1, "V2": 2}
"""The ``transaction.version`` for each protocol of the models."""
_FEATURE = "transaction.version"
_WRITE_TXN_MARKERS = 27
"""The API key of WriteTxnMarkers."""
_TIMEOUT = 900_000
"""The transaction timeout in ms. This is the maximum of the default configuration."""
_PENDING = ("PrepareCommit", "PrepareAbort", "PrepareEpochFence")
EVENTS = ("killed", "put", "stopped", "continued", "level", "joined", "left", "moved")
OF_GROUPS = ("add_offsets", "txn_offset_commit", "fetch_offsets", "joined", "left")
_OF_LEADERS = ("produce", "marker", "late_marker", "txn_offset_commit")
_OFTEN = {"txn_offset_commit": 5.0, "fetch_offsets": 0.5, "joined": 0.4, "left": 0.2}
"""Weights of requests to a group. They make commits frequent, because most commits are refused due
to their arguments.
"""
_OBSERVER = "observer"
"""The client that describes transactions."""


class Brokers:
    """The cluster at ``bootstrap`` (HOST:PORT), with a ``topic`` of two partitions that is created
    if necessary.

    Each history uses its own transactional id, with two client instances at a time. An
    InitProducerId without a producer id comes from a new instance, which replaces the older of the
    two. ``first_epoch`` is the initial epoch of the producer id, which is reached by requests.
    ``stranger`` is the number of a producer id that does not exist, which is MaxProducerId of the
    checks. With ``groups=yes``, each history has a consumer group that commits offsets in its
    transactions. The other options are those of `Outages`.
    """

    def __init__(
        self,
        bootstrap: str = "localhost:9092",
        topic: str = "fencepost",
        first_epoch: str = "0",
        stranger: str = "4",
        kill: str = "",
        start: str = "",
        second: str = "",
        pause: str = "",
        resume: str = "",
        levels: str = "no",
        outages: str = DEFAULT_PROBABILITY,
        groups: str = "no",
        moves: str = "no",
    ) -> None:
        with plainly():
            if find_spec("kafka") is None:
                message = "a broker is asked by kafka-python; pip install 'fencepost[kafka]'"
                raise Unreachable(message)
            self._outages = Outages(kill, start, second, pause, resume, levels, outages, moves)
            self._grouped = yes("groups", groups)
            self._first_epoch = whole("first_epoch", first_epoch)
            self._stranger = whole("stranger", stranger)
            self._topic = topic
            self._nodes = Nodes(bootstrap)
            self._histories = 0
            self._name = "fencepost"
            self._ids = Identities(self._stranger, self._first_epoch)
            self._stuck: tuple[str, int, int] | None = None
            self._stopped: set[int] = set()
            self._epochs: dict[tuple[int, int], int] = {}
            self._was_put = False
            self._down = False
            self._coordinator = Coordinator(self._nodes)
            self._leaders: list[int] = []
            self._second = self._outages.second
            self._group = Group(self._nodes, self._name, topic)
            try:
                answer = self._nodes.greeting
                newest = {version.api_key: version.max_version for version in answer.api_keys}
                self._newest_marker = min(2, newest.get(_WRITE_TXN_MARKERS, 2))
                self._level = self._protocol = _transaction_version(answer)
                self._begin()
            except BaseException:
                self._nodes.close()
                raise

    # ------------------------------------------------------------ what a driver asks

    def reset(self) -> None:
        """Starts a history with a new transactional id. The first producer id of this history has
        number 0.
        """
        with plainly():
            self._repair()
            self._name = self._fresh_name()
            self._coordinator.find(self._name)
            if self._grouped:
                self._find_group()
            coordinator = self._coordinator.connection(_OBSERVER)
            init_answer = self._nodes.done(
                coordinator, lambda: requests.init_producer_id(self._name, timeout=_TIMEOUT)
            )
            self._ids = Identities(self._stranger, self._first_epoch, init_answer.producer_id)
            for first in range(0, self._first_epoch, MAX_PIPELINED):
                epochs = range(first, min(first + MAX_PIPELINED, self._first_epoch))
                for epoch in epochs:
                    coordinator.send(
                        requests.init_producer_id(
                            self._name, init_answer.producer_id, epoch, _TIMEOUT
                        )
                    )
                for _ in epochs:
                    check(coordinator, coordinator.take())
            self._epochs = {}
            self._was_put = False

    def send(self, request: str, fields: Mapping[str, Json]) -> Mapping[str, Json] | None:
        arguments = cast("Mapping[str, Any]", fields)
        with plainly():
            if request in EVENTS:
                return {} if self._inject(request, arguments) else None
            if not self._sayable(request, arguments):
                return None
            if request == "fetch_offsets":
                return self._group.fetched(_OBSERVER)
            who = self._ids.who(request, _pair(request, arguments))
            connection = self._connection(request, arguments, who)
            answer = connection.ask(self._made(request, arguments))
            error = connection.error(answer)
            if request in _OF_LEADERS and error == "NONE":
                where = arguments.get("p", PARTITIONS), self._ids.id_of(arguments["pid"])
                self._epochs[where] = max(self._epochs.get(where, -1), arguments["epoch"])
            self._come_to_rest()
            if request not in ("init", "end"):
                return {"error": error}
            id_, epoch = getattr(answer, "producer_id", -1), getattr(answer, "producer_epoch", -1)
            if error != "NONE" or id_ is None or id_ < 0:
                return {"error": error, "id": -1, "answered": -1}
            return {"error": error, "id": self._ids.give(id_, epoch, who), "answered": epoch}

    def observe(self) -> Iterable[Mapping[str, Json]]:
        return ()

    def weight(self, request: str) -> float:
        """Returns the relative frequency of a request or outage. Slow ones are rare."""
        if request in OF_GROUPS and not self._grouped:
            return 0.0
        return _OFTEN.get(request) or self._outages.weight(request)

    def close(self) -> None:
        with plainly():
            try:
                self._repair()
            finally:
                self._nodes.close()

    # ------------------------------------------------------------ requests

    def _sayable(self, request: str, arguments: Mapping[str, Any]) -> bool:
        """Checks whether the request can be made: its identity must exist, and the history must
        have a group if the request needs one.
        """
        if not self._grouped and (request in OF_GROUPS or arguments.get("p") == PARTITIONS):
            return False
        pair = _pair(request, arguments)
        return pair is None or self._ids.may_say(pair)

    def _connection(self, request: str, arguments: Mapping[str, Any], who: str) -> Connection:
        if request in _OF_LEADERS:
            return self._nodes.to(self._leader(arguments.get("p", PARTITIONS)), who)
        return self._coordinator.connection(who)

    def _made(self, request: str, arguments: Mapping[str, Any]) -> Any:
        if request == "init":
            expected = arguments["expected"]
            pair = (-1, -1)
            if expected is not None:
                pair = self._ids.id_of(expected["producer_id"]), expected["epoch"]
            return requests.init_producer_id(self._name, *pair, _TIMEOUT)
        who = self._ids.id_of(arguments["pid"]), arguments["epoch"]
        if request == "end":
            return requests.end_txn(self._name, *who, arguments["commit"], self._version_of_end)
        if request == "add_offsets":
            return group_requests.add_offsets(self._name, *who, self._group.name)
        if request == "txn_offset_commit":
            version = self._version_of_commit
            return self._group.commit((self._name, *who), dict(arguments), version)
        where = self._where(arguments["p"])
        if request == "add":
            return requests.add_partition(self._name, *who, *where)
        if request == "addv5":
            return requests.add_for_client(self._name, *who, *where, verify=self._protocol != 2)
        if request == "produce":
            return requests.produce(
                self._name, *who, arguments["seq"], *where, self._version_of_produce
            )
        if request in ("marker", "late_marker"):
            commit, level = arguments["commit"], self._protocol
            sender = level, self._coordinator.epoch - (request == "late_marker")
            return requests.write_marker(*who, commit, *where, *sender, self._newest_marker)
        raise ValueError(f"{request} is not a request of conform_answers_v1 or v2")

    @property
    def _version_of_end(self) -> int:
        return 5 if self._protocol == 2 else 4

    @property
    def _version_of_produce(self) -> int:
        return 12 if self._protocol == 2 else 10

    @property
    def _version_of_commit(self) -> int:
        return 5 if self._protocol == 2 else 3

    def _leader(self, p: int) -> int:
        """Returns the leader of a partition, given the number of the partition in the model."""
        return self._group.leader if p == PARTITIONS else self._leaders[p]

    def _where(self, p: int) -> tuple[str, int]:
        return (OFFSETS, self._group.partition) if p == PARTITIONS else (self._topic, p)

    # ------------------------------------------------------------ events of brokers

    def _inject(self, outage: str, arguments: Mapping[str, Any]) -> bool:
        """Injects an outage. Returns whether the options allow it."""
        match outage:
            case "killed":
                return self._killed()
            case "put":
                return self._put(arguments)
            case "stopped":
                return self._stop(arguments["p"])
            case "continued":
                return self._continue(arguments["p"])
            case "joined" | "left":
                return self._rebalance(arguments)
            case "moved":
                return self._move()
            case _:
                return self._outages.levels and self._set_level(LEVELS[arguments["to"]])

    def _killed(self) -> bool:
        if not self._outages.kill:
            return False
        watched = self._nodes.first
        # The outage is recorded first, so that `_repair` undoes it after an interrupt.
        self._down = True
        run(self._outages.kill)
        until(watched.is_closed, f"`{self._outages.kill}` has killed the broker")
        self._start_again(bool(self._outages.start))
        self._coordinator.find(self._name)
        if self._grouped:
            self._group.find()
        self._stuck = None
        self._come_to_rest()
        return True

    def _start_again(self, by_command: bool) -> None:
        """Waits until the broker is ready. With ``by_command``, starts the broker first."""
        self._nodes.close()
        if by_command:
            run(self._outages.start)
        self._down = False
        self._nodes.again()
        self._begin()

    def _put(self, arguments: Mapping[str, Any]) -> bool:
        """Writes a record into the transaction log and restarts the coordinator, which then reads
        the record.
        """
        previous_known = arguments["previous"] == -1 or self._ids.knows(arguments["previous"])
        if not self._outages.kill or not self._ids.knows(arguments["pid"]) or not previous_known:
            return False
        if PARTITIONS in arguments["partitions"] and not self._grouped:
            return False
        successor = -1
        if arguments["successor"]:
            name = f"{self._name}-successor-{len(self._ids)}"
            init_answer = self._nodes.done(
                self._nodes.first, lambda: requests.init_producer_id(name)
            )
            successor = init_answer.producer_id
            self._ids.number_of(successor)
        record = written(
            self._name,
            arguments["state"],
            self._ids.id_of(arguments["pid"]),
            arguments["epoch"],
            [self._where(p) for p in arguments["partitions"]],
            -1 if arguments["previous"] == -1 else self._ids.id_of(arguments["previous"]),
            successor,
            2 if arguments["of"] == "V2" else 0,
            _TIMEOUT,
            time.time_ns() // 1_000_000,
        )
        coordinator = self._coordinator.connection(_OBSERVER)
        request = requests.put_record(*record, TRANSACTION_LOG, self._coordinator.partition)
        check(coordinator, coordinator.ask(request, ADMINISTRATOR))
        self._was_put = True
        return self._killed()

    def _stop(self, p: int) -> bool:
        if self._second is None or self._leader(p) != self._second:
            return False
        # The outage is recorded first, so that `_repair` undoes it after an interrupt.
        self._stopped.add(p)
        run(self._outages.pause)
        return True

    def _move(self) -> bool:
        if not self._outages.moves:
            return False
        self._coordinator.move()
        self._stuck = None
        self._come_to_rest()
        return True

    def _rebalance(self, arguments: Mapping[str, Any]) -> bool:
        if not self._grouped:
            return False
        if "member" in arguments:
            self._group.joined(arguments["member"])
        else:
            self._group.left()
        return True

    def _continue(self, p: int) -> bool:
        self._check_lead()
        run(self._outages.resume)
        self._stopped.discard(p)
        self._stuck = None
        self._come_to_rest()
        return True

    def _set_level(self, level: int) -> bool:
        first = self._nodes.first
        lowered = level < self._level
        # The outage is recorded first, so that `_repair` undoes it after an interrupt.
        self._level = level
        check(first, first.ask(requests.set_feature(_FEATURE, level, lowered)))
        running = [
            node_id
            for node_id in self._nodes.numbers
            if node_id != self._second or not self._stopped
        ]
        for node in running:
            until(partial(self._has_level, node, level), f"{_FEATURE} is {level}")
        return True

    def _has_level(self, node: int, level: int) -> bool:
        answer = self._nodes.to(node, _OBSERVER).ask(requests.features())
        return _transaction_version(answer) == level

    def _repair(self) -> None:
        """Undoes all outages."""
        if self._down:
            # The broker may have been killed and restarted already, or not.
            self._start_again(bool(self._outages.start) and not self._nodes.answer())
        if self._stopped:
            run(self._outages.resume)
            self._stopped = set()
        if self._level != self._protocol:
            # The connections may have pending answers.
            self._nodes.close()
            self._nodes.again()
            self._set_level(self._protocol)
        self._stuck = None

    # ------------------------------------------------------------ the cluster

    def _begin(self) -> None:
        """Waits until the brokers are ready. A new broker needs some time for this, and so do the
        leaders of a new topic.
        """
        numbers = self._first_numbers()
        where = [[numbers[0]], [numbers[0] if self._second is None else self._second]]
        self._nodes.has_topic(self._topic, where)

        def led() -> bool:
            self._leaders = [node for node, _ in self._nodes.leaders(self._topic)]
            return len(self._leaders) >= PARTITIONS and min(self._leaders) >= 0

        until(led, f"{self._topic} has {PARTITIONS} partitions, each with a leader")
        wanted = [replicas[0] for replicas in where]
        if self._second is not None and self._leaders[:PARTITIONS] != wanted:
            message = f"{self._topic} is led by {self._leaders}, not by {wanted}"
            raise Unreachable(f"{message}; topic=NAME is another topic")
        self._warm_up(self._fresh_name())

    def _warm_up(self, name: str) -> None:
        """Runs a transaction with another id that writes to both partitions."""
        done = self._nodes.done
        coordinator = self._nodes.to(self._nodes.coordinator(name), _OBSERVER)
        init_answer = done(coordinator, partial(requests.init_producer_id, name))
        who = name, init_answer.producer_id, init_answer.producer_epoch
        for p, leader in enumerate(self._leaders[:PARTITIONS]):
            where = self._topic, p
            if self._protocol != 2:
                done(coordinator, partial(requests.add_partition, *who, *where))
            produced = partial(requests.produce, *who, 0, *where, self._version_of_produce)
            done(self._nodes.to(leader, _OBSERVER), produced)
        done(coordinator, partial(requests.end_txn, *who, False, self._version_of_end))

    def _first_numbers(self) -> list[int]:
        """Returns the numbers of the brokers that may lead the first partition: all brokers except
        the second one, if others exist.
        """
        self._nodes.coordinator(self._name)
        self._nodes.leaders(TRANSACTION_LOG)
        numbers = self._nodes.numbers
        if self._second is not None and self._second not in numbers:
            raise Unreachable(f"there is no broker {self._second}; known are {numbers}")
        if self._outages.kill and len(numbers) > 1:
            raise Unreachable(f"kill is for a cluster of one broker; this one has {numbers}")
        return [number for number in numbers if number != self._second] or numbers

    def _fresh_name(self) -> str:
        """Returns a transactional id that the second broker does not coordinate."""
        for _ in range(100):
            self._histories += 1
            name = f"fencepost-{os.getpid()}-{time.time_ns()}-{self._histories}"
            if self._second is None or self._nodes.coordinator(name) != self._second:
                return name
        raise Unreachable(f"broker {self._second} coordinates all transactional ids")

    def _find_group(self) -> None:
        """Creates a group that the second broker does not coordinate."""
        for number in range(100):
            self._group = Group(self._nodes, f"{self._name}-{number}", self._topic)
            self._group.find()
            if self._group.leader != self._second:
                return
        raise Unreachable(f"broker {self._second} coordinates all groups")

    def _come_to_rest(self) -> None:
        """Waits until the transaction is complete or cannot progress.

        If a partition refuses a marker, the coordinator gives up. A transaction whose state stays
        the same has therefore settled, and so has a transaction whose markers all wait for a
        stopped leader.
        """
        began = time.monotonic()
        coordinator = self._coordinator.connection(_OBSERVER)
        while True:
            answer = self._nodes.done(
                coordinator, lambda: requests.describe_transaction(self._name)
            )
            [description] = answer.transaction_states
            now = (
                description.transaction_state,
                description.producer_id,
                description.producer_epoch,
            )
            if now[0] not in _PENDING:
                # A producer id that the coordinator chose without a request gets a number as well.
                self._ids.number_of(description.producer_id)
            open_ = {
                self._numbered(pending_topic, p)
                for pending_topic in description.topics
                for p in pending_topic.partitions
            }
            waits = bool(open_) and open_ <= self._stopped
            if now[0] not in _PENDING or now == self._stuck or waits:
                self._check_lead()
                return
            patience = REST if self._may_be_refused(open_, *now[1:]) else LONG
            if time.monotonic() > began + patience:
                self._stuck = now
                return
            time.sleep(0.001)

    def _numbered(self, topic: Any, p: int) -> int:
        return p if topic.topic == self._topic else PARTITIONS

    def _may_be_refused(self, partitions: set[int], id_: int, epoch: int) -> bool:
        """Checks whether a partition may refuse a marker, because it has seen an epoch that is not
        below the epoch of the marker.
        """
        highest = max((self._epochs.get((p, id_), -1) for p in partitions), default=-1)
        return self._was_put or highest >= epoch + (self._protocol == 1)

    def _check_lead(self) -> None:
        """Raises `Unreachable` if the cluster has replaced the stopped broker as a leader."""
        if not self._stopped:
            return
        leaders = [node for node, _ in self._nodes.leaders(self._topic)]
        lost = [p for p in sorted(self._stopped) if p < PARTITIONS and leaders[p] != self._second]
        if lost:
            message = (
                f"the cluster has given up broker {self._second}, which is stopped: it does not"
            )
            why = "a longer broker.session.timeout.ms prevents this"
            raise Unreachable(f"{message} lead {self._topic}-{lost[0]} any more; {why}")


def _pair(request: str, arguments: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Returns the producer id and the epoch that a request names, or None."""
    if request == "init":
        return cast("Mapping[str, Any] | None", arguments["expected"])
    return (
        {"producer_id": arguments["pid"], "epoch": arguments["epoch"]}
        if "pid" in arguments
        else None
    )


def _transaction_version(answer: Any) -> int:
    """Returns the broker's level of the feature. Raises `Unreachable`."""
    levels = {
        feature.name: feature.max_version_level for feature in answer.finalized_features or ()
    }
    level = int(levels.get(_FEATURE, 0))
    if level not in LEVELS.values():
        raise Unreachable(f"{_FEATURE} is {level}; there are mappings for 1 and 2")
    return level
