"""Properties, initial states, ``enabled`` and ``quiescent``."""

from __future__ import annotations

import pytest
from tests.support.checked_specs import codes, ran, refused, verdict

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


@pytest.mark.parametrize(
    ("declaration", "expected"),
    [
        ("invariant I: x <= 3", "ok"),
        ("invariant I: x <= 2", "violated I"),
        ("lemma L: x <= 2", "violated L"),
        ("step invariant S: next(x) - x in {-1, 1}", "ok"),
        ("step invariant S: next(x) > x", "violated S"),
        ("step invariant S: next(x + x) <= 2 * x + 2", "ok"),
        ("step invariant S: next(big(1)) implies big(0)", "ok"),
        ("step invariant S: next(big(1)) implies big(1)", "violated S"),
        ("reachable R: x == 3", "ok"),
        ("reachable R: x == 4", "unreached R"),
        ("constraint C: x < 2\ninvariant I: x <= 2", "ok"),
        ("constraint C: x < 2\ninvariant I: x < 2", "violated I"),
        ("constraint C: x < 3\nconstraint x < 2\ninvariant I: x <= 2", "F"),
        ("constraint: x < 3\nconstraint D: x < 2\ninvariant I: x <= 2", "ok"),
        ("constraint: x < 3\ninvariant I: x <= 2", "violated I"),
        ("invariant I: 1 // (3 - x) >= 0", "error F904"),
        ("invariant I:\n    x >= 0\n    x <= 3", "ok"),
        ("invariant I:\n    x >= 0\n    x < 3", "violated I"),
        ("assume Top == 3", "ok"),
        ("assume Top > 3", "assumption"),
        ("assume Top // (Top - 3) > 0", "error F904"),
    ],
)
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
    # A failing step counts, but only with the arguments that make it fail.
    assert verdict_with("not enabled(late(1))") == "violated E"
    assert verdict_with("enabled(late(0))") == "violated E"
    assert verdict_with("enabled(late(7))") == "violated E"
    # An argument is evaluated regardless of the others.
    assert verdict_with("enabled(late(2 // int(w - 1)))") == "error F904"


@pytest.mark.parametrize(
    ("declaration", "code", "phrase"),
    [
        ("invariant I: x", "F301", "a condition is wanted here"),
        ("invariant I: next(x) > x", "F318", "known in step invariants only"),
        ("step invariant S: next(next(x)) > x", "F318", "does not stand inside another"),
        ("step invariant S: next(enabled(up))", "F318", "not inside next(...)"),
        ("step invariant S: next(quiescent)", "F318", "not inside next(...)"),
        ("step invariant S: next(x, x) > 0", "F321", "next takes 1 argument, and 2 are given"),
        ("invariant I: enabled(x)", "F322", "an action is wanted here"),
        ("invariant I: enabled(upp)", "F322", 'did you mean "up"?'),
        ("invariant I: enabled(R.upp)", "F322", 'did you mean "up2"?'),
        ("invariant I: enabled(R[0].up2)", "F212", "this role is a single process"),
        ("invariant I: enabled(x(1))", "F322", "an action is wanted here"),
        ("invariant I: enabled(R.upp(1))", "F322", 'did you mean "up2"?'),
        ("invariant I: enabled(up(1))", "F321", "up takes no argument, and 1 is given"),
        ("invariant I: enabled(Q[9].go)", "F301", "the index of Q holds bool"),
        ("invariant I: enabled()", "F321", "enabled takes 1 argument, and none is given"),
        ("def f: bool = quiescent\naction b: require f", "F318", "known in properties only"),
        ("terminal: 3", "F301", ""),
        ("constraint: none", "F307", ""),
        ("assume x == 0", "F205", ""),
        ("assume 3", "F301", ""),
        ("invariant I: x > 0 and always x < 4", "F111", "in the formula of a property"),
        ("property P: (always x == 1) == true", "F801", "`always` makes a formula"),
        ("property P: if x == 0 then true else false leads to x + 1", "F301", "a condition"),
        ("property P: forall y in {x}: x == y leads to x == 0", "F831", "depends on the state"),
        ("property P: forall y in 0..1500: x == y leads to x == 0", "F832", "more than 1000"),
        ("property P: eventually y == 0", "F201", ""),
        ("fair role S:\n    environment action c: skip", "F802", "none that is not of the env"),
        ("strongly fair role S:\n    var y: 0..1 = 0", "F802", "and there is none"),
        ("check c:\n    without fair up", "F833", "up is not fair as it is"),
        ("check c:\n    without fair R.upp", "F833", "nothing in it is fair"),
        ("fair action b: skip\ncheck c:\n    without fair a", "F833", "fair are b"),
    ],
)
def test_misuse(declaration: str, code: str, phrase: str) -> None:
    extra = "role R:\n    action up2: skip\nrole Q[q: bool]:\n    action go: skip\n"
    refused(f"{COUNTER}{extra}{declaration}\n", code, phrase)


# ---------------------------------------------------------------- initial states


@pytest.mark.parametrize(
    ("declarations", "states"),
    [
        ("var x: 0..3 = 2", 1),
        ("var x: 0..3 = any", 4),
        ("var x: 0..3 in {1, 3}", 2),
        ("var x: 0..3 in 0..3 where x != 2", 3),
        ("var x: bool in {true}", 1),
        ("var x: set[0..2] = any", 8),
        ("var x: 0..3 = any\nvar y: 0..3 = x", 4),
        ("var x: 0..3 = any\nvar y: 0..3 in x..3", 10),
        ("var x: 0..3 = any\nvar y: 0..3 in 0..3 where y > x", 6),
        ("var x: 0..3 = any\nvar y: 0..3 = any\ninitially: x + y == 3", 4),
        ("var x: 0..3 = any\ninitially: x > 0\ninitially: x < 3", 2),
        ("var x: 0..3 in {} ", 0),
        ("role R[i: 0..1]:\n    var x: 0..3 = i + 1\n    action b: skip", 1),
        ("role R[i: 0..1]:\n    var x: 0..3 = any\n    action b: skip", 16),
        ("role R[i: 0..1]:\n    var x: 0..3 in 0..3 where x > i\n    action b: skip", 6),
        ("role R[i: 0..1]:\n    var x: 0..3 = any\n    var y: 0..3 = x\n    action b: skip", 16),
        ("role R[i: 0..1]:\n    var x: 0..3 = any\ninitially: R[0].x < R[1].x", 6),
        ("role R[i: 0..1]:\n    var x: 0..3 = any\n    var y: 0..3 = R[1 - i].x", 16),
    ],
)
def test_initial_states(declarations: str, states: int) -> None:
    result = ran(f"{declarations}\naction a: skip\nterminal: true\n")
    assert (result.verdict, result.states) == ("ok", states)


@pytest.mark.parametrize(
    ("declarations", "code", "phrase"),
    [
        ("var x: 0..3 = 7", "F701", "x holds 0..3, and this is 7"),
        ("var x: 0..3 = true", "F301", "x holds 0..3, and this is bool"),
        ("var x: 0..3 in {true}", "F301", "x holds 0..3, and this is bool"),
        ("var x: 0..3 in 5", "F311", "a set, sequence, bag or finite type is wanted"),
        ("var x: 0..3 in 0..3 where x", "F301", "a condition is wanted here"),
        ("var x: 0..3 in y..3\nvar y: 0..3 = 0", "F208", "the variables above it"),
        ("var x: 0..3 = 0\ninitially: x", "F301", ""),
        ("var x: int64 = any", "F710", "too many values to start from"),
        ("role R[i: 0..1]:\n    var x: 0..3 = R[1 - i].x\n    action b: skip", "F208", ""),
    ],
)
def test_misuse_of_initial_values(declarations: str, code: str, phrase: str) -> None:
    refused(f"{declarations}\naction a: skip\n", code, phrase)


def test_the_vacuity_of_the_outermost_implication_is_watched() -> None:
    spec = """
        var x: 0..1 = 0
        action a: x = 1 - x
        def far: bool = x == 5
        def promise(n: int): bool = x == n implies x > 3
        invariant I: x == 2 implies x == 3
        invariant J:
            x == 0 implies x < 1
            x == 4 implies true
        invariant K: forall n in 0..1: far implies (x == 7 implies false)
        invariant L: promise(6)
        invariant M: x == 8 and x == 9 implies false
        invariant N: exists n in {1}: x == 3 implies false
    """
    result = ran(spec)
    assert result.verdict == "ok"
    assert result.unmet == ["x == 2", "x == 4", "far", "x == n", "x == 8 and x == 9"]
