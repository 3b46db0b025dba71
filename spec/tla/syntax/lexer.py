"""Splits the text of a module into tokens with their columns, which junction lists depend on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from fencepost.spec.records import dataclass
from fencepost.spec.text.problem import Problem, Rejected
from fencepost.spec.text.source import Source, Span

TAB: Final = 8
MAX_TOKENS: Final = 400_000


@dataclass(frozen=True, slots=True)
class Token:
    """A token. ``kind`` is name, number, string, sign, line (``----``), double (``====``), step (of
    a proof) or end. ``column`` counts from 0.
    """

    kind: str
    text: str
    start: int
    end: int
    column: int


_TOKEN = re.compile(
    r"""
      (?P<space>[ \t\r\f\n]+|\\\*[^\n]*)
    | (?P<comment>\(\*)
    | (?P<line>-{4,})
    | (?P<double>={4,})
    | (?P<step><[0-9]+>[A-Za-z0-9_]*\.*|<[*+]>[A-Za-z0-9_]*\.*)
    | (?P<based>\\[bB][01]+\b|\\[oO][0-7]+\b|\\[hH][0-9a-fA-F]+\b)
    | (?P<fair>[WS]F_)
    | (?P<name>[0-9]*_*[A-Za-z][A-Za-z0-9_]*|[0-9]+_[0-9_]*[A-Za-z][A-Za-z0-9_]*)
    | (?P<real>[0-9]+\.[0-9]+)
    | (?P<number>[0-9]+)
    | (?P<string>"(?:[^"\\\n]|\\.)*")
    | (?P<sign>\(\+\)|\(-\)|\(\.\)|\(/\)|\(\\X\)
      |\\[A-Za-z]+|/\\|\\/|-\+->|<=>|\|->|::=|\.\.\.|=\||\|=|\|-|-\||\]_|>>_
      |==|=>|=<|<=|>=|/=|~>|->|<-|<<|>>|<>|\[\]|<:|:>|:=|::|\.\.|@@|\#\#|\+\+|--|-\.|\*\*|//|%%|\^\^
      |\^\+|\^\*|\^\#|&&|\|\||\$\$|!!|\?\?
      |[-+*/\\=<>\#~'.,:;!@()\[\]{}|&$^%?_])
    """,
    re.VERBOSE,
)
_COMMENT = re.compile(r"\(\*|\*\)")
_BASES = {"b": 2, "o": 8, "h": 16}


def tokens(source: Source, start: int = 0) -> list[Token]:
    """Returns the tokens of the module that begins at ``start``, and a last one of kind "end".
    Raises `Rejected`.
    """
    result: list[Token] = []
    depth = 0
    for token in _tokens(source, start):
        result.append(token)
        depth += token.text == "MODULE" and len(result) > 1 and result[-2].kind == "line"
        if token.kind == "double":
            depth -= 1
            if not depth:
                result.append(Token("end", "", token.end, token.end, -1))
                break
    return result


def _tokens(source: Source, start: int) -> Iterator[Token]:
    text, position, count = source.text, start, 0
    line_start = text.rfind("\n", 0, start) + 1
    tabs = "\t" in text
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise refused(source, position, position + 1, f'"{text[position]}" has no meaning here')
        kind, end = match.lastgroup or "", match.end()
        if kind == "comment":
            end = _after_comment(source, position)
        elif kind != "space":
            count += 1
            if count > MAX_TOKENS:
                raise refused(source, position, end, f"a module has at most {MAX_TOKENS:,} tokens")
            column = position - line_start
            if tabs:
                column = len(text[line_start:position].expandtabs(TAB))
            yield _token(source, kind, match[0], position, end, column)
        newline = text.rfind("\n", position, end)
        if newline >= 0:
            line_start = newline + 1
        position = end
    yield Token("end", "", len(text), len(text), -1)


def _token(source: Source, kind: str, text: str, start: int, end: int, column: int) -> Token:
    if kind == "based":
        return Token("number", str(int(text[2:], _BASES[text[1].lower()])), start, end, column)
    if kind == "real":
        raise refused(source, start, end, "numbers with a decimal point are not read")
    if kind == "fair":
        return Token("sign", text, start, end, column)
    return Token(kind, text, start, end, column)


def _after_comment(source: Source, start: int) -> int:
    depth, position = 0, start
    while True:
        match = _COMMENT.search(source.text, position)
        if match is None:
            raise refused(source, start, start + 2, "this comment has no end: *) is missing")
        depth += 1 if match[0] == "(*" else -1
        position = match.end()
        if not depth:
            return position


def refused(source: Source, start: int, end: int, message: str, *notes: str) -> Rejected:
    """Returns the error for text that SANY refuses."""
    span = Span(source, start, max(end, start + 1) if start < len(source.text) else start)
    return Rejected([Problem("F650", span, message, tuple((None, note) for note in notes))])
