"""The interpreter and a second opinion (`naive`) see the same in every run."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from tests import naive
from tests.strategies import specs
from tests.support import amounts, examples
from tests.support.agreement import Observed, assert_same, bounded, loaded, observed
from tests.support.shipped import MODELS, ShippedCheck, a_few, is_port, quick, turn

from fencepost.checker.request import Limits
from fencepost.spec.core.ir import Model
from fencepost.spec.elaborate.claims import program
from fencepost.spec.elaborate.claims.program import Check

ENGINE = "interpreter"
MOST = 300
FEW = 100
"""Of the shipped models only the first levels are looked at; their figures are tested elsewhere."""


def plain(seen: Observed) -> Observed:
    """What was observed, but for the explanation of why a property fails."""
    return replace(
        seen,
        findings=tuple(
            replace(
                finding,
                instance=(),
                failing=finding.failing if finding.verdict == "assumption" else None,
            )
            for finding in seen.findings
        ),
    )


def assert_agrees(
    model: Model, check: Check, limits: Limits, where: str, keep_going: bool
) -> Observed:
    """Interpreter and second opinion agree; on what."""
    wanted = naive.observed(
        model,
        program.select(model, check),
        check.verdict != "violated",
        limits.depth,
        keep_going,
        limits.max_states,
    )
    found = observed(ENGINE, model, check, limits, keep_going)
    assert_same(wanted, plain(found), f"check {check.name!r}, {limits}:\n{where}")
    return found


def assert_runs_agree(model: Model, check: Check, limits: Limits, where: str) -> None:
    """They agree to the first problem and beyond, and on the first states alone, as many as chance
    has it.
    """
    for keep_going in (False, True):
        found = assert_agrees(model, check, limits, where, keep_going)
        if found.distinct > 1:
            most = random.Random(found.generated).randrange(1, found.distinct)
            assert_agrees(model, check, replace(limits, max_states=most), where, keep_going)


@amounts.examples(60)
@given(specs())
def test_random_specs(text: str) -> None:
    read = loaded(text)
    for check in read.checks:
        model = program.build(read, check)
        assert_runs_agree(model, check, bounded(ENGINE, model, check, MOST), text)


@pytest.mark.parametrize(
    "shipped",
    turn([c for path in MODELS if not is_port(path) for c in a_few(path, quick(path), 2)], 0),
    ids=str,
)
def test_shipped_models(shipped: ShippedCheck) -> None:
    model, check = shipped.build()
    limits = bounded(ENGINE, model, check, FEW)
    if assert_agrees(model, check, limits, str(shipped), False).findings:
        assert_agrees(model, check, limits, str(shipped), True)


@pytest.mark.parametrize("example", examples.EXAMPLES, ids=lambda example: example.name)
def test_examples(example: examples.Example) -> None:
    read = loaded(example.text)
    for check in read.checks:
        model = program.build(read, check)
        assert_runs_agree(model, check, Limits(), example.text)
