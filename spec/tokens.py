"""Text into tokens: words, numbers, signs, and the lines and indentation that they stand in.

It does not know which words are keywords, and it never refuses a text: what cannot be a token of
the language becomes a token of kind ``STRANGE`` or ``MISALIGNED``, which no rule of the grammar
has a place for, so that it is reported where it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

NAME = "NAME"
INTEGER = "INTEGER"
STRING = "STRING"
DOCSTRING = "DOCSTRING"
COMMENT = "COMMENT"
BREAK = "BREAK"
STRANGE = "STRANGE"
MISALIGNED = "MISALIGNED"
NEWLINE = "_NEWLINE"
INDENT = "_INDENT"
DEDENT = "_DEDENT"
END = "$END"

LAYOUT = frozenset({NEWLINE, INDENT, DEDENT, MISALIGNED, END})
OPENING = {"(": ")", "[": "]", "{": "}"}
CLOSING = {close: open_ for open_, close in OPENING.items()}


class Token(NamedTuple):
    """One token: its kind (a sign is its own kind), its text, and where it is.

    ``BREAK`` is a line break in the text; ``NEWLINE``, ``INDENT`` and ``DEDENT`` are layout as
    the grammar sees it. Any word is a ``NAME``: the parser decides which ones are keywords.
    """

    kind: str
    text: str
    start: int
    end: int


# The signs of other notations are read whole, so that one remark can be made about them.
_FOREIGN = r":=|~>|&&|\|\||=>|->|<=>|<>|===|\*\*|\.\.\.|/\\|\\/|\\\w+"
_SIGN = r"!(?===)|\.\.|==|!=|<=|>=|\+=|-=|//|[-+*%|&<>=!?.,:;()\[\]{}]"
_TOKEN = re.compile(
    r"(?P<space>[ \t]+)"
    r"|(?P<BREAK>\r?\n)"
    r"|(?P<COMMENT>\#[^\n]*)"
    r"|(?P<word>[A-Za-z_]\w*)"
    r'|(?P<DOCSTRING>"""[\s\S]*?""")'
    r'|(?P<open_docstring>"""[\s\S]*)'
    r'|(?P<STRING>"[^"\r\n]*")'
    r'|(?P<open_string>"[^"\r\n]*)'
    r"|(?P<number>[0-9]\w*)"
    rf"|(?P<foreign>{_FOREIGN})"
    rf"|(?P<sign>{_SIGN})"
    r"|(?P<strange>[^\W\d]\w*|[^\n])"
)
_INTEGER = re.compile(r"[0-9]+(?:_[0-9]+)*")


def scan(text: str) -> list[Token]:
    """Every token of ``text`` with its line breaks and comments, but without spaces."""
    tokens: list[Token] = []
    # A byte order mark is not a character of the text.
    position = 1 if text.startswith("\ufeff") else 0
    while match := _TOKEN.match(text, position):
        start, position = match.span()
        found = match[0]
        group = match.lastgroup
        assert group is not None
        match group:
            case "space":
                continue
            case "word":
                kind = NAME if found.isascii() else STRANGE
            case "number":
                kind = INTEGER if _INTEGER.fullmatch(found) else STRANGE
            case "sign":
                kind = found
            case "foreign" | "strange" | "open_string" | "open_docstring":
                kind = STRANGE
            case _:
                kind = group
        tokens.append(Token(kind, found, start, position))
    return tokens


@dataclass(frozen=True, slots=True)
class Line:
    """A logical line: line breaks inside brackets do not end it. It has at least one token."""

    indent: str
    tokens: tuple[Token, ...]


def word_set(text: str) -> frozenset[str]:
    """The words of a text, without order."""
    return frozenset(text.split())


_STARTERS = word_set(
    "const type enum record union channel var ghost role action def procedure invariant lemma"
    " reachable check import from assume param symmetric property step fair strongly environment"
    " require assert let pick send case elif"
)
_OPERATORS = word_set("and or not implies iff in is if then else for with where")


def lines(text: str) -> list[Line]:
    """The logical lines of ``text``, without comments and blank lines.

    A bracket that is never closed would swallow the rest of the file. So a line inside brackets
    that starts like a declaration or a statement, no deeper than the line of the bracket, starts
    a new line all the same.
    """
    result: list[Line] = []
    current: list[Token] = []
    depth = 0
    indent = ""
    line_start = 1 if text.startswith("\ufeff") else 0
    tokens = scan(text)
    for index, token in enumerate(tokens):
        if token.kind == BREAK:
            line_start = token.end
            if current and (depth == 0 or _starts_anew(tokens, index + 1, line_start, indent)):
                result.append(Line(indent, tuple(current)))
                current, depth = [], 0
            continue
        if token.kind == COMMENT:
            continue
        if not current:
            indent = text[line_start : token.start]
        if token.kind in OPENING:
            depth += 1
        elif token.kind in CLOSING:
            depth = max(depth - 1, 0)
        current.append(token)
    if current:
        result.append(Line(indent, tuple(current)))
    return result


def _starts_anew(tokens: Sequence[Token], index: int, line_start: int, indent: str) -> bool:
    if index + 1 >= len(tokens):
        return False
    first, second = tokens[index], tokens[index + 1]
    return (
        first.kind == NAME
        and first.text in _STARTERS
        and first.start - line_start <= len(indent)
        and second.kind == NAME
        and second.text not in _OPERATORS
    )


def chunks(all_lines: Sequence[Line]) -> Iterator[Sequence[Line]]:
    """The lines of each top-level declaration: from a line in the first column to the next."""
    begin = 0
    for index, line in enumerate(all_lines):
        if index > begin and not line.indent:
            yield all_lines[begin:index]
            begin = index
    if begin < len(all_lines):
        yield all_lines[begin:]


def layout(chunk: Sequence[Line]) -> list[Token]:
    """The tokens of a chunk as the grammar sees them, from the first to ``END``.

    A ``NEWLINE`` ends each line and follows each ``DEDENT``. Layout tokens are empty: at the end
    of the token before them, but ``INDENT`` and ``MISALIGNED`` at the start of their line.
    """
    result: list[Token] = []
    stack = [""]
    end = chunk[0].tokens[0].start
    for line in chunk:
        start = line.tokens[0].start
        if line.indent != stack[-1]:
            if _deeper(line.indent, stack[-1]):
                stack.append(line.indent)
                result.append(Token(INDENT, "", start, start))
            elif line.indent in stack:
                while stack[-1] != line.indent:
                    stack.pop()
                    result += (Token(DEDENT, "", end, end), Token(NEWLINE, "", end, end))
            else:
                result.append(Token(MISALIGNED, line.indent, start, start))
        result += line.tokens
        end = line.tokens[-1].end
        result.append(Token(NEWLINE, "", end, end))
    for _ in stack[1:]:
        result += (Token(DEDENT, "", end, end), Token(NEWLINE, "", end, end))
    result.append(Token(END, "", end, end))
    return result


def _deeper(indent: str, outer: str) -> bool:
    """Whether ``indent`` goes on from ``outer`` without mixing tabs and spaces."""
    return len(indent) > len(outer) and indent.startswith(outer) and len(set(indent)) <= 1
