"""How much room text takes on a terminal: most characters take one cell, East Asian ones and emoji
two, and accents that are set on others none.
"""

from __future__ import annotations

from rich.cells import cell_len

from fencepost.spec.text.problem import printable


def cells(text: str) -> int:
    """The width of a line of text, made printable."""
    # What rich need not look up.
    return len(text) if text.isascii() else cell_len(printable(text).replace("\n", "?"))


def padded(text: str, width: int) -> str:
    """The text, and blanks up to a width in cells."""
    return text + " " * (width - cells(text))


def cut(text: str, width: int) -> str:
    """The text, or as much of its beginning as fits into a width in cells, and an ellipsis."""
    if cells(text) <= width:
        return text
    end = min(len(text), width)
    while end and cells(text[:end]) > width - 1:
        end -= 1
    return f"{text[:end]}…"
