"""Puts a text into the standard layout by editing some of its lines."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from fencepost.checker.lsp.places import Edits
from fencepost.spec.syntax.formatter import formatted
from fencepost.spec.text.problem import Rejected
from fencepost.spec.text.source import Source

MAX_COMPARED = 1 << 20
"""The maximum number of pairs of lines that are compared. If there are more, one edit replaces all
changed lines.
"""


def layout(text: str) -> Edits:
    """Returns the changes of `fencepost fmt` as edits of lines, so that cursors and folds keep
    their positions. Returns no edits for a text with syntax errors.
    """
    try:
        new = formatted(Source("", text.removeprefix("\ufeff")))
    except Rejected:
        return []
    before = text.removeprefix("\ufeff").splitlines(keepends=True)
    after = new.splitlines(keepends=True)
    starts = [0]
    for line in before:
        starts.append(starts[-1] + len(line))
    first = _common(before, after)
    rest, after_rest = before[first:], after[first:]
    last = _common(rest[::-1], after_rest[::-1])
    rest, after_rest = rest[: len(rest) - last], after_rest[: len(after_rest) - last]
    changes: Sequence[tuple[str, int, int, int, int]] = [
        ("replace", 0, len(rest), 0, len(after_rest))
    ]
    if len(rest) * len(after_rest) <= MAX_COMPARED:
        changes = SequenceMatcher(None, rest, after_rest, autojunk=False).get_opcodes()
    return [
        (starts[first + a], starts[first + b], "".join(after_rest[c:d]))
        for kind, a, b, c, d in changes
        if kind != "equal"
    ]


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    """Returns the number of lines at the start that are equal in both texts."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(left), len(right)))
