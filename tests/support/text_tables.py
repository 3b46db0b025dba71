"""Reads tables of texts from files.

An entry has a line ``=== heading``, in some tables a line ``=> expected; parts``, and a text.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Block:
    """An entry with the heading ``name: rest``; ``expected`` has the parts of its ``=>`` line, if
    any.
    """

    name: str
    rest: str
    expected: tuple[str, ...]
    text: str


def blocks(path: Path) -> list[Block]:
    """Returns the texts of a file, in order; text before the first heading is a comment."""
    return [_block(part) for part in path.read_text(encoding="utf-8").split("\n=== ")[1:]]


def _block(part: str) -> Block:
    heading, _, text = part.partition("\n")
    name, _, rest = heading.partition(": ")
    expected: tuple[str, ...] = ()
    if text.startswith("=> "):
        line, _, text = text.partition("\n")
        expected = tuple(line.removeprefix("=> ").split("; "))
    return Block(name, rest, expected, f"{text.rstrip()}\n")


Row: TypeAlias = tuple[str, ...]


def tables(path: Path) -> dict[str, list[Row]]:
    """Reads the tables in the file that is next to a module and has its name without ``test_``.

    A line is a row: a text, followed after `` => `` by the expected parts, separated by ``; ``. The
    heading of a table gives the number of parts, so that the last one may contain ``; ``; if the
    last part is empty, it is left out with its separator. A text continues in lines that begin with
    ``| ``, and ``# `` begins a comment.
    """
    blocks_ = blocks(path.with_name(path.stem.removeprefix("test_") + ".txt"))
    return {block.name: _rows(block.text, int(block.rest)) for block in blocks_}


def _rows(text: str, parts: int) -> list[Row]:
    joined = text.replace("\n| ", "\0").replace("\n|\n", "\0\n")
    lines = [line for line in joined.splitlines() if line and not line.startswith("# ")]
    rows: list[Row] = []
    for line in lines:
        piece, arrow, expected = line.replace("\0", "\n").rpartition(" => ")
        row = (piece, *expected.split("; ", parts - 1)) if arrow else (expected,)
        assert parts <= len(row) <= parts + 1, line
        rows.append((*row, "")[: parts + 1])
    return rows
