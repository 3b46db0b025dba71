"""The engine ``compiled`` has the evaluator's results on random modules, or refuses them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.amounts import numbers
from tests.support.tla_modules import random_module
from tests.support.tla_runs import random_result

from fencepost.checker.compiled.search import ENGINE
from fencepost.checker.request import Limits, Unsupported
from fencepost.spec.text.problem import Rejected

_REFUSES = re.compile("it does not")
_LIMITS = Limits(max_states=2_000)


@pytest.mark.parametrize("seed", numbers(10))
def test_results_are_those_of_the_evaluator(seed: int, tmp_path: Path) -> None:
    module = random_module(seed)
    try:
        expected = random_result(tmp_path, module, _LIMITS)
    except Rejected:
        return
    if expected == "inconclusive":
        return
    try:
        result = random_result(tmp_path, module, engine=ENGINE)
    except Unsupported as unsupported:
        reason = str(unsupported)
        result = expected if _REFUSES.match(reason) else reason
    assert result == expected
