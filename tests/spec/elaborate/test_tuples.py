"""Tuples: values, effects of statements, and ill-formed uses (docs/language.md section 6)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.checked_specs import ran, refused, verdict, worth
from tests.support.text_tables import tables

TABLES = tables(Path(__file__))

PRELUDE = """
enum Color: Red, Green
record Meta: pid: 0..3
union M: Promise(ballot: 0..3), Refused
type P = 0..2
var x: 0..9 = 4
var t: (P, Color) = (1, Green)
var deep: (P, (bool, P?)) = (0, (true, 2))
var edges: set[(P, P)] = {(0, 1), (1, 2)}
var large: set[(0..99, 0..99), 3] = {(1, 2)}
var log: seq[(P, M), 3] = [(1, Promise(2)), (2, Refused)]
var pool: bag[(P, P), 3] = [(1, 1), (0, 2), (1, 1)]
var m: map[(P, bool), P] = [if b then i else 0 for (i, b) in (P, bool)]
var opt: (P, P)? = none
var r: Meta = Meta(1)
var done: bool = false
channel net: (P, M) capacity 2 = [(1, Promise(1)), (2, Refused)]
def swapped(pair: (P, P)): (P, P) = let (a, b) = pair: (b, a)
def held(pairs: set[(P, P)], item: (P, set[0..9])): int = len(pairs) + len(item.2)
"""


@pytest.mark.parametrize(("expression", "expected"), TABLES["worth"])
def test_worth(expression: str, expected: str) -> None:
    assert worth(expression, PRELUDE) == expected


@pytest.mark.parametrize(("body", "expected"), TABLES["effect"])
def test_effect(body: str, expected: str) -> None:
    text = f"{PRELUDE}\naction go:\n    require not done\n    done = true\n    {body}\n"
    text += "terminal: true\nreachable Happened: done\n"
    if expected.startswith("F9"):
        assert verdict(text) == f"error {expected}"
    else:
        assert verdict(f"{text}invariant I: done implies {expected}\n") == "ok"
        assert verdict(f"{text}invariant I: done implies not ({expected})\n") == "violated I"


@pytest.mark.parametrize(("body", "place", "holder"), TABLES["failure"])
def test_failure(body: str, place: str, holder: str) -> None:
    """The message names the component, and points to the last occurrence of ``place``."""
    text = f"{PRELUDE}\ndef twice(n: 0..9): 0..9 = n + x\naction go: {body}\n"
    site = ran(f"{text}check c: expect error\n").outcome.findings[0].site
    assert site is not None
    source = site.span.source.text
    assert site.span.text == place
    assert site.span.start == source.index(body) + body.rindex(place)
    assert site.message.startswith(f"{holder} holds ")


@pytest.mark.parametrize(("line", "code", "phrase"), TABLES["misuse"])
def test_misuse(line: str, code: str, phrase: str) -> None:
    refused(f"{PRELUDE}\n{line}\n", code, phrase)
