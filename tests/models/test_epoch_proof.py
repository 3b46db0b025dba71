"""The assumptions on which the proof of S8 in models/kafka/epoch_arithmetic.fence relies."""

from __future__ import annotations

import pytest
from tests.support.paths import ROOT

from fencepost.checker.engines import load
from fencepost.checker.outcome import Outcome, Verdict
from fencepost.checker.request import Request
from fencepost.checker.symbolic import induction
from fencepost.spec.core import ir
from fencepost.spec.elaborate.claims import program

MODEL = ROOT / "models" / "kafka" / "epoch_arithmetic.fence"


def _nothing(_: ir.Model) -> tuple[()]:
    return ()


def prove(monkeypatch: pytest.MonkeyPatch, **switches: str) -> Outcome:
    """Returns the result of a proof from the stated lemmas, without guessed ones."""
    monkeypatch.setattr(induction, "candidates", _nothing)
    loaded = program.load(MODEL)
    (check,) = (check for check in loaded.checks if check.name == "s8_for_ever")
    model = program.build(loaded, check, switches)
    return load("induction").run(Request(model, properties=program.select(model, check)))


def test_the_lemmas_suffice(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = prove(monkeypatch)
    assert outcome.verdict is Verdict.OK
    subjects = {proof.subject for proof in outcome.proofs}
    assert {"invariant S8", "step invariant S8M", "no evaluation error"} <= subjects


@pytest.mark.parametrize(
    "switches",
    # OverflowAnswer breaks the proof as well, but this shows only after a minute.
    [("SingleFenceBump", "RotateOnFence"), ("RotateOnFence",)],
)
def test_a_fix_that_is_left_out_breaks_the_proof(
    switches: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = prove(monkeypatch, **dict.fromkeys(switches, "false"))
    assert outcome.verdict is not Verdict.OK
