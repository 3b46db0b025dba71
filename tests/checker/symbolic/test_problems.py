"""Properties without a value, next to other problems at the same depth: bounded search reports the
same problem as the interpreter, and no proof ignores it.

Each spec has an expression that may fail, and something that could hide the failure.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.checker.symbolic.test_bmc import check as agrees
from tests.checker.symbolic.test_induction import check_sound, prove
from tests.support.agreement import model_of
from tests.support.text_tables import blocks

from fencepost.checker.outcome import Verdict

STEPS = "var x: 0..4 = 3\naction a:\n    require x > 0\n    x = x - 1\n"
PICKS = "var x: 0..3 = 0\nvar y: 0..3 = 0\naction a(n in 0..3):\n    require x == 0\n    x = n\n"
QUEUE = "var q: seq[0..3, 2] = []\naction a:\n    require q != []\n    q.pop_first()\n"
SPECS = {block.name: block.text for block in blocks(Path(__file__).with_name("problems.txt"))}


@pytest.mark.parametrize("name", SPECS)
def test_bounded_search_agrees_with_the_interpreter(name: str) -> None:
    agrees(model_of(SPECS[name]), 4)


@pytest.mark.parametrize("name", SPECS)
def test_proofs_are_sound(name: str) -> None:
    check_sound(model_of(SPECS[name]))


def test_the_step_of_a_proof_reads_terminals_and_reachables() -> None:
    """The step of a proof detects undefined properties in states beyond the base case."""
    text = "var x: 0..9 = 0\naction a:\n    require x < 9\n    x += 1\n"
    for last in ("terminal: 6 // (9 - x) > 0", "reachable R: 6 // (9 - x) == 6\nterminal: true"):
        outcome = prove(model_of(f"{text}{last}\n"))
        assert outcome.verdict is Verdict.INCONCLUSIVE
        reasons = {proof.subject: proof.reason for proof in outcome.proofs}
        assert reasons["no evaluation error"] == "not inductive"
