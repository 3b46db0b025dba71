"""The engine ``compiled`` has TLC's results on small modules, or refuses them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.compiled_modules import EXCEPTIONS, MODULES, OWN, compiled_result, expected
from tests.support.tla_runs import model_at, written

from fencepost.checker.compiled.search import ENGINE
from fencepost.checker.evaluator.model import TlaModel
<<<<<<< HEAD
from fencepost.checker.request import Request, Unsupported

_OTHERS = ROOT / "tests" / "checker" / "evaluator" / "modules.txt"
_TABLES = [Path(__file__).with_name(name) for name in ("modules.txt", "behaviours.txt")]
_OWN = {
    name: block
    for table in _TABLES
    for name, block in blocks(table.read_text(encoding="utf-8")).items()
}
_BLOCKS = blocks(_OTHERS.read_text(encoding="utf-8")) | _OWN
_EXCEPTIONS = Path(__file__).with_name("exceptions.txt").read_text(encoding="utf-8").splitlines()
EXCEPTIONS = dict(line.split(": ", 1) for line in _EXCEPTIONS)
"""The modules with another result: the engine refuses a module, or reports another problem than the
one that TLC meets first.
"""
=======
from fencepost.checker.request import Request
>>>>>>> ac169e3d (Do not trust the assumed sizes of sets that have a flag for each value)


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
