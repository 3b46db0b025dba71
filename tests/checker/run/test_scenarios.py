"""Scenarios as they are played: engines agree with the plainest search, and with what is written
down.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.scenario_runs import SPEC, plainly, staged
from tests.support.text_tables import tables

from fencepost.checker.outcome import Verdict
from fencepost.checker.request import ignored
from fencepost.checker.run.check import perform, prepare
from fencepost.checker.run.job import Settings
from fencepost.checker.run.judge import CheckResult, Exit
from fencepost.checker.search.reconstruct import first_impossible
from fencepost.spec.core.scenario import product
from fencepost.spec.core.verify_model import problems
from fencepost.spec.elaborate.program import Program
from fencepost.spec.semantics.stepper import Runner

WRITTEN = Path(__file__).parents[2] / "spec/elaborate/test_scenarios.py"
TABLE = tables(WRITTEN)["right"]


def played(read: Program, engine: str, name: str = "s") -> CheckResult:
    (check,) = (one for one in read.scenarios if one.name == name)
    return perform(prepare(read, check, Settings(engine=engine)), ignored)


def said(result: CheckResult) -> tuple[str, str]:
    """The verdict, and how many steps there are in the run, or behind in the scenario."""
    (finding,) = result.outcome.findings
    assert finding.fit is not None
    assert finding.trace is not None
    runner = Runner(result.job.model)
    assert first_impossible(runner, finding.trace) is None
    if result.outcome.verdict is Verdict.OK:
        assert result.as_expected
        return "ok", str(len(finding.trace.steps) - 1)
    assert result.exit is Exit.NOT_FOUND
    return result.outcome.verdict.value, f"{finding.fit.behind} behind"


@pytest.mark.parametrize(
    ("number", "row"), list(enumerate(TABLE)), ids=[steps for steps, _, _ in TABLE]
)
def test_engines_agree(tmp_path: Path, number: int, row: tuple[str, ...]) -> None:
    """The interpreter on every row, and machine code on some."""
    steps, verdict, count = row
    model, scenario, read = staged(tmp_path / "m.fence", f"{SPEC}scenario s: {steps}\n")
    assert problems(product(model, scenario).model) == []
    met, found = plainly(model, scenario)
    assert (verdict, count) == ("ok" if met else "unreached", f"{found}{'' if met else ' behind'}")
    first = played(read, "interpreter")
    assert said(first) == (verdict, count)
    if number % 3:
        return
    other = played(read, "local")
    assert other.outcome.findings == first.outcome.findings
    counted = [one.outcome.statistics for one in (first, other)]
    assert counted[0].distinct == counted[1].distinct
    assert counted[0].generated == counted[1].generated
