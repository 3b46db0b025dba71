"""Numbers in the symbolic engines are as wide as necessary, and never narrower."""

from __future__ import annotations

from random import Random

import pytest
from tests.support.core_builders import python_value

from fencepost.checker.symbolic import terms, values
from fencepost.checker.symbolic.domain import Bits
from fencepost.checker.symbolic.solver import Solver
from fencepost.checker.symbolic.terms import Number, Vector
from fencepost.spec.core.operators import Operator
from fencepost.spec.core.types import UNBOUNDED, Int

SEEDS = range(40)


def drawn(random: Random, solver: Solver) -> tuple[Number, int]:
    """Returns a constant or symbolic number in a random range, together with its value."""
    low = random.randint(-40, 40)
    high = low + random.choice([0, 1, 7, 90])
    drawn_value = random.randint(low, high)
    if random.random() < 0.3:
        return drawn_value, drawn_value
    number, fact = terms.fresh_number("x", low, high)
    solver.add(fact)
    solver.add(terms.same_number(number, drawn_value))
    return terms.fitted(number, low, high), drawn_value


def value(solver: Solver, number: Number) -> int:
    model = solver.ask(True)
    assert model is not None
    worth = terms.number_in(model, number)
    if isinstance(number, Vector):
        assert number.low <= worth <= number.high
        assert number.term.size() == terms.width_of(number.low, number.high)
    return worth


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("sign", Operator)
def test_arithmetic(sign: Operator, seed: int) -> None:
    random, solver = Random(seed), Solver()
    (a, x), (b, y) = drawn(random, solver), drawn(random, solver)
    width = random.choice([6, 8, 16, 64])
    if sign.row.divides:
        y = y or 1
        solver.add(terms.same_number(b, y))
        width = max(width, 8)
    result = value(solver, terms.arithmetic(sign, a, b, width))
    assert result == terms.wrapped(python_value(sign, x, y), width)


@pytest.mark.parametrize("seed", SEEDS)
def test_comparisons_and_choices(seed: int) -> None:
    random, solver = Random(seed), Solver()
    (a, x), (b, y) = drawn(random, solver), drawn(random, solver)
    low = random.randint(-40, 100)
    high = low + random.randint(-5, 60)
    answers: list[tuple[terms.Truth, bool]] = [
        (terms.same_number(a, b), x == y),
        (terms.less(a, b), x < y),
        (terms.less(b, a), y < x),
        (terms.inside(a, low, high), low <= x <= high),
    ]
    for truth, meant in answers:
        assert (solver.ask(truth) is not None) == meant
        assert (solver.ask(terms.negation(truth)) is None) == meant
    condition = terms.fresh_truth("c")
    solver.add(condition if seed % 2 else terms.negation(condition))
    assert value(solver, terms.choose_number(condition, a, b)) == (x if seed % 2 else y)


def test_a_counter_grows_by_a_bit() -> None:
    """A 64-bit counter that was incremented a few times needs only a few bits."""
    number: Number = 0
    for _ in range(6):
        number = terms.choose_number(terms.fresh_truth("c"), terms.added(number, 1, 64), number)
    assert isinstance(number, Vector)
    assert (number.low, number.high) == (0, 6)
    assert terms.inside(number, -(1 << 63), (1 << 63) - 1) is True


@pytest.mark.parametrize("count", range(1, 10))
def test_a_choice_reaches_each_alternative_and_nothing_else(count: int) -> None:
    kind = Int(0, 100)
    number = values.picked(kind, Bits().take(count), range(10, 10 + count))
    solver = Solver()
    for candidate in range(8, 22):
        model = solver.ask(terms.same_number(number, candidate))
        assert (model is not None) == (10 <= candidate < 10 + count)


@pytest.mark.parametrize("taken", [None, 0, 1, 2, 3])
def test_one_of_several_or_the_rest(taken: int | None) -> None:
    truths = [terms.fresh_truth("w") for _ in range(4)]
    leaves: list[Number] = [5, 7, 5, 3]
    solver = Solver()
    for index, truth in enumerate(truths):
        solver.add(truth if index == taken else terms.negation(truth))
    result = values.exclusive(Int(0, 9), truths, leaves, 5)
    assert value(solver, result) == (5 if taken is None else leaves[taken])


@pytest.mark.parametrize("a", [False, True])
@pytest.mark.parametrize("b", [False, True])
def test_constant_truths(a: bool, b: bool) -> None:
    assert terms.at_most_one([a, b]) == (not (a and b))
    if not (a and b):
        assert terms.one_of(a, b) == (a or b)


def test_unknown_truths() -> None:
    a = terms.fresh_truth("a")
    assert terms.one_of(a, terms.negation(a)) is True
    assert Solver().ask(terms.both(a, terms.at_most_one([a, a]))) is None


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("sign", Operator)
def test_numbers_without_bounds(sign: Operator, seed: int) -> None:
    """Integer terms and bit-vectors may be mixed, and the result is exact or wraps."""
    random, solver = Random(seed), Solver(integers=True)
    b, y = drawn(random, solver)
    x = random.choice([random.randint(-300, 300), random.randint(-(10**30), 10**30)])
    a, fact = terms.fresh_number("n", -UNBOUNDED, UNBOUNDED if seed % 2 else 10**30)
    assert fact is True or seed % 2 == 0
    solver.add(terms.same_number(a, x))
    (a, x), (b, y) = random.choice([((a, x), (b, y)), ((b, y), (a, x))])
    if sign.row.divides:
        y = y or 1
        solver.add(terms.same_number(b, y))
    exact = python_value(sign, x, y)
    assert in_model(solver, terms.arithmetic(sign, a, b, None)) == exact
    assert in_model(solver, terms.arithmetic(sign, a, b, 8)) == terms.wrapped(exact, 8)
    for truth, meant in ((terms.same_number(a, b), x == y), (terms.less(a, b), x < y)):
        assert (solver.ask(truth) is not None) == meant
        assert (solver.ask(terms.negation(truth)) is None) == meant
    assert in_model(solver, terms.choose_number(terms.less(a, b), a, b)) == min(x, y)


def in_model(solver: Solver, number: Number) -> int:
    model = solver.ask(True)
    assert model is not None
    return terms.number_in(model, number)
