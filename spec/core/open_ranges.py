"""The ranges that models assume for integers whose declarations give none.

A model is built for certain ranges, and every store into such an integer is checked. If a value is
outside, the model says nothing about the spec, and another one is built for wider ranges. Nothing
wraps, and nothing is cut off.

A model for `NO_RANGES` assumes nothing: these integers have no bounds, and neither has a number
that is computed from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from fencepost.spec.core.types import (
    INT64_HIGH,
    INT64_LOW,
    UNBOUNDED,
    Bag,
    Int,
    Map,
    Option,
    Record,
    Seq,
    Set,
    Type,
    Value,
    components,
    opened,
    tuple_type,
)

Range: TypeAlias = tuple[int, int]
"""The least and the greatest value."""
Ranges: TypeAlias = Mapping[str, Range]
"""The assumed ranges, by `OpenRange.key`. An integer that is missing has the range of the key
`EVERY`, or else `NARROWEST`.
"""

NARROWEST: Range = (0, 0)
EVERY = ""
NO_RANGES: Ranges = {EVERY: (-UNBOUNDED, UNBOUNDED)}


def assumed_range(ranges: Ranges, key: str) -> Range:
    """Returns the range that ``ranges`` assume for an integer."""
    return ranges.get(key, ranges.get(EVERY, NARROWEST))


def exceeds_64_bits(low: int, high: int) -> bool:
    """Returns whether a range contains numbers of more than 64 bits."""
    return low < INT64_LOW or high > INT64_HIGH


def is_unbounded(low: int, high: int) -> bool:
    """Returns whether a range was computed from that of an integer without bounds. The bounds of
    all other ranges are products of two 64-bit numbers at most.
    """
    return max(-low, high) >= UNBOUNDED >> 64


def saturated(low: int, high: int) -> Range:
    """Returns a range that includes ``low..high`` and has no bounds beyond 64 bits, except those of
    `UNBOUNDED`.
    """
    return (
        -UNBOUNDED if low < INT64_LOW else min(low, INT64_HIGH),
        UNBOUNDED if high > INT64_HIGH else max(high, INT64_LOW),
    )


def widened(assumed: Range, value: int) -> Range:
    """Returns a range that includes ``value``, or ``assumed`` if that includes it. A bound that
    changes becomes 0 or the next power of two, less one if positive. Beyond 64 bits, the range ends
    at ``value``.
    """
    low, high = assumed
    if value > high:
        high = min(_ones(max(value, 0)), max(value, INT64_HIGH))
    if value < low:
        low = 0 if value >= 0 else max(-1 - _ones(-1 - value), min(value, INT64_LOW))
    return low, high


def _ones(number: int) -> int:
    """Returns the least number of the form 2**n - 1 that is at least ``number``."""
    return (1 << number.bit_length()) - 1


def is_open(kind: Type) -> bool:
    """Returns whether a type contains integers without a declared range, or without bounds."""
    return any(True for _ in open_integers(kind))


def open_integers(kind: Type) -> Iterator[Int]:
    """Yields the integers without a declared range, or without bounds, that a type contains, with
    repetitions.
    """
    if isinstance(kind, Int):
        if kind.open is not None or is_unbounded(kind.low, kind.high):
            yield kind
        return
    for part in components(kind):
        yield from open_integers(part)


def stored(kind: Type, value: Value) -> Iterator[tuple[int, int]]:
    """Yields the integers in ``value``, a value of ``kind``, that are stored where no range is
    declared, each after the number of its `OpenRange`.
    """
    if isinstance(kind, Int) and kind.open is not None:
        assert isinstance(value, int)
        yield kind.open, value
        return
    for part, inner in opened(kind, value)[1]:
        yield from stored(part.type, inner)


def of_elements(kind: Type) -> Iterator[int]:
    """Yields the numbers of the `OpenRange` of integers that are elements of sets and bags. A set
    may take a bit for each value of its type, so its size depends on the range.
    """
    if isinstance(kind, Set | Bag):
        element = kind.element
        if isinstance(element, Int) and element.open is not None:
            yield element.open
    for part in components(kind):
        yield from of_elements(part)


def relaxed(target: Type, source: Type) -> Type:
    """Returns ``target`` with its assumed ranges extended so that they include those of ``source``,
    a type of the same shape.
    """

    def extended(kind: Int, other: Int) -> Int:
        return Int(min(kind.low, other.low), max(kind.high, other.high), kind.open)

    return _mapped(target, source, extended)


def limited(kind: Type, assumed: Int, above: bool) -> Type:
    """Returns ``kind`` with one bound of the integers of the same `OpenRange` as ``assumed`` set to
    that of ``assumed``: the greatest value if ``above`` is set, or else the least.
    """

    def with_bound(number: Int, _: Int) -> Int:
        if number.open != assumed.open:
            return number
        low, high = (number.low, assumed.high) if above else (assumed.low, number.high)
        return Int(low, high, number.open)

    return _mapped(kind, kind, with_bound)


def _mapped(kind: Type, beside: Type, change: Callable[[Int, Int], Int]) -> Type:
    """Returns ``kind`` with its integers without a declared range changed. ``change`` also receives
    the corresponding integer of ``beside``, a type of the same shape.
    """
    match kind, beside:
        case Int(), Int():
            return kind if kind.open is None else change(kind, beside)
        case Option(inner), Option(other):
            return Option(_mapped(inner, other, change))
        case Set(inner, size), Set(other):
            return Set(_mapped(inner, other, change), size)
        case Seq(inner, size), Seq(other):
            return Seq(_mapped(inner, other, change), size)
        case Bag(inner, size), Bag(other):
            return Bag(_mapped(inner, other, change), size)
        case Map(key, inner), Map(_, other):
            return Map(key, _mapped(inner, other, change))
        case Record(), Record() if kind.is_tuple and beside.is_tuple:
            pairs = zip(kind.fields, beside.fields, strict=True)
            return tuple_type(_mapped(a.type, b.type, change) for a, b in pairs)
        case _:
            return kind
