"""Facts about the tags of union values that follow from a condition or its negation.

A fact is stored under the expression that reads the value, without its guards (see `reading`). Two
mentions of ``log[i]`` are then equal although each has a guard of its own.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from fencepost.spec.core import ir
from fencepost.spec.core.traverse import operands, with_children
from fencepost.spec.core.types import Union

Facts = Mapping[ir.Expr, frozenset[int]]


def reading(expr: ir.Expr) -> ir.Expr:
    """``expr`` without the guards and bindings that make it total. Equal values have equal
    readings.
    """
    return _reading(expr, {})


def _reading(expr: ir.Expr, bound: Mapping[int, ir.Expr]) -> ir.Expr:
    match expr:
        case ir.Local(slot=slot):
            return bound.get(slot, expr)
        case ir.Let(slot=slot, value=value, body=body):
            return _reading(body, {**bound, slot: _reading(value, bound)})
        case ir.Demand(body=body):
            return _reading(body, bound)
        case ir.GetField() | ir.Payload() | ir.Content() | ir.At() | ir.Get():
            return with_children(expr, [_reading(part, bound) for part in operands(expr)])
        case ir.Convert(operand=inner):
            return _reading(inner, bound)
        case _:
            return expr


def when(condition: ir.Expr, holds: bool) -> Facts:
    """The tags that union values can have if ``condition`` holds, or if it does not."""
    return _when(condition, holds, {})


def _when(condition: ir.Expr, holds: bool, bound: Mapping[int, ir.Expr]) -> Facts:
    match condition:
        case ir.HasTag(union, tag):
            assert isinstance(union.type, Union)
            every = frozenset(range(len(union.type.variants)))
            tags = frozenset([tag]) if holds else every - {tag}
            return {_reading(union, bound): tags}
        case ir.Not(operand):
            return _when(operand, not holds, bound)
        case ir.Witness(body=body) | ir.Demand(body=body):
            return _when(body, holds, bound)
        case ir.Let(slot=slot, value=value, body=body):
            return _when(body, holds, {**bound, slot: _reading(value, bound)})
        case ir.And(parts):
            each = [_when(part, holds, bound) for part in parts]
            return _every(each) if holds else _some(each)
        case ir.Or(parts):
            each = [_when(part, holds, bound) for part in parts]
            return _some(each) if holds else _every(each)
        case _:
            return {}


def _every(each: Sequence[Facts]) -> Facts:
    """Facts that follow if all of several sets of facts hold."""
    merged: dict[ir.Expr, frozenset[int]] = {}
    for facts in each:
        for expr, tags in facts.items():
            merged[expr] = merged[expr] & tags if expr in merged else tags
    return merged


def _some(each: Sequence[Facts]) -> Facts:
    """Facts that follow if at least one of several sets of facts holds."""
    shared = set(each[0]).intersection(*each[1:]) if each else set[ir.Expr]()
    return {expr: frozenset[int]().union(*(facts[expr] for facts in each)) for expr in shared}


def mentions(expr: ir.Expr, variables: Container[int]) -> bool:
    """Whether a fact about ``expr`` (a reading) may change with one of ``variables``."""
    match expr:
        case ir.Variable(index=index):
            return index in variables
        case ir.Local() | ir.Literal() | ir.Symbol():
            return False
        case ir.GetField() | ir.Payload() | ir.Content() | ir.At() | ir.Get():
            return any(mentions(part, variables) for part in operands(expr))
        case _:
            # A more complicated reading is dropped whenever a variable changes.
            return True
