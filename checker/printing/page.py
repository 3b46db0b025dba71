"""Pages of text for a terminal. A page consists of lines of styled pieces, which are first escaped
and then coloured.

All text from specs and files passes through this module, so that control characters never reach a
terminal. Widths are in cells: East Asian characters and emoji take two cells, combining marks take
none, and all other characters take one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import TypeAlias

from rich.cells import cell_len

from fencepost.spec.text.problem import harmless, printable


def cells(text: str) -> int:
    """Returns the width of a line of text in cells, after escaping."""
    # Plain text does not need the lookup of rich.
    return len(text) if text.isascii() else cell_len(printable(text).replace("\n", "?"))


def padded(text: str, width: int) -> str:
    """Pads text with blanks to a width in cells."""
    return text + " " * (width - cells(text))


def cut(text: str, width: int) -> str:
    """Truncates text to a width in cells, with an ellipsis."""
    if cells(text) <= width:
        return text
    end = min(len(text), width)
    while end and cells(text[:end]) > width - 1:
        end -= 1
    return f"{text[:end]}…"


Paint: TypeAlias = Callable[[str, str], str]
"""Colours text in a style, which is "", "title", "good", "bad", "warn" or "dim"."""

Piece: TypeAlias = "str | tuple[str, str]"
"""Text, or text with a style."""

_Styled: TypeAlias = tuple[str, str]
"""A style and escaped text."""

ESCAPES = {"title": "1", "good": "32", "bad": "31;1", "warn": "33", "dim": "2"}


def plain(text: str, style: str) -> str:
    """Adds no colours, for pipes, files and NO_COLOR."""
    return text


def ansi(text: str, style: str) -> str:
    """Adds basic ANSI colours."""
    escape = ESCAPES.get(style)
    return f"\x1b[{escape}m{text}\x1b[0m" if escape and text else text


JOINTS = " .,:(_["
"""A line that is too long may be broken after one of these characters."""


class Page:
    """Collects lines. ``width`` is the width at which lines are wrapped, in cells."""

    def __init__(self, width: int = 100, paint: Paint = plain) -> None:
        self.width = width
        self._paint = paint
        self._lines: list[list[_Styled]] = []

    def line(self, *pieces: Piece) -> None:
        """Adds a line. Trailing blanks are removed, and control characters become ``?``."""
        styled = [
            ("", piece) if isinstance(piece, str) else (piece[1], piece[0]) for piece in pieces
        ]
        self._lines.append(_harmless([(style, _safe(text)) for style, text in styled]))

    def lines(self, text: str, indent: int = 0, style: str = "") -> None:
        """Adds every line of ``text`` with an indentation."""
        for line in text.split("\n"):
            self.line(" " * indent, (line, style))

    def words(self, lead: Piece, text: str, indent: int, style: str = "", *, by: str = " ") -> None:
        """Writes ``lead`` and ``text``, wrapped at the width of the page. Further lines are
        indented by ``indent``.

        Lines only break after ``by``, which is a blank or the separator of a list.
        """
        used = cells(lead if isinstance(lead, str) else lead[0])
        row: list[str] = []
        begin: Piece = lead
        units = " ".join(text.split()).split(by)
        for word in [*(unit + by.rstrip() for unit in units[:-1]), units[-1]]:
            if row and used + sum(map(cells, row)) + len(row) + cells(word) > self.width:
                self.line(begin, (" ".join(row), style))
                begin, used, row = " " * indent, indent, []
            row.append(word)
        self.line(begin, (" ".join(row), style))

    def blank(self) -> None:
        """Adds an empty line, unless it would be at the top or follow another empty line."""
        if self._lines and self._painted(self._lines[-1]):
            self._lines.append([])

    def column(self, width: int) -> Page:
        """Returns an empty page of another width, to be used as a column of this page."""
        return Page(width, self._paint)

    def beside(self, columns: Sequence[Page], indent: int, gap: int) -> None:
        """Adds pages side by side, separated by ``gap`` cells."""
        for rows in zip_longest(*(column.folded() for column in columns), fillvalue=()):
            pieces: list[Piece] = [" " * indent]
            for column, row in zip(columns, rows, strict=True):
                pad = column.width + gap - sum(cells(text) for _, text in row)
                pieces += [*map(_piece, row), " " * pad]
            self.line(*pieces)

    def __len__(self) -> int:
        return len(self._lines)

    def shortened(self, page: Page, limit: int, pointer: Callable[[int], Piece]) -> None:
        """Adds at most ``limit`` lines of another page. If it has more, the line ``pointer(n)``
        replaces ``n`` lines in the middle.
        """
        lines = page._lines
        head, tail = limit * 3 // 5, limit - limit * 3 // 5 - 1
        if len(lines) <= limit:
            self._lines += lines
            return
        self._lines += lines[:head]
        self.line(pointer(len(lines) - head - tail))
        self._lines += lines[len(lines) - tail :]

    def folded(self) -> Iterator[Sequence[_Styled]]:
        """Yields the lines, wrapped at the width of the page."""
        for line in self._lines:
            row: list[_Styled] = []
            room = self.width
            whole = "".join(text for _, text in line)
            hang = min(len(whole) - len(whole.lstrip(" ")), self.width // 2)
            for style, text in line:
                while cells(text) > room:
                    fits = range(min(len(text), room), -1, -1)
                    end = next(n for n in fits if cells(text[:n]) <= room)
                    # The line is preferably broken inside a name, if that leaves at least two
                    # thirds of it.
                    end = next(
                        (n for n in range(end, end * 2 // 3, -1) if text[n - 1] in JOINTS), end
                    )
                    yield [*row, (style, text[:end])]
                    row, room, text = [("", " " * hang)], self.width - hang, text[end:]
                row.append((style, text))
                room -= cells(text)
            yield row

    def text(self) -> str:
        """Returns all lines so far, each with a line end."""
        return "".join(f"{self._painted(line)}\n" for line in self._lines)

    def _painted(self, line: Sequence[_Styled]) -> str:
        return "".join(self._paint(text, style) for style, text in line).rstrip(" ")


def _piece(styled: _Styled) -> Piece:
    style, text = styled
    return text, style


def _harmless(pieces: list[_Styled]) -> list[_Styled]:
    """Escapes a line that a CI system would execute as a command, and returns other lines
    unchanged.
    """
    whole = "".join(text for _, text in pieces)
    safe = harmless(whole)
    # Pieces that form a command only when put together are merged.
    return pieces if safe == whole else [(pieces[-1][0], safe)]


def _safe(text: str) -> str:
    return printable(text).replace("\n", "?")
