"""Derives facts about the tags of union values from a condition or its negation.

The key of a fact is the expression that reads the value, stripped of its guards (see `reading`). As
a result, two mentions of ``log[i]`` have the same key although each has a guard of its own.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from fencepost.spec.core import ir
from fencepost.spec.core.traverse import operands, with_children
from fencepost.spec.core.types import Union

Facts = Mapping[ir.Expr, frozenset[int]]


def reading(expr: ir.Expr) -> ir.Expr:
    """Strips ``expr`` of the guards and bindings that make it total. Equal values have equal
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
    """Returns the tags that union values can have if ``condition`` is true (``holds``) or false."""
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
    """Combines several sets of facts that all hold."""
    merged: dict[ir.Expr, frozenset[int]] = {}
    for facts in each:
        for expr, tags in facts.items():
            merged[expr] = merged[expr] & tags if expr in merged else tags
    return merged


def _some(each: Sequence[Facts]) -> Facts:
    """Combines alternative sets of facts, at least one of which holds."""
    shared = set(each[0]).intersection(*each[1:]) if each else set[ir.Expr]()
    return {expr: frozenset[int]().union(*(facts[expr] for facts in each)) for expr in shared}


def mentions(expr: ir.Expr, variables: Container[int]) -> bool:
    """Whether a change to one of ``variables`` may invalidate a fact about the reading ``expr``."""
    match expr:
        case ir.Variable(index=index):
            return index in variables
        case ir.Local() | ir.Literal() | ir.Symbol():
            return False
        case ir.GetField() | ir.Payload() | ir.Content() | ir.At() | ir.Get():
            return any(mentions(part, variables) for part in operands(expr))
        case _:
            # Facts about more complicated readings are dropped whenever a variable changes.
            return True
