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

from fencepost.checker.engines import load
from fencepost.checker.request import Limits, Request
from fencepost.checker.temporal.decide import graph, violation
from fencepost.checker.temporal.lasso import genuine
from fencepost.spec.core.ir import Model
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


@pytest.mark.parametrize("start", range(0, EXAMPLES // 5, 10))
def test_machine_code_finds_the_same_lasso(start: int) -> None:
    for seed in range(start, start + 10):
        text = behaviour_spec(Random(seed)).replace("fair each", "fair")
        model = model_of(text)
        chosen = frozenset(n for n, prop in enumerate(model.properties) if prop.kind.selectable)

        def found(
            engine: str, workers: int, model: Model = model, chosen: frozenset[int] = chosen
        ) -> tuple[object, ...]:
            limits = Limits(workers=workers)
            outcome = load(engine).run(Request(model, chosen, deadlock=False, limits=limits))
            return outcome.verdict, outcome.cut, outcome.findings, outcome.notes

        wanted = found("interpreter", 1)
        assert found("local", 1 + seed % 3) == wanted, f"seed {seed}\n{text}"
