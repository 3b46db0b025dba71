"""Symmetric types: the operations allowed on their values, and quantifiers over them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.checked_specs import codes, problems, verdict
from tests.support.text_tables import tables

TABLES = tables(Path(__file__))

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


@pytest.mark.parametrize(("declaration", "code", "phrase"), TABLES["nothing_shows_an_order"])
def test_nothing_shows_an_order(declaration: str, code: str, phrase: str) -> None:
    reported = problems(f"{CLIENTS}{declaration}\n")
    assert {problem.code for problem in reported} == {code} - {"ok"}
    assert any(phrase in str(problem) for problem in reported) or code == "ok"


@pytest.mark.parametrize(("body", "phrase"), TABLES["the_order_of_rounds_is_irrelevant"])
def test_the_order_of_rounds_is_irrelevant(body: str, phrase: str) -> None:
    lines = "".join(f"        {line}\n" for line in body.split("; "))
    text = f"{CLIENTS}{PROCEDURES}action loop:\n    for c in C:\n{lines}"
    if phrase == "ok":
        assert codes(text) == [], "\n".join(map(str, problems(text)))
    else:
        assert {problem.code for problem in problems(text)} == {"F846"}
        assert any(phrase in str(problem) for problem in problems(text))


@pytest.mark.parametrize(
    ("condition", "expected"), TABLES["definedness_does_not_depend_on_the_order"]
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
