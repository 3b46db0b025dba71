"""The comparison of two models that may differ only in part of the state, by a bisimulation that
hides that part.
"""

from __future__ import annotations

import pytest
from tests.support.agreement import model_of

from fencepost.checker.tools.likeness import alike_but_for

SPEC = """\
record Entry: count: 0..2, colour: bool
union Message:
    Ask(token: 0..3, wanted: 0..2)
    Done
var entry: Entry = Entry(0, false)
var lamp: bool = false
var seen: seq[0..2, 4] = []
channel net: Message unordered capacity 2
action ask(n in 1..2):
    require net == [] and entry.count < 2
    send Ask(TOKEN, n) to net
    lamp = LAMP
    entry.colour = COLOUR
action take on Ask(token, wanted) from net:
    seen.append(USED)
    entry.count += 1
    require GUARD
invariant Small: len(seen) <= 2
invariant Dark: PROPERTY
terminal: true
"""
PLAIN = {
    "TOKEN": "1", "LAMP": "true", "COLOUR": "true", "USED": "wanted", "GUARD": "true",
    "PROPERTY": "true",
}  # fmt: skip


def spec(**changed: str) -> str:
    text = SPEC
    for name, value in (PLAIN | changed).items():
        text = text.replace(name, value)
    return text


@pytest.mark.parametrize(
    ("both", "changed", "expected"),
    [
        ({}, {}, ()),
        # Values that are never read do not matter.
        ({}, {"LAMP": "false"}, ("lamp",)),
        ({}, {"COLOUR": "false"}, ("entry.colour",)),
        ({}, {"TOKEN": "2"}, ("net.Ask.token",)),
        ({}, {"TOKEN": "2", "LAMP": "false"}, ("lamp", "net.Ask.token")),
        # These values matter later: in a value, and in a guard.
        ({"USED": "min(token, 2)"}, {"TOKEN": "2"}, ("net.Ask.token", "seen")),
        ({"GUARD": "lamp"}, {"LAMP": "false"}, None),
        ({"GUARD": "token < 2"}, {"TOKEN": "2"}, None),
        ({"GUARD": "token < 3"}, {"TOKEN": "2"}, ("net.Ask.token",)),
        # The property holds in one model and not in the other.
        ({"PROPERTY": "lamp or len(seen) == 0"}, {"LAMP": "false"}, None),
        ({"PROPERTY": "not lamp or len(seen) <= 2"}, {"LAMP": "false"}, ("lamp",)),
        ({}, {"GUARD": "wanted == 1"}, None),
        ({}, {"USED": "1"}, ("seen",)),
        ({"PROPERTY": "quiescent implies entry.count == 2"}, {"LAMP": "false"}, ("lamp",)),
    ],
)
def test_alike_but_for(
    both: dict[str, str], changed: dict[str, str], expected: tuple[str, ...] | None
) -> None:
    left, right = model_of(spec(**both)), model_of(spec(**both, **changed))
    assert alike_but_for(left, right, 10_000) == expected
    assert alike_but_for(right, left, 10_000) == expected


def test_a_step_of_another_kind_is_a_difference() -> None:
    """The hidden part must not decide the kind of a step."""
    text = spec() + "step invariant Lit: LATER\n"
    left = model_of(text.replace("LATER", "next(lamp)"))
    right = model_of(text.replace("LATER", "next(lamp)").replace("lamp = true", "lamp = false"))
    assert alike_but_for(left, right, 10_000) is None


def test_steps_that_change_nothing() -> None:
    text = spec() + "action wait:\n    require net == []\n"
    wait = "    require net == []\n", "    require net != []\n"
    left, right = model_of(text), model_of(text.replace(*wait))
    assert alike_but_for(left, right, 10_000) == ("steps that change nothing",)
    invariant = "invariant Waits: net == [] implies enabled(wait)\n"
    left = model_of(text + invariant)
    right = model_of(text.replace(*wait) + invariant)
    assert alike_but_for(left, right, 10_000) is None


def test_too_many_steps_give_no_answer() -> None:
    left, right = model_of(spec()), model_of(spec(LAMP="false"))
    assert alike_but_for(left, right, 3) is None


def test_specs_with_behaviours_are_not_compared() -> None:
    text = spec() + "property Ends: lamp leads to not lamp\n"
    assert alike_but_for(model_of(text), model_of(text), 10_000) is None


def test_behaviours_that_are_not_selected() -> None:
    text = spec(PROPERTY="lamp or len(seen) == 0") + "property Ends: lamp leads to not lamp\n"
    plain, darker = model_of(text), model_of(text.replace("lamp = true", "lamp = false"))
    deaf = model_of(text.replace("colour = true", "colour = false"))
    small, dark, ends = (
        next(n for n, prop in enumerate(plain.properties) if prop.name == name)
        for name in ("Small", "Dark", "Ends")
    )
    assert alike_but_for(plain, deaf, 10_000, {small, dark}) == ("entry.colour",)
    assert alike_but_for(plain, deaf, 10_000, {small, ends}) is None
    # A property of states is compared even if it is not selected.
    assert alike_but_for(plain, darker, 10_000, {small}) is None
