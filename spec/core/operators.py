"""The integer operators, with one table row for each.

Elaboration and every engine read their columns here. If an engine lacks a column for an operator,
it uses `Row.lowered`, which expresses the operator in terms of other rows.
"""

from __future__ import annotations

import operator as python
from collections.abc import Callable
from enum import Enum
from itertools import product
from typing import Any, TypeAlias

from fencepost.spec.records import dataclass

Interval: TypeAlias = tuple[int, int]
"""The minimum and maximum of a range, both included."""

Apply: TypeAlias = Callable[["Operator", Any, Any], Any]
"""Applies an operator to two operands of some engine."""


class Operator(Enum):
    """An arithmetic operation on two integers. The value is the operator's sign, in specs and in
    Python.

    ``//`` and ``%`` are floor division and its remainder, as in Python, for every integer.
    """

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "//"
    REMAINDER = "%"

    @property
    def row(self) -> Row:
        """The row of the operator in the table."""
        return _ROWS[self]


@dataclass(frozen=True, slots=True)
class Row:
    """One operator: its meaning, and how each engine computes it."""

    apply: Callable[[Any, Any], Any]
    """Computes the result for two Python integers."""
    range: Callable[[Interval, Interval], Interval]
    """Returns a range that contains every result, given the ranges of the operands."""
    verb: str = "computes with"
    """Completes "this ... it" in the message that refuses a symbolic constant as an operand."""
    divides: bool = False
    """Whether a right operand of zero causes an evaluation error."""
    ring: bool = False
    """Whether `apply` commutes with wrapping modulo a power of two, and also accepts
    bit-vectors.
    """
    native: str | None = None
    """The name of the native code emitter's method for this operator."""
    tla: str | None = None
    """The infix operator in TLA+. If the operator divides, it is used for positive divisors only.
    """
    tla_helper: str | None = None
    """The operator of ``helpers.tla`` that handles all other divisors."""
    lowered: Callable[[Apply, Any, Any], Any] | None = None
    """Expresses the operator in terms of other rows. It may use operands more than once."""


def result_range(operator: Operator, left: Interval, right: Interval) -> Interval:
    """Returns a range that contains every ``left operator right``.

    It is ``(0, 0)`` if every divisor is zero. It is the least such range, except for ``%`` if the
    divisor may be zero.
    """
    return operator.row.range(left, right)


def _product_range(left: Interval, right: Interval) -> Interval:
    corners = [a * b for a, b in product(left, right)]
    return min(corners), max(corners)


def _quotient_range(left: Interval, right: Interval) -> Interval:
    # The extreme quotients are at the ends of both ranges, or at the divisors 1 and -1.
    divisors = [d for d in (*right, -1, 1) if d != 0 and right[0] <= d <= right[1]]
    corners = [a // b for a, b in product(left, divisors)]
    return (min(corners), max(corners)) if corners else (0, 0)


def _remainder_range(left: Interval, right: Interval) -> Interval:
    # The remainder has the sign of the divisor and a smaller magnitude.
    high = max(right[1] - 1, 0)
    if left[0] >= 0 and right[0] > 0:
        high = min(high, left[1])
    return min(right[0] + 1, 0), high


def _remainder(apply: Apply, left: Any, right: Any) -> Any:
    quotient = apply(Operator.DIVIDE, left, right)
    return apply(Operator.SUBTRACT, left, apply(Operator.MULTIPLY, right, quotient))


_ROWS = {
    Operator.ADD: Row(
        python.add, lambda a, b: (a[0] + b[0], a[1] + b[1]),
        ring=True, native="add", tla="+",
    ),
    Operator.SUBTRACT: Row(
        python.sub, lambda a, b: (a[0] - b[1], a[1] - b[0]),
        ring=True, native="sub", tla="-",
    ),
    Operator.MULTIPLY: Row(
        python.mul, _product_range, "multiplies", ring=True, native="mul", tla="*",
    ),
    Operator.DIVIDE: Row(
        int.__floordiv__, _quotient_range,
        "divides", divides=True, native="floordiv", tla="\\div", tla_helper="FloorDiv",
    ),
    Operator.REMAINDER: Row(
        int.__mod__, _remainder_range,
        "divides", divides=True, tla="%", tla_helper="FloorMod", lowered=_remainder,
    ),
}  # fmt: skip
assert set(_ROWS) == set(Operator)
