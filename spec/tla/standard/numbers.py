# pyright: basic
"""Naturals, Integers, Reals, Bitwise."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

from fencepost.spec.tla.standard.rows import Call, integer
from fencepost.spec.tla.values.kinds import FALSE, TRUE, EvaluationError, Value
from fencepost.spec.tla.values.lazy_sets import INT, NAT, REAL
from fencepost.spec.tla.values.universe import Universe

MAX_BITS: Final = 100_000
"""Largest size of a power, in bits."""


def _arithmetic(sign: str, compute: Callable[[int, int], Value]) -> tuple[int, Call]:
    def call(universe: Universe, left: Any, right: Any) -> Value:
        if type(left) is not int or type(right) is not int:
            text = f"The operands of {sign} must be integers, not {{}} and {{}}"
            raise universe.error(text, left, right)
        return compute(left, right)

    return 2, call


def _comparison(sign: str, compute: Callable[[int, int], bool]) -> tuple[int, Call]:
    return _arithmetic(sign, lambda left, right: TRUE if compute(left, right) else FALSE)


def _power(base: int, exponent: int) -> int:
    if exponent < 0:
        raise EvaluationError(f"The exponent of ^ must not be negative, but is {exponent}.")
    if exponent == 0 == base:
        raise EvaluationError("0^0 is undefined.")
    if abs(base) > 1 and base.bit_length() * exponent > MAX_BITS:
        raise EvaluationError(f"{base} ^ {exponent} is too large.")
    return int(base**exponent)


def _quotient(left: int, right: int) -> int:
    if not right:
        raise EvaluationError("The second operand of \\div is 0.")
    return left // right


def _remainder(left: int, right: int) -> int:
    if right <= 0:
        raise EvaluationError(f"The second operand of % must be positive, but is {right}.")
    return left % right


def _divided(left: int, right: int) -> int:
    raise EvaluationError("Division of reals is not supported.")


def _bits(sign: str, compute: Callable[[int, int], int]) -> tuple[int, Call]:
    def call(left: int, right: int) -> int:
        if left < 0 or right < 0:
            raise EvaluationError(f"The operands of {sign} must not be negative.")
        return compute(left, right)

    return _arithmetic(sign, call)


NATURALS: Final[dict[str, tuple[int, Call]]] = {
    "+": _arithmetic("+", operator.add),
    "-": _arithmetic("-", operator.sub),
    "*": _arithmetic("*", operator.mul),
    "^": _arithmetic("^", _power),
    "\\div": _arithmetic("\\div", _quotient),
    "%": _arithmetic("%", _remainder),
    "<": _comparison("<", operator.lt),
    "<=": _comparison("<=", operator.le),
    ">": _comparison(">", operator.gt),
    ">=": _comparison(">=", operator.ge),
    "..": (2, Universe.interval),
    "Nat": (0, lambda _: NAT),
}
INTEGERS: Final[dict[str, tuple[int, Call]]] = {
    "Int": (0, lambda _: INT),
    "-.": (1, lambda universe, value: -integer(universe, "-", value)),
}
REALS: Final[dict[str, tuple[int, Call]]] = {
    "Real": (0, lambda _: REAL),
    "/": _arithmetic("/", _divided),
}
BITWISE: Final[dict[str, tuple[int, Call]]] = {
    "&": _bits("&", operator.and_),
    "|": _bits("|", operator.or_),
    "^^": _bits("^^", operator.xor),
    "shiftR": _bits("shiftR", operator.rshift),
    "Not": (1, lambda universe, value: ~integer(universe, "Not", value)),
}
