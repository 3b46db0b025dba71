"""The smaller forms of expressions: their values, and their misuse."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.checked_specs import codes, ran, refused, worth
from tests.support.text_tables import tables

TABLES = tables(Path(__file__))

PRELUDE = """
const N: int = 3
type Slot = 0..2
enum Color: Red, Amber, Green
record Meta: pid: 0..3, epoch: 0..7
union Reply:
    Accepted(at: 0..3, by: Color)
    Refused
var light: Color = Red
var meta: Meta = Meta(pid: 0, epoch: 1)
var log: seq[Color, 4] = [Red, Green, Red]
var nums: seq[0..9, 4] = [3, 1, 2]
var empty: seq[0..3, 2] = []
var pool: bag[Slot, 4] = [1, 0, 1]
var waiting: set[Slot] = {0, 2}
var held: 0..5? = 4
var replies: seq[Reply, 3] = [Refused, Accepted(3, Red)]
var stock: map[Slot, 0..9] = [2 * k for k in Slot]
var x: 0..9 = 4
"""


@pytest.mark.parametrize(("expression", "expected"), TABLES["worth"])
def test_worth(expression: str, expected: str) -> None:
    assert worth(expression, PRELUDE) == expected


@pytest.mark.parametrize(("expression", "code", "phrase"), TABLES["misuse"])
def test_misuse(expression: str, code: str, phrase: str) -> None:
    refused(f"{PRELUDE}\ninvariant I: {expression}\n", code, phrase)


def test_a_let_preserves_its_body() -> None:
    """An implication inside a let is still the outermost operator, and a constant is still a
    constant.
    """
    vacuous = "var x: 0..1 = 0\ninvariant I: let y = x + 1: y > 1 implies x == 1\nterminal: true\n"
    assert ran(vacuous).unmet == ["y > 1"]
    assert (
        codes(f"{PRELUDE}const M: int = let y = N + 1: y * y\ntype T = 0..(let z = M: z)\n") == []
    )
