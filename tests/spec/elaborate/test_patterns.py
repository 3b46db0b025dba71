"""Patterns of ``match`` and ``on``, and what is known of a union where."""

from __future__ import annotations

import pytest
from tests.support.checked_specs import codes, problems, ran, refused, verdict

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


def matching(subject: str, *cases: str) -> str:
    return f"match {subject}:" + "".join(f"\n    case {case}" for case in cases)


def spec(body: str) -> str:
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return f"{PRELUDE}\naction go:\n    require not done\n    done = true\n{lines}terminal: true\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # An enum.
        (matching("light", "Red: x = 1", "Amber: x = 2", "Green: x = 3"), 2),
        (matching("light", "Red: x = 1", "_: x = 2"), 2),
        (matching("light", "Color.Amber: x = 1", "_: x = 2"), 1),
        # A union: binding, ignoring, comparing, naming the whole.
        (matching("reply", "Accepted(at, by): x = at + 1", "_: skip"), 3),
        (
            matching("reply", "Accepted(_, by):\n        if by == Green: x = 7", "_: skip"),
            7,
        ),
        (matching("reply", "Accepted: x = reply.at", "_: skip"), 2),
        (matching("reply", "Accepted as r: x = r.at", "_: skip"), 2),
        (matching("reply", "Accepted(n, _) as r: x = r.at + n", "_: skip"), 4),
        (
            matching("reply", "Accepted(==1, _): x = 1", "Accepted(==2, by): x = 2", "_: skip"),
            2,
        ),
        (matching("reply", "Accepted(==x + 2, ==Green): x = 5", "_: skip"), 5),
        (matching("reply", "Accepted(==x, _): x = 1", "_: x = 9"), 9),
        (
            matching("reply", "Refused: x = 1", "Delayed(n): x = n", "Accepted(n, _): x = n"),
            2,
        ),
        (matching("replies[0]", "Accepted(n, _): x = n", "_: skip"), 1),
        # A bool, an option, a record, anything.
        (matching("flag", "true: x = 1", "false: x = 2"), 1),
        (matching("owner", "none: x = 1", "_: x = 2"), 1),
        (matching("meta", "Meta(pid, epoch): x = pid + epoch"), 3),
        (matching("meta", "Meta(==0, _): x = 1", "Meta(pid, _): x = pid + 5"), 6),
        (matching("x", "_: x = 1"), 1),
        # The value that is matched is the one before the cases.
        (
            matching("reply", "Accepted(n, _):\n        reply = Refused\n        x = n", "_: skip"),
            2,
        ),
    ],
)
def test_effect(body: str, expected: int) -> None:
    assert verdict(spec(body) + f"invariant I: done implies x == {expected}\n") == "ok"
    assert verdict(spec(body) + f"invariant I: done implies x != {expected}\n") == "violated I"


@pytest.mark.parametrize(
    ("body", "code", "phrase"),
    [
        # A match is exhaustive; a case with == never counts towards that.
        (matching("light", "Red: skip"), "F408", "no case covers Amber and Green"),
        (matching("reply", "Accepted: skip", "Refused: skip"), "F408", "covers Delayed"),
        (
            matching("reply", "Accepted(==1, _): skip", "Delayed: skip", "Refused: skip"),
            "F408",
            "no case covers Accepted",
        ),
        (matching("flag", "true: skip"), "F408", "no case covers false"),
        (matching("owner", "none: skip"), "F408", "no case covers _"),
        (matching("meta", "Meta(==0, _): skip"), "F408", "no case covers _"),
        (matching("x", "none: skip", "_: skip"), "F302", "none is no value of 0..9"),
        # A bare name is always a member: a misspelt one is an error, never a catch-all.
        (
            matching("light", "Rad: skip", "Amber: skip", "Green: skip"),
            "F211",
            'Color has no member "Rad"; did you mean "Red"?',
        ),
        (
            matching("light", "anything: skip"),
            "F211",
            'no member "anything"; it has Red, Amber and Green',
        ),
        (matching("x", "Red: skip", "_: skip"), "F309", "this is 0..9"),
        (matching("light", "Reply.Refused: skip", "_: skip"), "F302", "names Reply"),
        # What a pattern binds is new.
        (matching("reply", "Accepted(x, _): skip", "_: skip"), "F203", '"x" is a variable'),
        (matching("reply", "Accepted(n, n): skip", "_: skip"), "F203", '"n" is a local'),
        (matching("reply", "Accepted(Red, _): skip", "_: skip"), "F203", "a member of Color"),
        (matching("reply", "Accepted as x: skip", "_: skip"), "F203", '"x" is a variable'),
        (
            matching("reply", "Accepted(n): x = n", "_: skip"),
            "F410",
            "this pattern has 1; write Accepted(at, by)",
        ),
        (matching("reply", "Refused(n): x = n", "_: skip"), "F410", "without brackets"),
        (matching("light", "Red(n): x = n", "_: skip"), "F410", "Red carries nothing"),
        (
            matching("reply", "Accepted(==Red, _): skip", "_: skip"),
            "F302",
            "compares 0..3 and Color",
        ),
        # What is never reached.
        (matching("light", "_: skip", "Red: skip"), "F409", "those before it cover everything"),
        (matching("flag", "true: skip", "false: skip", "_: skip"), "F409", "cover everything"),
        (matching("light", "Red: skip", "Red: skip", "_: skip"), "F409", "one before it covers it"),
        (matching("meta", "Meta(_, _): skip", "_: skip"), "F409", "cover everything"),
        # One mistake is told once.
        (matching("lihgt", "Red: skip"), "F201", 'did you mean "light"?'),
        (matching("reply", "Acepted(n, _): x = n", "Refused: skip"), "F211", "Accepted"),
        (matching("reply", "Accepted(n): x = n", "Refused: skip"), "F410", ""),
    ],
)
def test_misuse(body: str, code: str, phrase: str) -> None:
    refused(spec(body), code, phrase)


def test_all_mistakes_of_a_match_are_told() -> None:
    found = problems(
        spec("match reply:\n    case Acepted(n, _): x = n + y\n    case Refused: z = 1")
    )
    assert [problem.code for problem in found] == ["F211", "F201"]


# ---------------------------------------------------------------- what is known where


@pytest.mark.parametrize(
    "body",
    [
        "if reply is Accepted: x = reply.at",
        "if reply is not Accepted: skip\nelse: x = reply.at",
        "if reply is Refused: skip\nelif reply is Delayed: skip\nelse: light = reply.by",
        "require reply is Accepted\nx = reply.at",
        "require reply is Accepted and reply.at > 0\nx = reply.at",
        "if reply is not Accepted: return\nx = reply.at",
        "if reply is Refused or reply is Delayed: return\nif reply.by == Red: skip",
        "require reply is Accepted\nlet r = reply\nreply = Refused\nx = r.at",
        "require reply is Accepted\nother = reply\nx = other.at",
        "require reply is Accepted\nother = Refused\nx = reply.at",
        "require replies[0] is Accepted\nx = replies[0].at",
        "require reply is Accepted\nfor k in 0..1: x = k\nx = reply.at",
        "pick r in {reply, other} where r is Accepted\nx = r.at",
        "for r in replies:\n    if r is Accepted and r.at == 1: x = 1",
        "if reply is not Refused: x = reply.at",
        "require is_accepted(reply)\nx = reply.at",
        "require is_accepted(replies[0])\nx = replies[0].at",
        matching("reply", "Accepted: x = reply.at", "_: skip"),
        matching("reply", "Refused: return", "Delayed: return", "Accepted: skip"),
        # Conditions that contradict each other: nothing is possible, and nothing is wrong.
        "require reply is Accepted and reply is Refused\nx = reply.at",
    ],
)
def test_established(body: str) -> None:
    extra = "\ndef is_accepted(r: Reply): bool = r is Accepted\n"
    assert codes(spec(body) + extra) == []
    assert verdict(spec(body) + extra).startswith(("ok", "violated"))


@pytest.mark.parametrize(
    "body",
    [
        "x = reply.at",
        "if reply is Accepted: skip\nx = reply.at",
        "if reply is Accepted or flag: x = reply.at",
        "require reply is Accepted or flag\nx = reply.at",
        "require not (reply is Accepted and flag)\nif reply.by == Red: skip",
        "require reply is Accepted\nreply = other\nx = reply.at",
        "require reply is Accepted\nchange()\nx = reply.at",
        "require reply is Accepted\nif flag: reply = Refused\nx = reply.at",
        "require reply is Accepted\nfor k in 0..1: reply = Refused\nx = reply.at",
        "require reply is Accepted\nfor k in 0..1:\n    x = reply.at\n    reply = Refused",
        "require reply is Accepted\nmatch flag:\n    case _: reply = Refused\nx = reply.at",
        "require reply is Accepted\nx = other.at",
        "require replies[0] is Accepted\nreplies[0] = Refused\nx = replies[0].at",
        "require replies[0] is Accepted\nreplies.clear()\nx = replies[0].at",
        "require replies[x] is Accepted\nx = 1\nx = replies[x].at",
        "require replies[0] is Accepted\nx = replies[1].at",
        "if reply is Accepted:\n    reply = Refused\n    x = reply.at",
        matching("reply", "Accepted:\n        reply = Refused\n        x = reply.at", "_: skip"),
        "if reply is not Accepted: x = reply.at",
        "if not (reply is Refused and flag): x = reply.at",
    ],
)
def test_not_established(body: str) -> None:
    refused(
        spec(body) + "\nprocedure change: reply = Refused\n", "F315", "may be another variant here"
    )


def test_a_field_of_several_variants_is_read_from_the_one_that_is() -> None:
    text = (
        PRELUDE + "\naction go: require not done; done = true\nterminal: true\ninvariant I:\n    "
    )
    text += "forall r in [reply, other]: r is not Refused implies r.at in 1..2\n"
    text += "    replies[0] is not Refused implies replies[0].at == 1\n"
    assert verdict(text) == "ok"


@pytest.mark.parametrize(
    ("value", "reads"),
    [
        ("Late(2)", {"K is Late and K.n == 2": True, "K is not Late or K.n == 1": False}),
        ("Never", {"K is Late and K.n == 2": False, "K is not Late or K.n == 1": True}),
    ],
)
def test_the_variant_of_a_constant_is_known(value: str, reads: dict[str, bool]) -> None:
    """What the constant keeps from running may read fields of the other variant."""
    text = f"union U: Never, Late(n: 0..3)\nconst K: U = {value}\nvar x: 0..3 = 0\n"
    text += "action go:\n    let k = K\n    if k is Late: x = k.n\n"
    for number, (condition, holds) in enumerate(reads.items()):
        text += f"invariant I{number}: ({condition}) == {str(holds).lower()}\n"
    text += "invariant C: if K is Late then x <= K.n else x == 0\n"
    assert verdict(f"{text}terminal: true\n") == "ok"


def test_a_field_that_a_constant_has_not() -> None:
    text = "union U: Never, Late(n: 0..3)\nconst K: U = Never\nvar x: 0..3 = 0\n"
    refused(f"{text}action go: x = K.n\n", "F315", "may be another variant here")


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


@pytest.mark.parametrize(
    ("receive", "code", "phrase"),
    [
        ("on Pin from net", "F211", 'did you mean "Ping"?'),
        ("on Ping(n) from nte", "F201", 'no channel "nte" is known here; did you mean "net"?'),
        ("on Ping(n) from x", "F413", '"x" is a variable'),
        (
            "on Ping(n, m) from net",
            "F410",
            "Ping has 1 field, and this pattern has 2; write Ping(n)",
        ),
        ("on Pin(token) from net", "F211", ""),
        ("on Ping(x) from net", "F203", '"x" is a variable here already'),
        ("on Ping(==true) from net", "F302", ""),
        ("on Ping from net[1]", "F413", "net is a single channel"),
    ],
)
def test_misuse_of_receiving(receive: str, code: str, phrase: str) -> None:
    extra = "\n    let k = token" if "token" in receive else ""
    refused(
        f"union M: Ping(n: 0..3), Stop\nchannel net: M capacity 3\nvar x: 0..3 = 0\n"
        f"action go {receive}:\n    x = 1{extra}\n",
        code,
        phrase,
    )
