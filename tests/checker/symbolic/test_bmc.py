"""Bounded search with Z3 finds the problems that the interpreter finds within the same number of
steps.
"""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import pytest
from tests.strategies import grown
from tests.support.amounts import numbers
from tests.support.examples import EXAMPLES, Example

from fencepost.checker.engines import load
from fencepost.checker.outcome import Outcome, Verdict
from fencepost.checker.request import Engine, Limits, Request, Unsupported
from fencepost.checker.search.explain import first_impossible
from fencepost.checker.symbolic import solver
from fencepost.checker.symbolic.bounded import ENGINE
from fencepost.spec.core.ir import Model
from fencepost.spec.elaborate.claims import program
from fencepost.spec.semantics.stepper import Runner
from fencepost.spec.text.problem import Rejected

STEPS = 4
SECONDS = 20.0


def run(engine: Engine, model: Model, steps: int, keep_going: bool) -> Outcome:
    return engine.run(
        Request(
            model,
            properties=frozenset(range(len(model.properties))),
            limits=Limits(depth=steps, max_states=3_000, timeout=SECONDS),
            keep_going=keep_going,
        )
    )


def problems_of(model: Model, outcome: Outcome, steps: int) -> list[tuple[object, ...]]:
    """The problems, except those of last-level states without successors: bounded search finds
    these one step earlier than the interpreter.
    """
    problems: list[tuple[object, ...]] = []
    for finding in outcome.findings:
        number = finding.index - len(model.actions)
        ends = finding.site is not None and number >= 0 and model.properties[number].kind.allows_end
        last = finding.depth == steps + 1 and (ends or finding.verdict is Verdict.DEADLOCK)
        if finding.verdict is not Verdict.UNREACHED and not last:
            length = None if finding.trace is None else len(finding.trace.steps)
            problems.append(
                (finding.verdict, finding.property, finding.depth, finding.site, length)
            )
    return problems


def check(model: Model, steps: int) -> None:
    for keep_going in (False, True):
        explicit = run(load("interpreter"), model, steps, keep_going)
        try:
            symbolic = run(ENGINE, model, steps, keep_going)
        except Unsupported:
            return
        if any(outcome.cut and outcome.cut.kind != "depth" for outcome in (explicit, symbolic)):
            continue
        assert problems_of(model, symbolic, steps) == problems_of(model, explicit, steps), (
            keep_going
        )
        # Only an explicit search detects that no new states remain.
        assert explicit.findings or symbolic.verdict is not Verdict.OK or explicit.limit is None
        for finding in symbolic.findings:
            if finding.trace is not None and finding.site is None:
                assert first_impossible(Runner(model), finding.trace) is None


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_example(example: Example, tmp_path: Path) -> None:
    path = tmp_path / "example.fence"
    path.write_text(example.text, encoding="utf-8")
    check(program.build(program.load(path), None), max(example.depth, STEPS))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_example_of_hard_questions(example: Example, tmp_path: Path) -> None:
    """As above, but the incremental solver gives up each query."""
    with mock.patch.object(solver, "EFFORT", 1):
        test_example(example, tmp_path)


@pytest.mark.parametrize("seed", numbers(12))
def test_random_spec(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "grown.fence"
    path.write_text(grown(seed), encoding="utf-8")
    try:
        loaded = program.load(path)
        model = program.build(loaded, loaded.checks[0])
    except Rejected:
        return
    check(model, STEPS)
