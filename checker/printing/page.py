"""A page of text for a terminal: lines of styled pieces, made safe, then painted.

Whatever comes from a spec or a file passes through here, so that control characters never
reach a terminal. It does not know what the lines say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import TypeAlias

from fencepost.checker.printing.cells import cells
from fencepost.spec.text.problem import harmless, printable

Paint: TypeAlias = Callable[[str, str], str]
"""Text and the name of a style ("", "title", "good", "bad", "warn", "dim") to painted text."""

Piece: TypeAlias = "str | tuple[str, str]"
"""Text, or text and its style."""

_Styled: TypeAlias = tuple[str, str]
"""A style, and text that is safe."""

ESCAPES = {"title": "1", "good": "32", "bad": "31;1", "warn": "33", "dim": "2"}


def plain(text: str, style: str) -> str:
    """No colours: pipes, files, NO_COLOR."""
    return text


def ansi(text: str, style: str) -> str:
    """Colours of the sixteen that every terminal has."""
    escape = ESCAPES.get(style)
    return f"\x1b[{escape}m{text}\x1b[0m" if escape and text else text


JOINTS = " .,:(_["
"""Behind these a line may be broken that is too long."""


class Page:
    """Collects lines; ``width`` is where writers should break them, in cells."""

    def __init__(self, width: int = 100, paint: Paint = plain) -> None:
        self.width = width
        self._paint = paint
        self._lines: list[list[_Styled]] = []

    def line(self, *pieces: Piece) -> None:
        """One line; trailing blanks are dropped, control characters show as ``?``."""
        styled = [
            ("", piece) if isinstance(piece, str) else (piece[1], piece[0]) for piece in pieces
        ]
        self._lines.append(_harmless([(style, _safe(text)) for style, text in styled]))

    def lines(self, text: str, indent: int = 0, style: str = "") -> None:
        """Every line of ``text``, indented."""
        for line in text.split("\n"):
            self.line(" " * indent, (line, style))

    def words(self, lead: Piece, text: str, indent: int, style: str = "", *, by: str = " ") -> None:
        """``lead``, then ``text`` filled to the width, later lines indented by ``indent``.

        Lines break behind ``by`` only: at blanks, or between the items of a list.
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
        """An empty line, never two, and none at the top."""
        if self._lines and self._painted(self._lines[-1]):
            self._lines.append([])

    def column(self, width: int) -> Page:
        """An empty page of another width, to be put `beside` another."""
        return Page(width, self._paint)

    def beside(self, left: Page, right: Page, indent: int, gap: int) -> None:
        """Two pages side by side, ``gap`` cells between them. What is wider than its page goes on
        in the next line.
        """
        rows = zip_longest(left.folded(), right.folded(), fillvalue=())
        for one, other in rows:
            pad = left.width + gap - sum(cells(text) for _, text in one)
            self.line(" " * indent, *map(_piece, one), " " * pad, *map(_piece, other))

    def folded(self) -> Iterator[Sequence[_Styled]]:
        """The lines, broken at the width wherever that is."""
        for line in self._lines:
            row: list[_Styled] = []
            room = self.width
            whole = "".join(text for _, text in line)
            hang = min(len(whole) - len(whole.lstrip(" ")), self.width // 2)
            for style, text in line:
                while cells(text) > room:
                    fits = range(min(len(text), room), -1, -1)
                    end = next(n for n in fits if cells(text[:n]) <= room)
                    # Inside a name, where that is not too far from the end of the line.
                    end = next(
                        (n for n in range(end, end * 2 // 3, -1) if text[n - 1] in JOINTS), end
                    )
                    yield [*row, (style, text[:end])]
                    row, room, text = [("", " " * hang)], self.width - hang, text[end:]
                row.append((style, text))
                room -= cells(text)
            yield row

    def text(self) -> str:
        """Everything so far, each line ended."""
        return "".join(f"{self._painted(line)}\n" for line in self._lines)

    def _painted(self, line: Sequence[_Styled]) -> str:
        return "".join(self._paint(text, style) for style, text in line).rstrip(" ")


def _piece(styled: _Styled) -> Piece:
    style, text = styled
    return text, style


def _harmless(pieces: list[_Styled]) -> list[_Styled]:
    """The pieces of a line that is no command to a build; as they are, where they make none."""
    whole = "".join(text for _, text in pieces)
    safe = harmless(whole)
    # Several pieces make a command together, and are one from then on.
    return pieces if safe == whole else [(pieces[-1][0], safe)]


def _safe(text: str) -> str:
    return printable(text).replace("\n", "?")
