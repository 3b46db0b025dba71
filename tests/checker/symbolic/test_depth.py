"""Bounded search finds a bug that takes eight steps and occurs only near the last epoch."""

from __future__ import annotations

from tests.support.agreement import loaded
from tests.support.paths import ROOT

from fencepost.checker.outcome import Verdict
from fencepost.checker.request import Limits, Request
from fencepost.checker.symbolic.bounded import ENGINE
from fencepost.spec.elaborate.claims import program

CHECK = """
check rotation_from_any:
    const Bumps = 1
    const RotateOnFence = false
    expect violated S8
"""


def test_fence_without_rotation_from_any_epoch() -> None:
    """This is KAFKA-20090, a fence at the last epoch, found with a symbolic epoch."""
    spec = (ROOT / "models/kafka/epoch_arithmetic.fence").read_text(encoding="utf-8") + CHECK
    whole = loaded(spec)
    (chosen,) = (check for check in whole.checks if check.name == "rotation_from_any")
    model = program.build(whole, chosen)
    outcome = ENGINE.run(
        Request(
            model, properties=program.select(model, chosen), deadlock=False, limits=Limits(depth=8)
        )
    )
    (finding,) = outcome.findings
    # An explicit search from epoch 32,766 finds it after the same number of steps.
    assert (finding.verdict, finding.depth) == (Verdict.VIOLATED, 8)
    assert finding.constants[0].value in (32765, 32766)
