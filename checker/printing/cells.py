"""The width of text on a terminal: East Asian characters and emoji take two cells, combining marks
none, all others one.
"""

from __future__ import annotations

from rich.cells import cell_len

from fencepost.spec.text.problem import printable


def cells(text: str) -> int:
    """The width of a line of text in cells, after escaping."""
    # Avoids rich's lookup for plain text.
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
