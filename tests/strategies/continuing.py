"""Random breaks of lines."""

from __future__ import annotations

import re
from itertools import pairwise

from tests.strategies.drawing import Drawing

OPERATORS = {
    *("and", "or", "implies", "then", "else", "==", "!=", "<", "<=", ">", ">="),
    *("+", "-", "*", "//", "%", "|", "&"),
}
BEFORE = OPERATORS | {"where", "on", "from", "to", "with"}
"""Words that a continuation line may begin with."""
AFTER = OPERATORS | {"=", "+=", "-=", "|=", "&="}
"""Words that a line may end with if it continues on the next line."""
_WORD = re.compile(r"\S+")


def continued(draw: Drawing, line: str) -> list[str]:
    """Returns a line, or the lines that it is broken into. Some breaks are inside brackets."""
    if '"' in line or not draw.chance(6):
        return [line]
    places = [
        before.end()
        for before, after in pairwise(_WORD.finditer(line))
        if after[0] in BEFORE
        or before[0].endswith(",")
        or (before[0] in AFTER and not (before[0] == "=" and line.lstrip().startswith("def ")))
    ]
    if not places:
        return [line]
    first = draw.pick(places)
    ends = [first, *(place for place in places if place > first and draw.chance(20)), len(line)]
    # The block below the line, if there is one, is indented by four spaces more than the line.
    indent = " " * (len(line) - len(line.lstrip()) + draw.pick([8, 6, 12]))
    return [line[:first], *(indent + line[start + 1 : end] for start, end in pairwise(ends))]
