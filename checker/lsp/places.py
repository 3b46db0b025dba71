"""Converts between character offsets and the protocol's positions, which are lines and columns.

Columns are counted in UTF-16 units unless client and server agree on another encoding. A lone
carriage return also ends a line.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TypeAlias

from lsprotocol import types as lsp
from pygls.uris import from_fs_path, to_fs_path

from fencepost.spec.text.source import Span

Edits: TypeAlias = Sequence[tuple[int, int, str]]
"""Replacements of parts of a text, each with a start, an end, and the new text."""

_LINE_END = re.compile(r"\r\n|\n|\r")
_WIDE: dict[str, re.Pattern[str]] = {
    lsp.PositionEncodingKind.Utf8: re.compile(r"[^\x00-\x7f]"),
    lsp.PositionEncodingKind.Utf16: re.compile(r"[^\x00-\uffff]"),
}
"""Matches the characters that take more than one unit in an encoding."""


class Text:
    """A text whose positions are in the client's ``encoding``."""

    def __init__(self, text: str, encoding: str = lsp.PositionEncodingKind.Utf16) -> None:
        self.text = text
        self._encoding = encoding
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
        # A byte order mark is part of the editor's text, but not of a source's text.
        self._mark = 1 if text.startswith("\ufeff") else 0

    @cached_property
    def _units(self) -> Sequence[int]:
        """Holds the number of units before each offset, so that conversions need not scan lines."""
        wide = _WIDE.get(self._encoding)
        if wide is None or wide.search(self.text) is None:
            return range(len(self.text) + 1)
        width = _utf8_width if self._encoding == lsp.PositionEncodingKind.Utf8 else _utf16_width
        return array("L", accumulate(map(width, self.text), initial=0))

    def offset(self, position: lsp.Position) -> int:
        """Returns the character offset of a position, or the nearest offset if the position does
        not exist.
        """
        if position.line >= len(self._starts):
            return len(self.text) - self._mark
        start = self._starts[position.line]
        wanted = self._units[start] + position.character
        # Find the last character that begins at or before the position.
        at = bisect_right(self._units, wanted, start, self._line_end(position.line) + 1) - 1
        return max(at - self._mark, 0)

    def position(self, offset: int) -> lsp.Position:
        """Returns the position of a character offset."""
        offset = min(max(offset, 0) + self._mark, len(self.text))
        line = bisect_right(self._starts, offset) - 1
        return lsp.Position(line, self._units[offset] - self._units[self._starts[line]])

    def line(self, offset: int) -> int:
        """Returns the line of a character offset."""
        offset = min(max(offset, 0) + self._mark, len(self.text))
        return bisect_right(self._starts, offset) - 1

    def range(self, start: int, end: int) -> lsp.Range:
        """Returns the range of the characters from ``start`` up to, but not including, ``end``."""
        return lsp.Range(self.position(start), self.position(end))

    def units(self, start: int, end: int) -> int:
        """Returns the width in columns of the characters from ``start`` up to, but not including,
        ``end``.
        """
        last = len(self.text)
        start, end = min(start + self._mark, last), min(end + self._mark, last)
        return self._units[end] - self._units[start]

    def edits(self, changes: Edits) -> list[lsp.TextEdit]:
        """Converts edits to the form of the protocol."""
        return [lsp.TextEdit(self.range(start, end), new) for start, end, new in changes]

    def _line_end(self, number: int) -> int:
        """Returns the offset at which a line ends, before its line break."""
        if number + 1 == len(self._starts):
            return len(self.text)
        end = self._starts[number + 1]
        return end - (2 if self.text.startswith("\r\n", end - 2) else 1)


def _utf8_width(char: str) -> int:
    return len(char.encode("utf-8", "surrogatepass"))


def _utf16_width(char: str) -> int:
    return 1 + (char > "\uffff")


def changed(text: str, changes: Edits) -> str:
    """Applies edits of disjoint parts to a text."""
    for start, end, new in sorted(changes, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def within(span: Span, offset: int) -> bool:
    """Returns whether an offset is in a span or at its end."""
    return span.start <= offset <= span.end


def path_of(uri: str) -> Path | None:
    """Returns the path of a document, or None if the document is not a file."""
    file_path = to_fs_path(uri) if uri.startswith("file:") else None
    return Path(file_path) if file_path else None


def uri_of(path: Path) -> str:
    """Returns the URI of a file."""
    return str(from_fs_path(str(path)))
