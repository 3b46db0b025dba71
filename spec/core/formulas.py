"""Formulas are properties of a behaviour, which is an infinite sequence of states.

The atoms of a formula are state predicates. They are properties of the model (see `ir.Property`),
so this module does not depend on their meaning. There is no "next" operator, so formulas are
invariant under stuttering.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import TypeAlias, assert_never

from fencepost.spec.core.types import Type, Value
from fencepost.spec.records import dataclass
from fencepost.spec.text.source import Span


@dataclass(frozen=True, slots=True)
class Node:
    """Any formula; ``span`` is its position in the text."""

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Holds(Node):
    """Property number ``predicate`` of the model is true in the first state. It is a state
    predicate.
    """

    predicate: int


@dataclass(frozen=True, slots=True)
class Not(Node):
    """``operand`` does not hold."""

    operand: Formula


@dataclass(frozen=True, slots=True)
class And(Node):
    """All ``parts`` hold. An empty conjunction is true."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Or(Node):
    """At least one part holds. An empty disjunction is false."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Implies(Node):
    """``right`` holds, or ``left`` does not."""

    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Iff(Node):
    """Both operands hold, or neither does."""

    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Always(Node):
    """``operand`` holds from every state on."""

    operand: Formula


@dataclass(frozen=True, slots=True)
class Eventually(Node):
    """``operand`` holds from some state on."""

    operand: Formula


@dataclass(frozen=True, slots=True)
class Until(Node):
    """``right`` holds from some state on, and ``left`` from every state before it."""

    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class LeadsTo(Node):
    """Whenever ``left`` holds, ``right`` holds then or later: ``always (left implies eventually
    right)``.
    """

    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Chosen(Node):
    """``body``, for the value ``value`` of the variable ``name`` of an enclosing quantifier.
    Reports show the name and the value.
    """

    name: str
    type: Type
    value: Value
    body: Formula


Formula: TypeAlias = (
    Holds | Not | And | Or | Implies | Iff | Always | Eventually | Until | LeadsTo | Chosen
)


def children(formula: Formula) -> tuple[Formula, ...]:
    """Returns the direct subformulas of a formula, in source order."""
    match formula:
        case Holds():
            return ()
        case Not(operand) | Always(operand) | Eventually(operand):
            return (operand,)
        case Chosen(body=body):
            return (body,)
        case And(parts) | Or(parts):
            return parts
        case Implies(left, right) | Iff(left, right) | Until(left, right) | LeadsTo(left, right):
            return left, right
        case _:
            assert_never(formula)


def predicates(formula: Formula) -> Iterator[int]:
    """Yields the numbers of the predicates in a formula. A number may occur more than once."""
    if isinstance(formula, Holds):
        yield formula.predicate
    for part in children(formula):
        yield from predicates(part)
