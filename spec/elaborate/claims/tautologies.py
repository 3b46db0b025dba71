"""Finds invariants that are true for every value of the declared types.

The analysis compares the ranges of types. It does not relate several uses of one variable, so it
does not find every such invariant.
"""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.spec.core import ir
from fencepost.spec.core.traverse import may_fail, variables_read
from fencepost.spec.core.type_relations import within
from fencepost.spec.core.types import Scalar, describe
from fencepost.spec.text.problem import Note, Problem, listing
from fencepost.spec.text.source import Source

MAX_VARIABLES = 3
"""The maximum number of variables whose types a note lists."""


def tautologies(model: ir.Model, source: Source) -> Iterator[Problem]:
    """Yields a note (F423) for each invariant of ``source`` that the types of a model make true.
    The types of a model with assumed ranges say nothing about the spec.
    """
    if model.open_ranges:
        return
    for prop in model.properties:
        if (
            prop.kind.must_hold
            and prop.span.source is source
            and _truth(prop.body)
            and not may_fail(prop.body)
        ):
            read = [model.variables[number] for number in sorted(variables_read(prop.body))]
            types = [f"{item.name} has the type {describe(item.type)}" for item in read]
            notes: tuple[Note, ...] = ((None, listing(types[:MAX_VARIABLES], "and")),)
            message = f"{prop.title} is true for every value of its variables, so it checks nothing"
            yield Problem("F423", prop.span, message, notes if read else (), True, True)


def _truth(expr: ir.Expr) -> bool | None:
    """Returns the truth value of a condition if the types determine it, and None otherwise.

    The truth value of a constant condition is None, because a constant may be a switch that is set
    differently in another check. An antecedent is a `Witness`; coverage reports whether it was ever
    true.
    """
    match expr:
        case ir.Not(operand):
            truth = _truth(operand)
            return None if truth is None else not truth
        case ir.And(parts) | ir.Or(parts):
            decisive = isinstance(expr, ir.Or)
            each = {_truth(part) for part in parts}
            if decisive in each:
                return decisive
            return (not decisive) if None not in each else None
        case ir.Quantified(every=every, body=body):
            # The domain may be empty.
            return every if _truth(body) is every else None
        case ir.Let(body=body):
            return _truth(body)
        case ir.Fits(operand, target):
            return within(operand.type, target) or None
        case ir.Less(left, right, or_equal):
            return _less(left, right, or_equal)
        case ir.Equal(left, right):
            apart = _less(left, right, False) or _less(right, left, False)
            return False if apart else None
        case _:
            return None


def _less(left: ir.Expr, right: ir.Expr, or_equal: bool) -> bool | None:
    first, second = _range(left), _range(right)
    if first is None or second is None:
        return None
    if first[1] < second[0] or (or_equal and first[1] == second[0]):
        return True
    if first[0] > second[1] or (not or_equal and first[0] == second[1]):
        return False
    return None


def _range(expr: ir.Expr) -> tuple[int, int] | None:
    """Returns the least and the greatest value of a scalar expression."""
    match expr:
        case ir.Literal(value=int(value)):
            return value, value
        case ir.Convert(operand=operand):
            return _range(operand)
        case _ if isinstance(expr.type, Scalar):
            return expr.type.low, expr.type.high
        case _:
            return None
