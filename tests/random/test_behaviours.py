"""Random specs with random fairness and formulas: each lasso is judged by the evaluator, where none
is found, none is found among all lassos up to a length either, and every engine finds the same.

`python -m bench.campaign --behaviours` takes thousands of them.
"""

from __future__ import annotations

import pytest
from tests.support.amounts import amount
from tests.support.behaviour_runs import bounded_agrees, grown_behaved, judged, local_agrees

from fencepost.checker.outcome import Verdict

FIRST, TOGETHER = amount("FIRST", 0), 20


@pytest.mark.parametrize("start", range(FIRST, FIRST + amount("EXAMPLES", 100), TOGETHER))
def test_what_is_found_is_a_lasso_and_nothing_else_is_missed(start: int) -> None:
    found = 0
    for seed in range(start, start + TOGETHER):
        spec = grown_behaved(seed)
        outcome = spec.by("interpreter")
        judged(spec, outcome)
        found += outcome.verdict is Verdict.VIOLATED
    assert 0 < found < TOGETHER


@pytest.mark.parametrize("start", range(FIRST, FIRST + amount("EXAMPLES", 100) // 10, 5))
def test_machine_code_finds_the_same_lasso(start: int) -> None:
    for seed in range(start, start + 5):
        spec = grown_behaved(seed)
        local_agrees(spec, spec.by("interpreter"))


@pytest.mark.parametrize("start", range(FIRST, FIRST + amount("EXAMPLES", 100) // 10, 5))
def test_bounded_model_checking_finds_each_short_lasso(start: int) -> None:
    for seed in range(start, start + 5):
        spec = grown_behaved(seed)
        bounded_agrees(spec, spec.by("interpreter"))
