"""Translates the initial states to TLA+."""

from __future__ import annotations

from collections import Counter

from fencepost.checker.tla_export.scope import Scope
from fencepost.checker.tla_export.simplify import changed, conjoined, equal, substituted
from fencepost.checker.tla_export.statements import Flow, formula, whole
from fencepost.checker.tla_export.tree import Expr, Infix, Junction, Name, Quantified
from fencepost.spec.core import ir
from fencepost.spec.core.traverse import children, walk


def initial(scope: Scope, statement: ir.Statement) -> Expr:
    """Translates the statement that chooses initial states. Raises `NotExported`."""
    plain = dict(scope.variables)
    assigned_once = frozenset(_assigned_once(statement))

    def end(now: Scope) -> Expr:
        left = [n for n in plain if n not in assigned_once]
        return conjoined([equal(plain[n], whole(now.variables[n])) for n in left])

    translated = formula(scope, statement, Flow(end, {}, assigned_once))
    loops = any(isinstance(node, ir.ForEach) for node in walk(statement))
    return _settled(translated, frozenset(plain.values())) if loops else translated


def _settled(node: Expr, variables: frozenset[Expr]) -> Expr:
    """Makes TLC evaluate functions in initial states that are chosen inside definitions."""
    node = changed(node, lambda part: _settled(part, variables))
    match node:
        case Infix("=", left, right) if left in variables:
            return Infix("=", left, whole(right))
        case _:
            return node


def _assigned_once(statement: ir.Statement) -> list[int]:
    """Returns the variables that are assigned as a whole, in exactly one statement that runs
    once.
    """
    counts: Counter[int] = Counter()
    stack: list[tuple[object, int]] = [(statement, 1)]
    while stack:
        node, weight = stack.pop()
        match node:
            case ir.Assign(variable=variable, path=path):
                counts[variable] += 2 if path else weight
            case ir.If() | ir.ForEach() | ir.Block():
                stack += [(part, 2) for part in children(node)]
            case ir.Sequence() | ir.Bind() | ir.Pick():
                stack += [(part, weight) for part in children(node)]
            case _:
                pass
    return [variable for variable, number in counts.items() if number == 1]


def members(whole: Expr, variables: set[str]) -> Expr:
    r"""Rewrites initial states so that ``x \in S`` replaces ``\E y \in S : x = y``."""
    if isinstance(whole, Junction) and whole.sign == "/\\":
        return conjoined([members(part, variables) for part in whole.parts])
    if not (isinstance(whole, Quantified) and whole.sign == "\\E"):
        return whole
    parts = whole.body.parts if isinstance(whole.body, Junction) else (whole.body,)
    for part in parts:
        match part:
            case Infix("=", Name(variable), Name(bound)) if (
                variable in variables and bound == whole.name
            ):
                rest = conjoined([other for other in parts if other is not part])
                inside = substituted(rest, {bound: Name(variable)})
                chosen = Infix("\\in", Name(variable), whole.domain)
                return conjoined([chosen, members(inside, variables)])
            case _:
                pass
    return whole
