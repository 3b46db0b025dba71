"""Formats specs in a single standard layout, and keeps every comment and line break.

The formatter changes only what has no meaning: indentation, spaces between tokens, blank lines, and
the columns of comments. It neither joins nor splits lines, and rewrites nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from fencepost.spec.syntax.lalr import keyword_places
from fencepost.spec.syntax.layout import Line, chunks, lines
from fencepost.spec.syntax.parser import parse
from fencepost.spec.syntax.tokens import (
    BREAK,
    CLOSING,
    COMMENT,
    END,
    INTEGER,
    NAME,
    OPENING,
    STRING,
    Token,
    scan,
)
from fencepost.spec.text.problem import Rejected
from fencepost.spec.text.source import Source

STEP = 4
"""The number of spaces per level of indentation."""

_NO_TOKEN = Token(END, "", 0, 0)

COMMENT_GAP = 2
"""The number of spaces between a line and its comment, unless a comment nearby determines the
column.
"""


def formatted(source: Source) -> str:
    """Returns the text of ``source`` in the standard layout. Raises `Rejected` on syntax errors.

    Formatting changes neither the tree nor the comments, and is idempotent.
    """
    tree, problems = parse(source)
    if problems:
        raise Rejected(problems)
    rows = _aligned(_spaced(_indented(_rows(source.text), keyword_starts(source.text))))
    text = "".join(f"{row}\n" for row in rows)
    # A formatter that damages a file would be worse than none.
    assert parse(Source(source.name, text)) == (tree, ()), text
    return text


@dataclass(slots=True)
class _Row:
    """A line of the text, with its tokens, its comment, and the layout computed so far."""

    start: int
    """The offset at which the line starts."""
    tokens: list[Token]
    comment: Token | None
    column: int = 0
    """The indentation, in columns."""
    text: str = ""
    """The tokens with the spaces between them."""
    ends: list[int] = field(default_factory=list[int])
    """The offset in `text` at which each token ends."""
    steps: int = 0
    """The number of steps that a continuation line is indented by, from the first line of its
    logical line.
    """
    nested: bool = False
    """Whether the line is in an indented block or in brackets."""
    follows: bool = False
    """Whether the line contains only a comment that continues the comment of the previous row."""

    @property
    def blank(self) -> bool:
        return not self.tokens and self.comment is None

    @property
    def first(self) -> Token:
        """The first token, or the comment if there is no token."""
        token = self.tokens[0] if self.tokens else self.comment
        assert token is not None
        return token

    @property
    def end(self) -> int:
        """The column after the last token."""
        _, line_break, last = self.text.rpartition("\n")
        return len(last) + (0 if line_break else self.column)


def _rows(text: str) -> list[_Row]:
    rows = [_Row(1 if text.startswith("\ufeff") else 0, [], None)]
    for token in scan(text):
        if token.kind == BREAK:
            rows.append(_Row(token.end, [], None))
        elif token.kind == COMMENT:
            rows[-1].comment = token
        else:
            rows[-1].tokens.append(token)
    for before, row in pairwise(rows):
        if row.comment and not row.tokens and before.comment:
            # A comment continues the one above it if that follows code or is itself a continuation.
            same = row.comment.start - row.start == before.comment.start - before.start
            row.follows = same and bool(before.tokens or before.follows)
    _find_continuations(rows, lines(text))
    return rows


def _find_continuations(rows: Sequence[_Row], logical: Sequence[Line]) -> None:
    """Sets the steps of continuation lines, which are 2 if the logical line opens a block. This
    distinguishes them from the block.
    """
    starts = [line.start for line in logical]
    for row in rows:
        if row.blank:
            continue
        start = row.first.start
        index = bisect_right(starts, start) - 1
        if index >= 0 and starts[index] < start < logical[index].end:
            following = logical[index + 1 : index + 2]
            opens = any(len(line.indent) > len(logical[index].indent) for line in following)
            row.steps = 2 if opens else 1


@lru_cache(maxsize=2)
def keyword_starts(text: str) -> frozenset[int]:
    """Returns the offsets of the words that the grammar treats as keywords. In an invalid
    declaration, only the words before the error are included.

    The cache serves editors, which send several requests for the same text.
    """
    places = (keyword_places(chunk) for chunk in chunks(lines(text)))
    return frozenset[int]().union(*places)


# ---------------------------------------------------------------- indentation and spaces


def _indented(rows: Sequence[_Row], keywords: frozenset[int]) -> list[_Row]:
    """Sets the column and the text of each row."""
    indents = [""]
    brackets: list[tuple[int, int]] = []
    """For each open bracket, the column of a row that begins with the closing bracket, and the
    column of the other rows inside the bracket.
    """
    last = _NO_TOKEN
    for number, row in enumerate(rows):
        _join(row, last if brackets or row.steps else _NO_TOKEN, keywords)
        last = row.tokens[-1] if row.tokens else last
        if row.blank:
            continue
        if brackets:
            closing = bool(row.tokens) and row.tokens[0].kind in CLOSING
            row.column = brackets[-1][0 if closing else 1]
            row.nested = True
        elif row.steps:
            row.column = STEP * (len(indents) - 1 + row.steps)
            row.nested = True
        elif row.tokens:
            indent = _indent(row)
            while indent != indents[-1] and indent in indents:
                indents.pop()
            if indent != indents[-1]:
                indents.append(indent)
            row.column = STEP * (len(indents) - 1)
            row.nested = row.column > 0
        else:
            level = _comment_level(row, indents, rows[number:])
            row.column = STEP * level
            row.nested = level > 0
        _follow_brackets(row, brackets)
    return list(rows)


def _indent(row: _Row) -> str:
    return " " * (row.tokens[0].start - row.start)


def _comment_level(row: _Row, indents: Sequence[str], rest: Sequence[_Row]) -> int:
    """Returns the indentation level of a comment on its own line. It is the level of the block that
    the comment appears to belong to.

    The level is at most that of the line before or after the comment, and at least that of the line
    after it.
    """
    assert row.comment is not None
    column = row.comment.start - row.start
    after = next((len(_indent(other)) for other in rest if other.tokens), 0)
    if after > len(indents[-1]):
        return len(indents)
    levels = [level for level, indent in enumerate(indents) if after <= len(indent) <= column]
    least = sum(len(indent) < after for indent in indents)
    return max(levels, default=least)


def _follow_brackets(row: _Row, brackets: list[tuple[int, int]]) -> None:
    """Updates ``brackets`` with the brackets that a row opens and closes.

    If a bracket is at the end of its row, the rows after it are indented one step more than that
    row. Otherwise, they are aligned with the text after the bracket.
    """
    for index, token in enumerate(row.tokens):
        if token.kind in OPENING:
            column_after = row.column + row.ends[index]
            last = index + 1 == len(row.tokens)
            brackets.append(
                (row.column, row.column + STEP) if last else (column_after - 1, column_after)
            )
        elif token.kind in CLOSING:
            brackets.pop()


def _join(row: _Row, before: Token, keywords: frozenset[int]) -> None:
    """Sets the text of a row, and the end of each token in the text. ``before`` is the last token
    of the same logical line before the row.
    """
    width = 0
    parts: list[str] = []
    earlier = _NO_TOKEN
    for token in row.tokens:
        if parts and _apart(earlier, before, token, keywords):
            parts.append(" ")
            width += 1
        parts.append(token.text.replace("\r\n", "\n"))
        width += len(token.text)
        row.ends.append(width)
        earlier, before = before, token
    row.text = "".join(parts)


def _apart(earlier: Token, before: Token, token: Token, keywords: frozenset[int]) -> bool:
    """Returns whether a space separates ``before`` from ``token``. ``earlier`` is the token before
    both.
    """
    if token.kind in {",", ";", ":", ".", "..", "?", "!", *CLOSING}:
        return False
    if before.kind in {".", "..", *OPENING}:
        return False
    if before.kind == "-" and not _ends_value(earlier, keywords):
        return False
    if before.kind == "==" and earlier.kind in {END, "(", ","}:
        # `==e` in a pattern.
        return False
    if token.kind in {"(", "["}:
        like_a_call = before.text in ("lossy", "duplicating", "fold")
        return not (like_a_call or _ends_value(before, keywords))
    return True


def _ends_value(token: Token, keywords: frozenset[int]) -> bool:
    """Returns whether an operator or a suffix may follow ``token``, as in ``x``, ``3``, ``)``,
    ``true``, ``x!`` or ``T?``.
    """
    if token.kind == NAME:
        return token.start not in keywords or token.text in ("true", "false", "none")
    return token.kind in {INTEGER, STRING, "!", "?", *CLOSING}


# ---------------------------------------------------------------- blank lines and comments


def _spaced(rows: Sequence[_Row]) -> Iterator[_Row]:
    """Drops superfluous blank rows. At most two remain at the top level, one inside blocks, and
    none at the start and end of the file.
    """
    blanks: list[_Row] = []
    first = True
    for row in rows:
        if row.blank:
            blanks.append(row)
            continue
        if not first:
            yield from blanks[: 1 if row.nested else 2]
        yield row
        blanks, first = [], False


def _aligned(rows: Iterator[_Row]) -> Iterator[str]:
    """Yields the final lines, with the comments of consecutive lines aligned."""
    group: list[_Row] = []
    for row in rows:
        if row.comment and (row.tokens or row.follows):
            group.append(row)
            continue
        yield from _group(group)
        group = []
        if row.comment:
            yield " " * row.column + row.comment.text.rstrip()
        else:
            yield (" " * row.column + row.text) if row.tokens else ""
    yield from _group(group)


def _group(rows: Sequence[_Row]) -> Iterator[str]:
    column = max((row.end for row in rows if row.tokens), default=0) + COMMENT_GAP
    for row in rows:
        assert row.comment is not None
        left = " " * row.column + row.text if row.tokens else ""
        gap = " " * (column - (row.end if row.tokens else 0))
        yield left + gap + row.comment.text.rstrip()
