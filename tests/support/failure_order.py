"""Specs with several problems at once, and the one to report first (docs/language.md, "Which
problem is reported"), worked out by hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.support.text_tables import Block, blocks


@dataclass(frozen=True, slots=True)
class Ordered:
    """``text``, and its first problem: the verdict, the depth, and the text at its position (for a
    violated property its name, for a deadlock nothing). ``more`` are the verdicts of the following
    problems with ``--continue``.
    """

    name: str
    text: str
    verdict: str
    depth: int
    at: str = ""
    more: tuple[str, ...] = ()


def _ordered(block: Block) -> Ordered:
    verdict, depth, at, *more = block.expected
    return Ordered(block.name, block.text, verdict, int(depth), at.removeprefix("-"), tuple(more))


ORDERED = tuple(map(_ordered, blocks(Path(__file__).with_suffix(".txt"))))
