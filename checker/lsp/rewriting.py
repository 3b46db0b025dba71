"""The standard layout of a text, as changes of some of its lines."""

from __future__ import annotations

from difflib import SequenceMatcher

from fencepost.checker.lsp.places import Edits
from fencepost.spec.syntax.formatter import formatted
from fencepost.spec.text.problem import Rejected
from fencepost.spec.text.source import Source


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
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    return [
        (starts[a], starts[b], "".join(after[c:d]))
        for kind, a, b, c, d in matcher.get_opcodes()
        if kind != "equal"
    ]
