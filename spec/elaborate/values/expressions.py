"""Checks expressions: dispatches each form of the language to the module that elaborates it."""

from __future__ import annotations

from typing import assert_never

from fencepost.spec.core import ir
from fencepost.spec.core.types import Option, Type, describe
from fencepost.spec.elaborate.base.context import Context
from fencepost.spec.elaborate.base.symbols import Operand
from fencepost.spec.elaborate.types import type_expressions
from fencepost.spec.elaborate.types.bidirectional import open_ended, pair
from fencepost.spec.elaborate.types.narrowing import bound_to
from fencepost.spec.elaborate.values import (
    arithmetic,
    boolean,
    calls,
    collections,
    comparison,
    fields,
    folds,
    formulas,
    matches,
    names,
    tuples,
)
from fencepost.spec.elaborate.values.functions import FUNCTIONS
from fencepost.spec.elaborate.values.patterns import bind
from fencepost.spec.records import replace
from fencepost.spec.syntax import nodes as syntax


class Checker:
    """The implementation of `Typer`."""

    def resolve(self, context: Context, node: syntax.Expr) -> Type | None:
        """Returns the type that ``node`` denotes, or None if a mistake was reported."""
        return type_expressions.resolve(context, node)

    def is_function(self, text: str) -> bool:
        """Returns whether a name is that of a built-in function."""
        return text in FUNCTIONS

    def expression(
        self, context: Context, node: syntax.Expr, expected: Type | None
    ) -> Operand | None:
        """Elaborates an expression. Returns None if a mistake was reported."""
        inside = (
            context.at(replace(context.position, domain=False))
            if context.position.domain
            else context
        )
        context.work.descend(node.span, bool(context.calls))
        operand = _expression(inside, node, expected)
        context.work.ascend()
        if operand is not None and context.work.recorder is not None:
            context.work.recorder.types.append((node, operand.type))
        if operand is None or context.position.domain:
            return operand
        return collections.stored(context, operand, node.span)


def _expression(context: Context, node: syntax.Expr, expected: Type | None) -> Operand | None:
    match node:
        case syntax.Name():
            return names.name(context, node, expected)
        case syntax.Integer(value):
            return arithmetic.literal(context, value, node.span, expected)
        case syntax.Boolean(value):
            return Operand(ir.Literal(boolean.BOOL, value, span=node.span))
        case syntax.Nothing():
            return _none(context, node, expected)
        case syntax.Unary():
            return _unary(context, node, expected)
        case syntax.Binary():
            return _binary(context, node, expected)
        case syntax.Is():
            return comparison.is_test(context.inner(), node)
        case syntax.Conditional():
            return boolean.conditional(context, node, expected)
        case syntax.Quantifier():
            return collections.quantifier(context, node)
        case syntax.Conjunction(lines):
            # Each line may contain an outermost implication.
            return boolean.conjunction(context, lines, node.span)
        case syntax.Choose():
            return collections.choice(context, node)
        case syntax.LetIn():
            return _let_in(context, node, expected)
        case syntax.MatchValue():
            return matches.match_value(context, node, expected)
        case syntax.Collection():
            return collections.literal_collection(context, node, expected)
        case syntax.Tuple():
            return tuples.value(context, node, expected)
        case syntax.Map():
            return collections.literal_map(context, node, expected)
        case syntax.Comprehension():
            return collections.comprehension(context, node, expected)
        case syntax.Fold():
            return folds.fold(context, node, expected)
        case syntax.Call():
            return calls.call(context, node, expected)
        case syntax.Index():
            return names.index(context, node)
        case syntax.Part():
            return fields.part_of(context, node)
        case syntax.Attribute():
            return names.attribute(context, node)
        case syntax.Unwrap():
            return fields.unwrapped(context, node)
        case syntax.With():
            return fields.with_fields(context, node)
        case syntax.Range():
            return _range(context.inner(), node)
        case syntax.Optional():
            return collections.universe(context, type_expressions.resolve(context, node), node.span)
        case syntax.UnaryTemporal() | syntax.BinaryTemporal():
            return formulas.misplaced(context, node)
        case syntax.Anything():
            message = "`...` is allowed in the steps of a scenario only"
            return context.report("F849", node.span, message)
        case _:
            assert_never(node)


def _none(context: Context, node: syntax.Nothing, expected: Type | None) -> Operand | None:
    if isinstance(expected, Option):
        return Operand(ir.Literal(expected, (), span=node.span))
    message = (
        "the type of this none cannot be inferred here; write it where it is stored or compared: "
        "x = none, x == none"
    )
    if expected is not None:
        message = f"none is a value of options only, but {describe(expected)} is required here"
    return context.report("F307", node.span, message)


def _unary(context: Context, node: syntax.Unary, expected: Type | None) -> Operand | None:
    inner = context.inner()
    if node.operator == "not":
        return boolean.negation(inner, node)
    if isinstance(node.operand, syntax.Integer):
        # The literal and its sign are elaborated together: the minimum of a machine integer type
        # has no positive counterpart in that type.
        return arithmetic.literal(inner, -node.operand.value, node.span, expected)
    operand = inner.expression(node.operand, expected)
    return operand and arithmetic.negated(inner, operand, node.span)


def _binary(context: Context, node: syntax.Binary, expected: Type | None) -> Operand | None:
    inner = context.inner()
    match node.operator:
        case "and":
            return boolean.conjunction(inner, boolean.chain(node), node.span)
        case "or":
            return boolean.disjunction(inner, boolean.chain(node), node.span)
        case "implies":
            return boolean.implication(context, node)
        case "iff":
            return boolean.equivalence(inner, node)
        case "==" | "!=":
            return comparison.equality(inner, node)
        case "<" | "<=" | ">" | ">=":
            return comparison.order(inner, node)
        case "in" | "not in":
            return comparison.membership(inner, node)
        case operator:
            left, right = pair(inner, node.left, node.right, expected)
            if left is None or right is None:
                return None
            return arithmetic.combined(inner, operator, left, right, node.span)


def _let_in(context: Context, node: syntax.LetIn, expected: Type | None) -> Operand | None:
    """Elaborates ``let x = e: body``. The value is evaluated once, before the body, even if the
    body does not use it.
    """
    value = context.inner().expression(node.value)
    if value is None:
        if not open_ended(context, node.body):
            bind(context, node.target, None).expression(node.body, expected)
        return None
    expr = value.expr
    if isinstance(expr, ir.Literal | ir.Local | ir.Variable):
        # Nothing changes while an expression is evaluated, so the name can be an alias.
        return bind(context, node.target, value).expression(node.body, expected)
    local = ir.Local(expr.type, context.work.slot(), span=node.target.span)
    inner = bound_to(bind(context, node.target, Operand(local, value.ghost)), local, expr)
    body = inner.expression(node.body, expected)
    if body is None:
        return None
    let = ir.Let(body.type, local.slot, expr, body.expr, span=node.span)
    return Operand(let, body.ghost)


def _range(context: Context, node: syntax.Range) -> Operand | None:
    low, high = context.expression(node.low), context.expression(node.high)
    if low is None or high is None:
        return None
    return arithmetic.interval(context, low, high, node.span)
