"""Tables of texts in files: ``=== heading``, ``=> what is expected; of it``, and the text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Block:
    """The heading is ``name: rest``; ``expected`` are the parts of a line ``=>``, if it has one."""

    name: str
    rest: str
    expected: tuple[str, ...]
    text: str


def blocks(path: Path) -> list[Block]:
    """The texts of a file, in order; what stands before the first heading is a remark."""
    return [_block(part) for part in path.read_text(encoding="utf-8").split("\n=== ")[1:]]


def _block(part: str) -> Block:
    heading, _, text = part.partition("\n")
    name, _, rest = heading.partition(": ")
    expected: tuple[str, ...] = ()
    if text.startswith("=> "):
        line, _, text = text.partition("\n")
        expected = tuple(line.removeprefix("=> ").split("; "))
    return Block(name, rest, expected, f"{text.rstrip()}\n")
