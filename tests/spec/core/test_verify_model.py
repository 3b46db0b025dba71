"""Well-formed IR: models that are refused, and the values of a type."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.core_builders import (
    BOOL,
    COLOUR,
    DIGIT,
    DIGITS,
    FALSE,
    LINE,
    PAIR,
    SHAPE,
    SKIP,
    TRUE,
    among,
    do,
    lit,
    local,
    model,
    pick,
    put,
    var,
)  # fmt: skip

from fencepost.spec.core import ir
from fencepost.spec.core.operators import Operator
from fencepost.spec.core.types import (
    Bag,
    Int,
    Machine,
    Map,
    Option,
    Seq,
    Set,
    Type,
    Value,
    is_value,
    values,
)
from fencepost.spec.core.verify_model import problems

GOOD = model(put(0, lit(0)), [put(0, lit(1))], [("invariant", TRUE)], marks=["branch"])
START = put(0, lit(0))
HUGE = Int(0, 2**63)


def with_action(body: ir.Statement) -> ir.Model:
    return replace(GOOD, actions=(replace(GOOD.actions[0], body=body),))


def with_initial(body: ir.Statement) -> ir.Model:
    return replace(GOOD, initial=body)


def with_expression(expr: ir.Expr) -> ir.Model:
    return with_action(ir.Bind(9, expr, SKIP))


BAD: list[tuple[ir.Model, str]] = [
    (with_expression(ir.Literal(Set(Int(0, 256)), ())), "has no capacity"),
    (with_initial(SKIP), "v0 is not assigned"),
    (with_initial(ir.If(TRUE, START, SKIP)), "v0 is not assigned"),
    (with_initial(ir.ForEach(0, among(1), START)), "v0 is not assigned"),
    (with_initial(ir.Block(0, do(ir.If(TRUE, ir.Leave(0), SKIP), START))), "v0 is not assigned"),
    (with_initial(do(put(0, var(0)), START)), "variable 0 has no value yet"),
    (with_action(put(1, lit(0))), "no variable 1"),
    (with_action(put(0, TRUE)), "is wanted"),
    (with_action(put(0, lit(10, Int(0, 10)))), "is wanted"),
    (with_action(put(0, lit(1), ir.FieldStep(0))), "leads into"),
    (with_action(pick(0, lit(1), SKIP)), "is not a collection"),
    (with_action(ir.Pick(0, among(1), None, 5, "x", SKIP)), "no guard 5"),
    (with_action(ir.Require(lit(1), 0)), "is not a condition"),
    (with_action(ir.Require(TRUE, 3)), "no guard 3"),
    (with_action(ir.Assert(TRUE, 3)), "no site 3"),
    (with_action(ir.Mark(1)), "no mark 1"),
    (with_action(ir.Leave(0)), "no block 0 around a leave"),
    (with_action(do(ir.Block(0, SKIP), ir.Leave(0))), "no block 0 around a leave"),
    (with_action(do(ir.Block(0, SKIP), ir.Block(0, SKIP))), "two blocks have label 0"),
    (with_action(ir.Block(4, SKIP)), "no label 4"),
    (with_action(do(ir.Bind(0, TRUE, SKIP), ir.Bind(0, TRUE, SKIP))), "slot 0 is bound twice"),
    (with_action(ir.Bind(99, TRUE, SKIP)), "no slot 99"),
    (with_expression(local(0)), "slot 0 is not bound"),
    (with_expression(ir.Let(DIGIT, 0, TRUE, local(0))), "slot 0 as a Int"),
    (with_expression(lit(10)), "10 is not a value of"),
    (with_expression(var(0, BOOL)), "variable 0 as a Bool"),
    (with_expression(var(0, next=True)), "next outside a step invariant"),
    (with_expression(ir.Enabled(0)), "enabled outside a property"),
    (with_expression(ir.Enabled(0, (lit(1),))), "has fewer choices"),
    (with_expression(ir.Conditional(DIGIT, TRUE, lit(1), FALSE)), "is wanted"),
    (with_expression(ir.Equal(lit(1), TRUE)), "beside"),
    (with_expression(ir.Less(lit(1), lit(1, Machine(8)))), "beside"),
    (
        with_expression(ir.Arithmetic(DIGIT, Operator.ADD, lit(1), lit(1))),
        "Int(low=0, high=18) where Int(low=0, high=9) is wanted",
    ),
    (with_expression(ir.Arithmetic(BOOL, Operator.ADD, lit(1), lit(1))), "beside"),
    (with_expression(lit(1, HUGE)), "exceeds 64 bits"),
    (with_expression(ir.Fits(lit(1), BOOL)), "is never a"),
    (with_expression(ir.MakeRecord(PAIR, (lit(1),))), "wrong number of fields"),
    (with_expression(ir.MakeVariant(SHAPE, 2, ())), "wrong number of fields"),
    (with_expression(ir.GetField(BOOL, lit((1, True), PAIR), 2)), "no field 2"),
    (with_expression(ir.Payload(DIGIT, lit((0,), SHAPE), 0, 0)), "no field 0"),
    (with_expression(ir.HasTag(lit((0,), SHAPE), 2)), "no variant 2"),
    (with_expression(ir.Content(BOOL, lit((), Option(DIGIT)))), "beside"),
    (with_expression(ir.Build(DIGITS, (TRUE,))), "is wanted"),
    (with_expression(ir.Remove(LINE, lit((), LINE), lit(1))), "loses positions only"),
    (with_expression(ir.Contains(among(), TRUE)), "beside"),
    (with_expression(ir.At(DIGIT, among(1), lit(0))), "a position of no sequence"),
    (with_expression(ir.Get(DIGIT, lit((1, 1), Map(BOOL, DIGIT)), lit(0))), "is wanted"),
    (with_expression(ir.Universe(Set(DIGIT, 2))), "has not all elements"),
    (with_expression(ir.Quantified(True, 0, lit(1), TRUE)), "is not a collection"),
    (replace(GOOD, assumptions=(ir.Assumption(var(0), GOOD.properties[0].span),)), "no value yet"),
]


@pytest.mark.parametrize(("broken", "problem"), BAD)
def test_refused(broken: ir.Model, problem: str) -> None:
    assert any(problem in message for message in problems(broken)), problems(broken)


def test_the_good_model_is_good() -> None:
    assert problems(GOOD) == []


KINDS: list[Type] = [
    BOOL, DIGIT, Machine(3), COLOUR, PAIR, SHAPE, Option(BOOL), Set(BOOL), Set(DIGIT, 1),
    Seq(BOOL, 2), Bag(BOOL, 2), Map(BOOL, COLOUR),
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_value_of_a_type_is_one(kind: Type) -> None:
    assert all(is_value(value, kind) for value in values(kind))


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (1, BOOL), (True, DIGIT), (10, DIGIT), (-129, Machine(8)), (3, COLOUR), (False, COLOUR),
        ((1,), PAIR), ((True, 1), PAIR), ((2,), SHAPE), ((1, 1), SHAPE), ((), SHAPE), (1, SHAPE),
        ((1, 2), Option(DIGIT)), ((2, 1), DIGITS), ((1, 1), DIGITS), ((1, 2), Set(DIGIT, 1)),
        ((1, 2, 3), Seq(DIGIT, 2)), ((2, 1), Bag(DIGIT, 2)), ((1,), Map(BOOL, DIGIT)),
    ],
)  # fmt: skip
def test_values_of_other_types(value: Value, kind: Type) -> None:
    assert not is_value(value, kind)
