"""Comments that swallow an operand: `done # true` is just `done`."""

from __future__ import annotations

import pytest
from tests.support.checked_specs import problems

STATE = """\
enum Phase: Idle, Busy
var done: bool = false
var ready: bool = true
var x: 0..3 = 0
var phase: Phase = Idle
var s: set[0..3] = {}
def low(n: int): bool = n < 2
"""


@pytest.mark.parametrize(
    ("text", "operand"),
    [
        # At the position of a condition.
        ("invariant I: done # true", "true"),
        ("invariant I: done #true", "true"),
        ("invariant I: done    #   false   ", "false"),
        ("invariant I: not done # true", "true"),
        ("invariant I: ready and done # true", "true"),
        ("invariant I: x == 1 implies done # ready", "ready"),
        ("invariant I: low(x) # ready", "ready"),
        ("invariant I: (done) # true", "true"),
        ("invariant I: (x == 1) # ready", "ready"),
        ("invariant I: ((x == 1)) # ready", "ready"),
        ("invariant I: forall y in s: low(y) # done", "done"),
        ("invariant I: if ready then done else done # true", "true"),
        ("invariant I:\n    done # true\n    ready", "true"),
        ("invariant I: (done # true\n    and ready)", "true"),
        ("invariant I: (done # Phase.Idle\n    and ready)", "Phase.Idle"),
        ("step invariant I: done # 1_000", "1_000"),
        ("reachable R: done # -1", "-1"),
        ("terminal: done # true", "true"),
        ("constraint C: done # true", "true"),
        ("lemma L: done # true", "true"),
        ("assume true and (1 < 2) # false", "false"),
        ("initially: done # true", "true"),
        ("def g(n: int): bool = done # true\ninvariant I: g(1)", "true"),
        ("var other: bool = done # true", "true"),
        ("var other: 0..3 in 0..2 where ready # true", "true"),
        ("action a:\n    require done # true\n    x = 1", "true"),
        ("action a: require done # true", "true"),
        ("action a:\n    assert done # true", "true"),
        ("action a:\n    pick y in s where ready # true\n    x = y", "true"),
        ("action a:\n    if (done  # true\n            or ready):\n        x = 1", "true"),
        # Assigned values may be conditions, so the simplest literals are treated as such.
        ("action a:\n    done = ready # true", "true"),
        ("action a:\n    let y = ready # false\n    done = y", "false"),
        # Without a comparison, or without one that ends here.
        ("invariant I: done", None),
        ("invariant I: x == 1 # 2", None),
        ("invariant I: x == (1) # 2", None),
        ("invariant I: ready and x < 2 # done", None),
        ("invariant I: 1 in s # done", None),
        ("invariant I: phase is Idle # Busy", None),
        ("invariant I: x == sum([y for y in s if done]) # ready", None),
        ("invariant I: done # not true", None),
        ("invariant I: done # true, for now", None),
        ("invariant I: done # true: for now", None),
        ("invariant I: done # is it?", None),
        ("invariant I: done #", None),
        ("invariant I: done # 1 2", None),
        ("invariant I: # true\n    done", None),
        ("# true\ninvariant I: done", None),
        ("invariant I: done\n# true", None),
        ("const N: int = 3 # 4", None),
        ("const V: bool = true # false", None),
        ("var other: 0..3 = 1 # 2", None),
        ("action a: # done\n    x = 1", None),
        ("action a:\n    x = 1 # 2", None),
        ("action a:\n    x = 1 # done", None),
        ("action a:\n    done = true # false", None),
        ("action a:\n    s.add(1) # 2", None),
        ('action a:\n    assert done, "x # true"', None),
        ('action a:\n    assert done, "why" # true', None),
        ("enum Other: A, B # C", None),
    ],
)
def test_a_comment_that_is_an_operand(text: str, operand: str | None) -> None:
    reported = problems(f"{STATE}{text}\n")
    assert [(warning.code, warning.warning) for warning in reported] == [("F126", True)] * (
        operand is not None
    )
    for warning in reported:
        assert warning.message.endswith(f"nothing is compared with {operand} here")
        assert warning.span is not None
        assert warning.span.text == "#"


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        # The error that the mistake causes elsewhere is reported as well.
        ("invariant I: x # 2", ["F126", "F301"]),
        ("invariant I: phase # Idle", ["F126", "F301"]),
        ("invariant I: done # true\ninvariant J: nothing", ["F126", "F201"]),
        ("invariant I: done # true\ninvariant J: = 1", ["F101", "F126"]),
    ],
)
def test_the_warning_accompanies_errors(text: str, codes: list[str]) -> None:
    assert sorted(problem.code for problem in problems(f"{STATE}{text}\n")) == codes


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("action a:\n    if done # true:\n        x = 1", "F108"),
        ("action a:\n    if done # Busy:\n        x = 1", "F108"),
        ("invariant I: (done # true)", "F102"),
        ("invariant I: (done # true) and ready", "F102"),
        ("invariant I: forall y in s # {}: done", "F101"),
    ],
)
def test_a_swallowed_operand_is_a_note_of_syntax_errors(text: str, code: str) -> None:
    (problem,) = problems(f"{STATE}{text}\n")
    assert problem.code == code
    assert any(
        'behind "#" is a comment; "not equal" is "!="' in text_ for _, text_ in problem.notes
    )


@pytest.mark.parametrize(
    "text", ["action a:\n    if done  # are we done already?\n        x = 1", "var y: 0..3 =  # ?"]
)
def test_a_remark_is_not_blamed(text: str) -> None:
    (problem,) = problems(f"{STATE}{text}\n")
    assert not any("is a comment" in text_ for _, text_ in problem.notes)
