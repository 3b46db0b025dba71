"""Specs with several problems at once, with the problem that must be reported first.

The expected problems were worked out by hand (docs/language.md, "Which problem is reported").
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.support.text_tables import Block, blocks


@dataclass(frozen=True, slots=True)
class Ordered:
    """A spec with its first problem: the verdict, the depth, and the text at its position.

    For a violated property, ``at`` is its name; for a deadlock it is empty. ``more`` are the
    verdicts of the following problems with ``--continue``.
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
