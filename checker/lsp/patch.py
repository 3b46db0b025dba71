"""Completes an unfinished text. A word is inserted at the cursor, and missing tokens after it, so
that the enclosing declaration can be parsed and the text before the cursor can be interpreted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fencepost.spec.elaborate.ide.survey import path_to
from fencepost.spec.records import dataclass
from fencepost.spec.syntax import nodes as syntax
from fencepost.spec.syntax.layout import chunks, lines
from fencepost.spec.syntax.parser import expected_at, parse
from fencepost.spec.syntax.tokens import CLOSING, OPENING, scan
from fencepost.spec.text.problem import Problem
from fencepost.spec.text.source import Source

WORD = "cursor__"
"""The placeholder for the word at the cursor."""
_ENDINGS = (
    "", ":", ": skip", ": true", " = 0", " to c__", " from c__: skip", " else true",
    " then true else true", ": int = 0", ": 0", " leads to true", " import a__", ": ok",
    " in a__: true", " in a__", ":\n{inside}case a__: skip",
    " from 0: 0", ": case _: 0",
)  # fmt: skip
"""The tokens that may be missing after a word. Each ending is tried with the closing brackets
before it and after it.
"""


MAX_PATCHED = 8_192
"""The maximum length of a declaration that is completed. Each attempt parses the complete
declaration.
"""


@dataclass(frozen=True, slots=True)
class Patch:
    """A text that contains `WORD`, and the nodes around this word, outermost first."""

    text: str
    path: tuple[syntax.Node, ...]


def word_at(text: str, offset: int) -> tuple[int, int]:
    """Returns the start and the end of the word around an offset."""
    start = end = offset
    while start and (text[start - 1].isalnum() or text[start - 1] == "_"):
        start -= 1
    while end < len(text) and (text[end].isalnum() or text[end] == "_"):
        end += 1
    return start, end


def patched(text: str, offset: int) -> Patch | None:
    """Inserts `WORD` at an offset of a text. Returns None if no attempt makes the declaration
    valid.
    """
    start, end = word_at(text, offset)
    if not expected_at(text, start):
        # The text before the word has a syntax error.
        return None
    first, last = _member(text, start)
    stop = text.find("\n", end)
    stop = min(len(text) if stop < 0 else stop, last)
    header = _header(text, first)
    cursor = len(header) + start - first
    for before, behind in _attempts(text, first, start, end, stop, last):
        piece = before + WORD + behind
        tree, problems = parse(Source("", header + piece))
        if any(problem.code == "F122" and _starts_before(problem, cursor) for problem in problems):
            # The text before the word is nested too deeply.
            return None
        path = () if problems else path_to(tree, WORD)
        if path:
            return Patch(text[:first] + piece + text[last:], path)
    return None


def _starts_before(problem: Problem, offset: int) -> bool:
    return problem.span is not None and problem.span.start < offset


def _attempts(
    text: str, first: int, start: int, end: int, stop: int, last: int
) -> Iterator[tuple[str, str]]:
    """Yields pairs of texts that may be put before and after the word, for the member from
    ``first`` to ``last``.
    """
    before = text[first:start]
    yield before, text[end:last]
    if last - first > MAX_PATCHED:
        return
    closing = _closing(before)
    column = start - (text.rfind("\n", 0, start) + 1)
    indent = re.match(r"[ \t]*", text[start - column : start])
    inside = (indent[0] if indent else "") + "    "
    for rest in (text[stop:last], "\n"):
        for ending in _ENDINGS:
            missing = ending.format(inside=inside)
            yield before, closing + missing + rest
            if closing and missing:
                yield before, missing + closing + rest


def _closing(before: str) -> str:
    """Returns the brackets that close those that are open at the end of a text."""
    stack: list[str] = []
    for token in scan(before):
        if token.kind in OPENING:
            stack.append(OPENING[token.kind])
        elif token.kind in CLOSING and stack:
            stack.pop()
    return "".join(reversed(stack))


def _member(text: str, offset: int) -> tuple[int, int]:
    """Returns the range of the declaration, or of the member of a role or check, that contains an
    offset.
    """
    begin, end = 0, len(text)
    starts = [chunk.start for chunk in chunks(lines(text))]
    begin = max((s for s in starts if s <= offset), default=0)
    end = min((s for s in starts if s > begin and s > offset), default=len(text))
    if re.match(r"(?:role|check)\b", text[begin:end]):
        rows = [row for row in lines(text[begin:end]) if row.indent]
        least = min((len(row.indent) for row in rows), default=0)
        members = [begin + row.start - len(row.indent) for row in rows if len(row.indent) == least]
        line = text.rfind("\n", 0, offset) + 1
        inner = [m for m in members if m <= max(line, begin)]
        if line > begin and text[line:offset].strip(" \t") == "" and offset - line <= least:
            # The line at the cursor begins a new member.
            inner = [line]
        if inner and line > begin:
            return inner[-1], min((m for m in members if m > offset), default=end)
    return begin, end


def _header(text: str, first: int) -> str:
    """Returns the first line of the enclosing role or check, so that a member can be parsed
    separately. Returns "" if there is none.
    """
    begin = max((chunk.start for chunk in chunks(lines(text)) if chunk.start <= first), default=0)
    return text[begin : text.find("\n", begin) + 1] if begin < first else ""
