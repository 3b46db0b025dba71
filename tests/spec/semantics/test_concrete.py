"""The concrete domain in a run: choices, coverage marks, false guards and sharing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import pytest
from tests.support.core_builders import (
    BOOL,
    COLOUR,
    DIGIT,
    DIGITS,
    FALSE,
    PLACE,
    SKIP,
    TRUE,
    among,
    do,
    less,
    lit,
    local,
    pick,
    plus,
    put,
    var,
)  # fmt: skip

from fencepost.spec.core import ir
from fencepost.spec.core.types import Bag, Int, Map, Seq, Set, Type, Value
from fencepost.spec.semantics.choice_points import EvaluationError, Run
from fencepost.spec.semantics.concrete import DISABLED, ConcreteDomain, evaluate_constant
from fencepost.spec.semantics.fold import evaluate, execute


def marks(*kinds: Literal["branch", "guard"]) -> list[ir.CoverageMark]:
    return [ir.CoverageMark(kind, PLACE, 0, "") for kind in kinds]


def vectors(
    statement: ir.Statement, *state: Value, kinds: tuple[Type, ...] = (DIGIT,)
) -> Iterator[tuple[tuple[Value, ...], Value]]:
    """Yields the choices of each vector, and the resulting state or the guard that was false."""
    domain = ConcreteDomain(kinds, marks=marks("branch", "guard"))
    code = execute(domain, {}, statement)
    run = Run()
    while True:
        frame: list[Any] = [*state, *[None] * (domain.width - len(state)), run]
        signal = code(frame)
        chosen = tuple(value for _, _, value in run.choices())
        yield chosen, run.guard if signal == DISABLED else tuple(frame[: len(state)])
        if not run.advance():
            return


X, Y = local(0), local(1)
STORE = put(0, Y)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (SKIP, [((), (5,))]),
        (pick(0, among(2, 4), put(0, X)), [((2,), (2,)), ((4,), (4,))]),
        # The last choice varies fastest and may depend on the earlier ones.
        (
            pick(0, among(2, 3), pick(1, ir.Interval(DIGITS, lit(1), X), STORE)),
            [((a, b), (b,)) for a in (2, 3) for b in range(1, a + 1)],
        ),
        # A choice is made in the state at its own position.
        (
            do(put(0, lit(1)), pick(0, ir.Interval(DIGITS, lit(0), var(0)), put(0, X))),
            [((0,), (0,)), ((1,), (1,))],
        ),
        # Without an element, the guard of the pick is false.
        (pick(0, among(), SKIP), [((), 0)]),
        (
            pick(0, among(1, 2), pick(1, ir.Interval(DIGITS, lit(2), X), STORE)),
            [((1,), 0), ((2, 2), (2,))],
        ),
        # A conditional choice is followed by one that all branches share.
        (
            pick(
                0,
                among(1, 2),
                do(
                    ir.If(less(X, lit(2)), pick(1, among(7, 8), STORE), SKIP),
                    pick(2, ir.Universe(Set(BOOL)), SKIP),
                ),
            ),
            [((1, b, c), (b,)) for b in (7, 8) for c in (False, True)]
            + [((2, c), (5,)) for c in (False, True)],
        ),
        # A choice is made in every round of a loop.
        (
            ir.ForEach(0, among(1, 2), pick(1, among(3, 4), STORE)),
            [((a, b), (b,)) for a in (3, 4) for b in (3, 4)],
        ),
        (ir.Pick(0, among(1, 2, 3), less(lit(1), X), 2, "x", SKIP), [((2,), (5,)), ((3,), (5,))]),
        (ir.Pick(0, among(1, 2, 3), FALSE, 2, "x", SKIP), [((), 2)]),
        (pick(0, lit((1, 1, 2), Bag(DIGIT, 3)), SKIP), [((1,), (5,)), ((2,), (5,))]),
        (pick(0, lit((2, 1, 2), Seq(DIGIT, 3)), SKIP), [((n,), (5,)) for n in (2, 1, 2)]),
        (pick(0, among(1, 2), put(0, X), label=None), [((), (1,)), ((), (2,))]),
        (
            pick(0, among(1, 2, 3), ir.Require(less(X, lit(2)), 1)),
            [((1,), (5,)), ((2,), 1), ((3,), 1)],
        ),
    ],
    ids=str,
)
def test_vectors_of_choices(statement: ir.Statement, expected: list[object]) -> None:
    assert list(vectors(statement, 5)) == expected


def test_choices_know_their_label_and_type() -> None:
    domain = ConcreteDomain((DIGIT,))
    code = execute(domain, {}, pick(0, ir.Universe(Set(COLOUR)), SKIP, label="c"))
    run = Run()
    code([5, *[None] * (domain.width - 1), run])
    assert run.choices() == (("c", COLOUR, 0),)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ((2,), [[2, 1], [2, 2]]),
        ((2, 1), [[2, 1]]),
        ((7,), [list[int]()]),
        ((3, 7), [[3]]),
    ],
)
def test_the_first_choices_can_be_fixed(wanted: tuple[int, ...], expected: list[list[int]]) -> None:
    domain = ConcreteDomain(())
    code = execute(domain, {}, pick(0, among(1, 2, 3), pick(1, among(1, 2), SKIP)))
    run = Run()
    run.wanted = wanted
    chosen: list[object] = []
    while True:
        code([*[None] * domain.width, run])
        chosen.append([value for _, _, value in run.choices()])
        if not run.advance():
            break
    assert chosen == expected


def test_an_offer_is_evaluated_once_for_all_that_is_chosen_from_it() -> None:
    """A second evaluation would make a domain with a demand fail, and would count a mark twice."""
    domain = ConcreteDomain((DIGIT,), marks=marks("branch"))
    offer = ir.Conditional(DIGITS, ir.Witness(0, TRUE), among(1, 2, 3), among())
    code = execute(domain, {}, pick(0, offer, SKIP))
    run = Run()
    code([5, *[None] * domain.width, run])
    while run.advance():
        code([5, *[None] * domain.width, run])
    assert run.seen == [0]


def test_marks_of_branches_wait_for_the_step_and_those_of_guards_do_not() -> None:
    covered = bytearray(2)
    domain = ConcreteDomain((), marks=marks("branch", "guard"), covered=covered)
    code = execute(domain, {}, do(ir.Mark(0), ir.Mark(1)))
    run = Run()
    code([run])
    assert (run.marks, run.seen) == ([0], [1])
    covered[0] = covered[1] = 1
    again = Run()
    code([again])
    assert (again.marks, again.seen) == ([], [])


def test_a_witness_is_set_when_its_condition_is_true() -> None:
    domain = ConcreteDomain((BOOL,), marks=marks("branch"))
    code = evaluate(domain, {}, ir.Witness(0, var(0, BOOL)))
    run = Run()
    assert (code([False, run]), run.seen) == (False, [])
    assert (code([True, run]), run.seen) == (True, [0])


def test_bound_values_are_evaluated_once() -> None:
    domain = ConcreteDomain((BOOL,), marks=marks("branch"))
    twice = ir.And((local(0, BOOL), local(0, BOOL), local(0, BOOL)))
    code = evaluate(domain, {}, ir.Let(BOOL, 0, ir.Witness(0, var(0, BOOL)), twice))
    run = Run()
    code([True, *[None] * domain.width, run])
    assert run.seen == [0]


def test_next_reads_the_successor_state() -> None:
    domain = ConcreteDomain((DIGIT, DIGIT), steps=True)
    code = evaluate(domain, {}, less(var(1), var(1, next=True)))
    assert code([0, 3, 0, 4, Run()]) is True
    assert code([0, 3, 9, 2, Run()]) is False


def test_nested_binders_keep_apart() -> None:
    """Slots are reused, but never for two binders that are active at the same time."""
    inner = ir.Quantified(False, 1, among(1, 2), ir.Equal(plus(X, 1), plus(Y, 2)))
    both = ir.And(
        (ir.Quantified(True, 0, among(2, 3), inner), ir.Let(BOOL, 2, TRUE, local(2, BOOL)))
    )
    assert evaluate_constant(both) is True
    table = ir.BuildMap(Map(Int(0, 1), Map(Int(0, 1), DIGIT)), 3, ir.BuildMap(
        Map(Int(0, 1), DIGIT), 4, ir.Conditional(DIGIT, less(local(3), local(4)), lit(7), local(3))
    ))  # fmt: skip
    assert evaluate_constant(table) == ((0, 7), (1, 1))


def test_an_undefined_operation_after_a_false_condition_is_not_evaluated() -> None:
    outside = ir.At(DIGIT, lit((), Seq(DIGIT, 1)), lit(3))
    with pytest.raises(EvaluationError):
        evaluate_constant(ir.Demand(DIGIT, FALSE, 0, outside))
    guarded = ir.Conditional(DIGIT, less(var(0), lit(1)), outside, lit(4))
    domain = ConcreteDomain((DIGIT,))
    assert evaluate(domain, {}, guarded)([5, Run()]) == 4
