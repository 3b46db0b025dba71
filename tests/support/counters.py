"""Models with a single number, small enough to count their states by hand."""

from __future__ import annotations

from tests.support.core_builders import (
    FALSE,
    LINE,
    do,
    less,
    lit,
    local,
    pick,
    plus,
    put,
    var,
)  # fmt: skip

from fencepost.checker.outcome import Outcome
from fencepost.spec.core import ir

N = var(0)
AFTER = var(0, next=True)
START = put(0, lit(0))


def counter(top: int) -> ir.Statement:
    """Increments the number up to ``top``, where the statement is no longer enabled."""
    return do(ir.Require(less(N, lit(top)), 0), put(0, plus(N, 1)))


def below(top: int) -> ir.Expr:
    return less(N, lit(top))


def equals(number: int) -> ir.Expr:
    return ir.Equal(N, lit(number))


def jump(*pairs: tuple[int, int]) -> ir.Statement:
    """Moves from the first number of each pair to the second; elsewhere the statement is not
    enabled.
    """
    body: ir.Statement = ir.Require(FALSE, 0)
    for source, target in reversed(pairs):
        body = ir.If(equals(source), put(0, lit(target)), body)
    return body


def counts(outcome: Outcome) -> tuple[int, int, int]:
    return (
        outcome.statistics.distinct,
        outcome.statistics.generated,
        outcome.statistics.depth,
    )


ERROR = ir.Ensure(FALSE, 0)
STATE = ("invariant", ir.Not(equals(1)))
FAN = pick(0, lit((4, 3, 2), LINE), do(ir.Require(equals(0), 0), put(0, local(0))))
