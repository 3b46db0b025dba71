"""Whole specs with their verdicts, or with the codes, the place and the text of their problems."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.checked_specs import problems, verdict
from tests.support.text_tables import Block, blocks

SPECS = blocks(Path(__file__).with_name("specs.txt"))


@pytest.mark.parametrize("block", SPECS, ids=lambda block: f"{block.rest} {block.name}")
def test_spec(block: Block) -> None:
    """``=> verdict``, or ``=> codes; place; phrases``. The place is the first line of the first
    problem's span; its text has the phrases, which are separated by ``&``.
    """
    text, *modules = block.text.split("\n--- ")
    files = {path: module for path, _, module in (part.partition("\n") for part in modules)}
    wanted, place, *rest = (*block.expected, "")
    phrases = "; ".join(rest).removesuffix("; ").split(" & ")
    if len(block.expected) > 1 or wanted == "no problem":
        found = problems(text, files)
        codes = " ".join(problem.code for problem in found) or "no problem"
        assert codes == wanted, "\n".join(map(str, found))
        if found:
            span = found[0].span
            assert (span.text.split("\n")[0] if span else "") == place
            assert all(phrase in str(found[0]) for phrase in phrases), found[0]
    else:
        assert verdict(text, files) == wanted
