"""The smaller forms of expressions: what they are worth, and their misuse."""

from __future__ import annotations

import pytest
from tests.support.checked_specs import codes, ran, refused, worth

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


def check(expression: str, expected: str) -> None:
    """The expression is true or false in the initial state, or fails with a code."""
    assert worth(expression, PRELUDE) == expected


def misused(expression: str, code: str, phrase: str) -> None:
    refused(f"{PRELUDE}\ninvariant I: {expression}\n", code, phrase)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("let y = x + 1: y * y == 25", "true"),
        ("(let y = x: y) == 4", "true"),
        ("(let y = 2: let z = y + x: z - y) == x", "true"),
        ("x == let y = nums[0]: y + 1", "true"),
        ("let y = 1 // (x - 4): true", "F904"),
        ("let y = 1 // (x - 4): false and y == 0", "F904"),
        ("x == 5 and (let y = 1 // (x - 4): true)", "false"),
        ("let y = x - 4: x == 4 or 1 // y == 0", "true"),
        ("let y = x - 4: 1 // y == 0", "F904"),
        # What is expected reaches the body, and what is known of a value its name.
        ("light == let y = x: if y == 4 then Red else Green", "true"),
        ("let r = replies[1]: r is Accepted and r.at == 3", "true"),
        ("replies[1] is Accepted and (let r = replies[1]: r.by == Red)", "true"),
        ("held == let y = x: none", "false"),
        ("empty == let y = x: []", "true"),
        ("forall z in let top = N - 1: 0..top: z < 3", "true"),
        ("let K = Slot: sum(K) == 3", "true"),
        ("let even = forall z in waiting: z % 2 == 0: even", "true"),
    ],
)
def test_let(expression: str, expected: str) -> None:
    check(expression, expected)


@pytest.mark.parametrize(
    ("expression", "code", "phrase"),
    [
        ("let x = 1: x == 1", "F203", '"x" is a variable here already'),
        ("let y = x: let y = 2: y == x", "F203", '"y" is a local here already'),
        ("let y = []: y == empty", "F307", "the type of this empty collection"),
        ("let y = int16: true", "F710", "too large to be a set by itself"),
        ("(let y = x: true) and y == 1", "F201", 'no name "y"'),
        ("let y = x + 1 in y > 0", "F101", "write let x = e: body"),
        ("let y = x in y", "F101", "write let x = e: body"),
    ],
)
def test_misuse_of_let(expression: str, code: str, phrase: str) -> None:
    misused(expression, code, phrase)


def test_a_let_keeps_what_stands_behind_it() -> None:
    """An implication is still the outermost one, and a constant still a constant."""
    vacuous = "var x: 0..1 = 0\ninvariant I: let y = x + 1: y > 1 implies x == 1\nterminal: true\n"
    assert ran(vacuous).unmet == ["y > 1"]
    assert (
        codes(f"{PRELUDE}const M: int = let y = N + 1: y * y\ntype T = 0..(let z = M: z)\n") == []
    )
