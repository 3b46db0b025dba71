"""Handles lines and indentation: splits a text into declarations, and generates layout tokens.

A line continues on the next line inside brackets. If the next line is indented deeper, a line
also continues next to an operator, after a comma or the sign of an assignment, and before a clause
such as ``where``. Without this, such a line would be an error, unless it begins a block: so
continuation lines have no other reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from lark import Token
from lark.lark import PostLex

from fencepost.spec.records import dataclass
from fencepost.spec.syntax.tokens import (
    BREAK,
    DEDENT,
    INDENT,
    MISALIGNED,
    NEWLINE,
    scan,
    word_set,
)
from fencepost.spec.syntax.vocabulary import CHANGES, CLAUSES, JOINING


@dataclass(frozen=True, slots=True)
class Line:
    """A logical line, which consists of a line and its continuation lines. It has at least one
    token.

    The text extends from the first token to the end of the last one, and is as long as in the file.
    Comments, and the line breaks before continuation lines, are replaced by spaces. Inside
    brackets, a line break before a case of a match is replaced by a semicolon.
    """

    indent: str
    start: int
    text: str

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class Chunk:
    """The lines of one declaration, possibly without the broken ones."""

    lines: Sequence[Line]

    @property
    def start(self) -> int:
        """The offset in the file at which `text` begins. If the first line is indented, the text
        begins one character before that line.
        """
        first = self.lines[0]
        return first.start - len(first.indent) - 1 if first.indent else first.start

    @property
    def end(self) -> int:
        return self.lines[-1].end

    @property
    def text(self) -> str:
        """The text of the lines. Each token has the same distance from `start` as in the file."""
        parts: list[str] = []
        end = self.start
        for line in self.lines:
            if gap := line.start - end:
                parts.append(line.indent.rjust(gap, "\n"))
            parts.append(line.text)
            end = line.end
        return "".join(parts)


_STARTERS = (
    "const type enum record union channel var ghost role action def procedure invariant lemma"
    " reachable refinement check import from assume param symmetric property step fair strongly"
    " environment event shows input ahead answers drop hidden tolerate explain"
    " require assert let pick send case elif"
).replace(" ", "|")
_OPERATORS = "and|or|not|implies|iff|in|is|if|then|else|for|with|where"
_ANEW = re.compile(
    rf"([ \t]*)(?:{_STARTERS})[ \t]+(?!(?:{_OPERATORS})(?!\w))[A-Za-z_][A-Za-z_0-9]*(?!\w)"
)
_PIECE = re.compile(
    r'(?P<text>"""[\s\S]*?(?:"""|\Z)|"[^"\r\n]*")|(?P<unclosed>"[^"\r\n]*)'
    r"|(?P<comment>\#[^\n]*)|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<end>\r?\n|\Z)"
)
_BEGIN = re.compile(r"([ \t]*)(?!#|\r?\n|\Z)[^ \t]")
_NEXT = re.compile(rf"(?:[ \t]*+(?:#[^\n]*+)?\r?\n)*+{_BEGIN.pattern}[^\r\n]*+")

_CASE = re.compile(r"[ \t]*case[ \t]+[\w(]")

_DEF = re.compile(r"def(?!\w)")
_OPENERS = word_set("= : when where")
"""Tokens after which a block may begin on the next line."""

_Gap: TypeAlias = tuple[int, int, str]
"""The start and end of a gap between tokens, and the beginning of its replacement."""


def lines(text: str) -> list[Line]:
    """Returns the logical lines of ``text``, without comments and blank lines.

    A bracket that is never closed would swallow the rest of the file. Therefore, a line inside
    brackets starts a new logical line if it starts like a declaration or a statement, and is not
    indented deeper than the line of the bracket.
    """
    result: list[Line] = []
    position = 1 if text.startswith("\ufeff") else 0
    begin = _BEGIN.match(text, position)
    # The end of the last token, the gaps of the current line, the offset up to which the text has
    # been scanned, the depth of brackets, the end of a string that lacks its closing quote, and the
    # start of the last continuation line that follows an operator or begins with one.
    end, gaps, seen, depth, unclosed, continued = 0, list[_Gap](), position, 0, -1, -1
    for piece in _PIECE.finditer(text, position):
        kind = piece.lastgroup
        if kind == "open":
            depth += 1
        elif kind == "close":
            depth = max(depth - 1, 0)
        elif kind in ("text", "unclosed"):
            end = seen = piece.end()
            # A string without a closing quote must end at the end of its line.
            unclosed = end if kind == "unclosed" else -1
        else:
            if width := len(text[seen : piece.start()].rstrip(" \t")):
                end = seen + width
            seen = piece.end()
            instead = "\r" if piece.start() == unclosed else ""
            if depth and kind == "end" and text[end - 1] not in ";:" and _CASE.match(text, seen):
                instead = ";"
            gaps.append((*piece.span(), instead))
            whole = not depth or seen == len(text) or _starts_anew(text, seen, begin)
            if not whole or kind != "end" or seen <= continued:
                continue
            if begin:
                continued = _continuation(text, begin, end, seen)
                if continued >= 0:
                    continue
                result.append(_line(text, begin, end, gaps))
            begin, depth = _BEGIN.match(text, seen), 0
            gaps.clear()
    return result


def _continuation(text: str, begin: re.Match[str], end: int, position: int) -> int:
    """Returns the start of the line after ``position`` if that line continues the one that ends at
    ``end``, and -1 otherwise. ``begin`` matches the start of the logical line.
    """
    following = _NEXT.match(text, position)
    if following is None or not _deeper(following[1], begin[1]) or text[end - 1] == ":":
        return -1
    before = [token.text for token in scan(text[text.rfind("\n", 0, end) + 1 : end])]
    after = [token.text for token in scan(text[following.start(1) : following.end()])]
    if before[-1] == "=":
        # The value of a def may be a block.
        joined = not _DEF.match(text, begin.end(1))
    else:
        joined = _ends_with_operator(before) or (
            before[-1] not in _OPENERS and (_begins_with_operator(after) or after[0] in CLAUSES)
        )
    return following.start(1) if joined else -1


def _ends_with_operator(texts: Sequence[str]) -> bool:
    return texts[-1] in JOINING | CHANGES | {","} or texts[-2:] == ["leads", "to"]


def _begins_with_operator(texts: Sequence[str]) -> bool:
    first, *rest = texts[:2]
    if first == "not":
        return rest == ["in"]
    # A line "else:" belongs to an "if" statement.
    return (first in JOINING and rest != [":"]) or (first, *rest) == ("leads", "to")


def _starts_anew(text: str, position: int, begin: re.Match[str] | None) -> bool:
    starter = _ANEW.match(text, position)
    return starter is not None and begin is not None and len(starter[1]) <= len(begin[1])


def _line(text: str, begin: re.Match[str], end: int, gaps: Sequence[_Gap]) -> Line:
    parts: list[str] = []
    start = begin.end(1)
    for left, right, instead in gaps:
        if left < end:
            parts += (text[start:left], instead.ljust(right - left))
            start = right
    return Line(begin[1], begin.end(1), "".join((*parts, text[start:end])))


def chunks(all_lines: Sequence[Line]) -> Iterator[Chunk]:
    """Yields the lines of each top-level declaration. A declaration begins with a line in the first
    column, and ends before the next such line.
    """
    begin = 0
    for index, line in enumerate(all_lines):
        if index > begin and not line.indent:
            yield Chunk(all_lines[begin:index])
            begin = index
    if begin < len(all_lines):
        yield Chunk(all_lines[begin:])


class Layout(PostLex):
    """Converts the line breaks in the text of a chunk to ``NEWLINE``, ``INDENT`` and ``DEDENT``.

    A ``NEWLINE`` ends each line and follows each ``DEDENT``. These tokens are empty. ``INDENT`` and
    ``MISALIGNED`` are positioned at the start of their line, the others at the end of the preceding
    token.
    """

    def __init__(self, always_accept: Sequence[str]) -> None:
        self.always_accept = always_accept

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        stack = [""]
        end = None
        for token in stream:
            if token.type != BREAK:
                end = token.end_pos
                yield token
                continue
            if end is not None:
                yield _empty(NEWLINE, end)
            indent = token.lstrip("\n")
            if indent == stack[-1]:
                continue
            if _deeper(indent, stack[-1]):
                stack.append(indent)
                yield _empty(INDENT, token.end_pos)
            elif indent in stack:
                while stack[-1] != indent:
                    stack.pop()
                    yield _empty(DEDENT, end)
                    yield _empty(NEWLINE, end)
            else:
                yield Token(MISALIGNED, indent, token.end_pos, end_pos=token.end_pos)
        yield _empty(NEWLINE, end)
        for _ in stack[1:]:
            yield _empty(DEDENT, end)
            yield _empty(NEWLINE, end)


def _empty(kind: str, position: int | None) -> Token:
    return Token(kind, "", position, end_pos=position)


def _deeper(indent: str, outer: str) -> bool:
    """Returns whether ``indent`` extends ``outer`` without mixing tabs and spaces."""
    return len(indent) > len(outer) and indent.startswith(outer) and len(set(indent)) <= 1
