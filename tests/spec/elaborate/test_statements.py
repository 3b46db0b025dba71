"""Statements: the effects of steps, and ill-formed statements (docs/language.md sections 5, 6)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.checked_specs import codes, ran, refused, verdict
from tests.support.text_tables import tables

TABLES = tables(Path(__file__))

PRELUDE = """
type Slot = 0..2
enum Color: Red, Amber, Green
record Meta: pid: 0..3, epoch: 0..7
record Box: inner: Meta, many: map[Slot, Meta]
var done: bool = false
var x: 0..9 = 4
var y: 0..9 = 0
var log: seq[0..9, 4] = [7, 8]
var pool: bag[Slot, 4] = [1, 0, 1]
var waiting: set[Slot] = {0, 2}
var some: set[0..9, 2] = {1, 2}
var owner: Slot? = none
var meta: Meta = Meta(1, 2)
var box: Box = Box(Meta(0, 0), [Meta(k, k) for k in Slot])
var stock: map[Slot, 0..9] = [k for k in Slot]
var grid: map[bool, map[Slot, 0..9]] = [[k for k in Slot] for b in bool]
var rows: seq[seq[0..9, 2], 2] = [[1], [2, 3]]
"""


def becomes(body: str, expected: str) -> str:
    """Returns the verdict after one step with this body.

    ``expected`` is a condition on the resulting state.
    """
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    text = f"{PRELUDE}\naction go:\n    require not done\n    done = true\n{lines}"
    text += f"terminal: true\nreachable Happened: done\ninvariant I: done implies {expected}\n"
    return verdict(text)


@pytest.mark.parametrize(("body", "expected"), TABLES["effect"])
def test_effect(body: str, expected: str) -> None:
    assert becomes(body.replace("; if ", "\nif "), expected) == "ok"
    assert becomes(body.replace("; if ", "\nif "), f"not ({expected})") == "violated I"


@pytest.mark.parametrize(("body", "code"), TABLES["evaluation_errors"])
def test_evaluation_errors(body: str, code: str) -> None:
    assert becomes(body, "true") == f"error {code}"


def test_assert_shows_its_message() -> None:
    result = ran('var x: 0..1 = 0\naction go:\n    x = 1\n    assert x == 0, "never"\n')
    assert result.verdict == "assertion F908"
    site = result.outcome.findings[0].site
    assert site is not None
    assert site.message == "never"
    assert (result.states, result.generated, result.depth) == (1, 1, 2)


# ---------------------------------------------------------------- choices


# ---------------------------------------------------------------- procedures and defs


@pytest.mark.parametrize(("body", "code", "phrase"), TABLES["misuse"])
def test_misuse(body: str, code: str, phrase: str) -> None:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    extra = (
        "const limit: int = 1\ndef double(n: 0..9): int = n + n\nprocedure help(n: 0..9): y = n\n"
    )
    refused(f"{PRELUDE}{extra}action go:\n{lines}", code, phrase)


def test_recursion_is_refused() -> None:
    refused(
        "def f(n: int): bool = n == 0 or g(n)\ndef g(n: int): bool = f(n - 1)\n"
        "action a: skip\ninvariant I: f(3)\n",
        "F213",
        '"f" calls itself',
    )
    refused("procedure p: q()\nprocedure q: p()\naction a: p()\n", "F213", '"p" calls itself')
    refused("def f(n: int): bool = f(n)\naction a: skip\n", "F213", '"f" calls itself')
    # Types are constants, and their bounds can call defs, too.
    for spec in (
        "def f: f..1 = 1",
        "def f(a: 0..f(1)): int = 1",
        "def f: 0..g = 1\ndef g: 0..f = 1",
        "def f: map[0..f, bool] = [true for k in 0..1]",
    ):
        reported = codes(f"{spec}\naction go: skip\n")
        assert {*reported} == {"F213"}, reported
    # A call of a def in an argument of the same def is not recursion.
    assert codes("def f(n: int): int = n\naction a: skip\ninvariant I: f(f(f(1))) == 1\n") == []
