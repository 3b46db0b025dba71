"""The engine ``compiled`` has TLC's results on small modules, or refuses them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.compiled_modules import EXCEPTIONS, MODULES, OWN, compiled_result, expected
from tests.support.tla_runs import model_at, written

from fencepost.checker.compiled.search import ENGINE
from fencepost.checker.evaluator.model import TlaModel
from fencepost.checker.request import Request


@pytest.mark.parametrize("name", MODULES)
def test_results_are_those_of_tlc(name: str, tmp_path: Path) -> None:
    assert compiled_result(name, tmp_path) == expected(name)


def test_a_way_to_a_stuck_state_is_one_of_the_module(tmp_path: Path) -> None:
    model = model_at(written(tmp_path, MODULES["Messages"])[0])
    outcome = ENGINE.run(Request(model, frozenset()))
    trace = outcome.coverage.stuck.trace
    assert outcome.coverage.stuck.count
    assert trace is not None
    assert isinstance(model, TlaModel)
    assert [model.table[number] for number in trace.steps[0].state or ()][-1] == "{}"


def test_exceptions_exist() -> None:
    assert EXCEPTIONS.keys() <= MODULES.keys() - OWN.keys()
