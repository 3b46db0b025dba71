"""Formulas: what may hold of a whole behaviour, an infinite sequence of states.

A formula is made of state predicates, which are properties of the model by themselves (see
`ir.Property`), so that nothing here depends on what a predicate says. There is no "next state": no
formula can tell a behaviour from the same one with states repeated.
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
    """Any formula; ``span`` is where it was written."""

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Holds(Node):
    """Property number ``predicate`` of the model, a predicate of states, is true of the first
    state.
    """

    predicate: int


@dataclass(frozen=True, slots=True)
class Not(Node):
    """``operand`` does not hold."""

    operand: Formula


@dataclass(frozen=True, slots=True)
class And(Node):
    """All ``parts`` hold; none is true."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Or(Node):
    """Some part holds; none is false."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Implies(Node):
    """``right`` holds, or ``left`` does not."""

    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Iff(Node):
    """Both hold, or neither does."""

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
    """From every state from which ``left`` holds, ``right`` holds then or later:
    ``always (left implies eventually right)``.
    """

    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Chosen(Node):
    """``body``, in which ``name``, bound by a quantifier around it, stands for ``value``; this is
    for reports.
    """

    name: str
    type: Type
    value: Value
    body: Formula


Formula: TypeAlias = (
    Holds | Not | And | Or | Implies | Iff | Always | Eventually | Until | LeadsTo | Chosen
)


def children(formula: Formula) -> tuple[Formula, ...]:
    """The formulas directly inside one, as written."""
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
    """The numbers of the predicates of which a formula is made; one may come more than once."""
    if isinstance(formula, Holds):
        yield formula.predicate
    for part in children(formula):
        yield from predicates(part)
