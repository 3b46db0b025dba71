"""Enumerates the values of a type, and decides whether a value belongs to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import combinations, combinations_with_replacement, product
from typing import assert_never

from fencepost.spec.core.types import (
    Bag,
    Bool,
    Int,
    Machine,
    Map,
    Nominal,
    Option,
    Record,
    Seq,
    Set,
    Type,
    Union,
    Value,
)


@cache
def every(kind: Type) -> tuple[Value, ...]:
    """Returns all values of a type in ascending order."""
    match kind:
        case Bool():
            return (False, True)
        case Int(low, high):
            return tuple(range(low, high + 1))
        case Machine(bits):
            return tuple(range(-(2 ** (bits - 1)), 2 ** (bits - 1)))
        case Nominal(members=members):
            return tuple(range(len(members)))
        case Record(fields=fields):
            return tuple(product(*(every(item.type) for item in fields)))
        case Union(variants=variants):
            return tuple(
                (tag, *payload)
                for tag, variant in enumerate(variants)
                for payload in product(*(every(item.type) for item in variant.fields))
            )
        case Option(element):
            return ((), *((value,) for value in every(element)))
        case Set(element, capacity):
            inner = every(element)
            most = len(inner) if capacity is None else capacity
            return _ascending(s for n in range(most + 1) for s in combinations(inner, n))
        case Seq(element, capacity):
            inner = every(element)
            return _ascending(s for n in range(capacity + 1) for s in product(inner, repeat=n))
        case Bag(element, capacity):
            inner = every(element)
            sizes = range(capacity + 1)
            return _ascending(s for n in sizes for s in combinations_with_replacement(inner, n))
        case Map(key, value):
            return tuple(product(every(value), repeat=len(every(key))))
        case _:
            assert_never(kind)


def _ascending(values: Iterable[tuple[Value, ...]]) -> tuple[Value, ...]:
    return tuple(sorted(values))


def belongs(value: Value, kind: Type) -> bool:
    """Checks whether a value belongs to a type."""
    match kind, value:
        case Bool(), bool():
            return True
        case Int(low, high), int():
            return not isinstance(value, bool) and low <= value <= high
        case Machine(bits), int():
            return not isinstance(value, bool) and -(2 ** (bits - 1)) <= value < 2 ** (bits - 1)
        case Nominal(members=members), int():
            return not isinstance(value, bool) and 0 <= value < len(members)
        case Record(fields=fields), tuple():
            return _all_belong(value, [item.type for item in fields])
        case Union(variants=variants), (int(tag), *payload) if 0 <= tag < len(variants):
            kinds = [item.type for item in variants[tag].fields]
            return _all_belong(tuple(payload), kinds)
        case Option(element), tuple():
            return value == () or (len(value) == 1 and belongs(value[0], element))
        case ((Set() | Seq() | Bag()), tuple()):
            full = kind.capacity is not None and len(value) > kind.capacity
            return (
                not full
                and all(belongs(item, kind.element) for item in value)
                and _ordered(value, kind)
            )
        case Map(key, item), tuple():
            return _all_belong(value, [item] * len(every(key)))
        case _:
            return False


def _all_belong(values: tuple[Value, ...], kinds: Sequence[Type]) -> bool:
    return len(values) == len(kinds) and all(map(belongs, values, kinds))


def _ordered(value: tuple[Value, ...], kind: Set | Seq | Bag) -> bool:
    match kind:
        case Set():
            return list(value) == sorted(set(value))
        case Bag():
            return list(value) == sorted(value)
        case Seq():
            return True
        case _:
            assert_never(kind)


def collected(values: Sequence[Value], kind: Type) -> tuple[Value, ...]:
    """Returns the collection of the given type that holds these values."""
    match kind:
        case Set():
            return tuple(sorted(set(values)))
        case Bag():
            return tuple(sorted(values))
        case Seq():
            return tuple(values)
        case _:
            raise AssertionError(kind)


def wrapped(number: int, kind: Type) -> int:
    """Wraps a number in two's complement if its type is a machine integer, or returns it
    unchanged.
    """
    if not isinstance(kind, Machine):
        return number
    number %= 2**kind.bits
    return number - 2**kind.bits if number >= 2 ** (kind.bits - 1) else number
