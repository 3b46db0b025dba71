"""The oracle for temporal properties in `tests.naive` is compared with answers worked out by
hand.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from tests.naive.behaviours import graph_of, violated, wrong_lasso
from tests.strategies.behaviours import behaviour_spec
from tests.support.agreement import Run
from tests.support.comparisons import behaviour_run, formula_of, lasso_in
from tests.support.oracle_runs import truth_of

from fencepost.spec.core.formulas import Not

LOOP = """\
var x: 0..2 = 0
{0}action up:
    require x < 2
    x += 1
{1}action down:
    require x > 0
    x -= 1
{2}action toggle:
    require x != 1
    x = 2 - x
property P: {3}
"""


@pytest.mark.parametrize(
    ("fairness", "formula", "verdict"),
    [
        (("", "", ""), "always x == 0", "violated"),
        (("", "", ""), "eventually x > 0", "violated"),
        (("fair ", "", ""), "eventually x > 0", "ok"),
        (("fair ", "", ""), "eventually x == 2", "violated"),
        (("strongly fair ", "", ""), "eventually x == 2", "violated"),
        (("fair ", "", "fair "), "x == 1 leads to x == 2", "violated"),
        (("", "fair ", ""), "always eventually x == 0", "violated"),
        (("", "", "fair "), "eventually x == 2", "violated"),
        (("fair ", "fair ", "fair "), "x == 1 leads to x == 0", "violated"),
        (("fair ", "fair ", "strongly fair "), "x == 1 leads to x == 0", "ok"),
        (("fair ", "", "fair "), "always eventually x == 0", "violated"),
        (("fair ", "", "strongly fair "), "always eventually x == 0", "ok"),
        (("", "", ""), "x < 2 until x == 2", "violated"),
        (("", "", ""), "(x < 2 until x == 2) or always x < 2", "ok"),
        (("", "", ""), "(always eventually x == 1) implies eventually x == 1", "ok"),
    ],
)
def test_answers_of_the_oracle(fairness: tuple[str, str, str], formula: str, verdict: str) -> None:
    assert truth_of(behaviour_run(LOOP.format(*fairness, formula))) == verdict


STRENGTH_MATTERS = (134, 392, 495)
"""The few specs whose answer changes if weak and strong fairness are exchanged."""


def test_the_oracle_distinguishes_kinds_of_fairness() -> None:
    for seed in STRENGTH_MATTERS:
        spec = behaviour_run(behaviour_spec(Random(seed)))
        assert _is_violated(spec, True) != _is_violated(spec, False)


def test_the_oracle_refuses_other_lassos() -> None:
    refused = 0
    for seed in range(30):
        spec = behaviour_run(behaviour_spec(Random(seed)))
        lasso = lasso_in(spec.outcome("interpreter"))
        if lasso is None:
            continue
        graph, states, loop = graph_of(spec.model), lasso.states, lasso.loop
        assert wrong_lasso(spec.model, graph, formula_of(spec), states, loop) is None
        # The wrong lasso ends elsewhere, begins elsewhere, or violates something else.
        for others, formula in (
            (states[:-1], formula_of(spec)),
            (states[1:], formula_of(spec)),
            (states, Not(formula_of(spec))),
        ):
            # A shorter trace whose loop is its last state stutters there, and may be genuine.
            if 0 < loop < len(others) - (others is not states):
                assert wrong_lasso(spec.model, graph, formula, others, loop) is not None
                refused += 1
    assert refused > 10


def _is_violated(spec: Run, exchanged: bool) -> bool:
    fairness = tuple(replace(item, strong=item.strong ^ exchanged) for item in spec.model.fairness)
    model = replace(spec.model, fairness=fairness)
    return violated(model, graph_of(model), formula_of(spec))
