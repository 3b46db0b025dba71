"""Random specs with random fairness and formulas: each lasso is judged by the evaluator, and where
none is found, none is found among all lassos up to a length either.
"""

from __future__ import annotations

import os
from random import Random

import pytest
from tests.strategies.behaviours import behaviour_spec
from tests.support.agreement import model_of
from tests.support.lassos import some_lasso, steps_of

from fencepost.checker.temporal.decide import graph, violation
from fencepost.checker.temporal.lasso import genuine
from fencepost.spec.semantics.stepper import Runner

EXAMPLES = int(os.environ.get("FENCEPOST_EXAMPLES", "100"))
SEEDS = range(0, EXAMPLES, 20)
MOST = 6
"""Graphs with more states have too many lassos to try them all."""


@pytest.mark.parametrize("start", SEEDS)
def test_what_is_found_is_a_lasso_and_nothing_else_is_missed(start: int) -> None:
    found = 0
    for seed in range(start, start + 20):
        text = behaviour_spec(Random(seed))
        model = model_of(text)
        runner = Runner(model)
        number = next(n for n, prop in enumerate(model.properties) if prop.kind.of_behaviours)
        formula = model.properties[number].formula
        assert formula is not None
        lasso = violation(graph(runner), number)
        found += lasso is not None
        if lasso is not None:
            assert genuine(runner, formula, lasso), f"seed {seed}: {lasso}\n{text}"
        elif len(steps_of(runner)[1]) <= MOST:
            missed = some_lasso(model, number, 2, 4)
            assert missed is None, f"seed {seed}: {missed}\n{text}"
    assert 0 < found < 20
