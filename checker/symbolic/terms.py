# pyright: basic
# Z3's Python interface has no usable types: everything untyped about it stays here and in `solver`.
"""Represents truth values and numbers that are either known or Z3 terms.

Known values remain Python bools and ints. A model with a single initial state is therefore mostly
computed, and only the effects of choices reach the solver. An unknown number has a range that
contains it, and is a signed bit-vector that is just wide enough for this range. For example, a
64-bit counter that starts at 0 becomes one bit wider when it may have been incremented. Comparisons
that the ranges decide have a known result.

If the range exceeds 64 bits, the number is an integer term of Z3, and so is every result of a
computation with it. Only numbers without bounds can have such a range.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeAlias

import z3

from fencepost.checker.request import RangeNeeded
from fencepost.spec.core.open_ranges import exceeds_64_bits, saturated
from fencepost.spec.core.operators import Operator, result_range
from fencepost.spec.core.types import UNBOUNDED
from fencepost.spec.records import dataclass

EACH = 256
"""Number of terms that are built between two checks of the limits."""

Truth: TypeAlias = "bool | Any"
Number: TypeAlias = "int | Vector"
Leaf: TypeAlias = "Truth | Number"


def width_of(low: int, high: int) -> int:
    """Returns the number of bits needed for a signed number in ``low..high``."""
    return (
        max((low if low >= 0 else ~low).bit_length(), (high if high >= 0 else ~high).bit_length())
        + 1
    )


def library() -> str:
    """Returns the name and version of the solver."""
    return f"z3 {z3.get_version_string()}"


# ---------------------------------------------------------------- the run under way


class _Run:
    """Counts the terms built. ``look`` is the callback that checks whether to continue."""

    def __init__(self) -> None:
        self.made = 0
        self.look: Callable[[], None] | None = None


_RUN = _Run()


@contextmanager
def watched(look: Callable[[], None]) -> Generator[None]:
    """While active, calls ``look`` regularly as terms are built. ``look`` may raise an
    exception.
    """
    before, _RUN.look = _RUN.look, look
    try:
        yield
    finally:
        _RUN.look = before


def _count() -> None:
    _RUN.made += 1
    if _RUN.made % EACH == 0 and _RUN.look is not None:
        _RUN.look()


# ---------------------------------------------------------------- truth


def negation(truth: Truth) -> Truth:
    """Returns the negation of a truth value."""
    if isinstance(truth, bool):
        return not truth
    if z3.is_not(truth):
        return truth.arg(0)
    return z3.Not(truth)


def both(*truths: Truth) -> Truth:
    """Returns the conjunction of truth values."""
    _count()
    rest = []
    for truth in truths:
        if truth is False:
            return False
        if truth is not True:
            rest.append(truth)
    if not rest:
        return True
    return rest[0] if len(rest) == 1 else z3.And(*rest)


def either(*truths: Truth) -> Truth:
    """Returns the disjunction of truth values."""
    _count()
    rest = []
    for truth in truths:
        if truth is True:
            return True
        if truth is not False:
            rest.append(truth)
    if not rest:
        return False
    return rest[0] if len(rest) == 1 else z3.Or(*rest)


def one_of(left: Truth, right: Truth) -> Truth:
    """Returns the disjunction of two truth values that are never both true."""
    return True if identical(left, negation(right)) else either(left, right)


def at_most_one(truths: Sequence[Truth]) -> Truth:
    """Returns the condition that at most one of the truth values is true."""
    parts = [either(negation(a), negation(b)) for n, a in enumerate(truths) for b in truths[:n]]
    return both(*parts)


def same_truth(left: Truth, right: Truth) -> Truth:
    """Returns the condition that two truth values are both true or both false."""
    _count()
    if isinstance(left, bool):
        return right if left else negation(right)
    if isinstance(right, bool):
        return left if right else negation(left)
    return True if left.eq(right) else left == right


def choose_truth(condition: Truth, then: Truth, otherwise: Truth) -> Truth:
    """Returns ``then`` if the condition holds, and ``otherwise`` if not."""
    _count()
    if isinstance(condition, bool):
        return then if condition else otherwise
    if isinstance(then, bool):
        return either(condition, otherwise) if then else both(negation(condition), otherwise)
    if isinstance(otherwise, bool):
        return either(negation(condition), then) if otherwise else both(condition, then)
    return then if then.eq(otherwise) else z3.If(condition, then, otherwise)


# ---------------------------------------------------------------- numbers


@dataclass(frozen=True, slots=True, eq=False)
class Vector:
    """An unknown number, represented by a signed bit-vector or an integer term, and a range that
    always contains the number. A bound of `UNBOUNDED` is none.
    """

    term: Any
    low: int
    high: int


def _range(number: Number) -> tuple[int, int]:
    return saturated(number, number) if isinstance(number, int) else (number.low, number.high)


def _span(width: int) -> tuple[int, int]:
    """Returns the minimum and the maximum signed number of ``width`` bits."""
    return -(1 << (width - 1)), (1 << (width - 1)) - 1


def widened(number: Number, width: int) -> Any:
    """Returns the number as a bit-vector of ``width`` bits: extended if it is narrower, or
    truncated to its last ``width`` bits.
    """
    if isinstance(number, int):
        return z3.BitVecVal(number, width)
    size = number.term.size()
    if size == width:
        return number.term
    if size < width:
        return z3.SignExt(width - size, number.term)
    return z3.Extract(width - 1, 0, number.term)


def _is_integer(number: Number) -> bool:
    """Returns whether a number is represented by an integer term, or must be if it is known."""
    if isinstance(number, int):
        return exceeds_64_bits(number, number)
    return bool(z3.is_int(number.term))


def _integer(number: Number) -> Any:
    """Returns the number as an integer term of Z3."""
    if isinstance(number, int):
        return z3.IntVal(number)
    return number.term if z3.is_int(number.term) else z3.BV2Int(number.term, is_signed=True)


def _pair(left: Number, right: Number) -> tuple[Any, Any, int, int]:
    """Returns two numbers as bit-vectors of a common width, or as integer terms, and the range that
    contains both.
    """
    (low, high), (other_low, other_high) = _range(left), _range(right)
    low, high = min(low, other_low), max(high, other_high)
    if _is_integer(left) or _is_integer(right):
        return _integer(left), _integer(right), low, high
    width = width_of(low, high)
    return widened(left, width), widened(right, width), low, high


def identical(left: Leaf, right: Leaf) -> bool:
    """Checks whether two leaves are syntactically identical."""
    if left is right:
        return True
    if isinstance(left, Vector) and isinstance(right, Vector):
        return bool(left.term.eq(right.term))
    if isinstance(left, bool | int | Vector) or isinstance(right, bool | int | Vector):
        return type(left) is type(right) and left == right
    return bool(left.eq(right))


def choose_number(condition: Truth, then: Number, otherwise: Number) -> Number:
    """Returns ``then`` if the condition holds, and ``otherwise`` if not."""
    _count()
    if isinstance(condition, bool):
        return then if condition else otherwise
    if identical(then, otherwise):
        return then
    a, b, low, high = _pair(then, otherwise)
    return Vector(z3.If(condition, a, b), low, high)


def same_number(left: Number, right: Number) -> Truth:
    """Returns the condition that two numbers are equal."""
    _count()
    if isinstance(left, int) and isinstance(right, int):
        return left == right
    (low, high), (other_low, other_high) = _range(left), _range(right)
    if high < other_low or other_high < low:
        return False
    a, b, _, _ = _pair(left, right)
    return True if a.eq(b) else a == b


def less(left: Number, right: Number) -> Truth:
    """Returns the condition ``left < right``."""
    _count()
    (low, high), (other_low, other_high) = _range(left), _range(right)
    if high < other_low:
        return True
    if low >= other_high:
        return False
    a, b, _, _ = _pair(left, right)
    return False if a.eq(b) else a < b


def inside(number: Number, low: int, high: int) -> Truth:
    """Returns the condition ``low <= number <= high``. A bound of `UNBOUNDED` is none."""
    return both(
        low == -UNBOUNDED or negation(less(number, low)),
        high == UNBOUNDED or negation(less(high, number)),
    )


def fitted(number: Number, low: int, high: int) -> Number:
    """Narrows a number that lies in ``low..high`` whenever it is read."""
    if isinstance(number, int) or (low <= number.low and number.high <= high):
        return number
    low, high = max(low, number.low), min(high, number.high)
    if low > high:
        return number
    if _is_integer(number):
        return replace(number, low=low, high=high)
    return Vector(widened(number, width_of(low, high)), low, high)


def wrapped(number: int, bits: int) -> int:
    """Reduces a number modulo 2^bits to the signed range."""
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def arithmetic(operator: Operator, left: Number, right: Number, width: int | None) -> Number:
    """Computes ``left operator right`` in ``width`` bits, with wrapping, or exactly if ``width`` is
    None. For a zero divisor, which is never reached, the result is arbitrary. A sum, difference or
    product has no more bits than it needs.
    """
    row = operator.row
    if isinstance(left, int) and isinstance(right, int):
        _count()
        result = 0 if row.divides and right == 0 else row.apply(left, right)
        return result if width is None else wrapped(result, width)
    exact = saturated(*result_range(operator, _range(left), _range(right)))
    if _is_integer(left) or _is_integer(right) or (width is None and exceeds_64_bits(*exact)):
        return _on_integers(operator, left, right, width, exact)
    if width is None:
        width = width_of(*exact)
    match operator:
        case Operator.DIVIDE:
            return _divided(left, right, width)[0]
        case Operator.REMAINDER:
            return _divided(left, right, width)[1]
        case _ if row.lowered is not None:
            result = row.lowered(_exact, left, right)
            return Vector(widened(result, width), *_span(width))
        case _:
            assert row.ring, operator
    _count()
    low, high = result_range(operator, _range(left), _range(right))
    minimum, maximum = _span(width)
    if low < minimum or high > maximum:
        low, high = minimum, maximum
    size = width_of(low, high)
    return Vector(row.apply(widened(left, size), widened(right, size)), low, high)


def _on_integers(
    operator: Operator, left: Number, right: Number, width: int | None, exact: tuple[int, int]
) -> Number:
    """Computes like `arithmetic`, with integer terms. ``exact`` contains the exact result."""
    _count()
    a, b = _integer(left), _integer(right)
    match operator:
        case Operator.DIVIDE:
            # Z3 rounds up for a negative divisor.
            term: Any = z3.If(b > 0, a / b, -a / -b)
        case Operator.REMAINDER:
            term = z3.If(b > 0, a % b, -(-a % -b))
        case Operator.ADD | Operator.SUBTRACT | Operator.MULTIPLY:
            term = operator.row.apply(a, b)
        case _:
            raise RangeNeeded(f"it does not compute {operator.value} of an int")
    low, high = exact
    if width is not None:
        minimum, maximum = _span(width)
        if low < minimum or high > maximum:
            half = 1 << (width - 1)
            term, low, high = (term + half) % (1 << width) - half, minimum, maximum
    return Vector(z3.simplify(term), low, high)


def _exact(operator: Operator, left: Number, right: Number) -> Number:
    """Computes ``left operator right`` in enough bits for every result."""
    return arithmetic(
        operator, left, right, width_of(*result_range(operator, _range(left), _range(right)))
    )


def added(left: Number, right: Number, width: int) -> Number:
    """Returns the sum in ``width`` bits, with wrapping."""
    return arithmetic(Operator.ADD, left, right, width)


def _divided(left: Number, right: Number, width: int) -> tuple[Number, Number]:
    """Returns the floor quotient and the remainder, which are arbitrary for a zero divisor.

    They are computed with one more bit, so that the minimum divided by -1 is exact before it wraps.
    """
    wide = max(*(width_of(*_range(number)) for number in (left, right)), width) + 1
    a, b = widened(left, wide), widened(right, wide)
    quotient, rest = a / b, z3.SRem(a, b)
    rounded_up = z3.And(rest != 0, (rest < 0) != (b < 0))
    floor = z3.If(rounded_up, quotient - 1, quotient)
    remainder = z3.If(rounded_up, rest + b, rest)

    def cut(term: Any) -> Vector:
        return Vector(z3.Extract(width - 1, 0, term), *_span(width))

    return cut(floor), cut(remainder)


# ---------------------------------------------------------------- unknowns


def begin() -> None:
    """Starts a run. This frees the terms of earlier runs, so that the results of Z3 do not depend
    on those.
    """
    z3.z3._main_ctx = None


def fresh_truth(name: str) -> Truth:
    """Returns an unknown truth value."""
    return z3.FreshConst(z3.BoolSort(), name)


def fresh_number(name: str, low: int, high: int) -> tuple[Number, Truth]:
    """Returns an unknown number, and the fact that it lies in ``low..high``."""
    if low == high:
        return low, True
    if exceeds_64_bits(low, high):
        integer = Vector(z3.FreshConst(z3.IntSort(), name), -UNBOUNDED, UNBOUNDED)
        return integer, inside(integer, low, high)
    width = width_of(low, high)
    # The range of the vector is that of its bits, because the caller may omit the fact or express
    # it differently.
    vector = Vector(z3.FreshConst(z3.BitVecSort(width), name), *_span(width))
    return vector, inside(vector, low, high)


def named(leaf: Leaf, name: str) -> tuple[Leaf, Truth]:
    """Returns a new constant for a leaf, and the fact that both are equal. A leaf that is known or
    already a constant is returned unchanged.
    """
    if isinstance(leaf, bool | int):
        return leaf, True
    term = leaf.term if isinstance(leaf, Vector) else leaf
    if z3.is_const(term):
        return leaf, True
    constant = z3.FreshConst(term.sort(), name)
    return replace(leaf, term=constant) if isinstance(leaf, Vector) else constant, constant == term


def truth_in(model: Any, truth: Truth) -> bool:
    """Returns the value of a truth value in a solver model."""
    if isinstance(truth, bool):
        return truth
    return bool(z3.is_true(model.eval(truth, model_completion=True)))


def number_in(model: Any, number: Number) -> int:
    """Returns the value of a number in a solver model."""
    if isinstance(number, int):
        return number
    result = model.eval(number.term, model_completion=True)
    return int(result.as_long() if z3.is_int(result) else result.as_signed_long())
