"""Brokers of Kafka as a system that can be driven: the requests of `conform_answers_v1` and
`conform_answers_v2`, one after the other, each when the brokers have come to rest, and what befalls
brokers between them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from typing import Any, cast

from fencepost.checker.kafka import requests
from fencepost.checker.kafka.cluster import Unreachable
from fencepost.checker.kafka.events import TRANSACTION_LOG
from fencepost.checker.kafka.nodes import Nodes, until
from fencepost.checker.kafka.outages import OFTEN, Outages, run, whole
from fencepost.checker.kafka.requests import ADMINISTRATOR, Connection
from fencepost.checker.kafka.transaction_log import partition_of, written
from fencepost.checker.printing.json_values import Json
from fencepost.spec.text.problem import Problem, Rejected

STRANGERS = 1 << 60
"""Producer ids from here on no coordinator gives away."""
PARTITIONS = 2
REST, LONG = 3.0, 30.0
"""Seconds after which a transaction that is not complete stays so: one whose marker a partition may
have refused, and any.
"""
AT_ONCE = 200
"""Requests that are sent before their answers are read, where none depends on another's answer."""
LEVELS = {"V1": 1, "V2": 2}
"""``transaction.version`` for each protocol of the models."""
_FEATURE = "transaction.version"
_WRITE_TXN_MARKERS = 27
"""The number of this kind of request."""
_TIMEOUT = 900_000
"""The transactions' own timeout in ms, the longest that a broker takes as it is shipped."""
_PENDING = ("PrepareCommit", "PrepareAbort", "PrepareEpochFence")
BEFALLS = ("killed", "put", "stopped", "continued", "level")
_OBSERVER, _BROKER = "observer", "broker"
"""Who asks for the state of a transaction, and in the name of a broker."""


class Brokers:
    """The cluster at ``bootstrap`` (HOST:PORT), with a ``topic`` of two partitions, which is made
    if it is not there. A history is a transactional id of its own, with two instances at a time:
    who asks for a producer id without naming one is new, and replaces the one before the last.

    ``first_epoch`` is the epoch of its producer id in the beginning, reached by real requests.
    ``stranger`` is the number that stands for an id that nobody has: MaxProducerId of the checks.
    The other options are those of `Outages`.
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
        outages: str = OFTEN,
    ) -> None:
        with _plainly():
            if find_spec("kafka") is None:
                what = "a broker is asked by kafka-python; pip install 'fencepost[kafka]'"
                raise Unreachable(what)
            self._outages = Outages(kill, start, second, pause, resume, levels, outages)
            self._first_epoch = whole("first_epoch", first_epoch)
            self._stranger = whole("stranger", stranger)
            self._topic = topic
            self._nodes = Nodes(bootstrap)
            self._histories = 0
            self._name = "fencepost"
            self._ids: dict[int, int] = {}
            self._nobody = STRANGERS
            self._stuck: tuple[str, int, int] | None = None
            self._stopped: set[int] = set()
            self._given: dict[tuple[int, int], int] = {}
            self._instance = 0
            self._epochs: dict[tuple[int, int], int] = {}
            self._was_put = False
            self._coordinating = -1
            # The partition that has the id's records, and the epoch of its leader.
            self._log = 0, 0
            self._leaders: list[int] = []
            self._second = self._outages.second
            try:
                answer = self._nodes.greeting
                newest = {one.api_key: one.max_version for one in answer.api_keys}
                self._newest_marker = min(2, newest.get(_WRITE_TXN_MARKERS, 2))
                self._level = self._protocol = _transaction_version(answer)
                self._begin()
            except BaseException:
                self._nodes.close()
                raise

    # ------------------------------------------------------------ what a driver asks

    def reset(self) -> None:
        """A fresh transactional id, whose first producer id is number 0."""
        with _plainly():
            self._repair()
            self._name = self._fresh_name()
            self._find_coordinator()
            coordinator = self._coordinator(_OBSERVER)
            given = self._nodes.done(
                coordinator, lambda: requests.init_producer_id(self._name, timeout=_TIMEOUT)
            )
            self._ids = {}
            # Partitions remember what they have heard of.
            self._nobody = STRANGERS + time.time_ns()
            number = self._number(given.producer_id)
            for first in range(0, self._first_epoch, AT_ONCE):
                epochs = range(first, min(first + AT_ONCE, self._first_epoch))
                for epoch in epochs:
                    coordinator.send(
                        requests.init_producer_id(self._name, given.producer_id, epoch, _TIMEOUT)
                    )
                for _ in epochs:
                    _check(coordinator, coordinator.take())
            assert number == 0
            self._instance = 0
            self._given = {(0, self._first_epoch): 0}
            self._epochs = {}
            self._was_put = False

    def send(self, request: str, fields: Mapping[str, Json]) -> Mapping[str, Json] | None:
        said = cast("Mapping[str, Any]", fields)
        with _plainly():
            if request in BEFALLS:
                return {} if self._befalls(request, said) else None
            if not self._sayable(request, said):
                return None
            who = self._who(request, said)
            connection = self._connection(request, said, who)
            answer = connection.ask(self._made(request, said))
            error = connection.error(answer)
            if request in ("produce", "marker") and error == "NONE":
                where = said["p"], self._id(said["pid"])
                self._epochs[where] = max(self._epochs.get(where, -1), said["epoch"])
            self._come_to_rest()
            if request not in ("init", "end"):
                return {"error": error}
            id_, epoch = getattr(answer, "producer_id", -1), getattr(answer, "producer_epoch", -1)
            if error != "NONE" or id_ is None or id_ < 0:
                return {"error": error, "id": -1, "answered": -1}
            number = self._number(id_)
            self._given[number, epoch] = self._instance if who == _BROKER else int(who)
            return {"error": error, "id": number, "answered": epoch}

    def observe(self) -> Iterable[Mapping[str, Json]]:
        return ()

    def weight(self, request: str) -> float:
        """How often something is asked or befalls brokers; what takes seconds is seldom."""
        return self._outages.weight(request)

    def close(self) -> None:
        with _plainly():
            try:
                self._repair()
            finally:
                self._nodes.close()

    # ------------------------------------------------------------ requests

    def _sayable(self, request: str, said: Mapping[str, Any]) -> bool:
        """Whether a client can say that: with an id that it knows, or that nobody has. What number
        an id will have that is given away later, nobody knows yet.
        """
        who = said["expected"] if request == "init" else {"producer_id": said["pid"], **said}
        if who is None:
            return True
        known = {*self._ids.values(), self._stranger}
        return bool(who["producer_id"] in known and who["epoch"] >= 0)

    def _who(self, request: str, said: Mapping[str, Any]) -> str:
        """The instance that asks: a new one, or the one that was given the pair. A pair that nobody
        was given is the older one's.
        """
        if request in ("addv5", "marker"):
            return _BROKER
        if request == "init" and said["expected"] is None:
            self._instance = 1 - self._instance
            return str(self._instance)
        pair = said["expected"] if request == "init" else {"producer_id": said["pid"], **said}
        return str(self._given.get((pair["producer_id"], pair["epoch"]), 1 - self._instance))

    def _connection(self, request: str, said: Mapping[str, Any], who: str) -> Connection:
        if request in ("produce", "marker"):
            p: int = said["p"]
            return self._nodes.to(self._leaders[p], who)
        return self._coordinator(who)

    def _made(self, request: str, said: Mapping[str, Any]) -> Any:
        if request == "init":
            expected = said["expected"]
            pair = (-1, -1)
            if expected is not None:
                pair = self._id(expected["producer_id"]), expected["epoch"]
            return requests.init_producer_id(self._name, *pair, _TIMEOUT)
        who = self._id(said["pid"]), said["epoch"]
        if request == "end":
            return requests.end_txn(self._name, *who, said["commit"], self._version_of_end)
        where = self._topic, said["p"]
        if request == "add":
            return requests.add_partition(self._name, *who, *where)
        if request == "addv5":
            return requests.add_for_client(self._name, *who, *where, verify=self._protocol != 2)
        if request == "produce":
            return requests.produce(self._name, *who, said["seq"], *where, self._version_of_produce)
        if request == "marker":
            commit, level = said["commit"], self._protocol
            sender = level, self._log[1]
            return requests.write_marker(*who, commit, *where, *sender, self._newest_marker)
        raise ValueError(f"{request} is no request of conform_answers_v1 or v2")

    @property
    def _version_of_end(self) -> int:
        return 5 if self._protocol == 2 else 4

    @property
    def _version_of_produce(self) -> int:
        return 12 if self._protocol == 2 else 10

    def _id(self, number: int) -> int:
        """The producer id that a number of the model stands for."""
        known = {own: id_ for id_, own in self._ids.items()}
        return known.get(number, self._nobody)

    def _number(self, id_: int) -> int:
        """Producer ids are numbered in the order in which they appear."""
        return self._ids.setdefault(id_, len(self._ids))

    # ------------------------------------------------------------ what befalls brokers

    def _befalls(self, what: str, said: Mapping[str, Any]) -> bool:
        """Whether it does: nobody may have said how."""
        match what:
            case "killed":
                return self._killed()
            case "put":
                return self._put(said)
            case "stopped":
                return self._stop(said["p"])
            case "continued":
                return self._continue(said["p"])
            case _:
                return self._outages.levels and self._set_level(LEVELS[said["to"]])

    def _killed(self) -> bool:
        if not self._outages.kill:
            return False
        watched = self._nodes.first
        run(self._outages.kill)
        until(watched.is_closed, f"`{self._outages.kill}` has killed the broker")
        self._nodes.close()
        if self._outages.start:
            run(self._outages.start)
        self._nodes.again()
        self._begin()
        self._find_coordinator()
        self._stuck = None
        self._come_to_rest()
        return True

    def _put(self, said: Mapping[str, Any]) -> bool:
        """A record in the log of transactions, which the coordinator reads when it is started."""
        ids = self._ids.values()
        if not self._outages.kill or said["pid"] not in ids or said["previous"] not in (-1, *ids):
            return False
        successor = -1
        if said["successor"]:
            name = f"{self._name}-successor-{len(self._ids)}"
            given = self._nodes.done(self._nodes.first, lambda: requests.init_producer_id(name))
            successor = given.producer_id
            self._number(successor)
        record = written(
            self._name,
            said["state"],
            self._id(said["pid"]),
            said["epoch"],
            [(self._topic, p) for p in said["partitions"]],
            -1 if said["previous"] == -1 else self._id(said["previous"]),
            successor,
            2 if said["of"] == "V2" else 0,
            _TIMEOUT,
            time.time_ns() // 1_000_000,
        )
        coordinator = self._coordinator(_OBSERVER)
        asked = requests.put_record(*record, TRANSACTION_LOG, self._log[0])
        _check(coordinator, coordinator.ask(asked, ADMINISTRATOR))
        self._was_put = True
        return self._killed()

    def _stop(self, p: int) -> bool:
        if self._second is None or self._leaders[p] != self._second:
            return False
        # Noted before it is done, so that `_repair` undoes it if this is interrupted.
        self._stopped.add(p)
        run(self._outages.pause)
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
        # Noted before it is known to be done, so that `_repair` undoes it if this is interrupted.
        self._level = level
        _check(first, first.ask(requests.set_feature(_FEATURE, level, lowered)))
        running = [one for one in self._nodes.numbers if one != self._second or not self._stopped]
        for node in running:
            until(partial(self._has_level, node, level), f"{_FEATURE} is {level}")
        return True

    def _has_level(self, node: int, level: int) -> bool:
        said = self._nodes.to(node, _OBSERVER).ask(requests.features())
        return _transaction_version(said) == level

    def _repair(self) -> None:
        """What has befallen the brokers is over."""
        if self._stopped:
            run(self._outages.resume)
            self._stopped = set()
        if self._level != self._protocol:
            self._set_level(self._protocol)
        self._stuck = None

    # ------------------------------------------------------------ the cluster

    def _begin(self) -> None:
        """Waits until the brokers do what they are asked for: one that has just started does not
        yet, nor one that leads a topic which has just been made.
        """
        numbers = self._first_numbers()
        where = [[numbers[0]], [numbers[0] if self._second is None else self._second]]
        self._nodes.has_topic(self._topic, where)

        def led() -> bool:
            self._leaders = [node for node, _ in self._nodes.leaders(self._topic)]
            return len(self._leaders) >= PARTITIONS and min(self._leaders) >= 0

        until(led, f"{self._topic} has {PARTITIONS} partitions, each with a leader")
        wanted = [one[0] for one in where]
        if self._second is not None and self._leaders[:PARTITIONS] != wanted:
            found = f"{self._topic} is led by {self._leaders}, and not by {wanted}"
            raise Unreachable(f"{found}; topic=NAME is another topic")
        self._warm_up(self._fresh_name())

    def _warm_up(self, name: str) -> None:
        """A transaction of its own id, which writes to both partitions."""
        done = self._nodes.done
        coordinator = self._nodes.to(self._nodes.coordinator(name), _OBSERVER)
        given = done(coordinator, partial(requests.init_producer_id, name))
        who = name, given.producer_id, given.producer_epoch
        for p, leader in enumerate(self._leaders[:PARTITIONS]):
            where = self._topic, p
            if self._protocol != 2:
                done(coordinator, partial(requests.add_partition, *who, *where))
            produced = partial(requests.produce, *who, 0, *where, self._version_of_produce)
            done(self._nodes.to(leader, _OBSERVER), produced)
        done(coordinator, partial(requests.end_txn, *who, False, self._version_of_end))

    def _first_numbers(self) -> list[int]:
        """The brokers, the one that leads the first partition first."""
        self._nodes.coordinator(self._name)
        self._nodes.leaders(TRANSACTION_LOG)
        numbers = self._nodes.numbers
        if self._second is not None and self._second not in numbers:
            raise Unreachable(f"there is no broker {self._second}; known are {numbers}")
        if self._outages.kill and len(numbers) > 1:
            raise Unreachable(f"kill is for a cluster of one broker; this one has {numbers}")
        return [one for one in numbers if one != self._second] or numbers

    def _fresh_name(self) -> str:
        """A transactional id that the second broker does not coordinate."""
        for _ in range(100):
            self._histories += 1
            name = f"fencepost-{os.getpid()}-{time.time_ns()}-{self._histories}"
            if self._second is None or self._nodes.coordinator(name) != self._second:
                return name
        raise Unreachable(f"broker {self._second} coordinates all transactional ids")

    def _find_coordinator(self) -> None:
        self._coordinating = self._nodes.coordinator(self._name)
        logs = self._nodes.leaders(TRANSACTION_LOG)
        number = partition_of(self._name, len(logs))
        self._log = number, logs[number][1]

    def _coordinator(self, who: str) -> Connection:
        return self._nodes.to(self._coordinating, who)

    def _come_to_rest(self) -> None:
        """Waits until the transaction is complete. A partition may refuse the coordinator's marker,
        which ends its efforts: a transaction that stays where it is has come to rest there. So has
        one whose markers all wait for a leader that is stopped.
        """
        began = time.monotonic()
        coordinator = self._coordinator(_OBSERVER)
        while True:
            answer = self._nodes.done(
                coordinator, lambda: requests.describe_transaction(self._name)
            )
            [found] = answer.transaction_states
            now = (found.transaction_state, found.producer_id, found.producer_epoch)
            if now[0] not in _PENDING:
                # One that the coordinator has taken by itself has its number from here.
                self._number(found.producer_id)
            open_ = {p for one in found.topics for p in one.partitions}
            waits = bool(open_) and open_ <= self._stopped
            if now[0] not in _PENDING or now == self._stuck or waits:
                self._check_lead()
                return
            patience = REST if self._may_be_refused(open_, *now[1:]) else LONG
            if time.monotonic() > began + patience:
                self._stuck = now
                return
            time.sleep(0.001)

    def _may_be_refused(self, partitions: set[int], id_: int, epoch: int) -> bool:
        """Whether a partition has heard of an epoch that the coordinator's marker is not above."""
        known = max((self._epochs.get((p, id_), -1) for p in partitions), default=-1)
        return self._was_put or known >= epoch + (self._protocol == 1)

    def _check_lead(self) -> None:
        """A cluster that has given up a broker which is stopped goes on without it."""
        if self._stopped and min(self._nodes.leaders(self._topic))[0] < 0:
            what = "the cluster has given up the broker that is stopped"
            raise Unreachable(f"{what}; a longer broker.session.timeout.ms keeps it from that")


@contextmanager
def _plainly() -> Generator[None]:
    """What the cluster does not do is said without a place in this program."""
    try:
        yield
    except Unreachable as why:
        raise Rejected([Problem("F864", None, str(why))]) from None


def _check(connection: Connection, answer: Any) -> None:
    error = connection.error(answer)
    if error != "NONE":
        raise Unreachable(f"{type(answer).__name__}: {error}")


def _transaction_version(answer: Any) -> int:
    """The level that a broker says it has. Raises `Unreachable`."""
    levels = {one.name: one.max_version_level for one in answer.finalized_features or ()}
    level = int(levels.get(_FEATURE, 0))
    if level not in LEVELS.values():
        raise Unreachable(f"{_FEATURE} is {level}; there are mappings for 1 and 2")
    return level
