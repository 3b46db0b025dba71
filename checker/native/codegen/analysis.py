"""Analyses the choices of a step: how many there are, and which of them can become loops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from fencepost.spec.core import ir
from fencepost.spec.core.size_limits import most
from fencepost.spec.core.traverse import bodies, rebuilt, statements, walk
from fencepost.spec.core.types import as_collection

MAX_SCRATCH = 1 << 16
MAX_NESTED = 16
"""If a step has at most this many choices, each of them can become a loop."""


def branch_marks(statement: ir.Statement) -> tuple[int, ...]:
    """Returns the coverage marks that count when the step completes, in ascending order."""
    marks = {node.mark for node in statements(statement) if isinstance(node, ir.Mark)}
    return tuple(sorted(marks))


def antecedents(invariant: ir.Expr) -> Iterator[ir.Expr]:
    """Yields the antecedents of an invariant, as in `quiescent implies`, that test whether actions
    are enabled and are defined in every state.
    """
    match invariant:
        case ir.And(parts):
            for part in parts:
                yield from antecedents(part)
        case ir.Or((ir.Not(ir.Witness(body=condition) | condition), *_)):
            inside = [*walk(condition)]
            asks = any(isinstance(node, ir.Enabled) for node in inside)
            tells = any(isinstance(node, ir.Demand | ir.Observe | ir.Witness) for node in inside)
            if asks and not tells:
                yield condition
        case _:
            pass


def unless(invariant: ir.Expr, antecedent: ir.Expr) -> ir.Expr | None:
    """Returns the part of an invariant that remains to be checked if ``antecedent`` is false, or
    None if nothing remains.
    """
    match invariant:
        case ir.And(parts):
            left = tuple(rest for part in parts if (rest := unless(part, antecedent)) is not None)
            return replace(invariant, parts=left) if left else None
        case ir.Or((ir.Not(ir.Witness(body=condition) | condition), *_)) if condition == antecedent:
            return None
        case _:
            return invariant


def nested(statement: ir.Statement) -> ir.Statement:
    """Returns an equivalent statement where the code after each choice is moved into the choice if
    possible.

    Such a choice becomes a loop. Any other choice is an index, and incrementing the index runs all
    of the code again. Each loop keeps a copy of the variables, so the depth of nesting is limited.
    """
    return _nested(statement) if most_picks(statement) <= MAX_NESTED else statement


def _nested(statement: ir.Statement) -> ir.Statement:
    match statement:
        case ir.Sequence(statements):
            for index, part in enumerate(statements):
                if isinstance(part, ir.Pick | ir.Bind) and most_picks(part):
                    rest = statements[index + 1 :]
                    inner = (part.body, *rest) if rest else (part.body,)
                    body = _nested(inner[0] if len(inner) == 1 else ir.Sequence(inner))
                    last = replace(part, body=body)
                    before = tuple(_nested(part) for part in statements[:index])
                    return ir.Sequence((*before, last)) if before else last
                if isinstance(part, ir.Sequence):
                    return _nested(
                        ir.Sequence(
                            (*statements[:index], *part.statements, *statements[index + 1 :])
                        )
                    )
            return ir.Sequence(tuple(_nested(part) for part in statements))
        case _:
            return rebuilt(statement, _nested_part)


def _nested_part(part: object) -> object:
    return _nested(part) if isinstance(part, ir.Statement) else part


def has_inner_pick(statement: ir.Statement, last: bool = True) -> bool:
    """Returns whether some choice is followed by more than its own body.

    Choices at the end (``last``) become loops. This function does not descend into them, since
    their bodies are analysed separately.
    """
    match statement:
        case ir.Pick():
            return not last
        case ir.Sequence(statements):
            return any(
                has_inner_pick(part, last and index == len(statements) - 1)
                for index, part in enumerate(statements)
            )
        case ir.Bind(body=body) | ir.Block(body=body):
            return has_inner_pick(body, last)
        case ir.If(then=then, otherwise=otherwise):
            return has_inner_pick(then, last) or has_inner_pick(otherwise, last)
        case ir.ForEach(body=body):
            return has_inner_pick(body, False)
        case ir.Assign() | ir.Require() | ir.Assert() | ir.Ensure() | ir.Leave() | ir.Mark():
            return False
        case _:
            assert_never(statement)


def most_picks(statement: ir.Statement) -> int:
    """Returns the maximum number of choices in one run of ``statement``."""
    match statement:
        case ir.Pick(body=body):
            return 1 + most_picks(body)
        case ir.If(then=then, otherwise=otherwise):
            return max(most_picks(then), most_picks(otherwise))
        case ir.ForEach(domain=domain, body=body):
            inner = most_picks(body)
            return inner * most(as_collection(domain.type)) if inner else 0
        case _:
            return sum(map(most_picks, bodies(statement)))


def has_odometer(statement: ir.Statement) -> bool:
    """Returns whether some region of ``statement`` needs an odometer."""
    return has_inner_pick(statement) or any(map(has_odometer, bodies(statement)))
