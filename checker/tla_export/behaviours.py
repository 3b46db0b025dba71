"""Translates the formulas of temporal properties, and fairness, to TLA+.

TLA+ gives them the same meaning, so they are translated directly. Forms that TLC cannot check are
refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import assert_never

from fencepost.checker.temporal.units import (
    MAX_UNITS,
    chosen_type,
    family_choices,
    most_units,
    part_choices,
)
from fencepost.checker.tla_export.collections import elements
from fencepost.checker.tla_export.expressions import expression
from fencepost.checker.tla_export.scope import Scope
from fencepost.checker.tla_export.simplify import call, conjoined, either, implied, opposite
from fencepost.checker.tla_export.tree import TRUE, Expr, Infix, Name, Prefix, Quantified
from fencepost.checker.tla_export.values import NotExported, literal, universe
from fencepost.spec.core import formulas, types
from fencepost.spec.core.formulas import Formula
from fencepost.spec.core.ir import Fairness, Model
from fencepost.spec.core.traverse import variables_read
from fencepost.spec.core.types import has_ghost
from fencepost.spec.text.source import Span

MAX_STRONG = 24
"""Maximum number of strongly fair units. TLC considers two cases for each such unit. If there are
more cases than TLC can count, it treats the property as a tautology.
"""


def defined(source: Formula, predicate: Callable[[int], Expr]) -> Expr:
    """Translates a formula for the right side of a definition; see `formula`."""
    whole = formula(source, predicate)
    # TLC does not accept a variable as a property.
    return Infix("=", whole, TRUE) if isinstance(whole, Name) and whole != TRUE else whole


def formula(source: Formula, predicate: Callable[[int], Expr]) -> Expr:
    """Translates a formula. ``predicate`` translates the predicates in it. Raises `NotExported`."""

    def of(part: Formula) -> Expr:
        return formula(part, predicate)

    match source:
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
            # TLC does not split an equivalence of formulas into parts.
            ways = implied(of(left), of(right)), implied(of(right), of(left))
            return conjoined(ways)
        case formulas.Always(operand):
            return Prefix("[]", of(operand))
        case formulas.Eventually(operand):
            return Prefix("<>", of(operand))
        case formulas.LeadsTo(left, right):
            return Infix("~>", of(left), of(right))
        case formulas.Until():
            raise NotExported("`until`, which TLC does not check", source.span)
        case _:
            assert_never(source)


# ---------------------------------------------------------------- fairness


def refuse_foreign(model: Model, properties: Sequence[int], span: Span | None, still: bool) -> None:
    """Raises `NotExported` for a model whose behaviours would have another meaning in TLA+, or if
    TLC would decide some of the temporal ``properties`` in another way.
    """
    for fairness in model.fairness:
        if any(has_ghost(chosen_type(pick)) for pick in family_choices(model, fairness)):
            raise NotExported("`each` of messages with ghost fields", fairness.span)
        if fairness.each and most_units(model, fairness) > MAX_UNITS:
            raise NotExported(f"`each` with more than {MAX_UNITS:,} units", fairness.span)
    strong = [fairness for fairness in model.fairness if fairness.strong]
    if sum(most_units(model, fairness) for fairness in strong) > MAX_STRONG:
        span = strong[-1].span
        raise NotExported(f"more than {MAX_STRONG} strongly fair units", span)
    if any(prop.kind.bounds_search for prop in model.properties):
        for number in properties:
            prop = model.properties[number]
            if not prop.within:
                reason = f"{prop.title} beyond the constraints: TLC checks it within them only"
                raise NotExported(reason, prop.span)
    if still:
        raise NotExported("claims about behaviours other than step invariants", span)


def owed(
    scope: Scope,
    model: Model,
    fairness: Fairness,
    step: Callable[[int, Sequence[Expr]], Expr],
    counting: str,
) -> Expr:
    """Translates a fairness constraint. ``step`` builds the step of an action with given first
    choices. ``counting`` is the name of the tuple of variables that a step must change to count.
    """
    scope = scope.inner()
    bound: list[tuple[str, Expr]] = []
    for pick in family_choices(model, fairness):
        name = scope.local(pick.slot, "message" if pick.label == "on" else pick.label or "self")
        kind, domain = chosen_type(pick), pick.domain
        # TLC splits a quantifier over a constant set into its cases.
        fixed = isinstance(domain.type, types.Set) and not variables_read(domain)
        bound.append((name, elements(scope, domain) if fixed else universe(kind, scope.names)))
        scope = scope.bound(pick.slot, Name(name))
    family = [Name(name) for name, _ in bound]
    covered = either([
        step(part.action, family or [
            literal(choice.value, choice.type, scope.names) for choice in part_choices(model, part)
        ])
        for part in fairness.members
    ])  # fmt: skip
    if fairness.condition is not None:
        condition = expression(scope, model.properties[fairness.condition].body)
        covered = conjoined([condition, covered])
    operator = f"{'SF' if fairness.strong else 'WF'}_{counting}"
    whole: Expr = call(operator, covered)
    for name, inside in reversed(bound):
        whole = Quantified("\\A", name, inside, whole)
    return whole
