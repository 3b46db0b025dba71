"""Source texts, spans in them, and excerpts with carets."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from dataclasses import field

from fencepost.spec.records import dataclass

EXCERPT_WIDTH = 160
"""The maximum length of a line in an excerpt. A longer line is cut around the caret, with
ellipses.
"""


def _line_starts(text: str) -> tuple[int, ...]:
    return (0, *(index + 1 for index, char in enumerate(text) if char == "\n"))


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """One file of a spec, with the name to show for it and its whole text."""

    name: str
    text: str
    _starts: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_starts", _line_starts(self.text))

    def position(self, offset: int) -> tuple[int, int]:
        """Returns the line and column of a character offset, both counted from 1."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def line(self, number: int) -> str:
        """Returns the text of a line without its line break. Lines are counted from 1."""
        start = self._starts[number - 1]
        end = self._starts[number] if number < len(self._starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")


@dataclass(frozen=True, slots=True)
class Span:
    """The characters from ``start`` (inclusive) to ``end`` (exclusive) of a source."""

    source: Source
    start: int
    end: int

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        """Returns ``file:line:column`` of the first character."""
        line, column = self.source.position(self.start)
        return f"{self.source.name}:{line}:{column}"

    @property
    def line(self) -> int:
        """The line of the first character, counted from 1."""
        return self.source.position(self.start)[0]

    @property
    def text(self) -> str:
        """The text of the span."""
        return self.source.text[self.start : self.end]

    @property
    def ends_line(self) -> bool:
        """Whether only spaces follow on the line."""
        return not self.source.text[self.end :].partition("\n")[0].strip()

    def follows(self, sign: str) -> bool:
        """Returns whether ``sign`` precedes the span, with or without spaces between them."""
        return self.source.text[: self.start].rstrip(" ").endswith(sign)

    def to(self, last: Span) -> Span:
        """Returns the span from the start of this one to the end of ``last``, in the same
        source.
        """
        return Span(self.source, self.start, max(self.end, last.end))

    def excerpt(self) -> str:
        """Returns the position, the line of the first character, and carets under the spanned part.

        Control characters are shown as ``?``, because a spec may contain terminal escape sequences.
        A span over several lines is marked to the end of its first line.
        """
        number, column = self.source.position(self.start)
        raw = self.source.line(number)
        begin = min(column - 1, len(raw))
        end = min(begin + max(self.end - self.start, 1), max(len(raw), begin + 1))
        text, left = _window(raw, begin, end)
        begin, end = begin - left, max(end - left, begin - left + 1)
        cells = [_cell(char) for char in text]
        pad = sum(width for _, width in cells[:begin])
        marks = sum(width for _, width in cells[begin:end]) or 1
        shown = "".join(char for char, _ in cells)
        gutter = f"{number:>4} | "
        carets = " " * (len(gutter) + pad) + "^" * marks
        return f"{self}\n{(gutter + shown).rstrip()}\n{carets}"


def _window(raw: str, begin: int, end: int) -> tuple[str, int]:
    """Returns the part of a line to show, and the net number of characters removed on its left."""
    if len(raw) <= EXCERPT_WIDTH:
        return raw, 0
    left = max(0, min(begin - EXCERPT_WIDTH // 3, len(raw) - EXCERPT_WIDTH))
    right = left + EXCERPT_WIDTH
    text = raw[left:right]
    if right < len(raw):
        text += "…"
    if left:
        return "…" + text, left - 1
    return text, left


def _cell(char: str) -> tuple[str, int]:
    """Returns the displayed form of a character, and its width in terminal cells."""
    if char == "\t":
        return "    ", 4
    category = unicodedata.category(char)
    if category in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"):
        return "?", 1
    if category in ("Mn", "Me"):
        return char, 0
    return char, 2 if unicodedata.east_asian_width(char) in "WF" else 1
