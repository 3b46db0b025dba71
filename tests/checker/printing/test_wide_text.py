"""Alignment and wrapping of text with characters that occupy two terminal cells or none."""

from __future__ import annotations

import json
import unicodedata

import pytest

from fencepost.checker.printing.page import Page, cells, padded
from fencepost.checker.trace.itf import read
from fencepost.checker.trace.steps import write_trace

STATES = {
    "vars": ["状態", "n", "naïve", "🚀x", "log"],
    "states": [
        {"状態": "待機", "n": 1, "naïve": True, "🚀x": "é", "log": ["メッセージ"] * 12},
        {"状態": "実行中", "n": 2, "naïve": False, "🚀x": "ê", "log": ["メッセージ"] * 13},
    ],
}


def breadth(text: str) -> int:
    """Returns the width of a line according to Unicode, computed without rich."""
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(unicodedata.combining(char) != 0 for char in text)


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("abc", 3),
        ("状態", 4),
        ("🚀x", 3),
        ("e\u0301", 1),
        ("a\tb\n", 4),
        ("→ ✗ …", 5),
        ("態\n\x1b", 4),
    ],
)
def test_cells(text: str, width: int) -> None:
    assert cells(text) == width
    assert cells(padded(text, 9)) == 9
    assert padded(text, 1).rstrip(" ") == text.rstrip(" ")


def test_a_trace_with_wide_names() -> None:
    page = Page(60)
    write_trace(page, read(json.dumps(STATES).encode(), "t"))
    lines = page.text().splitlines()
    # Within a state, all names end in the column of the widest name.
    begins = [line for line in lines if " = " in line and line.startswith("     ")]
    assert len(begins) == 5
    assert {breadth(line.partition(" = ")[0]) for line in begins} == {5 + 5}
    arrows = [line for line in lines if " -> " in line]
    assert len(arrows) == 4
    assert {
        breadth(line) - breadth(line[5:].lstrip().partition("  ")[2].lstrip()) for line in arrows
    } == {12}
    assert max(map(breadth, lines)) <= 60
    assert max(map(breadth, lines)) > 60 - breadth("メッセージ, "), "lines are filled"


def test_words_are_broken_by_their_width() -> None:
    page = Page(30)
    page.words("注意: ", "漢字 " * 20, 6)
    lines = page.text().splitlines()
    assert "".join(lines).count("漢字") == 20
    # Another word of four cells and a blank would not fit.
    assert all(25 < breadth(line) <= 30 for line in lines[:-1])
