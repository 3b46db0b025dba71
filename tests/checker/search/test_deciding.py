"""The estimate of the decision phase, and the property and phase named in its progress."""

from __future__ import annotations

import pytest
from tests.support.agreement import model_of

from fencepost.checker.request import Deciding, Phase
from fencepost.checker.search.deciding import Decision

SPEC = """
var n: 0..1 = 0
fair action up:
    require n == 0
    n = 1
property P: eventually n == 1
property Q: always (n == 0 or n == 1)
"""
SHARES: dict[Phase, float] = {"graph": 0.2, "product": 0.4, "components": 0.4}


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("steps", "left"),
    [
        # Each step has a phase, its total, the part that is done, and the seconds it took.
        ([("graph", 10, 0, 5.0)], None),
        ([("graph", 10, 1, 0.5)], None),
        # A tenth took 2 s, so the rest takes 18 s; the graph is 20 s of 100 s in total.
        ([("graph", 10, 1, 2.0)], (18.0, 98.0)),
        ([("graph", 10, 10, 2.0)], (0.0, 8.0)),
        ([("graph", 10, 10, 2.0), ("product", 0, 0, 1.0)], (0.0, 7.0)),
        ([("graph", 10, 10, 2.0), ("product", 8, 4, 2.0)], (2.0, 6.0)),
        ([("graph", 10, 10, 2.0), ("product", 8, 8, 4.0), ("components", 0, 0, 1.0)], (0.0, 3.0)),
        # The phase takes longer than expected, so the time left cannot be estimated.
        ([("graph", 10, 10, 2.0), ("product", 8, 8, 4.0), ("components", 0, 0, 9.0)], None),
    ],
)
def test_the_estimate(
    steps: list[tuple[Phase, int, int, float]], left: tuple[float, float] | None
) -> None:
    clock = Clock()
    decision = Decision(model_of(SPEC), shares=SHARES, clock=clock)
    decision.begin(0)
    for phase, total, done, seconds in steps:
        decision.enter(phase, total)
        decision.advance(done)
        clock.now += seconds
    estimate = decision.seconds_left()
    assert (estimate and tuple(round(end, 6) for end in estimate)) == left


def test_the_next_property_starts_over() -> None:
    clock, model = Clock(), model_of(SPEC)
    first, second = (n for n, p in enumerate(model.properties) if p.kind.of_behaviours)
    decision = Decision(model, shares=SHARES, clock=clock)
    decision.begin(first)
    decision.enter("graph", 4)
    decision.edges, decision.components = 7, 3
    decision.advance(2)
    clock.now += 3
    assert decision.now() == Deciding("property P", "graph", 7, 3, (3.0, 27.0))
    decision.begin(second)
    assert decision.now() == Deciding("property Q", "automaton", 7, 0, None)
