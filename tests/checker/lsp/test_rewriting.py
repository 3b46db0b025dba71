"""Layout edits in texts of any length."""

from __future__ import annotations

import pytest

from fencepost.checker.lsp.rewriting import MAX_COMPARED, layout
from fencepost.spec.syntax.formatter import formatted
from fencepost.spec.text.source import Source

HEAD = "var x: 0..1 = 0\ninvariant P:\n"


@pytest.mark.parametrize(
    ("count", "changes"),
    [(3, 2), (400, 2), (int(MAX_COMPARED**0.5) + 10, 1)],
)
def test_long_texts_change_as_a_whole(count: int, changes: int) -> None:
    lines = ["    x==0\n", *["    x == x\n"] * count, "    x==1\n"]
    text = HEAD + "".join(lines) + "action a: x = 0\n"
    edits = layout(text)
    assert len(edits) == changes
    for start, end, new in reversed(edits):
        text = text[:start] + new + text[end:]
    assert text == formatted(Source("", text))
    assert "x == 1\n" in text
