"""Each spec that measures liveness is a shipped model with edits, and can be loaded."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.behaviours import CASES, COMMAND, PAGE, TLC_CASE, Case, written
from bench.places import filled

from fencepost.spec.elaborate.claims.program import build, load


@pytest.mark.parametrize(
    "case", [*CASES, TLC_CASE], ids=lambda case: f"{case.model}, {case.property}"
)
def test_one_spec_of_a_pair_has_more_to_decide(case: Case, tmp_path: Path) -> None:
    alone, whole = (load(written(case, more, tmp_path)) for more in (False, True))
    kinds = [
        [prop.kind for prop in build(program, program.checks[0]).properties]
        for program in (alone, whole)
    ]
    assert len(kinds[1]) > len(kinds[0])
    assert set(kinds[1]) > set(kinds[0])


def test_the_page_has_a_place_for_the_table() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert "a table" in filled(page, COMMAND, "a table\n")
