"""Regression specs from random generation: each once revealed a bug, and states its right
result.
"""

from __future__ import annotations

import pytest
from tests.support.agreement import runs_of
from tests.support.comparisons import naive_agrees, rewrite_agrees
from tests.support.rewriting import RULES

from fencepost.spec.core.verify_model import problems

FOUND = {
    "a literal given to a wider parameter keeps its value": """
def next_to(a: 0..3): int = a + 1
def up_from(a: 0..3): set[0..9] = a..5
var x: 0..9 = 0
invariant Sum: next_to(3) == 4
invariant Interval: up_from(3) == {3, 4, 5}
""",
    "an arm that constants choose is an operand with its value alone": """
const N: 0..3 = 0
const M: int = 3
var x: 0..3 = 1
invariant Arm: (if N <= 3 then M else x) - x == 2
""",
    "counting a value among options": """
var q: seq[0..2?, 3] = [1, none, 1]
var b: bag[0..2?, 3] = [1, 1, none]
invariant Sequence: count(q, 1) == 2 and count(q, none) == 1
invariant Bag: count(b, 1) == 2 and count(b, 2) == 0
""",
    "nothing contains one of very many values": """
union Message: Ping, Pong(at: int64?)
channel net: Message ordered capacity 1 or block
action send_one: send Pong(at: none) to net
action hear on _ from net: skip
def heard: bool = len(net) > 0 and net[0] in {}
invariant Never: not heard and (net == [] or net[0] not in [])
""",
    "an option among values": """
type Slot = 0..2
var o: Slot? = 1
var n: Slot? = none
var s: set[Slot] = {0, 1}
invariant Variable: o in s and n not in s
invariant Type: o in Slot and n not in Slot
invariant Literal: o in {0, 1} and n not in {0, 1}
""",
    "values among options": """
type Slot = 0..2
var q: seq[Slot?, 2] = [1, 2]
var s: set[Slot?] = {x for x in Slot if x > 0}
invariant Sequence: q == [1, 2] and q != [1, none]
invariant Set: s == {1, 2} and 1 in s and none not in s
""",
    "what stands beside a comprehension is no demand on it": """
var m: map[bool, 0..1] = [0 for k in bool]
invariant Map: m != [5 for k in bool]
invariant Arms: (if m[true] == 0 then [1 for k in bool] else [7 for k in bool]) != m
""",
    "a def's type says what its body is": """
var x: 0..3 = 0
def none_of(a: 0..1): set[0..3] = {} | {a}
def options: set[0..3?] = {none, 1}
invariant Set: none_of(1) == {1} and none in options
""",
    "membership in a wide interval": """
var low: int32 = -2_000_000_000
var high: int32 = 2_000_000_000
invariant Inside: 5 in int(low)..int(high)
""",
}


@pytest.mark.parametrize("name", FOUND)
def test_found_spec(name: str) -> None:
    text = FOUND[name] + "terminal: true\n"
    for run in runs_of(text):
        assert problems(run.model) == []
        assert run.by("interpreter").verdict == "ok"
        if name != "membership in a wide interval":
            # The second interpreter, or an interval with other bounds, would count to 2^32.
            naive_agrees(run, limited=False)
            for rule in RULES:
                rewrite_agrees(text, rule)
