"""Bounded search with Z3 finds what the interpreter finds within as many steps."""

from __future__ import annotations

import os
from pathlib import Path
from unittest import mock

import pytest
from tests.examples import EXAMPLES, Example
from tests.strategies import grown

from fencepost.checker.engine import Engine, Limits, Unsupported, load
from fencepost.checker.reference.runner import Runner
from fencepost.checker.result import Outcome, Verdict
from fencepost.checker.symbolic import solver
from fencepost.checker.symbolic.bounded import ENGINE
from fencepost.checker.trace import first_impossible
from fencepost.spec import program
from fencepost.spec.ir import Model
from fencepost.spec.problem import Rejected

STEPS = 4
SPECS = int(os.environ.get("FENCEPOST_SYMBOLIC_SPECS", "25"))
SECONDS = 20.0


def run(engine: Engine, model: Model, steps: int) -> Outcome:
    # A reachable that is not met within the bound says nothing about those beyond.
    searched = frozenset(
        number for number, item in enumerate(model.properties) if item.kind != "reachable"
    )
    return engine.run(
        model,
        properties=searched,
        deadlock=True,
        limits=Limits(depth=steps, max_states=3_000, timeout=SECONDS),
        keep_going=False,
        progress=lambda _: None,
    )


def check(model: Model, steps: int) -> None:
    explicit = run(load("interpreter"), model, steps)
    try:
        symbolic = run(ENGINE, model, steps)
    except Unsupported:
        return
    if "--depth" not in (explicit.limit or "--depth") or "--depth" not in (
        symbolic.limit or "--depth"
    ):
        return
    if not explicit.findings:
        # Only a search that visits states sees that nothing new comes.
        assert symbolic.verdict in (Verdict.OK, Verdict.INCONCLUSIVE), symbolic.findings
        assert not symbolic.findings
        return
    known, found = explicit.findings[0], symbolic.findings[0]
    told = (found.verdict, found.property, found.depth, found.site)
    assert told == (known.verdict, known.property, known.depth, known.site)
    if found.trace is not None and found.site is None:
        assert known.trace is not None
        assert len(found.trace.steps) == len(known.trace.steps)
        assert first_impossible(Runner(model), found.trace) is None


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_example(example: Example, tmp_path: Path) -> None:
    path = tmp_path / "example.fence"
    path.write_text(example.text, encoding="utf-8")
    check(program.build(program.load(path), None), max(example.depth, STEPS))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_example_of_hard_questions(example: Example, tmp_path: Path) -> None:
    """As above, where the solver that keeps what it learns gives up each question."""
    with mock.patch.object(solver, "EFFORT", 1):
        test_example(example, tmp_path)


@pytest.mark.parametrize("seed", range(SPECS))
def test_random_spec(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "grown.fence"
    path.write_text(grown(seed), encoding="utf-8")
    try:
        loaded = program.load(path)
        model = program.build(loaded, loaded.checks[0])
    except Rejected:
        return
    check(model, STEPS)
