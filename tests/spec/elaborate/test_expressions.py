"""Expressions: what they are worth, and what is no expression (docs/language.md sections 5, 6)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.checked_specs import codes, ran, refused, verdict, worth
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


def test_block_of_lines_is_a_conjunction() -> None:
    spec = "var x: 0..3 = 1\naction up: skip\ninvariant I:\n    x > 0\n    x < {}\n"
    assert verdict(spec.format(2)) == "ok"
    assert verdict(spec.format(1)) == "violated I"
    assert (
        verdict("var x: 0..3 = 1\ninvariant I:\n    x == 0\n    1 // (x - 1) == 0\n")
        == "violated I"
    )


def test_a_finite_type_stands_where_a_set_is_expected() -> None:
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


def test_order_of_values_decides_for_choose_min_and_for() -> None:
    """bool, integers, enums by declaration, unions by tag then fields, the rest like tuples."""
    spec = """
        enum Color: Red, Amber, Green
        union Reply: Late(at: 0..3), Soon, Now(at: 0..3)
        record Pair: a: 0..3, b: Color
        var bools: seq[bool, 2] = []
        var colors: seq[Color, 3] = []
        var replies: seq[Reply, 4] = []
        var pairs: seq[Pair, 3] = []
        var lists: seq[seq[0..3, 2], 4] = []
        var sets: seq[set[0..2], 4] = []
        var options: seq[(0..3)?, 3] = []
        var numbers: seq[-2..3, 3] = []
        action go:
            require numbers == []
            for b in {true, false}: bools.append(b)
            for c in {Green, Red, Amber}: colors.append(c)
            for r in {Now(0), Soon, Late(3), Late(1)}: replies.append(r)
            for p in {Pair(1, Red), Pair(0, Green), Pair(1, Amber)}: pairs.append(p)
            for l in {[1], [0, 3], [], [0]}: lists.append(l)
            for s in {{1}, {0, 2}, {}, {0}}: sets.append(s)
            for o in {2, none, 1}: options.append(o)
            for n in {3, -2, 0}: numbers.append(n)
        terminal: true
        invariant Ordered:
            numbers != [] implies bools == [false, true] and colors == [Red, Amber, Green]
            numbers != [] implies replies == [Late(1), Late(3), Soon, Now(0)]
            numbers != [] implies pairs == [Pair(0, Green), Pair(1, Red), Pair(1, Amber)]
            numbers != [] implies lists == [[], [0], [0, 3], [1]]
            numbers != [] implies sets == [{}, {0}, {0, 2}, {1}]
            numbers != [] implies options == [none, 1, 2] and numbers == [-2, 0, 3]
            numbers != [] implies min(colors) == Red and max(replies) == Now(0)
            (choose r in {Now(0), Soon}) == Soon
    """
    assert verdict(spec) == "ok"


def test_for_follows_a_sequence_in_its_own_order() -> None:
    spec = """
        var from_list: seq[0..3, 3] = []
        var from_bag: seq[0..3, 3] = []
        var pool: bag[0..3, 3] = [3, 1, 3]
        action go:
            require from_list == []
            for x in [3, 1, 2]: from_list.append(x)
            for x in pool: from_bag.append(x)
        terminal: true
        invariant I: from_list != [] implies from_list == [3, 1, 2] and from_bag == [1, 3, 3]
    """
    assert verdict(spec) == "ok"


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
