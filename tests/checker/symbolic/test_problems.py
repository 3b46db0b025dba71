"""Properties without a value, next to other problems at the same depth: bounded search reports the
same problem as the interpreter, and no proof ignores it.

Each spec has an expression that may fail, and something that could hide the failure.
"""

from __future__ import annotations

import pytest
from tests.checker.symbolic.test_bmc import check as agrees
from tests.checker.symbolic.test_induction import check_sound, prove
from tests.support.agreement import model_of

from fencepost.checker.outcome import Verdict

STEPS = "var x: 0..4 = 3\naction a:\n    require x > 0\n    x = x - 1\n"
PICKS = "var x: 0..3 = 0\nvar y: 0..3 = 0\naction a(n in 0..3):\n    require x == 0\n    x = n\n"
QUEUE = "var q: seq[0..3, 2] = []\naction a:\n    require q != []\n    q.pop_first()\n"
SPECS = {
    # A terminal condition in a state without successors.
    "a terminal without a value hides a deadlock": QUEUE + "terminal: q[0] == 0\n",
    "a terminal without a value is no deadlock": QUEUE + "terminal: q[0] == 2\n",
    "a terminal without a value in a later state": STEPS + "terminal: 6 // x > 0\n",
    "a terminal behind one that holds": STEPS + "terminal: x == 0\nterminal: 6 // x > 0\n",
    "a terminal behind one that does not": STEPS + "terminal: x == 1\nterminal: 6 // x > 0\n",
    "a terminal before one that holds": STEPS + "terminal: 6 // x > 0\nterminal: x == 0\n",
    "a terminal where a step fails": STEPS.replace("require x > 0", "skip")
    + "terminal: 6 // x > 0\n",
    "a terminal where a step changes nothing": STEPS.replace("require x > 0\n", "skip\n").replace(
        "x - 1", "if x > 0 then x - 1 else 0"
    )
    + "terminal: 6 // x > 0\n",
    "a terminal where a message can be lost": "channel net: M lossy capacity 1\nunion M: A\n"
    "var x: 0..1 = 0\naction a:\n    require x == 0\n    send A to net\n    x = 1\n"
    "terminal: 6 // (1 - x) > 0\n",
    "a terminal outside the constraint": STEPS + "constraint C: x > 0\nterminal: 6 // x > 0\n",
    "a terminal beside a violated invariant": STEPS + "invariant I: x > 0\nterminal: 6 // x > 0\n",
    # Other kinds of properties.
    "a reachable that is met already": STEPS + "reachable R: 6 // x == 2\nterminal: true\n",
    "a reachable that is not met": STEPS + "reachable R: 6 // x == 5\nterminal: true\n",
    "an invariant that is violated already": STEPS + "invariant S: 6 // x < 3\nterminal: true\n",
    "a step invariant that is violated already": STEPS
    + "step invariant S: 6 // next(x) > 5\nterminal: true\n",
    "a lemma": STEPS + "lemma L: 6 // x > 0\nterminal: true\n",
    "a constraint behind one that excludes": STEPS
    + "constraint A: x > 0\nconstraint B: 6 // x > 0\nterminal: true\n",
    "a constraint before one that excludes": STEPS
    + "constraint B: 6 // x > 0\nconstraint A: x > 0\nterminal: true\n",
    "an invariant outside the constraint": STEPS
    + "constraint A: x > 1\ninvariant I: 6 // (x - 1) > 0\nterminal: true\n",
    "enabled of an action that fails": STEPS.replace("require x > 0", "require 6 // x > 0")
    + "invariant I: enabled(a)\n",
    "quiescent": STEPS + "invariant I: quiescent implies 6 // x > 0\nterminal: true\n",
    # Several errors of one action or one property: that of the least state is reported.
    "two errors of an action": "var x: 0..1 = 0\nvar y: 0..1 = 0\naction a: x += 1; y += 1\n"
    "action c: y = 1\nterminal: true\n",
    "two errors of an action with choices": PICKS
    + "action b(m in 1..2):\n    y = 4 - x - m\n    x = x + m\n",
    "an error and an assertion": PICKS + 'action b:\n    assert x != 1, "one"\n    y = x + 1\n',
    "two assertions": PICKS + 'action b:\n    assert x < 3, "three"\n    assert x != 1, "one"\n',
    "two errors of an initial state": "var x: 0..3 in 0..3\n"
    "var y: 0..3 = if x == 1 then 6 // (x - 1) else if x == 3 then 3 % (3 - x) else 0\n"
    "terminal: true\n",
    "two errors of an invariant": PICKS
    + "invariant I: (x < 2 or 6 // (2 - x) != 9) and (x == 1 implies 6 // (1 - x) != 9)\n",
    "two errors of a step invariant": PICKS
    + "step invariant I: 6 // (next(x) - 2) != 9 and 6 // (next(x) - 1) != 9\n",
    "two errors told apart by a bag": "var b: bag[0..3, 2] = []\nvar y: 0..1 = 0\n"
    "action a(n in 0..3):\n    require count(b) < 2\n    b.add(n)\n"
    "invariant I: (2 in b implies 1 // y > 0) and (3 in b implies 2 // y > 0)\n",
    "two errors told apart by a set": "var s: set[0..3] = {}\nvar y: 0..1 = 0\n"
    "action a(n in 0..3):\n    s.add(n)\n"
    "invariant I: (1 in s implies 1 // y > 0) and (0 in s implies 2 // y > 0)\n",
    "two errors told apart by an option": "var o: (0..3)? = none\nvar y: 0..1 = 0\n"
    "action a(n in 0..3):\n    o = n\n"
    "invariant I: o == none or (if o! < 2 then 1 // y > 0 else 2 // y > 0)\n",
}


@pytest.mark.parametrize("name", SPECS)
def test_bounded_search_agrees_with_the_interpreter(name: str) -> None:
    agrees(model_of(SPECS[name]), 4)


@pytest.mark.parametrize("name", SPECS)
def test_proofs_are_sound(name: str) -> None:
    check_sound(model_of(SPECS[name]))


def test_the_step_of_a_proof_reads_terminals_and_reachables() -> None:
    """The step of a proof detects undefined properties in states beyond the base case."""
    text = "var x: 0..9 = 0\naction a:\n    require x < 9\n    x += 1\n"
    for last in ("terminal: 6 // (9 - x) > 0", "reachable R: 6 // (9 - x) == 6\nterminal: true"):
        outcome = prove(model_of(f"{text}{last}\n"))
        assert outcome.verdict is Verdict.INCONCLUSIVE
        reasons = {proof.subject: proof.reason for proof in outcome.proofs}
        assert reasons["no evaluation error"] == "not inductive"
