"""The engine local finds in whole runs what the interpreter finds, whatever the number of workers.

``FENCEPOST_STATES`` is how many states a shipped check may have to be run by the interpreter.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.strategies import grown
from tests.support.amounts import amount, numbers
from tests.support.examples import EXAMPLES, Example
from tests.support.shipped import MODELS, ShippedCheck, a_few, has_many_checks, is_port, quick, turn
from tests.support.whole_runs import assert_engines_agree, assert_runs_agree_in_short

from fencepost.checker.request import Limits

MOST = 400
TOO_MANY = amount("STATES", 0)
"""A shipped check of more states is left out; 0: see `chosen`."""
A_FEW = 1


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_examples(example: Example) -> None:
    # Of better code, `test_steps` compares every state of every example.
    assert_engines_agree(example.text, 10_000, better=len(example.name) % 4 == 0)


def chosen() -> Sequence[ShippedCheck]:
    """The shipped checks that are neither slow nor large, and of a model that has many, which run
    much the same code, a few.
    """
    if TOO_MANY:
        return [check for path in MODELS for check in quick(path, TOO_MANY)]
    most = {path: 2_000 if has_many_checks(path) else 20_000 for path in MODELS}
    paths = [path for path in MODELS if not is_port(path)]
    return turn([c for path in paths for c in a_few(path, quick(path, most[path]), A_FEW)], 1)


@pytest.mark.parametrize(("turn", "shipped"), [*enumerate(chosen())], ids=str)
def test_shipped_checks(turn: int, shipped: ShippedCheck) -> None:
    model, check = shipped.build()
    assert_runs_agree_in_short(model, check, Limits(depth=check.depth), turn)


@pytest.mark.parametrize("seed", numbers(30))
def test_random_specs(seed: int) -> None:
    assert_engines_agree(grown(seed), MOST, better=seed % 5 == 0)
