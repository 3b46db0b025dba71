"""Properties, initial states, ``enabled`` and ``quiescent``."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.checked_specs import codes, ran, refused, verdict
from tests.support.text_tables import tables

TABLES = tables(Path(__file__))

COUNTER = """
const Top: int = 3
var x: 0..9 = 0
action up:
    require x < Top
    x += 1
action down:
    require x > 0 and x < 3
    x -= 1
"""


@pytest.mark.parametrize(("declaration", "expected"), TABLES["kinds_of_properties"])
def test_kinds_of_properties(declaration: str, expected: str) -> None:
    text = f"{COUNTER}def big(n: int): bool = x > n\n{declaration}\nterminal: x == 3\n"
    if expected == "F":
        assert codes(text) != []
    else:
        assert verdict(text) == expected


def test_a_constraint_is_counted_as_cut() -> None:
    result = ran(COUNTER + "constraint C: x < 2\n")
    assert (result.states, result.generated, result.outcome.coverage.cut) == (2, 4, 1)


def test_properties_of_roles_hold_for_each_process() -> None:
    spec = """
        type Id = 0..1
        role Node[me: Id]:
            var x: 0..2 = 0
            action up: require x <= me; x += 1
            invariant Small: x <= me
            reachable Two: x == 2
            step invariant Forward: next(x) >= x
        role Other:
            var y: 0..1 = 0
            action flip: y = 1 - y
            invariant Low: y < 2
        terminal: true
    """
    result = ran(spec)
    assert result.verdict == "violated Small"
    assert [choice.label for choice in result.outcome.findings[0].instance] == ["me"]
    assert (
        verdict(
            spec.replace("x <= me\n            reachable", "x <= me + 1\n            reachable")
        )
        == "ok"
    )


def test_enabled_with_arguments() -> None:
    spec = """
        record Meta: pid: 0..1, epoch: 0..3
        const N: int = 3
        var known: set[Meta] = {Meta(0, 1)}
        var o: (0..2)? = none
        var w: int[4] = 1
        action forget(m in known): known.remove(m)
        action say(x in {none, 2}): require x != o; o = 2
        action wrap(by in int[4]): require by == w; w += 1
        action fails(x in 0..2) where 2 // x > 0: skip
        action late(x in 0..2): require 2 // (x - 1) > 0; skip
        invariant A: enabled(forget(Meta(0, 1))) iff Meta(0, 1) in known
        invariant B: forall e in 0..N: enabled(forget(Meta(pid: 0, epoch: e))) implies e == 1
        invariant C: not enabled(say(none)) and (enabled(say(2)) iff o == none)
        invariant D: enabled(wrap(w)) and not enabled(wrap(w + 1))
        invariant E: {WRONG}
        terminal: true
    """

    def verdict_with(wrong: str) -> str:
        return verdict(spec.replace("{WRONG}", wrong))

    # The `where` of a choice is evaluated for all candidates.
    assert verdict_with("not enabled(fails(1))") == "violated E"
    assert verdict_with("enabled(fails(1)) and not enabled(fails(9))") == "error F904"
    # A failing step counts as enabled, but only with the arguments that make it fail.
    assert verdict_with("not enabled(late(1))") == "violated E"
    assert verdict_with("enabled(late(0))") == "violated E"
    assert verdict_with("enabled(late(7))") == "violated E"
    # Each argument is evaluated independently of the others.
    assert verdict_with("enabled(late(2 // int(w - 1)))") == "error F904"


@pytest.mark.parametrize(("declaration", "code", "phrase"), TABLES["misuse"])
def test_misuse(declaration: str, code: str, phrase: str) -> None:
    extra = "role R:\n    action up2: skip\nrole Q[q: bool]:\n    action go: skip\n"
    refused(f"{COUNTER}{extra}{declaration}\n", code, phrase)


# ---------------------------------------------------------------- initial states


@pytest.mark.parametrize(("declarations", "states"), TABLES["initial_states"])
def test_initial_states(declarations: str, states: str) -> None:
    result = ran(f"{declarations}\naction a: skip\nterminal: true\n")
    assert (result.verdict, result.states) == ("ok", int(states))


@pytest.mark.parametrize(("declarations", "code", "phrase"), TABLES["misuse_of_initial_values"])
def test_misuse_of_initial_values(declarations: str, code: str, phrase: str) -> None:
    refused(f"{declarations}\naction a: skip\n", code, phrase)
