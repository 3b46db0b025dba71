"""Models of Kafka are checked for all starting epochs at once, from 0 to 32,766 in 16 bits."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeAlias

import pytest
from tests.support.agreement import run_of
from tests.support.comparisons import regions_agree, regions_of
from tests.support.paths import ROOT

from fencepost.checker.outcome import Outcome, Verdict

Ranges: TypeAlias = tuple[tuple[int, int], ...]
LAST = 32766
"""The last epoch that a client receives."""
ARITHMETIC: list[Ranges] = [((0, 0),), ((1, 32764),), ((32765, 32765),), ((32766, 32766),)]
"""The expected regions of each check of `epoch_arithmetic`."""

SMALL = """
    const InFlight = 1
    const Bumps = 1
    const Ids = 1
    const SecondInstance = false
    const Expiration = false
"""
CHECKS = f"""
check every_epoch:{SMALL}    properties: S4, S4T, S8, S8M, S10, L1
    expect ok
check retried:{SMALL}    expect violated S11
check fenced:{SMALL}    const RotateOnFence = false
    expect violated S8
check overflow:{SMALL}    const OverflowAnswer = false
    expect violated S8
"""


def epoch_arithmetic() -> str:
    return (ROOT / "models/kafka/epoch_arithmetic.fence").read_text(encoding="utf-8") + CHECKS


def race() -> str:
    """Returns the verification race with 16-bit epochs, like Kafka's, and any starting epoch."""
    text = (ROOT / "models/kafka/verification_race.fence").read_text(encoding="utf-8")
    for old, new in (
        (
            "const Transactions: int = 1 ",
            f"const E0: int16 = any where 0 <= E0 and E0 <= {LAST}\n"
            + "const Transactions: int = 1 ",
        ),
        ("type Epoch = 0..1 ", "type Epoch = int16 "),
        ("var epoch: Epoch = 0", "var epoch: Epoch = E0"),
        ("def stored_epoch: -1..1 =", "def stored_epoch: int16 ="),
    ):
        assert old in text, old
        text = text.replace(old, new)
    return text


def boundaries(regions: Sequence[Ranges]) -> list[int]:
    """Returns the ends of all regions and a few random values."""
    ends = {end for region in regions for ends in region for end in ends}
    draw = Random(5)
    return sorted(ends | {draw.randrange(LAST + 1) for _ in range(4)})


def ranges(outcome: Outcome) -> list[Ranges]:
    return [region.ranges for region in outcome.regions]


@pytest.mark.parametrize(
    ("name", "starting", "states"),
    [
        ("every_epoch", None, [131, 131, 335, 295]),
        ("retried", 32765, [131, 131, 37, 295]),
        ("fenced", 32766, [131, 131, 335, 174]),
        ("overflow", 32766, [131, 131, 335, 70]),
    ],
)
def test_epoch_arithmetic(name: str, starting: int | None, states: list[int]) -> None:
    """The search finds the failing starting epoch, if any, and proves all others."""
    outcome = regions_of(run_of(epoch_arithmetic(), name))
    assert ranges(outcome) == ARITHMETIC
    assert [region.outcome.statistics.distinct for region in outcome.regions] == states
    if starting is None:
        assert outcome.verdict is Verdict.OK
    else:
        assert outcome.verdict is Verdict.VIOLATED
        assert outcome.findings[0].constants[0].value == starting


def test_epoch_arithmetic_value_by_value() -> None:
    values = boundaries(ARITHMETIC)
    assert len(values) >= 8
    regions_agree(run_of(epoch_arithmetic(), "every_epoch"), values=values)


@pytest.mark.parametrize("name", ["unverified_s1t", "unchecked_s1t", "unverified_rest"])
def test_the_race_is_the_same_at_every_epoch(name: str) -> None:
    """There is a single region: the race is found at the same depth for every epoch."""
    outcome = regions_agree(run_of(race(), name), values=[0, 1, 20_047, LAST])
    assert ranges(outcome) == [((0, LAST),)]


def test_the_race_value_by_value() -> None:
    text = race()
    values = boundaries([((0, LAST),)])
    assert len(values) >= 6
    regions_agree(run_of(text, "unchecked_s1t"), "local", values)
