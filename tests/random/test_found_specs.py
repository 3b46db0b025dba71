"""Regression specs from random generation: each spec once revealed a bug, and states its right
result.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.agreement import runs_of
from tests.support.comparisons import naive_agrees, rewrite_agrees
from tests.support.rewriting import RULES
from tests.support.text_tables import blocks

from fencepost.spec.core.verify_model import problems

FOUND = {block.name: block.text for block in blocks(Path(__file__).with_name("found_specs.txt"))}


@pytest.mark.parametrize("name", FOUND)
def test_found_spec(name: str) -> None:
    text = FOUND[name] + "terminal: true\n"
    for run in runs_of(text):
        assert problems(run.model) == []
        assert run.by("interpreter").verdict == "ok"
        if name != "membership in a wide interval":
            # The second interpreter, or an interval with other bounds, would count to 2^32.
            naive_agrees(run, limited=False)
            for rule in RULES:
                rewrite_agrees(text, rule)
