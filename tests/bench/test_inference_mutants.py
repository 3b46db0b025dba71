"""The mutants of the inference of types for TLA+ modules can be made, and some are caught."""

from __future__ import annotations

import pytest
from bench.inference_mutants import mutants, tried
from tests.support.paths import ROOT

MUTANTS = {mutant.change: mutant for mutant in mutants()}


@pytest.mark.parametrize("change", MUTANTS)
def test_mutants_change_the_text(change: str) -> None:
    mutant = MUTANTS[change]
    text = (ROOT / mutant.file).read_text(encoding="utf-8")
    assert mutant.applied(text) != text


def test_a_mutant_is_caught() -> None:
    assert tried(MUTANTS["no store is checked"]).startswith("Bounded: ")
