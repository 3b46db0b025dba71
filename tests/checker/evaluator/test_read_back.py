"""A spec that is exported to TLA+ and read back has the same results."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.evaluator_judge import EvaluatorJudge
from bench.tlc_agree import compare
from tests.checker.tla_export.test_tlc import REFUSED, SPECS
from tests.strategies.living import grown_living
from tests.support.agreement import loaded
from tests.support.examples import EXAMPLES, Example
from tests.support.shipped import turn

from fencepost.spec.elaborate.claims.program import Program, load

MAX_STATES = 3_000
SEEDS = range(1, 6)


def read_back(program: Program) -> list[str | None]:
    """Compares each check with its exported module. Returns the reasons of those that are not
    exported.
    """
    comparisons = [
        compare(program, check, EvaluatorJudge(), MAX_STATES) for check in program.checks
    ]
    for comparison in comparisons:
        wrong = comparison.difference
        assert wrong is None, f"{wrong.subject}: {wrong.difference}\n{wrong.ours}\n{wrong.theirs}"
    return [comparison.refused for comparison in comparisons]


@pytest.mark.parametrize("path", turn(SPECS, 0), ids=lambda path: path.stem)
def test_exported_specs(path: Path) -> None:
    assert {*read_back(load(path))} == {REFUSED.get(path.stem)}


@pytest.mark.parametrize("example", turn(EXAMPLES, 1, 3), ids=lambda example: example.name)
def test_examples(example: Example) -> None:
    read_back(loaded(example.text))


@pytest.mark.parametrize("seed", SEEDS)
def test_random_specs(seed: int) -> None:
    read_back(loaded(grown_living(seed)))
