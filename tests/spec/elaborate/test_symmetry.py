"""Symmetric types: the allowed operations on their values, and quantifiers over them."""

from __future__ import annotations

import pytest
from tests.support.checked_specs import codes, problems, verdict

CLIENTS = """\
symmetric type C = {c1, c2, c3}
record Pair: left: C, n: 0..3
union Message:
    Ask(who: C)
    Stop
var one: C? = none
var some: set[C] = {}
var order: seq[C, 3] = []
var level: map[C, 0..3] = [0 for c in C]
var total: 0..9 = 0
var pairs: set[Pair] = {}
channel net: Message unordered capacity 9
channel line: Message ordered capacity 9
channel wire[c: C]: Message ordered capacity 2
action take on Ask(c) from net: order = [c]
action halt on Stop from net: skip
action read on Ask(c) from line: some.add(c)
action stop on Stop from line: skip
action send_all(c in C):
    send Stop to net
    send Stop to line
    send Stop to wire[c]
    send Ask(c) to line
    send Ask(c) to net
action hear(c in C) on Ask(d) from wire[c]: one = d
action end(c in C) on Stop from wire[c]: skip
terminal: true
"""
PROCEDURES = """procedure clear(c: C):
    if level[c] == 0:
        return
    level[c] = 0
procedure count_up(c: C):
    if level[c] == 0:
        return
    total = level[c]
procedure add_second(c: C):
    if len(some) != 1:
        return
    some.add(c)
"""


@pytest.mark.parametrize(
    ("declaration", "code", "phrase"),
    [
        ("invariant I: one != c1", "F803", "`enum` makes a type whose values differ"),
        ("invariant I: one != C.c2", "F803", "stand for each other"),
        ("const K: C = c2", "F803", "C is declared here"),
        ("var x: map[C, 0..1] = [c1: 0, c2: 1, c3: 0]", "F803", ""),
        ("action a on Ask(==c1) from net: skip", "F803", ""),
        (
            "action a(c in C):\n    match c:\n        case c1: skip\n        case _: skip",
            "F803",
            "",
        ),
        ("invariant I: one == none or one! is c3", "F803", ""),
        ("action a:\n    one = choose c in C where c in some", "F846", "`pick` one"),
        ("action a:\n    require some != {}\n    one = min(some)", "F846", "may `pick` one"),
        ("invariant I: [p for p in pairs] == []", "F846", "make a set of it"),
        ("invariant I: sum([level[c] for c in some]) < 9", "", ""),
        ("invariant I: len([level[c] for c in some]) < 4", "", ""),
        ("invariant I: some == {} or max([level[c] for c in some]) < 4", "", ""),
        ("invariant I: count([level[c] for c in some], 1) < 4", "", ""),
        ("invariant I: [level[c] for c in some] != [0, 1, 2]", "F846", "make a set of it"),
        ("invariant I: len([c for c in some]) < 4", "F846", "make a set of it"),
        ("invariant I: [level[c] for c in C] == level", "", ""),
        ("invariant I: [c for c in order] == order", "", ""),
        ("invariant I: {c for c in C if level[c] == 0} != {}", "", ""),
        ("action a: order = [c for c in {d for d in C}]", "F846", "make a set"),
        ("var first: C = any", "", ""),
        ("var few: set[C] in subsets(C) where len(few) == 1", "", ""),
    ],
)
def test_nothing_shows_an_order(declaration: str, code: str, phrase: str) -> None:
    reported = problems(f"{CLIENTS}{declaration}\n")
    assert {problem.code for problem in reported} == ({code} if code else set())
    assert any(phrase in str(problem) for problem in reported) or not code


@pytest.mark.parametrize(
    ("body", "phrase"),
    [
        ("send Ask(c) to net", ""),
        ("send Stop to wire[c]", ""),
        ("some.add(c)", ""),
        ("level[c] = 1", ""),
        ("level[c] = (level[c] + 1) % 4", ""),
        ("if level[c] == 0: some.add(c)", ""),
        ("let n = level[c]; level[c] = 3 - n", ""),
        ("skip", ""),
        ("require level[c] == 0", ""),
        ("send Ask(c) to line", "unordered or persistent channels"),
        ("order.append(c)", "add elements to a set or bag"),
        ("one = c", "add elements to a set or bag"),
        ("total = level[c]", "add elements to a set or bag"),
        ("if c not in some: some.add(c)", "reads what another one may have assigned"),
        ("level[c] = 1; total = level[c]", "add elements to a set or bag"),
        ("if len(some) < 2: send Ask(c) to net; some.add(c)", "reads what another one"),
        ("pick d in C; level[c] = level[d]", "the loop picks"),
        ("if level[c] == 0: return", "ends the rounds behind it"),
        ("require level[c] == 0; send Ask(c) to net", "more than one thing can end the loop"),
        ("assert level[c] == 0; level[c] = level[c] // level[c]", "more than one thing"),
        ("for d in C: level[d] = 1", "add elements to a set or bag"),
        # What each kind of statement reads, after another round may have assigned it.
        ("let n = len(some); level[c] = n; some.add(c)", "reads what another one"),
        ("level[c] = len(some); some.add(c)", "reads what another one"),
        ("if level[c] == 0: skip; else: total = level[c]", "add elements to a set or bag"),
        ("assert len(some) < 3; some.add(c)", "reads what another one"),
        ("require len(some) < 2; some.add(c)", "reads what another one"),
        ("for d in some: level[c] = 1; some.add(c)", "reads what another one"),
        ("clear(c)", ""),
        ("clear(c); some.add(c)", ""),
        ("count_up(c)", "add elements to a set or bag"),
        ("add_second(c)", "reads what another one"),
        ("assert level[c] == 0; require level[c] == 0", "more than one thing"),
        ("assert level[c] == 0; send Ask(c) to net", "more than one thing"),
        ("require level[c] == 0; require level[c] < 2", "more than one thing"),
        ("require level[c] == 0; level[c] = 1 // level[c]", "more than one thing"),
    ],
)
def test_the_order_of_rounds_is_irrelevant(body: str, phrase: str) -> None:
    lines = "".join(f"        {line}\n" for line in body.split("; "))
    text = f"{CLIENTS}{PROCEDURES}action loop:\n    for c in C:\n{lines}"
    if phrase:
        assert {problem.code for problem in problems(text)} == {"F846"}
        assert any(phrase in str(problem) for problem in problems(text))
    else:
        assert codes(text) == [], "\n".join(map(str, problems(text)))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        # In one order of the values the first element decides, in the other the second fails.
        ("exists c in C: a[c] == 2 or 10 // a[c] > 100", "error F904"),
        ("not (forall c in C: a[c] != 2 and 10 // a[c] < 100)", "error F904"),
        ("{c for c in C if a[c] == 2 or 10 // a[c] > 100} != {}", "error F904"),
        ("exists c in C: a[c] == 2 or a[c] != 0 and 10 // a[c] > 100", "ok"),
        ("exists c in [1, 0]: c == 1 or 10 // c > 100", "ok"),
    ],
)
def test_definedness_does_not_depend_on_the_order(condition: str, expected: str) -> None:
    spec = f"""
symmetric type C = {{c1, c2}}
var a: map[C, 0..2] = [2 for c in C]
action clear(c in C):
    require forall d in C: a[d] == 2
    a[c] = 0
terminal: true
invariant I: {condition}
"""
    assert verdict(spec) == expected


@pytest.mark.parametrize(
    ("declaration", "expected"),
    [
        ("", []),
        ("var lock Lock", ["F101"]),
        ("initially: forall c in C: c == c", []),
        ("initially: min(C) == max(C)", ["F846", "F846"]),
    ],
)
def test_a_spec_without_variables(declaration: str, expected: list[str]) -> None:
    assert codes(f"symmetric type C = {{c1, c2}}\naction a: skip\n{declaration}\n") == expected
