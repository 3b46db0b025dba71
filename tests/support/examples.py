"""Small specs with the results that every engine must produce: the verdict, the counts and the
trace.

The specs are in ``examples.txt``. The figures were worked out by hand; those that are not obvious
have a comment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tests.support.text_tables import Block, blocks

from fencepost.checker.engines import COUNTING

EXPLICIT = tuple(name for name, counts in COUNTING.items() if counts and name != "spark")
"""The engines that visit and count states, except Spark, which starts Java and has separate
tests.
"""


@dataclass(frozen=True, slots=True)
class Example:
    """A spec with its expected result.

    ``trace`` lists the steps after the initial state as ``action(choices)``; the instance of a role
    and a received message count as choices. ``property`` is the violated property. With
    ``deadlock``, deadlocks are checked.
    """

    name: str
    text: str
    verdict: str
    distinct: int
    generated: int
    depth: int
    trace: tuple[str, ...] = ()
    property: str = ""
    deadlock: bool = True


FIGURES = re.compile(
    r"(\w+)(?: (\w+))?, (\d+) distinct, (\d+) generated, depth (\d+)(, deadlocks allowed)?"
)


def _example(block: Block) -> Example:
    match = FIGURES.fullmatch(block.rest)
    assert match, block
    verdict, prop, *counts, allowed = match.groups()
    distinct, generated, depth = map(int, counts)
    return Example(
        name=block.name,
        text=block.text,
        verdict=verdict,
        distinct=distinct,
        generated=generated,
        depth=depth,
        trace=block.expected,
        property=prop or "",
        deadlock=not allowed,
    )


EXAMPLES = tuple(map(_example, blocks(Path(__file__).with_name("examples.txt"))))
RANGED = tuple(example for example in EXAMPLES if not example.name.startswith("int_"))
"""The examples whose integers all have declared ranges, so that a model can be built without a
search for the ranges.
"""
