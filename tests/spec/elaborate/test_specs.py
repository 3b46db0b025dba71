"""Whole specs with their verdicts, or with the codes, position and text of their problems."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from tests.support.checked_specs import problems, ran
from tests.support.text_tables import Block, blocks

SPECS = blocks(Path(__file__).with_name("specs.txt"))


@pytest.mark.parametrize("block", SPECS, ids=lambda block: f"{block.rest} {block.name}")
def test_spec(block: Block) -> None:
    """Checks a spec against its line ``=>``.

    The line is ``=> verdict | fact value | ...`` with facts of `Ran`, or ``=> codes; position;
    phrases``. The position is the first line of the first problem's span. The problem's text
    contains the phrases, which are separated by ``&``.
    """
    text, *modules = block.text.split("\n--- ")
    files = {path: module for path, _, module in (part.partition("\n") for part in modules)}
    wanted, position, *rest = (*block.expected, "")
    phrases = "; ".join(rest).removesuffix("; ").split(" & ")
    if len(block.expected) > 1 or wanted == "no problem":
        reported = problems(text, files)
        codes = " ".join(problem.code for problem in reported) or "no problem"
        assert codes == wanted, "\n".join(map(str, reported))
        if reported:
            span = reported[0].span
            assert (span.text.split("\n")[0] if span else "") == position
            assert all(phrase in str(reported[0]) for phrase in phrases), reported[0]
    else:
        expected, *facts = wanted.split(" | ")
        result = ran(text, files)
        assert result.verdict == expected
        for name, _, value in (fact.partition(" ") for fact in facts):
            actual: object = getattr(result, name)
            if isinstance(actual, list):
                actual = ", ".join(cast("list[str]", actual))
            assert str(actual) == value
