# pyright: basic
"""Sets that are not written out: membership is decided by their form, and their elements are
enumerated in TLC's order only where that is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, combinations, product
from math import prod
from typing import Final

from fencepost.spec.tla.values.kinds import (
    FALSE,
    TRUE,
    Function,
    LazyFunction,
    LazySet,
    ModelValue,
    Operations,
    Value,
)

BOOLEAN: Final[frozenset[Value]] = frozenset({FALSE, TRUE})


class Infinite(LazySet):
    """One of the infinite sets of the standard modules."""

    __slots__ = ("name", "test")

    def __init__(self, name: str, test: Callable[[Value], bool | None]) -> None:
        self.name = name
        self.test = test
        """Decides membership; None if TLC reports an error."""

    def contains(self, universe: Operations, value: Value) -> bool:
        result = self.test(value)
        if result is None:
            if isinstance(value, ModelValue) and not value.kind:
                return False
            raise universe.error(f"Attempted to check if {{}} is in {self.name}", value)
        return result

    def elements(self, universe: Operations) -> Iterable[Value]:
        raise universe.error(f"Attempted to enumerate the infinite set {self.name}")

    def is_finite(self, universe: Operations) -> bool:
        return False

    def text(self, universe: Operations) -> str:
        return self.name


NAT: Final = Infinite("Nat", lambda value: value >= 0 if type(value) is int else None)
INT: Final = Infinite("Int", lambda value: True if type(value) is int else None)
REAL: Final = Infinite("Real", lambda value: True if type(value) is int else None)
STRING: Final = Infinite("STRING", lambda value: True if type(value) is str else None)
ANY: Final = Infinite("Any", lambda value: True)


class Interval(LazySet):
    """``low..high``, where that is large: `Universe.interval` writes small ones out."""

    __slots__ = ("high", "low")

    def __init__(self, low: int, high: int) -> None:
        self.low = low
        self.high = high

    def contains(self, universe: Operations, value: Value) -> bool:
        if type(value) is int:
            return self.low <= value <= self.high
        if isinstance(value, ModelValue) and not value.kind:
            return False
        raise universe.error("Attempted to check if {} is in {}", value, self)

    def elements(self, universe: Operations) -> Iterable[Value]:
        return range(self.low, self.high + 1)

    def size(self, universe: Operations) -> int:
        return self.high - self.low + 1

    def same(self, universe: Operations, other: LazySet) -> bool | None:
        assert isinstance(other, Interval)
        return (self.low, self.high) == (other.low, other.high)

    def text(self, universe: Operations) -> str:
        return f"{self.low}..{self.high}"


class PowerSet(LazySet):
    """``SUBSET base``."""

    __slots__ = ("base",)

    def __init__(self, base: Value) -> None:
        self.base = base

    def contains(self, universe: Operations, value: Value) -> bool:
        if not isinstance(value, frozenset | LazySet):
            raise universe.error(
                "Attempted to check if the non-set {} is a subset of {}", value, self.base
            )
        return universe.subset(value, self.base)

    def elements(self, universe: Operations) -> Iterable[Value]:
        base = universe.ordered(self.base)
        return map(
            frozenset, chain.from_iterable(combinations(base, n) for n in range(len(base) + 1))
        )

    def size(self, universe: Operations) -> int:
        return 1 << universe.cardinality(self.base)

    def is_finite(self, universe: Operations) -> bool:
        return universe.is_finite(self.base)

    def same(self, universe: Operations, other: LazySet) -> bool | None:
        assert isinstance(other, PowerSet)
        return universe.equal(self.base, other.base)

    def text(self, universe: Operations) -> str:
        return f"SUBSET {universe.show(self.base)}"


class FunctionSet(LazySet):
    """``[domain -> range]``."""

    __slots__ = ("domain", "range")

    def __init__(self, domain: Value, values: Value) -> None:
        self.domain = domain
        self.range = values

    def contains(self, universe: Operations, value: Value) -> bool:
        if isinstance(value, ModelValue) and not value.kind:
            return False
        if not isinstance(value, tuple | LazyFunction):
            raise universe.error("Attempted to check if the non-function {} is in {}", value, self)
        if not universe.equal(universe.domain(value), self.domain):
            return False
        values = universe.written_function(value)
        return all(
            universe.contains(self.range, element)
            for element in (values[1:] if type(values) is Function else values)
        )

    def elements(self, universe: Operations) -> Iterable[Value]:
        domain = universe.domain_of(self.domain)
        return map(
            domain.function, product(universe.ordered(self.range), repeat=len(domain.elements))
        )

    def size(self, universe: Operations) -> int:
        size: int = universe.cardinality(self.range) ** universe.cardinality(self.domain)
        return size

    def is_finite(self, universe: Operations) -> bool:
        return universe.is_finite(self.domain) and universe.is_finite(self.range)

    def same(self, universe: Operations, other: LazySet) -> bool | None:
        assert isinstance(other, FunctionSet)
        return universe.equal(self.domain, other.domain) and universe.equal(self.range, other.range)

    def text(self, universe: Operations) -> str:
        return f"[{universe.show(self.domain)} -> {universe.show(self.range)}]"


class RecordSet(LazySet):
    """``[name: values, ...]``."""

    __slots__ = ("fields",)

    def __init__(self, fields: Mapping[str, Value]) -> None:
        self.fields = fields

    def contains(self, universe: Operations, value: Value) -> bool:
        if isinstance(value, ModelValue) and not value.kind:
            return False
        if isinstance(value, LazyFunction):
            value = universe.written_function(value)
        if not isinstance(value, Function) or not value.domain.is_record:
            raise universe.error("Attempted to check if the non-record {} is in {}", value, self)
        return value.domain.values == self.fields.keys() and all(
            universe.contains(self.fields[str(name)], element) for name, element in value.items()
        )

    def elements(self, universe: Operations) -> Iterable[Value]:
        domain = universe.domain_of(frozenset(self.fields))
        return map(
            domain.function,
            product(*(universe.ordered(self.fields[str(name)]) for name in domain.elements)),
        )

    def size(self, universe: Operations) -> int:
        return prod(map(universe.cardinality, self.fields.values()))

    def is_finite(self, universe: Operations) -> bool:
        return all(map(universe.is_finite, self.fields.values()))

    def same(self, universe: Operations, other: LazySet) -> bool | None:
        assert isinstance(other, RecordSet)
        return self.fields.keys() == other.fields.keys() and all(
            universe.equal(values, other.fields[name]) for name, values in self.fields.items()
        )

    def text(self, universe: Operations) -> str:
        fields = (f"{name}: {universe.show(values)}" for name, values in self.fields.items())
        return f"[{', '.join(fields)}]"


class Product(LazySet):
    """``S \\X T``, of two sets or more."""

    __slots__ = ("factors",)

    def __init__(self, factors: Sequence[Value]) -> None:
        self.factors = factors

    def contains(self, universe: Operations, value: Value) -> bool:
        if isinstance(value, ModelValue) and not value.kind:
            return False
        if isinstance(value, LazyFunction):
            value = universe.written_function(value)
        if type(value) is not tuple:
            raise universe.error("Attempted to check if the non-tuple {} is in {}", value, self)
        return len(value) == len(self.factors) and all(map(universe.contains, self.factors, value))

    def elements(self, universe: Operations) -> Iterable[Value]:
        parts: list[tuple[Value, ...]] = []
        for factor in self.factors:
            parts.append(universe.ordered(factor))
            if not parts[-1]:
                return ()
        return product(*parts)

    def size(self, universe: Operations) -> int:
        return prod(map(universe.cardinality, self.factors))

    def is_finite(self, universe: Operations) -> bool:
        return all(map(universe.is_finite, self.factors))

    def same(self, universe: Operations, other: LazySet) -> bool | None:
        assert isinstance(other, Product)
        return len(self.factors) == len(other.factors) and all(
            map(universe.equal, self.factors, other.factors)
        )

    def text(self, universe: Operations) -> str:
        return " \\X ".join(map(universe.show, self.factors))


class SequenceSet(LazySet):
    """``Seq(base)``."""

    __slots__ = ("base",)

    def __init__(self, base: Value) -> None:
        self.base = base

    def contains(self, universe: Operations, value: Value) -> bool:
        if isinstance(value, ModelValue) and not value.kind:
            return False
        if isinstance(value, LazyFunction):
            value = universe.written_function(value)
        if type(value) is not tuple:
            raise universe.error("Attempted to check if the non-sequence {} is in {}", value, self)
        return all(universe.contains(self.base, element) for element in value)

    def elements(self, universe: Operations) -> Iterable[Value]:
        raise universe.error("Attempted to enumerate the infinite set {}", self)

    def is_finite(self, universe: Operations) -> bool:
        return False

    def same(self, universe: Operations, other: LazySet) -> bool | None:
        assert isinstance(other, SequenceSet)
        return universe.equal(self.base, other.base)

    def text(self, universe: Operations) -> str:
        return f"Seq({universe.show(self.base)})"


class Filter(LazySet):
    """``{x \\in base : predicate(x)}``. The elements are kept when they are enumerated again."""

    __slots__ = ("base", "chosen", "enumerated", "predicate")

    def __init__(self, base: Value, predicate: Callable[[Value], bool]) -> None:
        self.base = base
        self.predicate = predicate
        self.enumerated = False
        self.chosen: tuple[Value, ...] | None = None

    def contains(self, universe: Operations, value: Value) -> bool:
        return universe.contains(self.base, value) and self.predicate(value)

    def elements(self, universe: Operations) -> Iterable[Value]:
        if self.chosen is not None:
            return self.chosen
        chosen = filter(self.predicate, universe.elements(self.base))
        if not self.enumerated:
            self.enumerated = True
            return chosen
        self.chosen = tuple(chosen)
        return self.chosen

    def is_finite(self, universe: Operations) -> bool:
        return universe.is_finite(self.base)

    def text(self, universe: Operations) -> str:
        return f"{{x \\in {universe.show(self.base)} : ...}}"


class Enumeration(LazySet):
    """``{item, ...}`` where an item is a lazy set or function."""

    __slots__ = ("items",)

    def __init__(self, items: Sequence[Value]) -> None:
        self.items = items

    def contains(self, universe: Operations, value: Value) -> bool:
        return any(universe.equal(value, item) for item in self.items)

    def elements(self, universe: Operations) -> Iterable[Value]:
        if not any(
            isinstance(item, LazySet) and not item.is_finite(universe) for item in self.items
        ):
            return universe.ordered(frozenset(map(universe.normalise, self.items)))
        distinct: list[Value] = []
        for item in self.items:
            if not any(universe.equal(item, earlier) for earlier in distinct):
                distinct.append(item)
        return distinct

    def size(self, universe: Operations) -> int:
        return len([*self.elements(universe)])

    def is_small(self, universe: Operations) -> bool:
        return False

    def text(self, universe: Operations) -> str:
        return f"{{{', '.join(map(universe.show, self.items))}}}"


class Combination(LazySet):
    """A union, intersection or difference with a lazy operand."""

    __slots__ = ("left", "right", "sign")

    def __init__(self, sign: str, left: Value, right: Value) -> None:
        self.sign = sign
        self.left = left
        self.right = right

    def contains(self, universe: Operations, value: Value) -> bool:
        inside = universe.contains(self.left, value)
        match self.sign:
            case "\\cup":
                return inside or universe.contains(self.right, value)
            case "\\cap":
                return inside and universe.contains(self.right, value)
            case _:
                return inside and not universe.contains(self.right, value)

    def elements(self, universe: Operations) -> Iterable[Value]:
        match self.sign:
            case "\\cup":
                return universe.ordered(universe.finite(self.left) | universe.finite(self.right))
            case "\\cap":
                finite, test = self.left, self.right
                if not universe.is_finite(finite):
                    finite, test = test, finite
                return [
                    element
                    for element in universe.elements(finite)
                    if universe.contains(test, element)
                ]
            case _:
                return [
                    element
                    for element in universe.elements(self.left)
                    if not universe.contains(self.right, element)
                ]

    def is_finite(self, universe: Operations) -> bool:
        left = universe.is_finite(self.left)
        match self.sign:
            case "\\cup":
                return left and universe.is_finite(self.right)
            case "\\cap":
                return left or universe.is_finite(self.right)
            case _:
                return left

    def text(self, universe: Operations) -> str:
        return f"({universe.show(self.left)} {self.sign} {universe.show(self.right)})"


class BigUnion(LazySet):
    """``UNION sets``, where one of the sets is lazy."""

    __slots__ = ("sets",)

    def __init__(self, sets: Sequence[Value]) -> None:
        self.sets = sets

    def contains(self, universe: Operations, value: Value) -> bool:
        return any(universe.contains(values, value) for values in self.sets)

    def elements(self, universe: Operations) -> Iterable[Value]:
        return universe.ordered(frozenset().union(*map(universe.finite, self.sets)))

    def is_finite(self, universe: Operations) -> bool:
        return all(map(universe.is_finite, self.sets))

    def text(self, universe: Operations) -> str:
        return f"UNION {{{', '.join(map(universe.show, self.sets))}}}"


WRITTEN: Final = (Interval, Enumeration)
"""Sets whose chosen elements TLC writes out."""
