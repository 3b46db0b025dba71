"""Modules of TLA+ with random damage, reproducible from a seed. Some stay valid."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from random import Random

from tests.support.damaged_specs import (
    byte_flipped,
    byte_inserted,
    bytes_deleted,
    line_deleted,
    line_doubled,
    line_indented,
    line_moved,
    snippet_inserted,
    truncated,
)
from tests.support.paths import ROOT
from tests.support.tla_modules import RandomModule, random_module
from tests.support.tla_runs import blocks

FORMS = r"""
EXTENDS Naturals, Sequences, FiniteSets, TLC
CONSTANT N, Set, Op(_, _)
VARIABLES x, y
vars == <<x, y>>
RECURSIVE Count(_), Even(_), Odd(_)
Count(S) == IF S = {} THEN 0 ELSE 1 + Count(S \ {CHOOSE e \in S : TRUE})
Even(n) == n = 0 \/ Odd(n - 1)
Odd(n) == n # 0 /\ Even(n - 1)
a ++ b == a + 2 * b
f[i \in Nat, j \in 1..2] == IF i = 0 THEN j ELSE f[i - 1, j] + 1
LOCAL Hidden(a, F(_)) == F(a)
Record == [kind : {"one", "two"}, value : 1..3 \cup {7}]
Some == [kind |-> "one", value |-> 2 ^ 3 % 5]
Changed == [Some EXCEPT !.value = @ + 1, !["kind"] = "two"]
Table == [s \in Set |-> {<<t, s>> : t \in Set}]
Product == Set \X {1, 2} \X BOOLEAN
Filtered == {t \in SUBSET Set : Cardinality(t) > 1 /\ t # {}}
Cases(n) ==
  CASE n = 1 -> "a"
    [] n = 2 /\ Set = {} -> "b"
    [] OTHER -> "c"
Local(n) ==
  LET double(k) == k * 2
      four == double(2)
      g[k \in 1..n] == k + four
  IN  g[n] + double(four)
Mapped == Hidden(3, LAMBDA v : v + 1) ++ Op(1, 2)
---- MODULE Inner ----
CONSTANT K
VARIABLE z
Inc == z' = z + K
====
Inside == INSTANCE Inner WITH z <- x, K <- 3
With(K) == INSTANCE Inner WITH z <- y
Init ==
  /\ x = 0
  /\ \/ y = 1
     \/ y = 2
Step(i) ==
  /\ x < i => y >= 0
  /\ x' = x + i
  /\ UNCHANGED y
Other == \E i \in 1..3, <<a, b>> \in {<<1, 2>>} : Step(i + a - b)
Next == Other \/ (Inside!Inc /\ y' = y) \/ (With(2)!Inc /\ UNCHANGED <<x>>)
Spec == Init /\ [][Next]_vars /\ WF_vars(Next) /\ SF_<<x, y>>(Step(1))
Live == (x = 1) ~> <>[](y = 2) /\ []<><<Next>>_x
Never == ~ ENABLED Step(1) /\ [](x \in Nat => ~(x = 3 <=> y = 2))
Every == \A p \in Set : \E q \in Set : p \notin {q} \/ p = q
Union == UNION {Set, {N}} \cup ((Set \cap {N}) \ DOMAIN Some)
ASSUME N \in Nat /\ Count({1, 2}) = 2
"""
TOKEN = re.compile(
    r"""\\\*[^\n]*|"[^"\n]*"|[A-Za-z0-9_]+|\\[A-Za-z]+|<<|>>_?|\]_|\|->|->|<-|==+|--+|=>|<=>|~>|/\\|\\/
    |\.\.|::|[:!'=#<>+*^%@~.,(){}\[\]\\-]+?""",
    re.VERBOSE,
)
SIGNS = (
    "/\\", "\\/", "=>", "<=>", "=", "#", "<", "\\in", "\\notin", "\\subseteq", "\\cup", "\\cap",
    "\\", "..", "+", "-", "*", "^", "%", "\\div", "\\o", "\\X", "~>", "@@", ":>", "'", "~", "[]",
    "SUBSET", "UNCHANGED", "ENABLED", "DOMAIN", "==", ",", ":", "!", ".", "(", ")", "{", "}", "<<",
    ">>", "[", "]",
)  # fmt: skip
_INFIX = SIGNS[: SIGNS.index("'")]


def _tokens(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in TOKEN.finditer(text)]


def _deleted(text: str, random: Random) -> str:
    start, end = random.choice(_tokens(text) or [(0, 0)])
    return text[:start] + text[end:]


def _doubled(text: str, random: Random) -> str:
    start, end = random.choice(_tokens(text))
    return f"{text[:end]} {text[start:]}"


def _swapped(text: str, random: Random) -> str:
    (a, b), (c, d) = sorted(random.sample(_tokens(text), 2))
    return text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:]


def _replaced(text: str, random: Random) -> str:
    """Replaces a token by one of its kind."""
    tokens = _tokens(text)
    start, end = random.choice(tokens)
    alike = [text[a:b] for a, b in tokens if text[a:b].isalnum() == text[start:end].isalnum()]
    return text[:start] + random.choice(alike) + text[end:]


def _operator(text: str, random: Random) -> str:
    """Replaces an infix operator by another."""
    spans = [(a, b) for a, b in _tokens(text) if text[a:b] in _INFIX]
    start, end = random.choice(spans)
    return text[:start] + random.choice(_INFIX) + text[end:]


def _ungrouped(text: str, random: Random) -> str:
    """Removes a pair of parentheses."""
    pairs: list[tuple[int, int]] = []
    open_: list[int] = []
    for position, sign in enumerate(text):
        if sign == "(":
            open_.append(position)
        elif sign == ")" and open_:
            start = open_.pop()
            if not text[start - 1].isalnum():
                pairs.append((start, position))
    if not pairs:
        return text
    start, end = random.choice(pairs)
    return text[:start] + " " + text[start + 1 : end] + " " + text[end + 1 :]


def _inserted(text: str, random: Random) -> str:
    position = random.choice(_tokens(text))[0]
    return f"{text[:position]} {random.choice(SIGNS)} {text[position:]}"


def _of_lines(damage: Callable[[bytes, Random], bytes]) -> Callable[[str, Random], str]:
    return lambda text, random: damage(text.encode(), random).decode(errors="replace")


DAMAGE: tuple[Callable[[str, Random], str], ...] = (
    _deleted, _doubled, _swapped, _replaced, _replaced, _operator, _operator, _ungrouped,
    _ungrouped, _inserted, *map(_of_lines, (line_deleted, line_doubled, line_indented, line_moved)),
)  # fmt: skip


WORSE = (
    *DAMAGE,
    *map(_of_lines, (byte_flipped, byte_inserted, bytes_deleted, snippet_inserted, truncated)),
)


TABLE = (
    "Counter", "Choices", "Every", "Within", "Steps", "Parameters", "Records", "Queues",
    "Recursion", "Operators", "Functions", "Partial", "Missing", "Asserted", "Enabled", "Swap",
    "OperatorConstants", "PrimedParameters", "Parts", "Effects", "LocalNames", "Symmetric",
    "Viewed", "Levels", "Liveness", "NotFairEnough", "RefinesFairly",
)  # fmt: skip
"""Modules of the table for the evaluator that need no others."""


@cache
def _originals() -> list[str]:
    """Returns the bodies of these modules."""
    path = ROOT / "tests" / "checker" / "evaluator" / "modules.txt"
    every = blocks(path.read_text(encoding="utf-8"))
    return [every[name].split("\n", 2)[2] for name in TABLE]


def damaged_module(seed: int) -> str:
    """Returns the text of a damaged module, whose name is ``D`` with the seed."""
    random = Random(seed)
    kind = random.random()
    if kind < 0.45:
        body = FORMS
    elif kind < 0.8:
        body = random.choice(_originals())
    else:
        body = random_module(seed).module.split("\n", 1)[1].rpartition("====")[0]
    for _ in range(random.choice((1, 1, 1, 2))):
        body = random.choice(DAMAGE)(body, random)
    return f"---- MODULE D{seed} ----\n{body.strip()}\n====\n"


def broken_module(seed: int) -> RandomModule:
    """Returns a module whose text, configuration or both are damaged in any way."""
    random = Random(seed)
    original = random_module(random.randrange(10**6))
    module, config = original.module, original.configuration
    which = random.choice(("module", "config", "both"))
    for _ in range(random.choice((1, 1, 2, 3))):
        if which != "config":
            module = random.choice(WORSE)(module, random) if module.strip() else module
        if which != "module":
            config = random.choice(WORSE)(config, random) if config.strip() else config
    return RandomModule(original.name, module, config)
