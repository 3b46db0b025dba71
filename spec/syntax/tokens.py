"""Text into tokens: words, numbers and signs, without telling keywords from names.

What a token looks like is said in the grammar. No text is refused: what cannot be a token of the
language becomes one of kind ``STRANGE`` or ``MISALIGNED``, which no rule of the grammar has a
place for, so that it is reported where it stands.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

from fencepost.spec.syntax.parse_table import terminals

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


def word_set(text: str) -> frozenset[str]:
    """The words of a text, without order."""
    return frozenset(text.split())


@cache
def spelled() -> dict[str, str]:
    """How each terminal of the grammar is written that is written in one way only."""
    fixed = {t["name"]: t["pattern"] for t in terminals()}
    words = {name: p["value"] for name, p in fixed.items() if p["__type__"] == "PatternStr"}
    return {**words, "_UNWRAP": "!", "_MORE": ","}


@cache
def kinds() -> dict[str, str]:
    """The kind of token that each terminal of the grammar is."""
    kinds = {t["name"]: t["name"] for t in terminals()} | {"FOREIGN": STRANGE}
    return kinds | {n: NAME if word.isidentifier() else word for n, word in spelled().items()}


def scan(text: str) -> list[Token]:
    """Every token of ``text`` with its line breaks and comments, but without spaces."""
    tokens: list[Token] = []
    # A byte order mark is not a character of the text.
    for match in _pattern().finditer(text, 1 if text.startswith("\ufeff") else 0):
        assert match.lastgroup is not None
        if match.lastgroup != "SPACE":
            tokens.append(Token(kinds()[match.lastgroup], match[0], *match.span()))
    return tokens


@cache
def _pattern() -> re.Pattern[str]:
    """All terminals but the keywords, in the order in which Lark tries them.

    Only a line break is more here than in a text of which `layout` has made lines.
    """

    def order(terminal: Any) -> tuple[int, bool, int]:
        pattern = terminal["pattern"]
        return -terminal["priority"], pattern["__type__"] == "PatternStr", -len(pattern["value"])

    parts = [rf"(?P<{BREAK}>\r?\n)"]
    for terminal in sorted(terminals(), key=order):
        name, pattern = terminal["name"], terminal["pattern"]
        if name != BREAK and not pattern["value"].isidentifier():
            fixed = pattern["__type__"] == "PatternStr"
            regex = re.escape(pattern["value"]) if fixed else pattern["value"]
            parts.append(f"(?P<{name}>{regex})")
    return re.compile("|".join(parts))
