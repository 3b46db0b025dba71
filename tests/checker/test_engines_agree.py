"""The engine local finds in whole runs what the interpreter finds, whatever the number of workers.

``FENCEPOST_EXAMPLES`` is the number of random specs, ``FENCEPOST_FIRST`` that of the first;
``FENCEPOST_STATES`` is how many states a shipped check may have to be run by the interpreter.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.examples import EXAMPLES, Example
from tests.shipped import MODELS, a_few, has_many_checks
from tests.strategies import grown
from tests.whole_runs import assert_engines_agree, assert_runs_agree

from fencepost.checker import engines
from fencepost.checker.request import Limits
from fencepost.spec.elaborate import program

SPECS = int(os.environ.get("FENCEPOST_EXAMPLES", "100"))
FIRST = int(os.environ.get("FENCEPOST_FIRST", "0"))
MOST = 400
TOO_MANY = int(os.environ.get("FENCEPOST_STATES", "0"))
"""A shipped check of more states is left out; 0: see `checks`."""
A_FEW = 3


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_examples(example: Example) -> None:
    assert_engines_agree(example.text, 10_000, better=True)


def checks() -> list[tuple[Path, str]]:
    """The shipped checks that are neither slow nor large, and of a model that has many, which run
    much the same code, a few.
    """
    chosen: list[tuple[Path, str]] = []
    for path in MODELS:
        most = TOO_MANY or (5_000 if has_many_checks(path) else 100_000)
        names = [
            check.name
            for check in program.load(path).checks
            if not check.slow
            and engines.visits_states(check.engine)
            and dict(check.counts).get("states", 0) <= most
        ]
        chosen += [(path, name) for name in (names if TOO_MANY else a_few(path, names, A_FEW))]
    return chosen


@pytest.mark.parametrize(("path", "name"), checks(), ids=lambda part: str(part).split("/")[-1])
def test_shipped_checks(path: Path, name: str) -> None:
    read = program.load(path)
    (check,) = (check for check in read.checks if check.name == name)
    assert_runs_agree(program.build(read, check), check, Limits(depth=check.depth), str(path))


@pytest.mark.parametrize("seed", range(FIRST, FIRST + SPECS))
def test_random_specs(seed: int) -> None:
    assert_engines_agree(grown(seed), MOST, better=seed % 5 == 0)
