"""Formulas of properties and fairness in TLA+.

TLA+ has the same meaning, so what is written is what it was made from; what TLC cannot check is
refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from fencepost.checker.tla.simplify import conjoined, either, implied, opposite
from fencepost.checker.tla.tree import TRUE, Expr, Infix, Name, Prefix
from fencepost.checker.tla.values import NotExported
from fencepost.spec.core import formulas
from fencepost.spec.core.formulas import Formula
from fencepost.spec.core.ir import Model
from fencepost.spec.core.types import has_ghost
from fencepost.spec.text.source import Span


def defined(made: Formula, predicate: Callable[[int], Expr]) -> Expr:
    """A formula as the right side of a definition; see `formula`."""
    whole = formula(made, predicate)
    # What is defined to be a variable is none of TLC's properties.
    return Infix("=", whole, TRUE) if isinstance(whole, Name) and whole != TRUE else whole


def formula(made: Formula, predicate: Callable[[int], Expr]) -> Expr:
    """A formula; ``predicate`` is what becomes of its predicates. Raises `NotExported`."""

    def of(part: Formula) -> Expr:
        return formula(part, predicate)

    match made:
        case formulas.Holds(number):
            return predicate(number)
        case formulas.Chosen(body=body):
            return of(body)
        case formulas.Not(operand):
            return opposite(of(operand))
        case formulas.And(parts):
            return conjoined([of(part) for part in parts])
        case formulas.Or(parts):
            return either([of(part) for part in parts])
        case formulas.Implies(left, right):
            return implied(of(left), of(right))
        case formulas.Iff(left, right):
            # TLC does not take an equivalence of formulas apart.
            ways = implied(of(left), of(right)), implied(of(right), of(left))
            return conjoined(ways)
        case formulas.Always(operand):
            return Prefix("[]", of(operand))
        case formulas.Eventually(operand):
            return Prefix("<>", of(operand))
        case formulas.LeadsTo(left, right):
            return Infix("~>", of(left), of(right))
        case formulas.Until():
            raise NotExported("`until`, which TLC does not check", made.span)
        case _:
            assert_never(made)


def refuse_foreign(model: Model, span: Span | None, still: bool) -> None:
    """Raises `NotExported` for a model whose fairness TLA+ would not have by `WF` and `SF`."""
    for action in model.actions:
        if action.fairness is not None and action.fairness.each:
            raise NotExported("`each`, with a unit of fairness for each choice", action.span)
    for variable in model.variables:
        if not variable.ghost and has_ghost(variable.type):
            raise NotExported("fairness that leaves ghost fields out of account", variable.span)
    for prop in model.properties:
        if prop.kind.bounds_search:
            raise NotExported("what holds of behaviours within a constraint", prop.span)
    if still:
        raise NotExported("what holds of behaviours beside invariants of steps", span)
