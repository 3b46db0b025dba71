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
    """The verdict after one step with this body; ``expected`` is a condition on the resulting
    state.
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


def test_the_failing_step_is_reported_but_not_counted() -> None:
    result = ran("var x: 0..1 = 0\naction up(d in 0..1): x += d\nterminal: true")
    assert result.verdict == "error F901"
    assert (result.states, result.generated, result.depth) == (2, 4, 3)
    assert result.steps == ["up(1)", "up(1)"]


def test_require_undoes_everything() -> None:
    """The whole action is undone, the message stays."""
    spec = """
        enum M: Ping
        channel net: M capacity 2
        var x: 0..3 = 0
        action start:
            require x == 0 and len(net) == 0
            send Ping to net
        action take on Ping from net:
            x = 2
            send Ping to net
            send Ping to net
            require x == 1
        invariant Untouched: x == 0 and len(net) <= 1
        terminal: len(net) == 1
    """
    result = ran(spec)
    assert result.verdict == "ok"
    assert (result.states, result.generated, result.never) == (2, 2, ["take"])


def test_assert_shows_its_message() -> None:
    result = ran('var x: 0..1 = 0\naction go:\n    x = 1\n    assert x == 0, "never"\n')
    assert result.verdict == "assertion F908"
    site = result.outcome.findings[0].site
    assert site is not None
    assert site.message == "never"
    assert (result.states, result.generated, result.depth) == (1, 1, 2)


# ---------------------------------------------------------------- choices


def test_parameters_and_picks_are_choices_in_order() -> None:
    spec = """
        var x: 0..9 = 0
        var y: 0..9 = 0
        action go(a in 1..2, b in a..2):
            require x == 0
            x = a
            pick c in {a, x + b, 9} where c < 9
            y = c
        terminal: true
        invariant I: not (x == 2 and y == 4)
    """
    result = ran(spec)
    assert result.verdict == "violated I"
    assert result.steps == ["go(2, 2, 4)"]
    # (1, 1, {1, 2}), (1, 2, {1, 3}), (2, 2, {2, 4}): equal results are counted again.
    assert (result.depth, result.generated) == (2, 1 + 6)


def test_generated_counts_every_vector_of_choices() -> None:
    spec = """
        var x: 0..3 = 0
        action go(a in 0..2, b in {0, 1}):
            pick c in [1, 1, 2]
            x = a
        terminal: true
    """
    result = ran(spec)
    # From each of 3 states 3 * 2 vectors, times the positions of the sequence.
    assert result.states == 3
    assert result.generated == 1 + 3 * 6 * 3


def test_equal_messages_of_a_bag_are_one_choice() -> None:
    spec = """
        var pool: bag[0..1, 3] = [0, 0, 1]
        var x: 0..1 = 0
        action go(a in pool): x = a
        terminal: true
    """
    assert ran(spec).generated == 1 + 2 * 2


def test_from_an_empty_set_the_action_is_not_enabled() -> None:
    spec = """
        var free: set[0..1] = {0, 1}
        var seen: bag[0..1, 2] = []
        action take(a in free):
            free.remove(a)
            pick b in {c for c in 0..1 if c != a} where b > 4 or a == 0
            seen.add(a)
        terminal: free == {1}
    """
    result = ran(spec)
    assert result.verdict == "ok"
    assert result.states == 2


def test_a_pick_sees_earlier_assignments() -> None:
    spec = """
        var x: 0..3 = 0
        var y: 0..3 = 0
        action go:
            require x == 0
            x = 2
            pick a in x..3
            y = a
        terminal: true
        invariant I: x == 2 implies y >= 2
        reachable Three: y == 3
    """
    result = ran(spec)
    assert result.verdict == "ok"
    assert result.states == 3


def test_picks_inside_branches_and_loops() -> None:
    spec = """
        var done: bool = false
        var bits: map[0..1, 0..1] = [0 for k in 0..1]
        action go:
            require not done
            done = true
            for k in 0..1:
                pick b in 0..1
                if b == 1:
                    pick c in 0..1
                    bits[k] = c
        terminal: done
    """
    result = ran(spec)
    # Each round: b = 0, or b = 1 with two values.
    assert (result.states, result.generated) == (5, 1 + 9)


# ---------------------------------------------------------------- procedures and defs


def test_a_procedure_may_send_require_pick_and_assert() -> None:
    spec = """
        enum M: Ping
        channel net: M capacity 1
        var x: 0..3 = 0
        procedure work(limit: 0..3):
            require x < limit
            pick d in 1..2
            x += d
            assert x < 3, "too far"
            if len(net) == 0: send Ping to net
        action go: work(2)
        action drop on Ping from net: skip
    """
    result = ran(spec)
    assert result.verdict == "assertion F908"
    assert result.steps == ["go(1)", "go(2)"]


def test_defs_of_roles_and_procedures_of_roles() -> None:
    spec = """
        type Id = 0..1
        role Node[me: Id]:
            var x: 0..2 = 0
            def ahead(by: int): bool = x >= by + Node[1 - me].x
            def zero: bool = x == 0
            procedure step(n: 0..2): x = n
            action up:
                require zero
                step(me + 1)
        def any_ahead: bool = exists i in Id: Node[i].ahead(1)
        invariant I: Node[1].ahead(2) implies Node[1].x == 2 and Node[0].zero
        reachable Far: Node[1].ahead(2) and any_ahead
        def first_up: Id = min(Node[0].x, 1)
        invariant J:
            Node[min(Node[0].x, 1)].ahead(0) iff exists i in Id: i == first_up and Node[i].ahead(0)
        terminal: forall i in Id: not Node[i].zero
    """
    result = ran(spec)
    assert (result.verdict, result.states) == ("ok", 4)


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
    # Types are constants, and their bounds may call defs as well.
    for spec in (
        "def f: f..1 = 1",
        "def f(a: 0..f(1)): int = 1",
        "def f: 0..g = 1\ndef g: 0..f = 1",
        "def f: map[0..f, bool] = [true for k in 0..1]",
    ):
        reported = codes(f"{spec}\naction go: skip\n")
        assert {*reported} == {"F213"}, reported
    # A def in its own argument is not recursion.
    assert codes("def f(n: int): int = n\naction a: skip\ninvariant I: f(f(f(1))) == 1\n") == []
