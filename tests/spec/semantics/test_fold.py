"""The meaning of every node on the concrete domain, with one table per family of nodes."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, get_args

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
    less,
    lit,
    local,
    put,
    var,
)  # fmt: skip

from fencepost.spec.core import ir
from fencepost.spec.core.ir import SetOperator
from fencepost.spec.core.operators import Operator
from fencepost.spec.core.types import Bag, Int, Machine, Map, Option, Seq, Set, State, Type, Value
from fencepost.spec.semantics.choice_points import AssertionFailed, EvaluationError, Run
from fencepost.spec.semantics.concrete import DISABLED, ConcreteDomain, evaluate_constant
from fencepost.spec.semantics.fold import evaluate, execute

I8 = Machine(8)
ANY = Int(-1000, 1000)
MAYBE = Option(DIGIT)
HEAP = Bag(DIGIT, 4)
BOOLS = Map(BOOL, DIGIT)
FIRES = ir.Demand(BOOL, FALSE, 7, TRUE)
"""An expression that must not be evaluated."""


def quantified(every: bool, domain: ir.Expr, body: ir.Expr) -> ir.Quantified:
    return ir.Quantified(every, 0, domain, body)


def arith(operator: Operator, left: int, right: int, kind: Type = ANY) -> ir.Arithmetic:
    return ir.Arithmetic(kind, operator, lit(left, kind), lit(right, kind))


def at(index: int) -> ir.At:
    return ir.At(DIGIT, lit((5, 6), LINE), lit(index))


X = local(0)
PRODUCT = ir.Arithmetic(ANY, Operator.MULTIPLY, X, X)
SO_FAR = local(1, ANY)
NEXT = ir.Arithmetic(ANY, Operator.ADD, ir.Arithmetic(ANY, Operator.MULTIPLY, SO_FAR, lit(10)), X)
"""The digits so far, followed by X."""
COUNTED_DOWN = ir.Conditional(
    ANY,
    less(X, lit(2)),
    SO_FAR,
    ir.Recall(ANY, (0, 1), (ir.Arithmetic(DIGIT, Operator.SUBTRACT, X, lit(1)), NEXT)),
)
"""The body of a recursion that appends the digits from X down to 2."""
TRUTH: list[tuple[ir.Expr, Value]] = [
    (lit(3), 3),
    (ir.Let(DIGIT, 0, lit(3), X), 3),
    (ir.Let(BOOL, 0, lit(3), ir.Let(BOOL, 1, lit(4), less(X, local(1)))), True),
    (ir.Demand(DIGIT, TRUE, 0, lit(3)), 3),
    (ir.Not(TRUE), False),
    (ir.Not(FALSE), True),
    (ir.And(()), True),
    (ir.Or(()), False),
    (ir.And((TRUE, TRUE)), True),
    (ir.And((TRUE, FALSE, FIRES)), False),
    (ir.Or((FALSE, FALSE)), False),
    (ir.Or((FALSE, TRUE, FIRES)), True),
    (ir.Conditional(BOOL, TRUE, TRUE, FIRES), True),
    (ir.Conditional(BOOL, FALSE, FIRES, FALSE), False),
]
NUMBERS: list[tuple[ir.Expr, Value]] = [
    (arith(Operator.ADD, 3, 4), 7),
    (arith(Operator.SUBTRACT, 3, 4), -1),
    (arith(Operator.MULTIPLY, 3, -4), -12),
    *((arith(Operator.DIVIDE, a, b), a // b) for a in (-7, 7) for b in (-2, 2)),
    *((arith(Operator.REMAINDER, a, b), a % b) for a in (-7, 7) for b in (-2, 2)),
    (arith(Operator.DIVIDE, -7, 2), -4),
    (arith(Operator.REMAINDER, 7, -2), -1),
    (arith(Operator.ADD, 127, 1, I8), -128),
    (arith(Operator.SUBTRACT, -128, 1, I8), 127),
    (arith(Operator.MULTIPLY, 16, 16, I8), 0),
    (arith(Operator.MULTIPLY, 127, 127, I8), 1),
    (arith(Operator.DIVIDE, -128, -1, I8), -128),
    (arith(Operator.DIVIDE, -127, 2, I8), -64),
    (arith(Operator.REMAINDER, -127, 2, I8), 1),
    (arith(Operator.ADD, 2**63 - 1, 1, Machine(64)), -(2**63)),
    (ir.Negate(ANY, lit(5)), -5),
    (ir.Negate(I8, lit(-128, I8)), -128),
    (ir.Equal(lit(3), lit(3, ANY)), True),
    (ir.Equal(lit((1, 2), LINE), lit((2, 1), LINE)), False),
    (less(lit(3), lit(3)), False),
    (ir.Less(lit(3), lit(3), or_equal=True), True),
    (less(lit((), MAYBE), lit((0,), MAYBE)), True),
    (less(lit(False, BOOL), lit(True, BOOL)), True),
    (less(lit(2, COLOUR), lit(0, COLOUR)), False),
    (less(lit((1, 5), LINE), lit((1, 5, 0), LINE)), True),
    (less(lit((0,), SHAPE), lit((1, 0, 0), SHAPE)), True),
    (ir.Convert(I8, lit(100, ANY)), 100),
]
FITS: list[tuple[Value, Type, Type, bool]] = [
    (5, ANY, DIGIT, True),
    (10, ANY, DIGIT, False),
    (-1, ANY, DIGIT, False),
    (5, DIGIT, ANY, True),
    (200, ANY, I8, False),
    (-128, Machine(16), I8, True),
    ((), Option(ANY), MAYBE, True),
    ((9,), Option(ANY), MAYBE, True),
    ((10,), Option(ANY), MAYBE, False),
    ((1, 2), Seq(DIGIT, 5), Seq(DIGIT, 2), True),
    ((1, 2, 3), Seq(DIGIT, 5), Seq(DIGIT, 2), False),
    ((1, 20), Seq(ANY, 2), Seq(DIGIT, 2), False),
    ((1, 20), Seq(ANY, 5), Seq(DIGIT, 2), False),
    ((1, 2), Seq(ANY, 5), Seq(DIGIT, 2), True),
    ((1, 2, 3), Seq(ANY, 5), Seq(DIGIT, 2), False),
    ((1, 2, 3), DIGITS, Set(DIGIT, 2), False),
    ((1, 2), DIGITS, Set(DIGIT, 2), True),
    ((1, 12), Set(Int(0, 12)), DIGITS, False),
    ((1, 2), Bag(DIGIT, 3), Bag(DIGIT, 2), True),
    ((1, 50), Map(BOOL, ANY), BOOLS, False),
    ((1, 5), Map(BOOL, ANY), BOOLS, True),
    ((((7,),), ((77,),)), Map(BOOL, Seq(Option(ANY), 2)), Map(BOOL, Seq(MAYBE, 2)), False),
]
STRUCTURES: list[tuple[ir.Expr, Value]] = [
    (ir.MakeRecord(PAIR, (lit(3), TRUE)), (3, True)),
    (ir.GetField(BOOL, lit((3, True), PAIR), 1), True),
    (ir.WithField(PAIR, lit((3, True), PAIR), 0, lit(4)), (4, True)),
    (ir.MakeVariant(SHAPE, 0, ()), (0,)),
    (ir.MakeVariant(SHAPE, 1, (lit(3), lit(4))), (1, 3, 4)),
    (ir.HasTag(lit((1, 3, 4), SHAPE), 1), True),
    (ir.HasTag(lit((0,), SHAPE), 1), False),
    (ir.Payload(DIGIT, lit((1, 3, 4), SHAPE), 1, 1), 4),
    (ir.Some(MAYBE, lit(3)), (3,)),
    (ir.IsSome(lit((0,), MAYBE)), True),
    (ir.IsSome(lit((), MAYBE)), False),
    (ir.Content(DIGIT, lit((3,), MAYBE)), 3),
]
COLLECTIONS: list[tuple[ir.Expr, Value]] = [
    (ir.Universe(Set(BOOL)), (False, True)),
    (ir.Interval(DIGITS, lit(2), lit(4)), (2, 3, 4)),
    (ir.Interval(DIGITS, lit(4), lit(2)), ()),
    (ir.Size(Int(0, 8), ir.Subsets(Set(DIGITS), among(1, 3, 5))), 8),
    (ir.Contains(ir.Subsets(Set(DIGITS), among(1, 3, 5)), among(1, 5)), True),
    (ir.Contains(ir.Subsets(Set(DIGITS), among(1, 3, 5)), among(1, 4)), False),
    (ir.Build(DIGITS, (lit(3), lit(1), lit(3))), (1, 3)),
    (ir.Build(HEAP, (lit(3), lit(1), lit(3))), (1, 3, 3)),
    (ir.Build(LINE, (lit(3), lit(1), lit(3))), (3, 1, 3)),
    (ir.Add(DIGITS, among(1, 3), lit(2)), (1, 2, 3)),
    (ir.Add(DIGITS, among(1, 3), lit(3)), (1, 3)),
    (ir.Add(HEAP, lit((1, 3), HEAP), lit(1)), (1, 1, 3)),
    (ir.Add(LINE, lit((3,), LINE), lit(1)), (3, 1)),
    (ir.Remove(DIGITS, among(1, 3), lit(3)), (1,)),
    (ir.Remove(DIGITS, among(1, 3), lit(2)), (1, 3)),
    (ir.Remove(HEAP, lit((1, 1), HEAP), lit(1)), (1,)),
    (ir.InsertAt(LINE, lit((5, 6), LINE), lit(1), lit(9)), (5, 9, 6)),
    (ir.InsertAt(LINE, lit((5, 6), LINE), lit(2), lit(9)), (5, 6, 9)),
    (ir.RemoveAt(LINE, lit((5, 6, 7), LINE), lit(1)), (5, 7)),
    (ir.Contains(among(1, 3), lit(3)), True),
    (ir.Contains(lit((1, 3), LINE), lit(2)), False),
    (ir.Contains(ir.Universe(Set(Int(0, 99))), lit(50)), True),
    (ir.Size(DIGIT, lit((1, 1), HEAP)), 2),
    (ir.SetAlgebra(DIGITS, SetOperator.UNION, among(1, 3), among(2, 3)), (1, 2, 3)),
    (ir.SetAlgebra(DIGITS, SetOperator.INTERSECTION, among(1, 3), among(2, 3)), (3,)),
    (ir.SetAlgebra(DIGITS, SetOperator.DIFFERENCE, among(1, 3), among(2, 3)), (1,)),
    (at(1), 6),
    (ir.Get(DIGIT, lit((5, 6), BOOLS), TRUE), 6),
    (ir.Get(DIGIT, lit((5, 6), Map(Int(3, 4), DIGIT)), lit(4)), 6),
    (ir.Get(DIGIT, lit((5, 6, 7, 8), Map(Set(BOOL), DIGIT)), lit((True,), Set(BOOL))), 8),
    (ir.BuildMap(Map(Int(1, 3), ANY), 0, PRODUCT), (1, 4, 9)),
    (ir.Sum(ANY, lit((2, 2, 3), HEAP)), 7),
    (ir.Sum(ANY, among()), 0),
    (ir.Occurrences(DIGIT, lit((2, 3, 2), LINE), lit(2)), 2),
    (ir.Occurrences(DIGIT, lit((2, 2), HEAP), lit(4)), 0),
]
LOOPS: list[tuple[ir.Expr, Value]] = [
    (quantified(True, among(1, 2), less(X, lit(3))), True),
    (quantified(True, among(1, 3), less(X, lit(3))), False),
    (quantified(True, among(), FALSE), True),
    (quantified(False, among(1, 3), less(X, lit(2))), True),
    (quantified(False, among(), TRUE), False),
    # Elements after the one that decides are not evaluated.
    (quantified(False, among(1, 2), ir.Demand(BOOL, less(X, lit(2)), 0, TRUE)), True),
    (quantified(True, among(1, 2), ir.Demand(BOOL, less(X, lit(2)), 0, FALSE)), False),
    (ir.Collect(Set(ANY), 0, among(1, 2, 3), less(X, lit(3)), PRODUCT), (1, 4)),
    (ir.Collect(Set(BOOL), 0, among(1, 2, 3), None, less(X, lit(3))), (False, True)),
    (ir.Collect(Seq(ANY, 4), 0, lit((3, 1, 3), LINE), None, PRODUCT), (9, 1, 9)),
    (ir.Collect(Bag(ANY, 4), 0, lit((3, 1, 3), LINE), None, PRODUCT), (1, 9, 9)),
    (ir.Gather(Set(ANY), 0, among(1, 2), ir.Build(Set(ANY), (X, PRODUCT))), (1, 2, 4)),
    (ir.Gather(Seq(ANY, 4), 0, among(1, 2), ir.Build(Seq(ANY, 2), (PRODUCT, X))), (1, 1, 4, 2)),
    (ir.Gather(Bag(ANY, 4), 0, among(2, 1), ir.Build(Bag(ANY, 2), (PRODUCT, X))), (1, 1, 2, 4)),
    (ir.Gather(Seq(ANY, 4), 0, among(), ir.Build(Seq(ANY, 2), (X,))), ()),
    (
        ir.Gather(
            Seq(ANY, 4),
            0,
            among(1, 3),
            ir.Collect(Seq(ANY, 2), 1, among(2, 4), less(X, local(1)), local(1)),
        ),
        (2, 4, 4),
    ),
    (ir.Fold(ANY, 0, 1, among(1, 3), lit(2, ANY), NEXT), 213),
    (ir.Fold(ANY, 0, 1, lit((1, 1, 3), HEAP), lit(2, ANY), NEXT), 2113),
    (ir.Fold(ANY, 0, 1, lit((3, 1), LINE), lit(2, ANY), NEXT), 231),
    (ir.Fold(ANY, 0, 1, among(), lit(2, ANY), NEXT), 2),
    (ir.Recursion(ANY, (0, 1), (lit(4), lit(0, ANY)), 5, COUNTED_DOWN), 432),
    (ir.Recursion(ANY, (0, 1), (lit(1), lit(7, ANY)), 5, COUNTED_DOWN), 7),
    (ir.Extreme(MAYBE, False, among(4, 7)), (4,)),
    (ir.Extreme(MAYBE, True, among(4, 7)), (7,)),
    (ir.Extreme(MAYBE, False, lit((5, 2, 7), LINE)), (2,)),
    (ir.Extreme(MAYBE, True, lit((5, 9, 7), LINE)), (9,)),
    (ir.Extreme(MAYBE, True, among()), ()),
    (ir.Find(MAYBE, 0, among(1, 4, 5), less(lit(3), X)), (4,)),
    (ir.Find(MAYBE, 0, lit((8, 4, 5), LINE), less(lit(3), X)), (4,)),
    (ir.Find(MAYBE, 0, lit((8, 4, 5), LINE), None), (4,)),
    (ir.Find(MAYBE, 0, among(1, 2), less(lit(3), X)), ()),
    (ir.Find(MAYBE, 0, among(1, 2), ir.Demand(BOOL, less(X, lit(2)), 0, TRUE)), (1,)),
]


@pytest.mark.parametrize(
    ("expr", "value"), [*TRUTH, *NUMBERS, *STRUCTURES, *COLLECTIONS, *LOOPS], ids=str
)
def test_value(expr: ir.Expr, value: Value) -> None:
    result = evaluate_constant(expr)
    assert result == value
    assert isinstance(result, bool) == isinstance(value, bool)


@pytest.mark.parametrize(("value", "source", "target", "fits"), FITS, ids=str)
def test_fits(value: Value, source: Type, target: Type, fits: bool) -> None:
    assert evaluate_constant(ir.Fits(lit(value, source), target)) is fits


@pytest.mark.parametrize(
    ("expr", "value"), [*TRUTH, *NUMBERS, *STRUCTURES, *COLLECTIONS, *LOOPS], ids=str
)
def test_value_in_a_run(expr: ir.Expr, value: Value) -> None:
    """Nodes have the same values if their operands become known only in the run."""
    literals: list[ir.Literal] = []

    def variables(part: Any) -> Any:
        if isinstance(part, ir.Literal):
            literals.append(part)
            return ir.Variable(part.type, len(literals) - 1)
        if isinstance(part, ir.Node):
            return type(part)(**{name: variables(old) for name, old in children(part)})
        if issubclass(type(part), tuple):
            return tuple(variables(item) for item in part)
        return part

    moved = variables(expr)
    assert see(moved, tuple(x.value for x in literals), [x.type for x in literals]) == value


def see(expr: ir.Expr, state: State, kinds: list[Type]) -> Value:
    domain = ConcreteDomain(kinds)
    code = evaluate(domain, {}, expr)
    result: Value = code([*state, *[None] * (domain.width - len(state)), Run()])
    return result


def children(node: ir.Node) -> list[tuple[str, Any]]:
    return [(field.name, getattr(node, field.name)) for field in fields(node)]


def test_every_kind_of_expression_is_in_a_table() -> None:
    seen: set[type] = set()

    def visit(part: Any) -> None:
        if isinstance(part, ir.Node):
            seen.add(type(part))
            for _, child in children(part):
                visit(child)
        elif issubclass(type(part), tuple):
            for item in part:
                visit(item)

    for expr, _ in [*TRUTH, *NUMBERS, *STRUCTURES, *COLLECTIONS, *LOOPS]:
        visit(expr)
    elsewhere = {ir.Symbol, ir.Observe, ir.Variable, ir.Fits, ir.Witness, ir.Enabled}
    assert set(get_args(ir.Expr)) == seen | elsewhere


def test_demand_gives_the_site() -> None:
    with pytest.raises(EvaluationError) as failed:
        evaluate_constant(ir.And((TRUE, FIRES)))
    assert failed.value.site == 7


@pytest.mark.parametrize(
    "expr",
    [
        ir.Equal(ir.Demand(DIGIT, FALSE, 1, lit(1)), ir.Demand(DIGIT, FALSE, 2, lit(1))),
        ir.Contains(ir.Demand(DIGITS, FALSE, 1, among()), ir.Demand(DIGIT, FALSE, 2, lit(1))),
        ir.Occurrences(
            DIGIT, ir.Demand(LINE, FALSE, 1, lit((), LINE)), ir.Demand(DIGIT, FALSE, 2, lit(1))
        ),
        ir.WithField(
            PAIR,
            ir.Demand(PAIR, FALSE, 1, lit((1, True), PAIR)),
            0,
            ir.Demand(DIGIT, FALSE, 2, lit(1)),
        ),
        ir.Let(DIGIT, 0, ir.Demand(DIGIT, FALSE, 1, lit(1)), ir.Demand(DIGIT, FALSE, 2, lit(1))),
        ir.Fits(ir.Demand(DIGIT, FALSE, 1, lit(1)), ANY),
    ],
    ids=str,
)
def test_operands_are_evaluated_from_the_left(expr: ir.Expr) -> None:
    with pytest.raises(EvaluationError) as failed:
        evaluate_constant(expr)
    assert failed.value.site == 1


# ---------------------------------------------------------------- statements

Y = var(0)


def step(statement: ir.Statement, *state: Value, kinds: tuple[Type, ...] = (DIGIT,)) -> Value:
    """Returns the state after a statement, or its signal."""
    domain = ConcreteDomain(kinds)
    code = execute(domain, {}, statement)
    frame: list[Any] = [*state, *[None] * (domain.width - len(state)), Run()]
    signal: int = code(frame)
    return tuple(frame[: len(state)]) if signal == 0 else signal


STATEMENTS: list[tuple[ir.Statement, Value]] = [
    (SKIP, (5,)),
    (put(0, lit(3)), (3,)),
    (do(put(0, lit(3)), put(0, ir.Conditional(DIGIT, less(Y, lit(4)), lit(8), lit(9)))), (8,)),
    (ir.Bind(0, Y, do(put(0, lit(1)), put(0, X))), (5,)),
    (ir.Require(less(Y, lit(6)), 0), (5,)),
    (do(put(0, lit(1)), ir.Require(less(lit(6), Y), 0)), DISABLED),
    (ir.Require(FALSE, 0), DISABLED),
    (ir.If(less(Y, lit(6)), put(0, lit(1)), put(0, lit(2))), (1,)),
    (ir.If(less(lit(6), Y), put(0, lit(1)), put(0, lit(2))), (2,)),
    (ir.If(TRUE, put(0, lit(1)), put(0, lit(2))), (1,)),
    (ir.ForEach(0, among(1, 2), put(0, X)), (2,)),
    (ir.ForEach(0, lit((2, 1, 2, 1), LINE), put(0, X)), (1,)),
    (ir.ForEach(0, among(1, 2), do(put(0, X), ir.Require(less(X, lit(2)), 0))), DISABLED),
    (ir.Block(0, do(put(0, lit(1)), ir.Leave(0), put(0, lit(2)))), (1,)),
    (do(ir.Block(0, ir.Leave(0)), put(0, lit(2))), (2,)),
    (ir.Block(0, do(ir.Block(1, ir.Leave(0)), put(0, lit(2)))), (5,)),
    (
        ir.Block(
            0,
            ir.ForEach(
                0, among(1, 2, 3), do(put(0, X), ir.If(less(lit(1), X), ir.Leave(0), SKIP))
            ),
        ),
        (2,),
    ),
    (do(*[put(0, lit(n)) for n in range(20)][:-10], put(0, lit(7))), (7,)),
    (ir.Assert(less(Y, lit(6)), 0), (5,)),
    (ir.Ensure(less(Y, lit(6)), 0), (5,)),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "result"), STATEMENTS, ids=str)
def test_statement(statement: ir.Statement, result: Value) -> None:
    assert step(statement, 5) == result


def test_failing_statements() -> None:
    with pytest.raises(AssertionFailed) as asserted:
        step(ir.Assert(less(lit(6), Y), 1), 5)
    assert asserted.value.site == 1
    with pytest.raises(EvaluationError) as failed:
        step(ir.Ensure(FALSE, 2), 5)
    assert failed.value.site == 2


TABLE = Map(BOOL, Seq(PAIR, 2))
NESTED: State = (((), ((1, True), (2, False))),)
PATHS: list[tuple[Type, Value, tuple[ir.Step, ...], ir.Expr, Value]] = [
    (PAIR, (1, True), (ir.FieldStep(0),), lit(7), (7, True)),
    (BOOLS, (1, 2), (ir.KeyStep(TRUE),), lit(7), (1, 7)),
    (Map(Int(3, 5), DIGIT), (1, 2, 3), (ir.KeyStep(lit(4)),), lit(7), (1, 7, 3)),
    (LINE, (1, 2, 3), (ir.IndexStep(lit(2)),), lit(7), (1, 2, 7)),
    (
        TABLE,
        NESTED[0],
        (ir.KeyStep(TRUE), ir.IndexStep(lit(1)), ir.FieldStep(0)),
        lit(7),
        ((), ((1, True), (7, False))),
    ),
]


@pytest.mark.parametrize(("kind", "before", "path", "new", "after"), PATHS)
def test_assignment_inside_a_value(
    kind: Type, before: Value, path: tuple[ir.Step, ...], new: ir.Expr, after: Value
) -> None:
    assert step(put(0, new, *path), before, kinds=(kind,)) == (after,)
