"""The definitions that the page for committers names exist."""

from __future__ import annotations

import re

import pytest
from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "kafka" / "for-committers.md"
ROWS = re.findall(r"^\|([^|]*)\|([^|]*)\|([^|]*)\|([^|]*)\|$", PAGE.read_text("utf-8"), re.M)
MAPPED = [row for row in ROWS if "](../../models/" in row[3]]
RULES = (PAGE.parent / "rules.md").read_text(encoding="utf-8")


def test_the_table_is_there() -> None:
    assert len(MAPPED) > 20


@pytest.mark.parametrize("row", MAPPED, ids=lambda row: row[0].strip()[:40])
def test_definitions_in_rows_exist(row: tuple[str, str, str, str]) -> None:
    files = re.findall(r"\]\(([^)]*)\)", row[3])
    texts = [(PAGE.parent / file).read_text(encoding="utf-8") for file in files]
    declared = {
        name
        for text in texts
        for name in re.findall(r"^ *(?:.*\b)?(?:def|procedure|action|record) (\w+)", text, re.M)
    }
    assert set(re.findall(r"`(\w+)`", row[2])) <= declared
    for rule in re.findall(r"[AB]\d+(?:\.\d+)?", row[1]):
        assert re.search(rf"\b{rule}[ab]?\b", RULES), rule
