"""Every example on every engine: verdict, counts and trace; and what all runs have in common."""

from __future__ import annotations

import pytest
from tests.support.agreement import model_of
from tests.support.examples import EXAMPLES, EXPLICIT, Example

from fencepost.checker.engines import load
from fencepost.checker.outcome import Outcome
from fencepost.checker.request import Request
from fencepost.checker.search.reconstruct import first_impossible
from fencepost.spec.core.ir import Model
from fencepost.spec.core.spelling import show
from fencepost.spec.core.types import is_value
from fencepost.spec.core.verify_model import problems
from fencepost.spec.semantics.stepper import Runner

EACH = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)


def run(model: Model, engine: str, deadlock: bool, keep_going: bool = False) -> Outcome:
    return load(engine).run(
        Request(
            model,
            properties=frozenset(range(len(model.properties))),
            deadlock=deadlock,
            keep_going=keep_going,
        )
    )


def steps(model: Model, outcome: Outcome) -> tuple[str, ...]:
    """The steps of the first finding's trace, behind the initial state."""
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
    model = model_of(example.text)
    outcome = run(model, engine, example.deadlock)
    statistics = outcome.statistics
    number = outcome.findings[0].property if outcome.findings else None
    found = Example(
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
    assert found == example
    assert sum(statistics.levels) == statistics.distinct


@EACH
def test_models_are_legal_and_their_traces_real(example: Example) -> None:
    model = model_of(example.text)
    assert problems(model) == []
    runner = Runner(model)
    for finding in run(model, "interpreter", example.deadlock, keep_going=True).findings:
        if finding.trace is not None:
            assert first_impossible(runner, finding.trace) is None
            for step in finding.trace.steps:
                for variable, value in zip(model.variables, step.state or (), strict=False):
                    assert is_value(value, variable.type)


@EACH
def test_going_on_finds_the_same_first(example: Example) -> None:
    model = model_of(example.text)
    first = run(model, "interpreter", example.deadlock)
    all = run(model, "interpreter", example.deadlock, keep_going=True)
    assert all.findings[:1] == first.findings[:1]
