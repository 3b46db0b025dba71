"""Every example gives its verdict, counts and trace on every engine, and all runs share some
properties.
"""

from __future__ import annotations

import pytest
from tests.support.agreement import Run, model_of, run_of_model
from tests.support.examples import EXAMPLES, EXPLICIT, Example

from fencepost.checker.outcome import Outcome
from fencepost.checker.search.explain import first_impossible
from fencepost.spec.core.ir import Model
from fencepost.spec.core.spelling import show
from fencepost.spec.core.types import is_value
from fencepost.spec.core.verify_model import problems
from fencepost.spec.semantics.stepper import Runner

EACH = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)


def run_of(example: Example, keep_going: bool = False) -> Run:
    deadlock = example.deadlock
    return run_of_model(model_of(example.text), deadlock=deadlock, keep_going=keep_going)


def steps(model: Model, outcome: Outcome) -> tuple[str, ...]:
    """Returns the steps of the first finding's trace, without the initial state."""
    if not outcome.findings or outcome.findings[0].trace is None:
        return ()
    shown: list[str] = []
    for step in outcome.findings[0].trace.steps[1:]:
        assert step.action is not None
        values = ", ".join(show(choice.value, choice.type) for choice in step.choices)
        name = model.actions[step.action].name
        shown.append(f"{name}({values})" if values else name)
    return tuple(shown)


@EACH
@pytest.mark.parametrize("engine", EXPLICIT)
def test_example(example: Example, engine: str) -> None:
    run = run_of(example)
    model, outcome = run.model, run.outcome(engine)
    statistics = outcome.statistics
    number = outcome.findings[0].property if outcome.findings else None
    actual = Example(
        example.name,
        example.text,
        outcome.verdict.value,
        statistics.distinct,
        statistics.generated,
        statistics.depth,
        steps(model, outcome),
        "" if number is None else model.properties[number].name,
        example.deadlock,
    )
    assert actual == example
    assert sum(statistics.levels) == statistics.distinct


@EACH
def test_models_are_legal_and_their_traces_real(example: Example) -> None:
    run = run_of(example, keep_going=True)
    model, runner = run.model, Runner(run.model)
    assert problems(model) == []
    for finding in run.outcome("interpreter").findings:
        if finding.trace is not None:
            assert first_impossible(runner, finding.trace) is None
            for step in finding.trace.steps:
                for variable, value in zip(model.variables, step.state or (), strict=False):
                    assert is_value(value, variable.type)


@EACH
def test_going_on_finds_the_same_first(example: Example) -> None:
    first, all = (run_of(example, going).outcome("interpreter") for going in (False, True))
    assert all.findings[:1] == first.findings[:1]
