"""Constants: what they decide before a run, and the bounds of numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.checked_specs import problems, ran, refused, verdict, worth
from tests.support.text_tables import tables

from fencepost.spec.core import ir
from fencepost.spec.core.traverse import walk

TABLES = tables(Path(__file__))

# ---------------------------------------------------------------- decisions by constants

SWITCHED = """
const Verify: bool = true
const N: int = 2
enum Mode: Old, New
const How: Mode = New
var x: 0..9 = 0
var q: seq[0..9, 2] = []
procedure note(n: 0..9): q = [n]
action go:
    {body}
terminal: true
"""


def switched(body: str, const: str = "") -> str:
    lines = "\n    ".join(body.splitlines())
    return SWITCHED.format(body=lines) + (f"check c:\n    const {const}\n" if const else "")


@pytest.mark.parametrize(
    ("body", "x", "marks"), TABLES["constant_conditions_take_their_arm_at_once"]
)
def test_constant_conditions_take_their_arm_at_once(body: str, x: str, marks: str) -> None:
    text = switched(body)
    result = ran(text + f"invariant I: x in {{0, {x}}}\nreachable R: x == {x}\n")
    assert result.verdict == "ok"
    assert ", ".join(result.marks) == marks


def test_a_check_turns_the_arm() -> None:
    body = "if Verify: x = 1\nelse: x = 2"
    for const, x in (("Verify = false", 2), ("Verify = true", 1), ("Verify = N == 3", 2)):
        result = ran(
            switched(body, const) + f"reachable R: x == {x}\ninvariant I: x in {{0, {x}}}\n"
        )
        assert (result.verdict, result.marks) == ("ok", [])


def test_statements_after_a_constant_false_assertion_are_removed() -> None:
    assert verdict(switched("assert N > 2\nx = 10")) == "assertion F908"
    refused(switched("assert N > 1\nx = 10"), "F701", "x holds 0..9")


def test_removed_arms_are_still_checked() -> None:
    for body in (
        "if Verify: x = 1\nelse: y = 2",
        "if Verify: return\ny = 2",
        "x = if Verify then 1 else y",
        "require Verify or y == 1",
        "match How:\n    case Old: y = 1\n    case New: x = 2",
    ):
        refused(switched(body), "F201", '"y" is known here')
    refused(switched("if Verify: x = 1\nelse: x = true"), "F301", "x holds 0..9, but this is bool")
    refused(switched("if Verify: x = 1\nelse: note(true)"), "F301", "n holds 0..9")


def test_connectives_fold_where_definedness_allows() -> None:
    text = switched("require {}\nx = 1")
    for condition, expected in (
        ("Verify and x == 0", "Equal"),
        ("x == 0 and Verify", "Equal"),
        ("not Verify or x == 0", "Equal"),
        ("Verify implies x == 0", "Equal"),
        ("not Verify and 1 // x == 0", "Literal"),
        ("Verify or 1 // x == 0", "Literal"),
        ("not Verify implies 1 // x == 0", "Literal"),
        ("N == 2 and How == New and N in {1, 2} and N in 0..5 and not (N > 2)", "Literal"),
        # Operands before a constant are evaluated first and may fail.
        ("1 // x == 0 and not Verify", "And"),
        ("1 // x == 0 or Verify", "Or"),
    ):
        model = ran(text.format(condition)).model
        require = next(node for node in walk(model.actions[0].body) if isinstance(node, ir.Require))
        test = require.condition
        if isinstance(test, ir.Witness):
            test = test.body
        assert type(test).__name__ == expected, condition
    assert verdict(text.format("1 // x == 0 and not Verify")) == "error F904"


def test_the_outermost_implication_of_a_property_stays() -> None:
    text = switched("x = 1") + "invariant I: not Verify implies 1 // x == 5\n"
    result = ran(text)
    assert (result.verdict, result.unmet) == ("ok", ["not Verify"])
    assert (
        ran(text.replace("not Verify implies 1 // x", "Verify implies x")).verdict == "violated I"
    )


def test_messages_of_a_removed_arm_need_no_receiver() -> None:
    spec = "const Old: bool = {}\nenum M: A, B\nchannel net: M capacity 1\naction go:\n"
    spec += "    if Old: send A to net\n    else: send B to net\naction take on B from net: skip\n"
    assert problems(spec.format("false")) == ()
    assert [problem.code for problem in problems(spec.format("true"))] == ["F420"]


# ---------------------------------------------------------------- declarations


def test_constants_of_every_type_and_in_any_order() -> None:
    prelude = """
        const A: int = B * 2 + len(Names)
        const B: 0..9 = 4
        const Names: set[Color] = {Red, Green}
        enum Color: Red, Green
        record Pair: a: 0..9, b: Color
        const P: Pair = Pair(B, Red) with a: 5
        const M: map[Color, 0..9] = [if c == Red then 1 else B for c in Color]
        const W: int16 = 32767
        const O: Color? = none
        const L: seq[0..9, A] = [x for x in 0..3 if x != 1]
        type T = 0..A
    """
    for expression, expected in (
        ("A == 10 and B == 4 and Names == Color", "true"),
        ("P == Pair(5, Red) and M[Green] == 4 and M[Red] == 1", "true"),
        ("W + 1 == -32768 and O == none and L == [0, 2, 3]", "true"),
        ("10 in T and 11 not in T", "true"),
        ("L[3] == 0", "F903"),
    ):
        assert worth(expression, prelude) == expected, expression


@pytest.mark.parametrize(("declaration", "code", "phrase"), TABLES["misuse"])
def test_misuse(declaration: str, code: str, phrase: str) -> None:
    reported = problems(f"{declaration}\naction a: skip\n")
    assert code in [problem.code for problem in reported]
    assert len(reported) == 1 or code == "F101", "\n".join(map(str, reported))
    assert phrase in str(reported[0])


# ---------------------------------------------------------------- integers


def test_machine_integers_wrap_like_javas() -> None:
    for bits in (2, 4, 8, 16, 32, 63, 64):
        high = 2 ** (bits - 1) - 1
        prelude = f"var m: int[{bits}] = {high}\nvar n: int[{bits}] = {-high - 1}\n"
        for expression in (
            "m + 1 == n and n - 1 == m and -n == n and n * -1 == n",
            f"m * m == 1 and int(m) == {high} and n // -1 == n",
            "m // n == -1 and n % m == int[{bits}](-1) % m",
        ):
            shown = expression.replace("{bits}", str(bits))
            assert worth(shown, prelude) == "true", (bits, shown)


def test_an_intermediate_that_could_leave_64_bits_is_a_type_error() -> None:
    prelude = "var a: -9_223_372_036_854_775_808..9_223_372_036_854_775_807 = 5\n"
    prelude += "var b: 0..3_037_000_500 = 3\nvar c: 0..1 = 0\n"
    for expression in (
        "a + 1 == 0",
        "-a == 0",
        "b * b > 0",
        "a * 2 == 0",
        "a - c == 0",
        "a // -1 == 0",
    ):
        assert worth(expression, prelude) == "F702", expression
    for expression in ("a == 5", "b * 3_000_000_000 == 9_000_000_000", "b + b == 6", "a // 2 == 2"):
        assert worth(expression, prelude) == "true", expression
    assert worth("sum([b for k in 0..9]) == 30", prelude) == "true"
    big = "var d: 0..9_223_372_036_854_775_807 = 5\n"
    assert worth("sum([d for k in 0..9]) == 30", big) == "F702"


def test_folding_uses_the_value_of_a_literal() -> None:
    """A literal argument has the range of the parameter but keeps its own value."""
    prelude = """
        var x: 0..9 = 3
        def f(a: 0..3): int = a + 1
        def g(a: 0..3): set[0..9] = a..5
        def h(a: 0..3): int = -a
        def w(a: int8): int8 = a + 1
    """
    expression = "f(3) == 4 and g(3) == {3, 4, 5} and h(2) == -2 and w(127) == -128"
    assert worth(expression, prelude) == "true"


@pytest.mark.parametrize(("declaration", "code", "phrase"), TABLES["types"])
def test_types(declaration: str, code: str, phrase: str) -> None:
    text = f"{declaration}\naction a: skip\n"
    refused(text, code, phrase)
