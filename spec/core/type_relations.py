"""Relations between types: whether one includes another, and the least type that includes both."""

from __future__ import annotations

from collections.abc import Callable

from fencepost.spec.core.size_limits import countable, most
from fencepost.spec.core.types import (
    INT64_LOW,
    SMALL_SET,
    Bag,
    Collection,
    Elements,
    Flags,
    Int,
    Integer,
    Map,
    Numbers,
    Option,
    Product,
    Record,
    Seq,
    Set,
    Sum,
    Type,
    Value,
    tuple_type,
    view,
)


def join(left: Type, right: Type) -> Type | None:
    """Returns the least type that includes the values of both types, or None if no such type
    exists.

    A type and an option of that type join to the option, except inside collections.
    """
    match left, right:
        case (Option(a), Option(b)) | (Option(a), b) | (b, Option(a)):
            return _inside(a, b, Option)
        case _:
            return _joined(left, right)


def _joined(left: Type, right: Type) -> Type | None:
    """Returns the `join` of two types of the same shape, or None if their shapes differ."""
    if left == right:
        return left
    match left, right:
        case Int(a, b), Int(c, d):
            return Int(min(a, c), max(b, d))
        case Option(a), Option(b):
            return _inside(a, b, Option)
        case Set(a), Set(b):
            size = max(most(left), most(right))
            small = None in (left.capacity, right.capacity)
            return _inside(a, b, lambda c: set_type(c, size) if small else Set(c, size))
        case Seq(a, m), Seq(b, n):
            return _inside(a, b, lambda c: Seq(c, max(m, n)))
        case Bag(a, m), Bag(b, n):
            return _inside(a, b, lambda c: Bag(c, max(m, n)))
        case Map(k, a), Map(j, b) if k == j:
            return _inside(a, b, lambda c: Map(k, c))
        case Record(), Record() if pairs := component_pairs(left, right):
            parts = [part for pair in pairs if (part := _joined(*pair)) is not None]
            return tuple_type(parts) if len(parts) == len(pairs) else None
        case _:
            return None


def component_pairs(left: Type, right: Type) -> tuple[tuple[Type, Type], ...]:
    """Returns the pairs of corresponding components of two tuple types of the same length, or () if
    the types are anything else.
    """
    match left, right:
        case Record(name="", fields=a), Record(name="", fields=b) if len(a) == len(b):
            return tuple((x.type, y.type) for x, y in zip(a, b, strict=True))
        case _:
            return ()


def _inside(left: Type, right: Type, whole: Callable[[Type], Type]) -> Type | None:
    """Returns the type that ``whole`` makes of the joint type of two parts, if they have one."""
    inner = _joined(left, right)
    return None if inner is None else whole(inner)


def set_type(element: Type, size: int) -> Set:
    """Returns the type of a computed set with at most ``size`` elements. If the element type is
    small, the result needs no capacity.
    """
    return Set(element) if countable(element, SMALL_SET) else Set(element, size)


def within(inner: Type, outer: Type) -> bool:
    """Returns whether every value of ``inner`` is a value of ``outer``, judging by the declared
    ranges and capacities alone.
    """
    if inner == outer:
        return True
    match inner, outer:
        case Integer(), Integer():
            return inner.low > inner.high or (outer.low <= inner.low and inner.high <= outer.high)
        case Option(a), Option(b):
            return within(a, b)
        case Set(a), Set(b, n):
            return within(a, b) and (n is None or most(inner) <= n)
        case (Seq(a, m), Seq(b, n)) | (Bag(a, m), Bag(b, n)):
            return m <= n and within(a, b)
        case Map(k, a), Map(j, b):
            return k == j and within(a, b)
        case Record(), Record() if pairs := component_pairs(inner, outer):
            return all(within(a, b) for a, b in pairs)
        case _:
            return False


def same_shape(left: Type, right: Type) -> bool:
    """Returns whether the types are equal except for ranges and capacities."""
    match left, right:
        case Int(), Int():
            return True
        case (Option(a), Option(b)) | (Set(a), Set(b)) | (Seq(a), Seq(b)) | (Bag(a), Bag(b)):
            return same_shape(a, b)
        case Map(k, a), Map(j, b):
            return k == j and same_shape(a, b)
        case Record(), Record() if pairs := component_pairs(left, right):
            return all(same_shape(a, b) for a, b in pairs)
        case _:
            return left == right


def element_of(kind: Type) -> Type | None:
    """Returns the element type of a collection type, or None for any other type."""
    return kind.element if isinstance(kind, Collection) else None


def least(kind: Type) -> Value:
    """Returns the least value of a type, which must have values, or any value if there is none. It
    serves as a placeholder before the first assignment to a map.
    """
    match view(kind):
        case Numbers(low, high) as shape:
            return shape.value(low if low >= INT64_LOW else min(0, high))
        case Product(parts) as shape:
            return tuple(least(part.type) for part in parts) * shape.times
        case Sum(cases) as shape:
            return shape.closed(0, (least(part.type) for part in cases[0]))
        case Elements() | Flags():
            return ()
