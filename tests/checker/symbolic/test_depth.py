"""A bug that takes many steps, and one epoch of 32767, found by bounded search."""

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
    """KAFKA-20090: a fence at the last epoch, found without saying which epoch that is."""
    spec = (ROOT / "models/kafka/epoch_arithmetic.fence").read_text(encoding="utf-8") + CHECK
    whole = loaded(spec)
    (chosen,) = (check for check in whole.checks if check.name == "rotation_from_any")
    model = program.build(whole, chosen)
    outcome = ENGINE.run(
        Request(
            model, properties=program.select(model, chosen), deadlock=False, limits=Limits(depth=8)
        )
    )
    (found,) = outcome.findings
    # An explicit search has it after as many steps, where it begins at 32766.
    assert (found.verdict, found.depth) == (Verdict.VIOLATED, 8)
    assert found.constants[0].value in (32765, 32766)
