"""The automata of a formula's negation accept exactly the words on which the formula fails.

The oracle evaluates a formula directly on a lasso-shaped word (`lasso.holds`), without normal forms
or automata.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from random import Random

import pytest
from tests.support.amounts import numbers

from fencepost.checker.temporal.automaton import Automaton, violating
from fencepost.checker.temporal.lasso import BOOLEANS, holds
from fencepost.checker.temporal.normal import MAX_WORK, TooLarge
from fencepost.spec.core.formulas import (
    Always,
    And,
    Eventually,
    Formula,
    Holds,
    Iff,
    Implies,
    LeadsTo,
    Not,
    Or,
    Until,
)

PREDICATES = 4
WORDS = 40

Word = Sequence[Sequence[bool]]
"""A sequence with the truth values of the predicates at each position."""


def accepts(automaton: Automaton, word: Word, loop: int) -> bool:
    """Whether an automaton has an accepting run along a word that repeats from ``loop``."""

    def after(position: int, nodes: frozenset[int]) -> frozenset[int]:
        reached = {n for node in nodes for n in automaton.nodes[node].successors}
        return frozenset(n for n in reached if automaton.nodes[n].allows(word[position]))

    truth = {number: [row[number] for row in word] for number in range(PREDICATES)}
    for condition in automaton.conditions:
        recurring = holds(condition.meets, truth, len(word), loop, BOOLEANS)[loop:]
        settled = holds(condition.stays, truth, len(word), loop, BOOLEANS)[loop:]
        if not (any(recurring) or all(settled)):
            return False
    now = frozenset(n for n in automaton.initial if automaton.nodes[n].allows(word[0]))
    for position in range(1, loop + 1):
        now = after(position, now)
    positions = [*range(loop, len(word))]
    following = {(p, n): [(q, m) for q in [p + 1 if p + 1 < len(word) else loop]
                          for m in automaton.nodes[n].successors
                          if automaton.nodes[m].allows(word[q])]
                 for p in positions for n in range(len(automaton.nodes))
                 if automaton.nodes[n].allows(word[p])}  # fmt: skip

    def closed(pairs: set[tuple[int, int]]) -> set[tuple[int, int]]:
        waiting = list(pairs)
        for pair in waiting:
            for other in following[pair]:
                if other not in pairs:
                    pairs.add(other)
                    waiting.append(other)
        return pairs

    reached = closed({(loop, node) for node in now})
    for start in reached:
        ahead = closed(set(following[start]))
        if start not in ahead:
            continue
        around = [pair for pair in ahead if start in closed(set(following[pair]))]
        if all(
            any(promise not in automaton.nodes[node].puts_off for _, node in around)
            for promise in range(automaton.promises)
        ):
            return True
    return False


def grown(random: Random, operators: int) -> Formula:
    """Returns a random formula with the given number of operators."""
    if operators == 0:
        return Holds(random.randrange(PREDICATES))
    unary: list[Callable[[Formula], Formula]] = [
        Not, Always, Eventually,
        lambda f: Always(Eventually(f)), lambda f: Eventually(Always(f)),
    ]  # fmt: skip
    binary: list[Callable[[Formula, Formula], Formula]] = [
        Until, LeadsTo, Implies, Iff, lambda a, b: And((a, b)), lambda a, b: Or((a, b)),
    ]  # fmt: skip
    if operators == 1 or random.random() < 0.5:
        operator = random.choice(unary[:3] if operators == 1 else unary)
        cost = 1 if operator in unary[:3] else 2
        return operator(grown(random, operators - cost))
    left = random.randrange(operators)
    return random.choice(binary)(grown(random, left), grown(random, operators - 1 - left))


def drawn(random: Random) -> tuple[Word, int]:
    """Returns a random word and the position where its loop starts."""
    length = random.randint(1, 6)
    rows = [[random.random() < 0.5 for _ in range(PREDICATES)] for _ in range(length)]
    return rows, random.randrange(length)


@pytest.mark.parametrize("operators", [3, 6, 10, 20, 30])
def test_automata_accept_the_words_on_which_a_formula_fails(operators: int) -> None:
    refused = 0
    seeds = numbers(40)
    for seed in seeds:
        random = Random(f"{operators} {seed}")
        formula = grown(random, random.randint(1, operators))
        try:
            automata = violating(formula)
        except TooLarge:
            refused += 1
            continue
        for _ in range(WORDS):
            word, loop = drawn(random)
            values = {number: [row[number] for row in word] for number in range(PREDICATES)}
            fails = not holds(formula, values, len(word), loop, BOOLEANS)[0]
            accepted = any(accepts(automaton, word, loop) for automaton in automata)
            assert accepted == fails, f"seed {seed}: {formula}\n{word} from {loop} on"
    assert refused <= len(seeds) // 4


P: list[Formula] = [Holds(number) for number in range(80)]


def _chain(operator: Callable[[Formula, Formula], Formula], formulas: Sequence[Formula]) -> Formula:
    return reduce(operator, formulas)


def _stable(formula: Formula, times: int) -> Formula:
    for _ in range(times):
        formula = Eventually(Always(formula))
    return formula


LARGE: dict[str, tuple[Formula, bool]] = {
    "16 iff of always eventually, joined": (
        And(tuple(Iff(Always(Eventually(P[i])), Always(Eventually(P[i + 16])))
                  for i in range(16))), True),
    "16 iff of eventually, joined": (
        And(tuple(Iff(Eventually(P[i]), Eventually(P[i + 16])) for i in range(16))), True),
    "16 iff of eventually, denied": (
        Not(And(tuple(Iff(Eventually(P[i]), Eventually(P[i + 16])) for i in range(16)))), False),
    "16 iff of eventually, chained": (_chain(Iff, [Eventually(p) for p in P[:17]]), False),
    "16 iff of always eventually, chained": (
        _chain(Iff, [Always(Eventually(p)) for p in P[:17]]), False),
    "8 until, nested to the left": (_chain(Until, P[:9]), True),
    "8 until, nested to the left, denied": (Not(_chain(Until, P[:9])), False),
    "8 until, nested to the right": (_chain(lambda a, b: Until(b, a), P[:9]), False),
    "8 until, nested to the right, denied": (Not(_chain(lambda a, b: Until(b, a), P[:9])), True),
    "8 processes: fairness implies a response": (
        Implies(And(tuple(Always(Eventually(p)) for p in P[:8])),
                And(tuple(LeadsTo(P[i + 8], P[i + 16]) for i in range(8)))), True),
    "8 processes: strong fairness implies a response": (
        Implies(And(tuple(Implies(Always(Eventually(P[i])), Always(Eventually(P[i + 8])))
                          for i in range(8))),
                And(tuple(LeadsTo(P[i + 16], P[i + 24]) for i in range(8)))), True),
    "8 processes: responses imply a response": (
        Implies(And(tuple(LeadsTo(P[i], P[i + 8]) for i in range(8))), LeadsTo(P[16], P[17])),
        False),
    "8 times eventually always": (
        _stable(P[0], 8), True),
}  # fmt: skip
"""Large formulas, and whether each is decided (or refused)."""


@pytest.mark.parametrize("name", LARGE)
def test_large_formulas_are_decided_or_refused_after_limited_work(name: str) -> None:
    formula, decided = LARGE[name]
    calls = 0

    def count() -> None:
        nonlocal calls
        calls += 1

    try:
        violating(formula, count)
    except TooLarge:
        assert not decided
    else:
        assert decided
    assert 0 < calls < MAX_WORK


def test_building_an_automaton_ends_when_the_pause_raises() -> None:
    class Ended(Exception):
        pass

    def end() -> None:
        raise Ended

    for formula, _ in LARGE.values():
        with pytest.raises(Ended):
            violating(formula, end)
