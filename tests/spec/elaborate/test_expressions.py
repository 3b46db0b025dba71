"""Expressions: their values, and ill-formed ones (docs/language.md sections 5, 6)."""

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
enum Mood: Happy, Green
record Meta: pid: 0..3, epoch: 0..7
record Box: inner: Meta, tag: Color
union Reply:
    Accepted(at: 0..3, by: Color)
    Delayed(at: 0..3)
    Refused
var light: Color = Red
var mood: Mood = Happy
var meta: Meta = Meta(pid: 0, epoch: 1)
var box: Box = Box(inner: Meta(2, 5), tag: Amber)
var log: seq[Color, 4] = [Red, Green, Red]
var empty: seq[0..3, 2] = []
var pool: bag[Slot, 4] = [1, 0, 1]
var waiting: set[Slot] = {0, 2}
var owner: Color? = none
var held: 0..5? = 4
var answer: Reply? = Accepted(1, Red)
var reply: Reply = Accepted(at: 2, by: Green)
var replies: seq[Reply, 3] = [Refused, Accepted(3, Red), Delayed(1)]
var stock: map[Slot, 0..9] = [2 * k for k in Slot]
var grid: map[Slot, map[bool, 0..9]] = [[if b then k else 0 for b in bool] for k in Slot]
var small: int8 = 127
var x: 0..9 = 4
var y: -5..5 = -3
var flag: bool = true
"""


@pytest.mark.parametrize(("expression", "expected"), TABLES["worth"])
def test_worth(expression: str, expected: str) -> None:
    assert worth(expression, PRELUDE) == expected


def test_a_finite_type_is_a_set() -> None:
    spec = """
        enum Color: Red, Green
        var seen: set[Color] = {}
        action all: seen = Color
        action one(c in Color): seen.add(c)
        invariant Few: seen != Color
    """
    result = ran(spec)
    assert result.verdict == "violated Few"
    assert result.depth == 2


@pytest.mark.parametrize(("expression", "code", "phrase"), TABLES["misuse"])
def test_misuse(expression: str, code: str, phrase: str) -> None:
    text = f"{PRELUDE}\ninvariant I: {expression}\n"
    if not code:
        assert codes(text) == []
    else:
        refused(text, code, phrase)


LIFTED = """
enum E: A, B
var q: seq[(0..3)?, 3] = [1, none, 2]
var s: set[E?] = {A}
var qs: seq[seq[0..3, 2], 2] = [[1], [2]]
var m: map[E, 0..1] = [0 for k in E]
channel c[b: bool]: E capacity 2
def d: set[0..3] = {} | {1}
def e(x: set[0..3]): int = len(x)
def f: set[E?] = {none}
def g(o: E?): bool = o == A
"""


@pytest.mark.parametrize(("expression", "expected"), TABLES["expected_types"])
def test_expected_types(expression: str, expected: str) -> None:
    assert worth(expression, LIFTED) == expected


def test_words_of_the_language_are_suggested() -> None:
    refused(f"{PRELUDE}\ninvariant I: flag == ture\n", "F201", 'did you mean "true"?')
