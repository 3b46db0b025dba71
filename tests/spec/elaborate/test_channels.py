"""Channels and their faults (docs/language.md section 7)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.checked_specs import problems, ran, refused, verdict, worth
from tests.support.text_tables import tables

TABLES = tables(Path(__file__))

# One action sends three messages; the messages received are recorded in order.
SENDER = """
enum M: A, B, C
channel net: M {options}
var got: seq[M, 4] = []
var sent: bool = false
action start:
    require not sent
    sent = true
    send A to net
    send B to net
    send A to net
action take on _ as m from net: got.append(m)
terminal: true
"""


def received(options: str) -> tuple[str, int, int]:
    """Returns the verdict, the states and the generated states of the sender with these options."""
    result = ran(SENDER.format(options=options))
    return result.verdict, result.states, result.generated


def test_unordered_is_a_bag_and_the_default() -> None:
    # AAB can arrive in any order; two equal messages are one choice.
    assert received("capacity 3") == received("unordered capacity 3") == ("ok", 10, 10)
    spec = SENDER.format(options="capacity 3")
    assert verdict(spec + "invariant I: got != [A, A, B]\n") == "violated I"
    assert verdict(spec + "invariant I: got != [B, A, A]\n") == "violated I"


def test_ordered_is_first_in_first_out() -> None:
    assert received("ordered capacity 3") == ("ok", 5, 5)
    spec = SENDER.format(options="ordered capacity 3")
    assert verdict(spec + "invariant I: len(got) == 3 implies got == [A, B, A]\n") == "ok"
    # Only the message at the head can be received.
    blocked = spec.replace("on _ as m from", "on B as m from")
    assert verdict(blocked + "invariant I: got == []\n") == "ok"


def test_persistent_is_a_set_and_never_consumed() -> None:
    spec = SENDER.format(options="persistent") + "invariant I: got == [] or net == {A, B}\n"
    assert verdict(spec) == "error F902"
    few = spec.replace("got.append(m)", "got = [m]") + "reachable R: got == [B]\n"
    assert ran(few).states == 4


def test_distinct_is_a_set_that_is_consumed() -> None:
    # A and B arrive in any order, and A again only if it was sent again.
    assert received("distinct") == ("ok", 6, 6)
    spec = SENDER.format(options="distinct")
    assert verdict(spec + "invariant I: len(got) < 2 or len(net) == 0\n") == "ok"
    assert verdict(spec + "invariant I: got != [B, A]\n") == "violated I"
    # A message that is already present needs no room.
    assert received("distinct capacity 2") == ("ok", 6, 6)
    assert received("distinct capacity 1")[0] == "error F907"
    assert received("distinct lossy(A) at most 1")[0] == "ok"


@pytest.mark.parametrize(
    ("options", "content", "value"), TABLES["what_is_in_a_channel_at_the_start"]
)
def test_initial_content_of_channels(options: str, content: str, value: str) -> None:
    prelude = f"""
        enum M: A, B, C
        const One: bool = true
        channel net: M {options} = {content}
    """
    assert worth(f"net == {value}", prelude) == "true"


def test_a_send_beyond_the_capacity_is_an_error_or_blocks() -> None:
    spec = "channel net: bool {}\nvar x: 0..1 = 0\naction a: x = 1; send true to net\n"
    spec += "action t on false from net: skip\nterminal: true\ninvariant I: x == 0 or net != []\n"
    result = ran(spec.format("capacity 2"))
    assert (result.verdict, result.depth) == ("error F907", 4)
    assert verdict(spec.format("ordered capacity 2")) == "error F907"
    blocking = ran(spec.format("capacity 2 or block"))
    assert (blocking.verdict, blocking.states) == ("ok", 3)
    # The report counts the blocked sends.
    assert list(blocking.outcome.coverage.blocked.values()) == [1]


# ---------------------------------------------------------------- losses and duplications


def test_losses_are_named_actions() -> None:
    spec = SENDER.format(options="capacity 3 lossy")
    result = ran(spec + "invariant I: not sent or net != [] or got != []\n")
    assert result.verdict == "violated I"
    assert result.steps == ["start()", "net.lose(B)", "net.lose(A)", "net.lose(A)"]
    assert [action.kind for action in result.model.actions] == ["lose", "ordinary", "ordinary"]


def test_losses_may_be_limited_to_variants_and_to_a_budget() -> None:
    spec = SENDER.format(options="capacity 3 lossy(B)")
    assert verdict(spec + "invariant I: not sent or len(net) + len(got) > 1\n") == "ok"
    assert verdict(spec + "invariant I: not sent or len(net) + len(got) > 2\n") == "violated I"
    once = SENDER.format(options="capacity 3 lossy at most 1")
    result = ran(once + "invariant I: not sent or len(net) + len(got) > 1\n")
    assert result.verdict == "ok"
    # Budgets are counters in the state.
    assert [v.name for v in result.model.variables] == ["net", "net.lost", "got", "sent"]
    two = SENDER.format(options="capacity 3 lossy(A) at most 1 lossy(B) at most 1")
    assert verdict(two + "invariant I: not sent or len(net) + len(got) > 0\n") == "ok"
    assert verdict(two + "invariant I: not sent or len(net) + len(got) > 1\n") == "violated I"
    names = [action.name for action in ran(two).model.actions]
    assert names == ["net.lose", "net.lose2", "start", "take"]


def test_a_budget_of_nothing_is_nothing() -> None:
    plain = ran(SENDER.format(options="capacity 3"))
    none = ran(SENDER.format(options="capacity 3 lossy at most 0 duplicating(A) at most 1 - 1"))
    assert none.states == plain.states
    assert [a.name for a in none.model.actions] == ["start", "take"]


def test_duplicating_is_disabled_at_capacity() -> None:
    spec = SENDER.format(options="capacity 3 duplicating(B)").replace("    send A to net\n", "", 1)
    spec = spec.replace("got.append(m)", "require len(got) < 4; got.append(m)")
    assert verdict(spec + "invariant I: count(net, B) < 2\n") == "violated I"
    assert verdict(spec + "invariant I: len(net) < 4 and count(net, A) < 2\n") == "ok"
    full = SENDER.format(options="capacity 3 duplicating")
    result = ran(full + "invariant I: len(net) == 3 implies got == [] and count(net, A) == 2\n")
    assert result.verdict == "violated I"
    assert result.steps[1].startswith("take")


def test_faults_of_an_ordered_channel() -> None:
    """Any message may be lost; a duplicate immediately follows its original."""
    spec = SENDER.format(options="ordered capacity 4 {} at most 1")
    lossy = spec.format("lossy")
    for left in ("[B, A]", "[A, A]", "[A, B]"):
        assert verdict(lossy + f"invariant I: net != {left} or got != []\n") == "violated I"
    assert verdict(lossy + "invariant I: len(got) == 3 implies got == [A, B, A]\n") == "ok"
    double = spec.format("duplicating")
    assert verdict(double + "invariant I: net != [A, B, B, A]\n") == "violated I"
    assert verdict(double + "invariant I: net != [A, B, A, B]\n") == "ok"
    assert verdict(double + "invariant I: net != [B, A, B, A]\n") == "ok"


def test_faults_of_a_family_share_their_budget() -> None:
    spec = """
        type Id = 0..1
        channel net[i: Id]: bool capacity 1 lossy at most 1
        var sent: bool = false
        action start:
            require not sent
            sent = true
            for i in Id: send true to net[i]
        action take on false from net[0]: skip
        terminal: true
        invariant I: not sent or len(net[0]) + len(net[1]) > 0
        reachable First: sent and net[0] == []
        reachable Second: sent and net[1] == []
    """
    result = ran(spec)
    assert (result.verdict, result.states) == ("ok", 4)
    assert result.model.actions[0].name == "net.lose"


def test_a_channel_is_a_value() -> None:
    prelude = "union M: A(n: 0..2), B\nchannel net: M capacity 3\nchannel seen: M persistent\n"
    prelude += "channel row: M ordered capacity 2\nchannel pair[b: bool]: M capacity 1\n"
    for expression in (
        "net == [] and row == [] and seen == {}",
        "count(net) == 0 and len(seen) == 0 and len(pair[true]) == 0",
        "forall m in net: m is A and m.n == 1",
        "not (exists m in seen: m is B)",
        "pair == [net for b in bool]",
        "{m.n for m in net if m is A} == {}",
        "B not in net and count(row, B) == 0",
    ):
        assert worth(expression, prelude) == "true", expression


# ---------------------------------------------------------------- misuse


@pytest.mark.parametrize(("declared", "code", "phrase"), TABLES["options"])
def test_options(declared: str, code: str, phrase: str) -> None:
    text = f"enum M: A, B, C\nchannel net: {declared}\naction a on _ from net: skip\n"
    refused(text, code, phrase)


@pytest.mark.parametrize(("body", "code", "phrase"), TABLES["sending"])
def test_sending(body: str, code: str, phrase: str) -> None:
    prelude = "enum E: A\nunion M: P(n: 0..3), Q\nvar x: 0..3 = 0\nchannel net: M capacity 2\n"
    prelude += "channel lines[i: 0..1]: M capacity 1\naction take on _ from net: skip\n"
    prelude += "action get on _ from lines[0]: skip\n"
    refused(f"{prelude}action go:\n    {body}\n", code, phrase)


def test_a_message_without_receiver_is_a_warning() -> None:
    spec = "union M: P(n: 0..3), Q\nchannel net: M capacity 2\naction go: send Q to net\n"
    spec += "action take on P(_) from net: skip\n{}"
    warnings = problems(spec.format(""))
    assert [(p.code, p.warning) for p in warnings] == [("F420", True)]
    assert "Q is sent to net, and no action receives it" in str(warnings[0])
    assert problems(spec.format("action rest on _ from net: skip\n")) == ()
    # A procedure that is never called sends nothing.
    unused = "enum M: P, Q\nchannel net: M capacity 2\nprocedure p: send Q to net\n"
    assert problems(unused + "action take on P from net: skip\n") == ()
    enum = "enum M: P, Q\nchannel net: M capacity 2\naction go: send Q to net\n"
    assert [p.code for p in problems(enum + "action take on P from net: skip\n")] == ["F420"]


@pytest.mark.parametrize(
    ("kind", "reading", "warned"),
    [
        ("persistent", "", True),
        ("persistent", "invariant I: not (P in net)", False),
        ("persistent", "action b:\n    require Q in net\n    x = true", False),
        ("persistent", "invariant I: exists m in net: m == Q", False),
        ("persistent", "def full: bool = count(net) > 1\ninvariant I: not full", False),
        # A message in a bag waits to be received, so it is not enough to read it.
        ("capacity 2 or block", "invariant I: not (P in net)", True),
    ],
)
def test_a_persistent_channel_may_be_read_instead(kind: str, reading: str, warned: bool) -> None:
    spec = f"enum M: P, Q\nvar x: bool = false\nchannel net: M {kind}\naction go: send Q to net\n"
    warnings = problems(f"{spec}{reading}\n")
    assert [problem.code for problem in warnings] == ["F420"] * warned
    if warned and kind == "persistent":
        assert "no action receives it, and nothing reads net" in str(warnings[0])


def test_one_of_a_family_of_persistent_channels_may_be_read() -> None:
    spec = "enum M: P, Q\nchannel lines[i: 0..1]: M persistent\naction go: send Q to lines[0]\n"
    assert [problem.code for problem in problems(spec)] == ["F420"]
    assert problems(spec + "invariant I: not (P in lines[1])\n") == ()
