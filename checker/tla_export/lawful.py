"""Removes failing steps from a model: a step that would fail, or violate an assertion, becomes
impossible.

Steps of a refined module have this meaning. Otherwise TLC would stop at the `Assert` of a failure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar, assert_never, cast

from fencepost.checker.tla_export.values import NotExported
from fencepost.spec.core import ir, types
from fencepost.spec.core.traverse import may_fail, operands, rebuilt

T = TypeVar("T")

TRUE = ir.Literal(ir.BOOL, True)
NO_GUARD = 0
"""The number of a guard that is never reported."""


def without_failures(model: ir.Model) -> ir.Model:
    """Returns the model without failing steps. Raises `NotExported` if an expression in a
    comprehension may fail.
    """
    return replace(
        model,
        initial=_lawful(model.initial),
        actions=tuple(replace(action, body=_lawful(action.body)) for action in model.actions),
    )


# ---------------------------------------------------------------- statements


def _lawful(part: ir.Statement) -> ir.Statement:
    match part:
        case ir.Sequence(statements=statements):
            return replace(part, statements=tuple(map(_lawful, statements)))
        case ir.Require(condition=asked):
            return replace(part, condition=_all(_affirmed(asked)))
        case ir.Assert(condition=asked) | ir.Ensure(condition=asked):
            return ir.Require(_all(_affirmed(asked)), NO_GUARD, span=part.span)
        case ir.Assign(path=path, value=value):
            keys = [step.key for step in path if isinstance(step, ir.KeyStep)]
            indexes = [step.index for step in path if isinstance(step, ir.IndexStep)]
            return _behind([*keys, *indexes, value], _plain(part))
        case ir.Bind(value=value, body=body):
            return _behind([value], replace(part, value=_plain(value), body=_lawful(body)))
        case ir.Pick(domain=domain, condition=asked, body=body):
            selection = None if asked is None else _all(_affirmed(asked))
            pick = replace(part, domain=_plain(domain), condition=selection, body=_lawful(body))
            return _behind([domain], pick)
        case ir.If(condition=asked, then=then, otherwise=otherwise):
            arms = _lawful(then), _lawful(otherwise)
            return _behind([asked], ir.If(_plain(asked), *arms, span=part.span))
        case ir.ForEach(domain=domain, body=body):
            return _behind([domain], replace(part, domain=_plain(domain), body=_lawful(body)))
        case ir.Block(body=body):
            return replace(part, body=_lawful(body))
        case ir.Leave() | ir.Mark():
            return part
        case _:
            assert_never(part)


def _behind(values: Iterable[ir.Expr], part: ir.Statement) -> ir.Statement:
    """Returns a statement that first requires some expressions to have values."""
    asked = _all([has_value(value) for value in values])
    return part if asked == TRUE else ir.Sequence((ir.Require(asked, NO_GUARD), part))


# ---------------------------------------------------------------- expressions


def _affirmed(asked: ir.Expr, holding: tuple[ir.Expr, ...] = ()) -> list[ir.Expr]:
    """Returns the conditions, in order, under which ``asked`` has a value and is true. The
    conditions in ``holding`` may be assumed.
    """
    match asked:
        case ir.And(parts=parts):
            conditions: list[ir.Expr] = []
            for part in parts:
                conditions += _affirmed(part, (*holding, *conditions))
            return conditions
        case ir.Quantified(every=True, domain=domain, body=body) if may_fail(body):
            inside = _all(_affirmed(body, holding))
            return [has_value(domain, holding), replace(asked, domain=_plain(domain), body=inside)]
        case _:
            return [has_value(asked, holding), _plain(asked)]


def has_value(expr: ir.Expr, holding: tuple[ir.Expr, ...] = ()) -> ir.Expr:
    """Returns the condition under which an expression has a value. This condition is always
    defined. The conditions in ``holding`` may be assumed. Raises `NotExported`.
    """
    if not may_fail(expr):
        return TRUE
    match expr:
        case ir.Demand(condition=condition, body=body):
            asked = has_value(condition, holding)
            plain = _plain(condition)
            own = TRUE if plain in holding else plain
            return _all([asked, own, has_value(body, (*holding, plain))])
        case ir.And(parts=parts) | ir.Or(parts=parts):
            every = isinstance(expr, ir.And)
            onward = [operand if every else _opposite(operand) for operand in map(_plain, parts)]
            behind: ir.Expr = TRUE
            for number, part in reversed(list(enumerate(parts))):
                here = has_value(part, (*holding, *onward[:number]))
                behind = _all([here, _if(onward[number], behind)])
            return behind
        case ir.Conditional(condition=condition, then=then, otherwise=otherwise):
            asked = _plain(condition)
            other = _opposite(asked)
            return _all([
                has_value(condition, holding),
                _if(asked, has_value(then, (*holding, asked))),
                _if(other, has_value(otherwise, (*holding, other))),
            ])  # fmt: skip
        case ir.Let(slot=slot, value=value, body=body):
            inside = has_value(body, holding)
            if inside != TRUE:
                inside = ir.Let(ir.BOOL, slot, _plain(value), inside)
            return _all([has_value(value, holding), inside])
        case ir.BuildMap(kind, slot=slot, body=body):
            assert isinstance(kind, types.Map)
            keys = ir.Universe(types.Set(kind.key))
            return ir.Quantified(True, slot, keys, has_value(body, holding))
        case ir.Recursion() | ir.Recall():
            raise NotExported("a refined module with a recursive definition", expr.span)
        case ir.Quantified() | ir.Collect() | ir.Gather() | ir.Fold() | ir.Find():
            over, *others = operands(expr)
            if may_fail(tuple(others)):
                message = "a refined module with an evaluation that may fail inside a comprehension"
                raise NotExported(message, expr.span)
            return has_value(over, holding)
        case _:
            return _all([has_value(part, holding) for part in operands(expr)])


def _plain(part: T) -> T:
    """Returns an expression or statement without its demands."""
    return cast("T", _undemanding(part))


def _undemanding(part: object) -> object:
    if isinstance(part, ir.Demand):
        return _undemanding(part.body)
    return rebuilt(part, _undemanding)


def _opposite(asked: ir.Expr) -> ir.Expr:
    return asked.operand if isinstance(asked, ir.Not) else ir.Not(asked)


def _if(premise: ir.Expr, conclusion: ir.Expr) -> ir.Expr:
    return TRUE if conclusion == TRUE else ir.Or((_opposite(premise), conclusion))


def _all(parts: Iterable[ir.Expr]) -> ir.Expr:
    left = tuple(part for part in parts if part != TRUE)
    if len(left) < 2:
        return left[0] if left else TRUE
    return ir.And(left)
