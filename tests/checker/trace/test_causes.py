"""The earlier steps that a step needed, the effects of steps on channels, and spare steps."""

from __future__ import annotations

from tests.support.agreement import model_of
from tests.support.steps_taken import walk

from fencepost.checker.outcome import Finding, Step, Trace, Verdict
from fencepost.checker.trace.causes import causes
from fencepost.checker.trace.message_flights import Causes, Exchange, flights
from fencepost.spec.core import types
from fencepost.spec.core.ir import Model
from fencepost.spec.core.spelling import show
from fencepost.spec.semantics.stepper import Choice, Runner


def explained(model: Model, trace: Trace, prop: int | None = 0) -> Causes:
    finding = Finding(Verdict.VIOLATED, prop, len(trace.steps), trace)
    return causes(model, trace, finding)


PLACES = """\
record Pair: left: 0..9, right: 0..9
var pair: Pair = Pair(0, 0)
var slots: map[0..2, 0..9] = [0 for k in 0..2]
var other: 0..9 = 0
role Node[i: 0..1]:
    var n: 0..9 = 0
    action up: n += 1
    action take: pair.left = n
action left: pair.left += 1
action right: pair.right += 1
action put(k in 0..2): slots[k] = pair.left
action get(k in 0..2):
    require slots[k] > 0
    other = slots[k]
invariant I: other == 0
terminal: true
"""


def test_fields_keys_and_instances_are_separate_locations() -> None:
    model = model_of(PLACES)
    steps = ["left", "right", "put(k: 1)", "put(k: 2)", "Node[1].up", "Node[0].up", "get(k: 1)"]
    why = explained(model, walk(model, *steps))
    assert why.needs == ((), (), (), (1,), (1,), (), (), (3,))
    assert why.end == (7,)
    assert why.spare == {2, 4, 5, 6}
    why = explained(model, walk(model, "Node[0].up", "Node[1].up", "Node[1].take"), None)
    assert why.needs == ((), (), (), (2,))


def test_a_later_write_hides_an_earlier_one() -> None:
    model = model_of(PLACES)
    steps = ["Node[0].up", "Node[0].take", "left", "put(k: 0)", "get(k: 0)"]
    why = explained(model, walk(model, *steps))
    assert why.needs == ((), (), (1,), (2,), (3,), (4,))
    assert why.spare == frozenset()


BRANCHES = """\
var a: 0..1 = 0
var b: 0..1 = 0
var c: 0..9 = 0
action set_a: a = 1
action set_b: b = 1
action look: c = if a == 1 then 1 else b + 2
invariant I: c == 0
terminal: true
"""


def test_only_the_branch_that_was_taken_is_read() -> None:
    model = model_of(BRANCHES)
    why = explained(model, walk(model, "set_b", "set_a", "look"))
    assert why.needs[3] == (2,)
    assert why.spare == {1}
    why = explained(model, walk(model, "set_b", "look"))
    assert why.needs[2] == (1,)


def test_the_set_of_choices_is_read() -> None:
    model = model_of(
        """\
var limit: 0..3 = 0
var x: 0..3 = 0
var y: 0..3 = 0
action widen: limit = 3
action note: y = 1
action take(n in 0..limit):
    pick m in 0..3 where m == n
    x = m
invariant I: x == 0
terminal: true
""",
    )
    why = explained(model, walk(model, "note", "widen", "take(n: 2, m: 2)"))
    assert why.needs[3] == (2,)
    assert why.spare == {1}


def test_spare_steps_are_tried() -> None:
    """Free capacity of a channel does not count as a need, so a run without the spare steps may be
    impossible.
    """
    model = model_of(
        """\
channel net: bool capacity 1 or block
var told: 0..9 = 0
action fill: send false to net
action drain on false from net: skip
action tell on true from net: told += 1
action say: send true to net
invariant I: told == 0
terminal: true
""",
    )
    trace = walk(model, "fill", "drain on false", "say", "tell on true")
    why = explained(model, trace)
    assert why.needs == ((), (), (1,), (), (3,))
    assert why.spare == {1, 2}


def test_a_step_that_frees_capacity_is_not_spare() -> None:
    model = model_of(
        """\
channel net: bool capacity 1 or block
var told: 0..9 = 0
var ready: bool = false
action fill:
    send false to net
    ready = true
action drain on false from net: skip
action say:
    require ready
    send true to net
action tell on true from net: told += 1
invariant I: told == 0
terminal: true
""",
    )
    trace = walk(model, "fill", "drain on false", "say", "tell on true")
    why = explained(model, trace)
    assert why.needs == ((), (), (1,), (1,), (3,))
    assert why.spare == frozenset(), "without drain there is no room to say anything"


CHANNELS = """\
type Who = 0..1
union M: A(n: 0..3), B
channel pipe[a: Who]: M ordered capacity 2
channel said: M persistent
action send_it(a in Who): send A(1) to pipe[a]
action both:
    send B to pipe[0]
    send B to pipe[1]
action pass_on on A(n) from pipe[0]: send A(n) to pipe[0]
action tell: send B to said
action hear on B from said: skip
terminal: true
"""


def exchanges_of(model: Model, *steps: str) -> list[list[str]]:
    why = causes(model, walk(model, *steps))
    return [
        [f"{e.kind} {e.channel} {show(e.message.value, e.message.type)}" for e in step]
        for step in why.exchanges[1:]
    ]


def test_exchanges() -> None:
    model = model_of(CHANNELS)
    assert exchanges_of(model, "send_it(a: 0)", "pass_on on A(n: 1)", "both") == [
        ["send pipe[0] A(n: 1)"],
        ["receive pipe[0] A(n: 1)", "send pipe[0] A(n: 1)"],
        ["send pipe[0] B", "send pipe[1] B"],
    ]
    assert exchanges_of(model, "tell", "hear on B", "hear on B") == [
        ["send said B"],
        ["read said B"],
        ["read said B"],
    ]


def message(value: int) -> Choice:
    return Choice("", types.Int(0, 9), value)


def test_flights() -> None:
    sent = Exchange("send", "net", message(1))
    steps = [
        [sent, sent],
        [Exchange("duplicate", "net", message(1))],
        [Exchange("receive", "net", message(1))],
        [Exchange("lose", "net", message(1))],
        [Exchange("receive", "net", message(1)), Exchange("receive", "net", message(2))],
        [sent],
    ]
    fates = [(f.message.value, f.sent, f.ended, f.end, f.copied) for f in flights(steps)]
    assert fates == [
        (1, 0, 2, "received", False),
        (1, 0, 3, "lost", False),
        (1, 1, 4, "received", True),
        (2, None, 4, "received", False),
        (1, 5, None, "flying", False),
    ]
    read = Exchange("read", "said", message(1))
    spoken = Exchange("send", "said", message(1))
    heard = [(f.sent, f.ended, f.end) for f in flights([[spoken], [read], [read]])]
    assert heard == [(0, 1, "received"), (0, 2, "received")]


def test_initial_messages_come_before_sent_ones() -> None:
    model = model_of(
        "enum M: A, B\nchannel c: M capacity 2 = [A]\nchannel d[i: 0..1]: M distinct = [B]\n"
        "action put: send A to c\naction take on A from c: skip\naction hear on B from d[1]: skip\n"
        "invariant I: len(c) > 1\nterminal: true\n"
    )
    why = explained(model, walk(model, "put", "take on A", "hear on B"))
    assert [exchange.channel for exchange in why.exchanges[0]] == ["c", "d[0]", "d[1]"]
    ended = [(f.channel, f.sent, f.ended, f.end) for f in flights(why.exchanges)]
    assert ended == [
        ("c", 0, 2, "received"),
        ("d[0]", 0, None, "flying"),
        ("d[1]", 0, 3, "received"),
        ("c", 1, None, "flying"),
    ]
    assert why.needs == ((), (), (), ())


def test_an_error_in_an_initial_state_has_no_causes() -> None:
    """Without a state, channels have no contents."""
    model = model_of(
        "enum M: Ping\nchannel net: M capacity 1\nvar x: 0..1 = 0\nvar y: 0..2 = 2 // x\n"
        "action go: send Ping to net\naction hear on Ping from net: x = 1\n"
    )
    (error,) = Runner(model).initial()
    assert error.failure is not None
    finding = Finding(Verdict.ERROR, None, 1, Trace((Step(None, error.choices, None),)))
    assert finding.trace is not None
    assert causes(model, finding.trace, finding).needs == ((),)
