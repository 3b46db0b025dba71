"""Specs with several problems at once, and the one to report first (docs/language.md, "Which
problem is reported"), worked out by hand.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ordered:
    """``text``, and its first problem: the verdict, the depth, and the text at its position (for a
    violated property its name, for a deadlock nothing). ``more`` are the verdicts of the following
    problems with ``--continue``.
    """

    name: str
    text: str
    verdict: str
    depth: int
    at: str = ""
    more: tuple[str, ...] = ()


REST = "terminal: true\n"

ORDERED = (
    Ordered(
        "the action declared first",
        "var x: 0..2 = 0\naction a: x = x + 3\naction b: x = x + 4\n" + REST,
        "error", 2, "x + 3", ("error",),
    ),
    Ordered(
        "the action declared first, though the other's error has a lower line",
        "var x: 0..2 = 0\nprocedure p: x = x + 4\naction a: x = x + 3\naction b: p()\n" + REST,
        "error", 2, "x + 3", ("error",),
    ),
    Ordered(
        "the first choice, though it fails further down",
        "var x: 0..2 = 0\naction a(y in 0..1):\n    if y == 1: x = x + 3\n    x = x + 4\n" + REST,
        "error", 2, "x + 4",
    ),
    Ordered(
        "the first choice of two that may be picked",
        "var x: 0..2 = 0\naction a:\n    pick y in 0..1\n    pick z in 0..1\n"
        "    if y == 1: x = x + 3\n    if z == 1: x = x + 4\n" + REST,
        "error", 2, "x + 4",
    ),
    Ordered(
        "the least state, before choices",
        "var x: 0..3 = 0\naction go(y in 1..2):\n    require x == 0\n    x = y\n"
        "action a:\n    require x > 0\n    if x == 2: x = x + 5\n    x = x + 6\n" + REST,
        "error", 3, "x + 6",
    ),
    Ordered(
        "what is evaluated first",
        "var x: 0..2 = 0\nvar q: seq[0..2, 2] = []\naction a: x = 1 // x + q[x]\n" + REST,
        "error", 2, "1 // x",
    ),
    Ordered(
        "what is evaluated first of a property",
        "var x: 0..2 = 0\nvar q: seq[0..2, 2] = []\ninvariant P: q[x] == 1 // x\n" + REST,
        "error", 1, "q[x]",
    ),
    Ordered(
        "an error before an assertion",
        "var x: 0..2 = 0\naction a: assert x == 1\naction b: x = x + 3\n" + REST,
        "error", 2, "x + 3", ("assertion",),
    ),
    Ordered(
        "an assertion before a violated step invariant",
        "var x: 0..2 = 0\naction a:\n    require x == 0\n    x = 1\n"
        "action b:\n    require x == 0\n    assert x == 1\nstep invariant S: next(x) == x\n" + REST,
        "assertion", 2, "x == 1", ("violated",),
    ),
    Ordered(
        "a step invariant before an invariant that is declared first",
        "var x: 0..2 = 0\naction a:\n    require x == 0\n    x = 1\n"
        "invariant I: x == 0\nstep invariant S: next(x) == x\n" + REST,
        "violated", 2, "S", ("violated",),
    ),
    Ordered(
        "of invariants and lemmas the one declared first",
        "var x: 0..2 = 0\naction a:\n    require x == 0\n    x = 1\n"
        "lemma L: x == 0\ninvariant I: x == 0\n" + REST,
        "violated", 2, "L", ("violated",),
    ),
    Ordered(
        "an invariant before a deadlock",
        "var x: 0..2 = 0\naction a:\n    require x == 0\n    x = 1\ninvariant I: x == 0\n",
        "violated", 2, "I", ("deadlock",),
    ),
    Ordered(
        "a deadlock before an error one step on",
        "var x: 0..3 = 0\naction go(y in 1..2):\n    require x == 0\n    x = y\n"
        "action a:\n    require x == 2\n    x = x + 5\n",
        "deadlock", 2, "", ("error",),
    ),
    Ordered(
        "an error of the step before one of a property",
        "var x: 0..2 = 0\ninvariant I: 1 // (1 - x) == 1\naction a:\n"
        "    require x == 0\n    x = 1\naction b:\n    require x == 0\n    x = x + 3\n" + REST,
        "error", 2, "x + 3", ("error",),
    ),
    Ordered(
        "an error of a property before what another says",
        "var x: 0..2 = 0\ninvariant I: x == 0\ninvariant E: 1 // (1 - x) == 1\n"
        "action a:\n    require x == 0\n    x = 1\n" + REST,
        "error", 2, "1 // (1 - x)", ("violated",),
    ),
    Ordered(
        "errors of properties in the order of declaration, of whatever kind",
        "var x: 0..2 = 0\nconstraint: 2 // (1 - x) == 2\n"
        "step invariant S: 3 // (1 - next(x)) == 3\n"
        "invariant I: 4 // (1 - x) == 4\naction a:\n    require x == 0\n    x = 1\n" + REST,
        "error", 2, "2 // (1 - x)", ("error", "error"),
    ),
    Ordered(
        "an error of a reachable is one of its state",
        "var x: 0..2 = 0\nreachable R: 1 // (1 - x) == 2\ninvariant I: x == 0\n"
        "action a:\n    require x == 0\n    x = 1\n" + REST,
        "error", 2, "1 // (1 - x)", ("violated",),
    ),
    Ordered(
        "an error of a terminal, and a deadlock beside it",
        "var x: 0..3 = 0\naction go(y in 1..2):\n    require x == 0\n    x = y\n"
        "terminal: 1 // (1 - x) == 2\n",
        "error", 2, "1 // (1 - x)", ("deadlock",),
    ),
    Ordered(
        "a terminal is not asked where there is a step",
        "var x: 0..3 = 0\naction a:\n    require x < 2\n    x += 1\nterminal: 1 // (1 - x) < 0\n",
        "ok", 0,
    ),
    Ordered(
        "a terminal behind one that holds is not asked",
        "var x: 0..3 = 0\naction a:\n    require x < 1\n    x += 1\n"
        "terminal: x == 1\nterminal: 1 // (1 - x) < 0\n",
        "ok", 0,
    ),
    Ordered(
        "a constraint behind one that is false is not asked",
        "var x: 0..3 = 0\naction a:\n    require x < 1\n    x += 1\n"
        "constraint: x == 0\nconstraint: 1 // (1 - x) > 0\n" + REST,
        "ok", 0,
    ),
    Ordered(
        "what lies outside a constraint is asked all the same",
        "var x: 0..3 = 0\naction a: x += 1\nconstraint: x == 0\ninvariant I: 1 // (1 - x) > 0\n"
        + REST,
        "error", 2, "1 // (1 - x)",
    ),
    Ordered(
        "what lies beyond a constraint is not asked",
        "var x: 0..3 = 0\naction a: x += 1\nconstraint: x == 0\ninvariant I: 1 // (2 - x) >= 0\n"
        + REST,
        "ok", 0,
    ),
    Ordered(
        "an assumption that is false before the error of another",
        "const N: 0..2 = 0\nassume N == 1\nassume 1 // N == 1\nvar x: 0..2 = 0\n" + REST,
        "assumption", 0, "N == 1", ("error",),
    ),
    Ordered(
        "the error of an assumption before one that is false",
        "const N: 0..2 = 0\nassume 1 // N == 1\nassume N == 1\nvar x: 0..2 = 0\n" + REST,
        "error", 0, "1 // N", ("assumption",),
    ),
)  # fmt: skip
