"""Places as the protocol has them (lines and columns in an encoding's units), and as we do.

Columns of the protocol count UTF-16 units unless client and server agree on something else, and
its lines end where ours do, and at a lone carriage return, too.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from lsprotocol import types as lsp
from pygls.uris import from_fs_path, to_fs_path

from fencepost.spec.text.source import Span

Edits: TypeAlias = Sequence[tuple[int, int, str]]
"""Parts of a text, by where they begin and end, and what takes their place."""

_LINE_END = re.compile(r"\r\n|\n|\r")


class Text:
    """A text whose characters are counted as a client does; ``encoding`` is what was agreed on."""

    def __init__(self, text: str, encoding: str = lsp.PositionEncodingKind.Utf16) -> None:
        self.text = text
        self._wide = encoding
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
        # A byte order mark is not a character of a source's text, and is one of the buffer's.
        self._mark = 1 if text.startswith("\ufeff") else 0

    def offset(self, position: lsp.Position) -> int:
        """The character offset of a position; the nearest one where there is no such place."""
        if position.line >= len(self._starts):
            return len(self.text) - self._mark
        start = self._starts[position.line]
        left = position.character
        at = start
        for char in self._line(position.line):
            left -= self.units(char)
            if left < 0:
                break
            at += 1
        return max(at - self._mark, 0)

    def position(self, offset: int) -> lsp.Position:
        """The position of a character offset."""
        offset = min(max(offset, 0) + self._mark, len(self.text))
        line = bisect_right(self._starts, offset) - 1
        before = self.text[self._starts[line] : offset]
        return lsp.Position(line, self.units(before))

    def line(self, offset: int) -> int:
        """The line of a character offset; its cost does not depend on the length of the line."""
        offset = min(max(offset, 0) + self._mark, len(self.text))
        return bisect_right(self._starts, offset) - 1

    def range(self, start: int, end: int) -> lsp.Range:
        """The range of the characters from ``start`` to ``end`` (exclusive)."""
        return lsp.Range(self.position(start), self.position(end))

    def units(self, text: str) -> int:
        """How many columns a part of a line is."""
        if self._wide == lsp.PositionEncodingKind.Utf32:
            return len(text)
        if self._wide == lsp.PositionEncodingKind.Utf8:
            return len(text.encode("utf-8", "surrogatepass"))
        return len(text) + sum(char > "\uffff" for char in text)

    def edits(self, changes: Edits) -> list[lsp.TextEdit]:
        """Changes as the protocol has them."""
        return [lsp.TextEdit(self.range(start, end), new) for start, end, new in changes]

    def _line(self, number: int) -> str:
        last = number + 1 == len(self._starts)
        end = len(self.text) if last else self._starts[number + 1]
        return self.text[self._starts[number] : end].rstrip("\r\n")


def changed(text: str, changes: Edits) -> str:
    """A text with parts replaced, which do not overlap."""
    for start, end, new in sorted(changes, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def within(span: Span, offset: int) -> bool:
    """Whether an offset is in a span or at its end."""
    return span.start <= offset <= span.end


def path_of(uri: str) -> Path | None:
    """The path of a document; None for one that is no file."""
    found = to_fs_path(uri) if uri.startswith("file:") else None
    return Path(found) if found else None


def uri_of(path: Path) -> str:
    """The address of a file."""
    return str(from_fs_path(str(path)))
