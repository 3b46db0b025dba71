"""Generates specs with variables of the type int: declared ranges of random specs are removed."""

from __future__ import annotations

import re
from random import Random

from tests.strategies import grown
from tests.support.agreement import loaded

from fencepost.spec.core.open_ranges import NO_RANGES
from fencepost.spec.elaborate.claims.program import build
from fencepost.spec.text.problem import Rejected

DECLARED = re.compile(r"^ *var \w+: (?P<type>.*?)(?= = | in |$)", re.MULTILINE)
RANGE = re.compile(r"-?\d+\.\.-?\d+")


def grown_open(seed: int) -> str:
    """Returns a spec, usually with some variables whose types contain an int."""
    text, chance = grown(seed), Random(seed)
    for match in reversed([*DECLARED.finditer(text)]):
        for part in reversed([*RANGE.finditer(text, match.start("type"), match.end("type"))]):
            if chance.random() < 0.7:
                changed = f"{text[: part.start()]}int{text[part.end() :]}"
                text = changed if _is_legal(changed) else text
    return text


def _is_legal(text: str) -> bool:
    try:
        read = loaded(text)
        for check in read.checks:
            build(read, check, ranges=NO_RANGES)
    except Rejected:
        return False
    return True
