"""Patterns of ``match`` and ``on``, and unions whose variant is established."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.checked_specs import codes, problems, ran, refused, verdict
from tests.support.text_tables import tables

TABLES = tables(Path(__file__))

PRELUDE = """
enum Color: Red, Amber, Green
record Meta: pid: 0..3, epoch: 0..7
union Reply:
    Accepted(at: 0..3, by: Color)
    Delayed(at: 0..3)
    Refused
var done: bool = false
var light: Color = Amber
var flag: bool = true
var owner: Color? = none
var meta: Meta = Meta(1, 2)
var reply: Reply = Accepted(at: 2, by: Green)
var other: Reply = Delayed(1)
var replies: seq[Reply, 2] = [Accepted(1, Red)]
var x: 0..9 = 0
"""


def spec(body: str) -> str:
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return f"{PRELUDE}\naction go:\n    require not done\n    done = true\n{lines}terminal: true\n"


@pytest.mark.parametrize(("body", "expected"), TABLES["effect"])
def test_effect(body: str, expected: str) -> None:
    assert verdict(spec(body) + f"invariant I: done implies x == {expected}\n") == "ok"
    assert verdict(spec(body) + f"invariant I: done implies x != {expected}\n") == "violated I"


@pytest.mark.parametrize(("body", "code", "phrase"), TABLES["misuse"])
def test_misuse(body: str, code: str, phrase: str) -> None:
    refused(spec(body), code, phrase)


def test_all_mistakes_of_a_match_are_reported() -> None:
    reported = problems(
        spec("match reply:\n    case Acepted(n, _): x = n + y\n    case Refused: z = 1")
    )
    assert [problem.code for problem in reported] == ["F211", "F201"]


# ---------------------------------------------------------------- established variants


@pytest.mark.parametrize("body", [text for (text,) in TABLES["established"]])
def test_established(body: str) -> None:
    extra = (
        "\ndef is_accepted(r: Reply): bool = r is Accepted\n"
        "def accepted_late(s: set[Reply]): bool = forall r in s if r is Accepted: r.at > 0\n"
    )
    assert codes(spec(body) + extra) == []
    assert verdict(spec(body) + extra).startswith(("ok", "violated"))


@pytest.mark.parametrize("body", [text for (text,) in TABLES["not_established"]])
def test_not_established(body: str) -> None:
    refused(spec(body) + "\nprocedure change: reply = Refused\n", "F315", ", but this may be ")


@pytest.mark.parametrize(
    ("value", "reads"),
    [
        ("Late(2)", {"K is Late and K.n == 2": True, "K is not Late or K.n == 1": False}),
        ("Never", {"K is Late and K.n == 2": False, "K is not Late or K.n == 1": True}),
    ],
)
def test_the_variant_of_a_constant_is_established(value: str, reads: dict[str, bool]) -> None:
    """Code that the constant disables may read fields of the other variant."""
    text = f"union U: Never, Late(n: 0..3)\nconst K: U = {value}\nvar x: 0..3 = 0\n"
    text += "action go:\n    let k = K\n    if k is Late: x = k.n\n"
    for number, (condition, holds) in enumerate(reads.items()):
        text += f"invariant I{number}: ({condition}) == {str(holds).lower()}\n"
    text += "invariant C: if K is Late then x <= K.n else x == 0\n"
    assert verdict(f"{text}terminal: true\n") == "ok"


def test_handlers() -> None:
    result = ran("""
        union M: Ping(n: 0..3, tag: 0..3), Pong(n: 0..3), Stop
        channel net: M capacity 3
        var got: 0..3 = 0
        var x: 0..3 = 2
        action start:
            require got == 0 and net == []
            send Ping(1, 2) to net
            send Ping(3, 3) to net
            send Pong(2) to net
        action ping on Ping(n, ==x) from net:
            require got == 0
            got = n
        action pong on Pong as m from net:
            require got == 1
            got = m.n
        action other on Stop from net: skip
        invariant I: got in {0, 1, 2}
        reachable Ponged: got == 2
        terminal: got == 2
    """)
    assert result.verdict == "ok"
    assert result.never == ["other"]


@pytest.mark.parametrize(("receive", "code", "phrase"), TABLES["misuse_of_receiving"])
def test_misuse_of_receiving(receive: str, code: str, phrase: str) -> None:
    extra = "\n    let k = token" if "token" in receive else ""
    refused(
        f"union M: Ping(n: 0..3), Stop\nchannel net: M capacity 3\nvar x: 0..3 = 0\n"
        f"action go {receive}:\n    x = 1{extra}\n",
        code,
        phrase,
    )
