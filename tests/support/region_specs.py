"""Small specs with a symbolic constant, which are searched for all its values.

Each is about one fact that such a search must record, or must refuse. The tests work out the result
for every single value. The specs are in ``region_specs.txt``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.support.text_tables import blocks


@dataclass(frozen=True, slots=True)
class RegionSpec:
    """A spec about one kind of fact that a search must record.

    If it were not recorded, some value would get a wrong result. ``regions`` are the values of each
    region, worked out by hand, or empty if they are trivial.
    """

    name: str
    kind: str
    text: str
    regions: tuple[str, ...] = ()


SPECS = tuple(
    RegionSpec(block.name, block.rest, block.text, block.expected)
    for block in blocks(Path(__file__).with_name("region_specs.txt"))
)
"""There is at least one spec for each kind of fact, and for each part of the language that causes
it.
"""

TRAP = SPECS[0].text

PRELUDE = """
const E0: int[4] = any
var x: int[4] = E0
var n: -8..7 = 0
var q: seq[bool, 8] = []
terminal: true
"""

REFUSED: tuple[tuple[str, str, str, str], ...] = (
    ("index", "F811", "int(x)", "action a: n = if q[int(x)] then 1 else 0"),
    (
        "key",
        "F811",
        "x",
        "type K = int[4]\nvar m: map[K, bool] = [false for k in K]\naction a: m[x] = true",
    ),
    ("bit set", "F811", "s", "var s: set[int[4]] = {}\naction a: s.add(x)"),
    ("end of a range", "F811", "int(x)", "action a(i in 0..int(x)): n = i"),
    ("product", "F812", "x * 2", "action a: x = x * 2"),
    ("quotient", "F812", "x // 2", "action a: x = x // 2"),
    ("remainder", "F812", "x % 2", "action a: x = x % 2"),
    ("divisor", "F812", "3 // x", "action a:\n    require x != 0\n    x = 3 // x"),
    ("opposite", "F812", "-x", "action a: x = -x"),
    ("taken from a constant", "F812", "3 - x", "action a: x = 3 - x"),
    (
        "sum of a set",
        "F812",
        "sum({int(x), 3})",
        "action a:\n    require sum({int(x), 3}) > 2\n    n = 1",
    ),
    ("narrowing", "F813", "int[3](x)", "var y: int[3] = 0\naction a: y = int[3](x)"),
    ("narrowing a number", "F813", "int[4](int(x) + 1)", "action a: x = int[4](int(x) + 1)"),
    ("a second one", "F814", "E1", "const E1: int[4] = any\naction a: x = E1"),
)
"""Specs that are refused before the search: name, code, source text of the span, lines."""

REFUSED_ON_THE_WAY: tuple[tuple[str, str, str, str], ...] = (
    ("sum", "F812", "x + y", "var y: int[4] = 0\naction a: y = E0\naction b: x = x + y"),
    ("difference", "F812", "y - x", "var y: int[4] = 0\naction b: y = y - x\naction c: y = E0"),
)
"""Specs that are refused during the search because of a sum of two numbers that both depend on the
constant.
"""
