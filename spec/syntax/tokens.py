"""The scanner splits text into words, numbers and signs. It does not distinguish keywords from
names.

The grammar defines the tokens. No text is rejected: anything that cannot be a token of the language
gets the kind ``STRANGE`` or ``MISALIGNED``. No rule accepts these kinds, so the parser reports such
a token at its position.
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
    """A token, with its kind, its text and its position. The kind of a sign is the sign itself.

    ``BREAK`` is a line break in the text; ``NEWLINE``, ``INDENT`` and ``DEDENT`` are layout tokens
    for the grammar. Every word is a ``NAME``: the parser decides which words are keywords.
    """

    kind: str
    text: str
    start: int
    end: int


def word_set(text: str) -> frozenset[str]:
    """Returns the set of words in a text."""
    return frozenset(text.split())


@cache
def spelled() -> dict[str, str]:
    """Returns the spelling of each terminal of the grammar that has only one spelling."""
    fixed = {t["name"]: t["pattern"] for t in terminals()}
    words = {name: p["value"] for name, p in fixed.items() if p["__type__"] == "PatternStr"}
    return {**words, "_UNWRAP": "!", "_MORE": ",", "_NEXT": ";"}


@cache
def kinds() -> dict[str, str]:
    """Returns the token kind of each terminal of the grammar."""
    kinds = {t["name"]: t["name"] for t in terminals()} | {"FOREIGN": STRANGE}
    return kinds | {n: NAME if word.isidentifier() else word for n, word in spelled().items()}


def scan(text: str) -> list[Token]:
    """Returns every token of ``text``, including line breaks and comments, but not spaces."""
    tokens: list[Token] = []
    # A byte order mark is not part of the text.
    for match in _pattern().finditer(text, 1 if text.startswith("\ufeff") else 0):
        assert match.lastgroup is not None
        if match.lastgroup != "SPACE":
            tokens.append(Token(kinds()[match.lastgroup], match[0], *match.span()))
    return tokens


@cache
def _pattern() -> re.Pattern[str]:
    """Returns a pattern for all terminals except keywords, in the order that Lark tries them.

    The pattern also matches line breaks, which do not occur in texts that `layout` has split into
    lines.
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
