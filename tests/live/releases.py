"""Determines which of the rules that changed between releases hold for a release.

Prints a row of the table in docs/kafka/rules.md: ``python -m tests.live.releases 4.3.1``.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.live.brokers import Broker, accepted, prepared, running, until

from fencepost.checker.systems.kafka import requests
from fencepost.checker.systems.kafka.requests import Connection

LAST = 32766
"""The last epoch that a client can have."""
AT_ONCE = 200


def began(connection: Connection, name: str, epoch: int = 0) -> int:
    """Returns the producer id of a fresh transactional id, whose epoch is reached by real
    requests.
    """
    answer = accepted(connection, lambda: requests.init_producer_id(name))
    for first in range(0, epoch, AT_ONCE):
        several = range(first, min(first + AT_ONCE, epoch))
        for number in several:
            connection.send(requests.init_producer_id(name, answer.producer_id, number))
        for _ in several:
            assert connection.error(connection.take()) == "NONE"
    return int(answer.producer_id)


def described(connection: Connection, name: str) -> Any:
    answer = accepted(connection, lambda: requests.describe_transaction(name))
    return answer.transaction_states[0]


def completed(connection: Connection, name: str) -> Any:
    """Returns the coordinator's description of an id after the transaction of the id has
    completed.
    """
    until(lambda: described(connection, name).transaction_state.startswith("Complete"))
    return described(connection, name)


def rule_answer(error: str, yes: str, no: str) -> str:
    """Converts an error to the answer about a rule."""
    return {yes: "yes", no: "no"}.get(error, f"? ({error})")


def strict_marker(connection: Connection, version: int) -> str:
    """KAFKA-19446: the marker of a V2 transaction has a higher epoch than its batches."""
    id_ = began(connection, "strict")
    accepted(connection, lambda: requests.produce("strict", id_, 0, 0, "t", 0))
    answer = connection.ask(requests.write_marker(id_, 0, True, "t", 0, 2, 0, version))
    return rule_answer(connection.error(answer), "INVALID_PRODUCER_EPOCH", "NONE")


def commit_after_abort(connection: Connection) -> str:
    """KAFKA-20785: a commit after the abort by a fence gets the same answer as a commit with
    another epoch.
    """
    id_ = began(connection, "fenced")
    accepted(connection, lambda: requests.produce("fenced", id_, 0, 0, "t", 0))
    connection.ask(requests.init_producer_id("fenced"))
    completed(connection, "fenced")
    answer = connection.ask(requests.end_txn("fenced", id_, 0, True))
    return rule_answer(connection.error(answer), "PRODUCER_FENCED", "INVALID_TXN_STATE")


def rotates_on_fence(connection: Connection) -> str:
    """KAFKA-20090: a fence at the last epoch leads to a new producer id."""
    id_ = began(connection, "rotated", LAST)
    accepted(connection, lambda: requests.produce("rotated", id_, LAST, 0, "t", 0))
    connection.ask(requests.init_producer_id("rotated"))
    description = completed(connection, "rotated")
    return "yes" if description.producer_id != id_ else f"no ({description.producer_epoch})"


def row(release: str, folder: Path) -> dict[str, str]:
    """Returns the cells in the row of a release."""
    broker = Broker(release, folder / release)
    cells: dict[str, str] = {}
    with running(broker):
        connection = prepared(broker)
        newest = {
            api.api_key: api.max_version for api in connection.ask(requests.features()).api_keys
        }
        cells["KAFKA-20785"] = commit_after_abort(connection)
        cells["KAFKA-19446"] = strict_marker(connection, min(2, newest[27]))
        cells["KAFKA-20090"] = rotates_on_fence(connection)
        bumped = began(connection, "bumped", 1)
        over = began(connection, "over", LAST)
        accepted(connection, lambda: requests.produce("over", over, LAST, 0, "t", 0))
        accepted(connection, lambda: requests.end_txn("over", over, LAST, True))
        completed(connection, "over")
        broker.kill()
        broker.start()
        again = broker.connection()
        described(again, "bumped")
        answer = again.ask(requests.init_producer_id("bumped", bumped, 0))
        cells["KAFKA-20357"] = rule_answer(again.error(answer), "NONE", "PRODUCER_FENCED")
        answer = again.ask(requests.end_txn("over", over, LAST, True))
        mapping = "INVALID_PRODUCER_ID_MAPPING"
        cells["KAFKA-20310"] = rule_answer(again.error(answer), "NONE", mapping)
    return cells


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        for wanted in sys.argv[1:]:
            print(wanted, row(wanted, Path(temporary)), flush=True)
