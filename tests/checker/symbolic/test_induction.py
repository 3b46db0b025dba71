"""Induction proves valid properties, explains failed proofs, and never proves a false property."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.agreement import model_of
from tests.support.command import run as command
from tests.support.examples import EXAMPLES

from fencepost.checker.engines import load
from fencepost.checker.outcome import Outcome, Verdict
from fencepost.checker.request import Limits, Request, Solving
from fencepost.checker.run.words import unproved
from fencepost.checker.symbolic.candidates import candidates, plausible
from fencepost.spec.core.ir import Model


def prove(model: Model, k: int = 1, seconds: float | None = None, timeout: float = 20) -> Outcome:
    return load("induction").run(
        Request(
            model,
            properties=frozenset(range(len(model.properties))),
            limits=Limits(timeout=timeout, solving=Solving(seconds, k)),
        )
    )


TOKEN = """
type Pid = 1..3
enum Phase: Idle, Busy
var holder: Pid? = none
var phase: map[Pid, Phase] = [Idle for p in Pid]
action enter(p in Pid): require holder == none; phase[p] = Busy; holder = p
action leave(p in Pid): require phase[p] == Busy; phase[p] = Idle; holder = none
invariant Mutex: forall p in Pid, q in Pid: p == q or phase[p] == Idle or phase[q] == Idle
"""
WRAPS = """
const E0: int8 = any where 0 <= E0 and E0 < 100
var x: int8 = E0
action up: x = if x < 126 then x + 1 else x
invariant Low: x >= 0
"""
UNSAFE = {"invariant Low": "not inductive"}
# Guessed lemmas do not extend to numbers inside bags.
BAG = """
var at: bag[0..9, 1] = [0]
action step:
    pick n in at
    at = [if n == 2 then 0 else if n < 5 then n + 1 else 5]
invariant Never: not (4 in at)
"""


@pytest.mark.parametrize(
    ("text", "k", "reasons", "guessed"),
    [
        ("var x: bool = true\naction a: x = true\ninvariant I: x", 1, {}, False),
        (WRAPS, 1, {}, False),
        (WRAPS.replace("126", "127"), 1, {}, False),
        (WRAPS.replace("if x < 126 then x + 1 else x", "x + 1"), 1, UNSAFE, False),
        (TOKEN, 1, {}, True),
        (TOKEN + "lemma L: forall p in Pid: phase[p] == Busy iff holder == p", 1, {}, False),
        (BAG, 1, {"invariant Never": "not inductive"}, False),
        (BAG, 2, {}, False),
        ("var n: 0..9 = 0\naction a: n = n + 0\nlemma L: n < 9\ninvariant I: n != 9", 1, {}, False),
        # The proofs of the other properties do not assume a false lemma.
        (
            "var n: 0..9 = 0\nvar x: bool = false\naction a: n = if n < 9 then n + 1 else n\n"
            "action b: x = n == 9\nlemma L: n < 9\ninvariant I: not x",
            1,
            {"lemma L": "not inductive", "invariant I": "not inductive without lemma L"},
            False,
        ),
        (
            "var n: 0..9 = 0\naction a: n = n + 1\naction b: assert n < 7\ninvariant I: n >= 0",
            1,
            {
                "no evaluation error": "not inductive",
                "no failed assertion": "not inductive",
            },
            False,
        ),
        # A step invariant, and an invariant that is inductive without a lemma.
        (
            "var n: 0..9 = 0\naction a: n = if n < 9 then n + 1 else n\n"
            "step invariant S: next(n) >= n",
            1,
            {},
            False,
        ),
        (
            "var n: 0..3 = 0\nvar m: 0..3 = 3\naction a:\n    require n < 3\n    n += 1\n"
            "    m -= 1\nterminal: true\ninvariant I: n + m == 3",
            1,
            {},
            False,
        ),
    ],
)
def test_proofs_and_reasons(text: str, k: int, reasons: dict[str, str], guessed: bool) -> None:
    outcome = prove(model_of(text), k)
    assert {p.subject: p.reason for p in outcome.proofs if p.reason is not None} == reasons
    assert outcome.verdict is (Verdict.INCONCLUSIVE if reasons else Verdict.OK)
    assert bool(outcome.lemmas) == guessed
    for proof in outcome.proofs:
        # The interpreter confirms the states and the step of a counterexample to induction.
        assert (proof.finding is not None) == (proof.reason == "not inductive")
        if proof.finding is not None:
            assert proof.finding.trace is not None
            assert len(proof.finding.trace.steps) == k + 1


HOLDER = "lemma Holder: forall p in Pid: phase[p] == Busy iff holder == p\n"


@pytest.mark.parametrize(
    ("text", "chosen", "verdict", "used"),
    [
        # Using the false or undefined lemma would make these proofs wrong or impossible.
        ("var x: 0..1 = 0\nlemma L: x == 1\nstep invariant S: next(x) == x", "S", "deadlock", ()),
        ("var x: 0..1 = 0\naction a: x = x\nlemma L: x == 1\ninvariant I: x == 0", "I", "ok", ()),
        (
            "var x: 0..1 = 0\naction a: x = 0\nlemma L: 1 // x == 1\ninvariant I: x < 2",
            "I",
            "ok",
            (),
        ),
        # A valid lemma is used even if it is not selected.
        (TOKEN + HOLDER, "Mutex", "ok", ("lemma Holder",)),
    ],
)
def test_a_lemma_that_is_not_selected(
    text: str, chosen: str, verdict: str, used: tuple[str, ...]
) -> None:
    model = model_of(text)
    places = {item.name: number for number, item in enumerate(model.properties)}
    outcome = load("induction").run(
        Request(model, properties=frozenset([places[chosen]]), limits=Limits(timeout=20))
    )
    assert outcome.verdict.value == verdict
    assert outcome.lemmas == used
    assert not any(proof.subject.startswith("lemma") for proof in outcome.proofs)


def test_the_base_case_finds_real_problems() -> None:
    text = "var n: 0..9 = 0\naction a: n = if n < 9 then n + 1 else n\ninvariant I: n != 2"
    model = model_of(text)
    assert prove(model, 2).verdict is Verdict.INCONCLUSIVE
    deeper = prove(model, 3)
    assert deeper.verdict is Verdict.VIOLATED
    assert deeper.findings[0].depth == 3
    assert "base case" in deeper.notes[-1]


def test_constraints_bound_the_proof() -> None:
    text = "var n: 0..9 = 0\naction a: n += 1\nconstraint C: n < 5\ninvariant I: n < 6"
    assert prove(model_of(text)).verdict is Verdict.OK
    outcome = prove(model_of(text.replace("n < 6", "n < 5")))
    assert {p.subject for p in outcome.proofs if p.reason} == {"invariant I"}


def test_the_solver_may_give_up() -> None:
    text = """
    var p: int[64] = 3
    var q: int[64] = 3
    var found: bool = false
    action look(a in {1, 2}):
        p = p + 2
        if p < 2 or p > 4_000_000_000: p = 3
        q = q + 2
        if q < 2 or q > 4_000_000_000: q = 3
        found = p * q == 8_562_191_377_912_236_049
    lemma Range: p > 1 and p <= 4_000_000_000 and q > 1 and q <= 4_000_000_000
    invariant Prime: not found
    invariant Odd: p != 0
    """.replace("\n    ", "\n")
    outcome = prove(model_of(text), seconds=0.3, timeout=60)
    assert outcome.verdict is Verdict.INCONCLUSIVE
    reasons = {proof.subject: proof.reason for proof in outcome.proofs}
    assert reasons["invariant Prime"] == "Z3 gave up: --solver-timeout 0.3"
    assert reasons["lemma Range"] is None
    assert reasons["invariant Odd"] is None


def test_the_step_of_a_proof_reads_terminals_and_reachables() -> None:
    """The step of a proof detects undefined properties in states beyond the base case."""
    text = "var x: 0..9 = 0\naction a:\n    require x < 9\n    x += 1\n"
    for last in ("terminal: 6 // (9 - x) > 0", "reachable R: 6 // (9 - x) == 6\nterminal: true"):
        outcome = prove(model_of(f"{text}{last}\n"))
        assert outcome.verdict is Verdict.INCONCLUSIVE
        reasons = {proof.subject: proof.reason for proof in outcome.proofs}
        assert reasons["no evaluation error"] == "not inductive"


def test_guesses_are_distinct_core_conditions() -> None:
    for example in EXAMPLES:
        model = model_of(example.text)
        guesses = candidates(model)
        assert len({guess.text for guess in guesses}) == len(guesses)
        plausible(model, (), guesses, lambda: None)


def test_the_reason_names_the_error_of_the_counterexample() -> None:
    outcome = prove(model_of("channel net: bool capacity 2\naction put: send true to net"))
    reasons = {proof.subject: unproved(proof) for proof in outcome.proofs}
    wanted = "not inductive: channel net is full: its capacity is 2"
    assert reasons["no evaluation error"] == wanted


def test_the_report(tmp_path: Path) -> None:
    (tmp_path / "token.fence").write_text(TOKEN, encoding="utf-8")
    ran = command("check", "token.fence", "--engine", "induction", folder=tmp_path)
    assert ran.code == 0, ran.stdout
    words = " ".join(ran.stdout.split())
    assert "proved for every depth: invariant Mutex, no evaluation error, no deadlock" in words
    assert "lemmas found" in words
    (tmp_path / "n.fence").write_text(f"{BAG}reachable R: 9 in at\n", encoding="utf-8")
    ran = command("check", "n.fence", "--engine", "induction", folder=tmp_path)
    assert ran.code == 3
    words = " ".join(ran.stdout.split())
    assert "invariant Never is not inductive" in words
    assert "0 some state at = [3] 1 step(n: 3) at" in words
    assert "not proved invariant Never (not inductive)" in words
    assert "not checked reachable R" in words
    (tmp_path / "full.fence").write_text(
        "channel net: bool capacity 2\naction put: send true to net\n", encoding="utf-8"
    )
    ran = command("check", "full.fence", "--engine", "induction", folder=tmp_path)
    words = " ".join(ran.stdout.split())
    assert '"no evaluation error" is not proved (not inductive: channel net is full' in words
    assert '"no evaluation error" is not inductive' in words
