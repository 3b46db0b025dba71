"""The engine ``compiled`` has the evaluator's results on random modules, or refuses them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.amounts import numbers
from tests.support.tla_behaviours import random_behaviours
from tests.support.tla_modules import random_module
from tests.support.tla_runs import first_word, random_result

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


@pytest.mark.parametrize("seed", numbers(6))
def test_verdicts_on_behaviours_are_those_of_the_evaluator(seed: int, tmp_path: Path) -> None:
    module = random_behaviours(seed)
    try:
        expected = random_result(tmp_path, module)
    except Rejected:
        return
    try:
        result = random_result(tmp_path, module, Limits(workers=1 + seed % 3), ENGINE)
    except Unsupported as unsupported:
        reason = str(unsupported)
        assert _REFUSES.match(reason), reason
        return
    if expected.startswith("ok"):
        assert result == expected
    elif "error" in (first_word(result), first_word(expected)):
        # Of several problems at one depth, another one may be reported.
        assert _states(result) == _states(expected)
    else:
        # The states of a behaviour may be others.
        assert result.split(", ")[0] == expected.split(", ")[0]


def _states(result: str) -> str:
    return result.partition(", ")[2]
