"""What a condition tells about the tags of union values, when it holds and when it does not."""

from __future__ import annotations

from collections.abc import Mapping

from fencepost.spec import ir
from fencepost.spec.types import Union

Facts = Mapping[ir.Expr, frozenset[int]]


def when(condition: ir.Expr, holds: bool) -> Facts:
    """The tags that union values can have where ``condition`` holds (or does not)."""
    match condition:
        case ir.HasTag(union, tag):
            assert isinstance(union.type, Union)
            if holds:
                return {union: frozenset([tag])}
            return {union: frozenset(range(len(union.type.variants))) - {tag}}
        case ir.Not(operand):
            return when(operand, not holds)
        case ir.Witness(body=body):
            return when(body, holds)
        case ir.And(parts):
            return _all(parts, True) if holds else _some(parts, False)
        case ir.Or(parts):
            return _some(parts, True) if holds else _all(parts, False)
        case _:
            return {}


def _all(parts: tuple[ir.Expr, ...], holds: bool) -> Facts:
    """Every part holds (or none does): what any of them tells."""
    known: dict[ir.Expr, frozenset[int]] = {}
    for part in parts:
        for expr, tags in when(part, holds).items():
            known[expr] = known[expr] & tags if expr in known else tags
    return known


def _some(parts: tuple[ir.Expr, ...], holds: bool) -> Facts:
    """Some part holds (or some does not): what all of them tell."""
    each = [when(part, holds) for part in parts]
    shared = set(each[0]).intersection(*each[1:]) if each else set[ir.Expr]()
    return {expr: frozenset[int]().union(*(facts[expr] for facts in each)) for expr in shared}


def mentions(expr: ir.Expr, variable: int) -> bool:
    """Whether a fact about ``expr`` (a path into a variable or local) concerns ``variable``."""
    match expr:
        case ir.Variable(index=index):
            return index == variable
        case ir.Local():
            return False
        case ir.GetField(record=inner) | ir.Payload(union=inner) | ir.Content(option=inner):
            return mentions(inner, variable)
        case _:
            # Anything more involved is given up when a variable changes.
            return True
