"""The shipped models with wide states use compressed states; without these tests, only memory and
time would reveal that compression is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from tests.support.amounts import everything
from tests.support.paths import ROOT
from tests.support.shipped import checks

from fencepost.checker.native import worker
from fencepost.checker.native.search import Local
from fencepost.checker.native.visited.plan import Plan, chosen
from fencepost.checker.request import Limits, Request

MAX_STATES = 400_000
"""Compression begins with at most this many states."""
# Each row ends with the number of words of a state, and whether states have enough in common.
WIDE = [
    ("kafka/txn_failover", "fixed_most", 26, True),
    ("kafka/epoch_arithmetic", "last_epochs", 40, True),
    ("kafka/txn_core_v2", "fixed_more", 9, True),
    ("classics/kafka_transactions", "three_clients", 32, False),
    ("kafka/verification_race", "verified_most", 6, True),
    ("kafka/txn_core_v1", "fixed_most", 10, True),
    ("kafka/txn_core_v2", "fixed_restart_twice", 11, True),
    ("kafka/txn_idempotence", "fixed_more", 10, True),
    ("kafka/txn_timeout", "full_more", 10, True),
    ("kafka/txn_expiration", "fixed_more", 12, True),
    ("kafka/txn_group", "replaced_and_rebalanced", 13, True),
]


@pytest.mark.parametrize(
    ("path", "name", "words", "compressed"), WIDE if everything("SHIPPED") else WIDE[:3]
)
def test_states_are_compressed(
    path: str, name: str, words: int, compressed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan for compression is chosen from the states that the search has generated so far."""
    choices: list[tuple[int, int, bool]] = []

    def choose(*asked: Any) -> Plan | None:
        plan = chosen(*asked)
        states: Sequence[tuple[int, int]] = asked[3]
        choices.append((asked[4], sum(number for _, number in states), plan is not None))
        # The rest of the search does not matter here.
        raise KeyboardInterrupt

    choice: Callable[..., Plan | None] = choose
    monkeypatch.setattr(worker, "chosen", choice)
    (check,) = (check for check in checks(ROOT / f"models/{path}.fence") if check.name == name)
    model = check.run().model
    limits = Limits(max_states=MAX_STATES, workers=1)
    Local("quick").run(Request(model, frozenset(), deadlock=False, limits=limits))
    ((wide, states, tree),) = choices
    assert (wide, tree) == (words, compressed)
    assert states >= 1 << 17
