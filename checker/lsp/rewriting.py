"""The standard layout of a text, as changes of some of its lines."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from fencepost.checker.lsp.places import Edits
from fencepost.spec.syntax.formatter import formatted
from fencepost.spec.text.problem import Rejected
from fencepost.spec.text.source import Source

MAX_COMPARED = 1 << 20
"""Pairs of lines that are compared; where there are more, the changed lines are one change."""


def layout(text: str) -> Edits:
    """What `fencepost fmt` would change in a text, lines at a time, so that cursors and folds stay
    where they are; nothing in a text with syntax errors.
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
    rest, made = before[first:], after[first:]
    last = _common(rest[::-1], made[::-1])
    rest, made = rest[: len(rest) - last], made[: len(made) - last]
    changes: Sequence[tuple[str, int, int, int, int]] = [("replace", 0, len(rest), 0, len(made))]
    if len(rest) * len(made) <= MAX_COMPARED:
        changes = SequenceMatcher(None, rest, made, autojunk=False).get_opcodes()
    return [
        (starts[first + a], starts[first + b], "".join(made[c:d]))
        for kind, a, b, c, d in changes
        if kind != "equal"
    ]


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    """The number of lines with which both begin."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(left), len(right)))
