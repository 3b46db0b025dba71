"""A broker of Kafka as a system that can be driven: the requests of `conform_answers_v1` and
`conform_answers_v2`, one after the other, each when the broker has come to rest.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from typing import Any, cast

from fencepost.checker.kafka import requests
from fencepost.checker.kafka.cluster import Unreachable
from fencepost.checker.kafka.requests import Connection
from fencepost.checker.printing.json_values import Json

STRANGERS = 1 << 60
"""Producer ids from here on no coordinator gives away."""
PATIENCE = 30.0
REST = 3.0
"""Seconds after which a transaction that is not complete stays so."""
AT_ONCE = 200
"""Requests that are sent before their answers are read, where none depends on another's answer."""
_WRITE_TXN_MARKERS = 27
"""The number of this kind of request."""
_TIMEOUT = 900_000
"""The transactions' own timeout in ms, the longest that a broker takes as it is shipped."""
_PENDING = ("PrepareCommit", "PrepareAbort", "PrepareEpochFence")
_KNOWN = ("NONE", "TOPIC_ALREADY_EXISTS")


class Brokers:
    """One broker at ``bootstrap`` (HOST:PORT), which leads two partitions of ``topic`` and
    coordinates; the topic is made if it is not there. A history is a transactional id of its own.

    ``first_epoch`` is the epoch of its producer id in the beginning, reached by real requests.
    ``stranger`` is the number that stands for an id that nobody has: MaxProducerId of the checks.
    """

    def __init__(
        self,
        bootstrap: str = "localhost:9092",
        topic: str = "fencepost",
        first_epoch: str = "0",
        stranger: str = "4",
    ) -> None:
        if find_spec("kafka") is None:
            what = "a broker is asked by kafka-python; pip install 'fencepost[kafka]'"
            raise Unreachable(what)
        host, _, port = bootstrap.rpartition(":")
        self._connection = Connection(host, int(port))
        self._topic = topic
        self._first_epoch = int(first_epoch)
        self._stranger = int(stranger)
        answer = self._connection.ask(requests.features())
        self._level = _transaction_version(answer)
        newest = {one.api_key: one.max_version for one in answer.api_keys}
        self._newest_marker = min(2, newest.get(_WRITE_TXN_MARKERS, 2))
        self._histories = 0
        self._name = "fencepost"
        self._ids: dict[int, int] = {}
        self._nobody = STRANGERS
        self._stuck: tuple[str, int, int] | None = None
        self._until_done(lambda: requests.new_topic(topic, 2), _KNOWN)
        # Whoever asks first for a coordinator makes the log of transactions.
        self._until_done(lambda: requests.find_coordinator(self._name))

    def reset(self) -> None:
        """A fresh transactional id, whose first producer id is number 0."""
        self._histories += 1
        self._name = f"fencepost-{os.getpid()}-{time.time_ns()}-{self._histories}"
        given = self._until_done(lambda: requests.init_producer_id(self._name, timeout=_TIMEOUT))
        self._ids = {}
        # Partitions remember what they have heard of.
        self._nobody = STRANGERS + time.time_ns()
        number = self._number(given.producer_id)
        for first in range(0, self._first_epoch, AT_ONCE):
            epochs = range(first, min(first + AT_ONCE, self._first_epoch))
            for epoch in epochs:
                self._connection.send(
                    requests.init_producer_id(self._name, given.producer_id, epoch, _TIMEOUT)
                )
            for _ in epochs:
                self._check(self._connection.take())
        assert number == 0

    def send(self, request: str, fields: Mapping[str, Json]) -> Mapping[str, Json] | None:
        said = cast("Mapping[str, Any]", fields)
        if not self._sayable(request, said):
            return None
        answer = self._connection.ask(self._made(request, said))
        error = self._connection.error(answer)
        self._come_to_rest()
        if request not in ("init", "end"):
            return {"error": error}
        id_, epoch = getattr(answer, "producer_id", -1), getattr(answer, "producer_epoch", -1)
        if error != "NONE" or id_ is None or id_ < 0:
            return {"error": error, "id": -1, "answered": -1}
        return {"error": error, "id": self._number(id_), "answered": epoch}

    def close(self) -> None:
        self._connection.close()

    def observe(self) -> Iterable[Mapping[str, Json]]:
        return ()

    # ------------------------------------------------------------ below

    def _sayable(self, request: str, said: Mapping[str, Any]) -> bool:
        """Whether a client can say that: with an id that it knows, or that nobody has. What number
        an id will have that is given away later, nobody knows yet.
        """
        who = said["expected"] if request == "init" else {"producer_id": said["pid"], **said}
        if who is None:
            return True
        known = {*self._ids.values(), self._stranger}
        return bool(who["producer_id"] in known and who["epoch"] >= 0)

    def _made(self, request: str, said: Mapping[str, Any]) -> Any:
        if request == "init":
            expected = said["expected"]
            pair = (-1, -1)
            if expected is not None:
                pair = self._id(expected["producer_id"]), expected["epoch"]
            return requests.init_producer_id(self._name, *pair, _TIMEOUT)
        who = self._id(said["pid"]), said["epoch"]
        if request == "end":
            version = 5 if self._level == 2 else 4
            return requests.end_txn(self._name, *who, said["commit"], version)
        where = self._topic, said["p"]
        if request == "add":
            return requests.add_partition(self._name, *who, *where)
        if request == "addv5":
            return requests.add_for_client(self._name, *who, *where, verify=self._level != 2)
        if request == "produce":
            version = 12 if self._level == 2 else 10
            return requests.produce(self._name, *who, said["seq"], *where, version)
        if request == "marker":
            commit, level = said["commit"], self._level
            return requests.write_marker(*who, commit, *where, level, self._newest_marker)
        raise ValueError(f"{request} is no request of conform_answers_v1 or v2")

    def _id(self, number: int) -> int:
        """The producer id that a number of the model stands for."""
        known = {own: id_ for id_, own in self._ids.items()}
        return known.get(number, self._nobody)

    def _number(self, id_: int) -> int:
        """Producer ids are numbered in the order in which they appear."""
        return self._ids.setdefault(id_, len(self._ids))

    def _come_to_rest(self) -> None:
        """Waits until the transaction is complete. A partition may refuse the coordinator's marker,
        which ends its efforts: a transaction that stays where it is has come to rest there.
        """
        end = time.monotonic() + REST
        while True:
            answer = self._connection.ask(requests.describe_transaction(self._name))
            self._check(answer)
            found = answer.transaction_states[0]
            now = (found.transaction_state, found.producer_id, found.producer_epoch)
            if now[0] not in _PENDING or now == self._stuck:
                return
            if time.monotonic() > end:
                self._stuck = now
                return
            time.sleep(0.001)

    def _until_done(self, request: Any, done: tuple[str, ...] = ("NONE",)) -> Any:
        """Asks until the answer has no error: a broker that has just started says "not yet"."""
        end = time.monotonic() + PATIENCE
        while True:
            answer = self._connection.ask(request())
            if self._connection.error(answer) in done:
                return answer
            if time.monotonic() > end:
                self._check(answer)
            time.sleep(0.02)

    def _check(self, answer: Any) -> None:
        error = self._connection.error(answer)
        if error != "NONE":
            raise Unreachable(f"{type(answer).__name__}: {error}")


def _transaction_version(answer: Any) -> int:
    """The level that a broker says it has. Raises `Unreachable`."""
    levels = {one.name: one.max_version_level for one in answer.finalized_features or ()}
    level = int(levels.get("transaction.version", 0))
    if level not in (1, 2):
        raise Unreachable(f"transaction.version is {level}; there are mappings for 1 and 2")
    return level
