"""The standard layout of a text, as edits of some of its lines."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from fencepost.checker.lsp.places import Edits
from fencepost.spec.syntax.formatter import formatted
from fencepost.spec.text.problem import Rejected
from fencepost.spec.text.source import Source

MAX_COMPARED = 1 << 20
"""The number of pairs of lines to compare; if there are more, all changed lines form one edit."""


def layout(text: str) -> Edits:
    """The changes of `fencepost fmt`, line by line, so that cursors and folds keep their positions;
    none for a text with syntax errors.
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
    """The number of common lines at the start."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(left), len(right)))
