# pyright: basic
"""The operations on TLA+ values: TLC's order and equality, sets and functions.

A set is sorted by a key for each element, made of Python values that are compared in C. Keys of
values that TLC cannot compare raise `TypeError` when they are compared; then, and for sets that
mix model values with other values, `Universe.compare` decides or reports the error.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from functools import cmp_to_key
from typing import Any, Final, NoReturn

from fencepost.spec.core.foreign import ForeignValue
from fencepost.spec.tla.values.kinds import (
    FALSE,
    TRUE,
    Boolean,
    Domain,
    EvaluationError,
    Function,
    LazyFunction,
    LazySet,
    ModelValue,
    NotInDomain,
    Operations,
    Value,
)
from fencepost.spec.tla.values.lazy_sets import BigUnion, Combination, Enumeration, Interval
from fencepost.spec.tla.values.runtime import Runtime
from fencepost.spec.tla.values.text import show, taken_apart

MAX_SET_SIZE: Final = 1_000_000
"""Largest set that is written out; TLC's default limit."""
MAX_CACHED: Final = 1_000_000
"""Number of entries at which a cache is emptied."""
MAX_WRITTEN_INTERVAL: Final = 4_096
"""Size up to which an interval is written out."""
FLAT: Final = frozenset({int, str, Boolean})
"""Types whose values can be compared with values of the same type without an error."""

_SCALARS: Final = frozenset({int, str, Boolean, ModelValue})
_BYTES: Final = 4


class Universe(Operations):
    """The names of one specification in the order of their first appearance, and the operations on
    values, whose order depends on it. Caches hold values only.
    """

    def __init__(self, runtime: Runtime | None = None) -> None:
        self.runtime = runtime or Runtime()
        self.names: dict[str, int] = {}
        self.environment: Value = None
        """The value of IOEnv, if it was read."""
        self.model_values: dict[str, ModelValue] = {}
        self._ordered: dict[Value, tuple[Value, ...]] = {}
        self._key_lists: dict[Value, list[Any]] = {}
        self._keys: dict[Value, Any] = {}
        self._domains: dict[Value, Domain] = {}
        self._spans: dict[int, tuple[int, ...]] = {}
        self._intervals: dict[tuple[int, int], frozenset[int]] = {}
        self._normal: dict[Value, Value] = {}

    # ------------------------------------------------------------ names

    def rank(self, name: str) -> int:
        """Returns the position of a name; a new name comes after all others."""
        return self.names.setdefault(name, len(self.names))

    def model_value(self, name: str) -> ModelValue:
        """Returns the model value of this name."""
        if name not in self.model_values:
            self.model_values[name] = ModelValue(name, self.rank(name))
        return self.model_values[name]

    # ------------------------------------------------------------ enumeration

    def elements(self, values: Value) -> Iterable[Value]:
        """Returns the elements of a set in TLC's order."""
        if type(values) is frozenset:
            ordered = self._ordered.get(values)
            return self._order(values) if ordered is None else ordered
        if isinstance(values, LazySet):
            return values.elements(self)
        raise self.error("Attempted to enumerate a value that is not a set: {}", values)

    def ordered(self, values: Value) -> tuple[Value, ...]:
        """Returns the elements of a set in TLC's order, written out."""
        elements = self.elements(values)
        if type(elements) is tuple:
            return elements
        return self.ordered(self.finite(values))

    def finite(self, values: Value) -> frozenset[Any]:
        """Returns a set with its elements written out.

        Raises `EvaluationError` if it is infinite or too large.
        """
        if type(values) is frozenset:
            return values
        if not isinstance(values, LazySet):
            raise self.error("Attempted to enumerate a value that is not a set: {}", values)
        elements: list[Value] = []
        for element in values.elements(self):
            elements.append(self.normalise(element))
            if len(elements) > MAX_SET_SIZE:
                raise self.error(
                    f"Attempted to construct a set with more than {MAX_SET_SIZE:,} elements: {{}}",
                    values,
                )
        written = frozenset(elements)
        if len(written) == len(elements):
            self._remember(written, tuple(elements))
        return written

    def cardinality(self, values: Value) -> int:
        """Returns the number of elements of a set."""
        if type(values) is frozenset:
            self.elements(values)
            return len(values)
        if isinstance(values, LazySet):
            if not values.is_finite(self):
                raise self.error(
                    "Attempted to compute the number of elements of the infinite set {}", values
                )
            return values.size(self)
        raise self.error("Attempted to compute the number of elements of the non-set {}", values)

    def is_finite(self, values: Value) -> bool:
        """Decides whether a set is finite."""
        if isinstance(values, LazySet):
            return values.is_finite(self)
        if type(values) is not frozenset:
            raise self.error("Attempted to check if the non-set {} is finite", values)
        return True

    def normalise(self, value: Value) -> Value:
        """Returns the normal form of a value; equal values are one object afterwards.

        Raises `EvaluationError` if it contains an infinite set, or a set whose elements cannot be
        compared.
        """
        if type(value) in _SCALARS:
            return value
        try:
            normal = self._normal.get(value)
            if normal is not None:
                return normal
        except TypeError:
            pass
        if isinstance(value, LazyFunction):
            value = self.written_function(value)
        if isinstance(value, Function):
            value = Function((value[0], *map(self.normalise, value[1:])))
        elif isinstance(value, tuple):
            value = tuple(map(self.normalise, value))
        else:
            values = self.finite(value)
            for element in self.elements(values):
                self.normalise(element)
            value = values
        if len(self._normal) >= MAX_CACHED:
            self._normal.clear()
        return self._normal.setdefault(value, value)

    def domain_of(self, values: Value) -> Domain:
        """Returns the domain object of a set, which is written out."""
        if type(values) is not frozenset:
            values = self.finite(values)
        domain = self._domains.get(values)
        if domain is None:
            elements = self.ordered(values)
            domain = Domain(values, elements, tuple(map(self.key, elements)))
            self._domains[values] = domain
        return domain

    def _order(self, values: frozenset[Any]) -> tuple[Value, ...]:
        ordered = self._sorted(values, set(map(type, values)))
        self._remember(values, ordered)
        return ordered

    def _remember(self, values: frozenset[Any], ordered: tuple[Value, ...]) -> None:
        if len(self._ordered) >= MAX_CACHED:
            self._ordered.clear()
            self._key_lists.clear()
        self._ordered[values] = ordered

    def _sorted(self, values: frozenset[Any], types: set[type]) -> tuple[Value, ...]:
        if len(types) == 1 and len(values) > 1:
            (kind,) = types
            if kind is int:
                return tuple(sorted(values))
            if kind is str:
                for name in sorted(values - self.names.keys()):
                    self.rank(name)
                return tuple(sorted(values, key=self.names.__getitem__))
            if kind is Boolean:
                return (FALSE, TRUE)
            if kind is ModelValue and len({value.kind for value in values} - {""}) < 2:
                return tuple(sorted(values, key=_rank))
        try:
            return tuple(sorted(values, key=self.key))
        except TypeError:
            return tuple(sorted(values, key=cmp_to_key(self.compare)))

    def holds(self, values: frozenset[Any], value: Value) -> bool:
        """Decides membership in a set by TLC's order, with TLC's errors. ``value`` is compound."""
        try:
            keys, key = self._sorted_keys(values), self.key(value)
            index = bisect_left(keys, key)
            return index < len(keys) and keys[index] == key
        except TypeError:
            return self._found(self.ordered(values), value)

    def _sorted_keys(self, values: frozenset[Any]) -> list[Any]:
        keys = self._key_lists.get(values)
        if keys is None:
            keys = self._key_lists[values] = list(map(self.key, self.elements(values)))
        return keys

    def _found(self, ordered: tuple[Value, ...], value: Value) -> bool:
        """Searches a sorted set as TLC does, so that it compares the same elements."""
        low, high = 0, len(ordered)
        while low < high:
            middle = (low + high) // 2
            difference = self.compare(value, ordered[middle])
            if difference == 0:
                return True
            low, high = (low, middle) if difference < 0 else (middle + 1, high)
        return False

    # ------------------------------------------------------------ keys

    def key(self, value: Value) -> Any:
        """Returns a key whose order is TLC's among values of one kind."""
        kind = type(value)
        if kind is int:
            return value
        key = self._keys.get(value)
        if key is not None:
            return key
        if len(self._keys) >= MAX_CACHED:
            self._keys.clear()
        key = self._keys[value] = self._key(value)
        return key

    def _key(self, value: Value) -> Any:
        if isinstance(value, str):
            return b"\1" + self.rank(value).to_bytes(_BYTES, "big")
        if isinstance(value, Boolean):
            return value.name
        if isinstance(value, ModelValue):
            # Complex numbers have no order: `compare` checks the types of model values.
            if value.kind:
                return complex(value.rank)
            return b"\0" + value.rank.to_bytes(_BYTES, "big")
        if isinstance(value, Function):
            return [len(value) - 1, value.domain.keys, *map(self.key, value[1:])]
        if isinstance(value, tuple):
            return [len(value), self._span(len(value)), *map(self.key, value)]
        assert isinstance(value, frozenset), value
        return (len(value), *map(self.key, self.elements(value)))

    def _span(self, size: int) -> tuple[int, ...]:
        """The key of the domain 1..size."""
        span: tuple[int, ...] | None = self._spans.get(size)
        if span is None:
            span = self._spans[size] = tuple(range(1, size + 1))
        return span

    # ------------------------------------------------------------ comparison

    def equal(self, left: Value, right: Value) -> bool:
        """Decides equality.

        Raises `EvaluationError` if the values cannot be compared.
        """
        if left is right or left == right:
            return True
        kind = type(left)
        if kind is type(right) and kind in FLAT:
            return False
        return self.compare(left, right) == 0

    def differ(self, left: frozenset[Any], right: frozenset[Any]) -> bool:
        """Returns whether two sets surely differ: as TLC does, it compares their sizes and then
        their elements in order, but gives up if it must look into elements.
        """
        first, second = self._ordered.get(left), self._ordered.get(right)
        if first is None or second is None:
            return False
        if len(first) != len(second):
            return True
        for element, other in zip(first, second, strict=True):
            if element is not other and element != other:
                return element.__class__ is other.__class__ and element.__class__ in FLAT
        return False

    def compare(self, left: Value, right: Value) -> int:
        """Returns a negative number, zero or a positive number as ``left`` is before, equal to or
        after ``right``.
        """
        if isinstance(left, ModelValue) or isinstance(right, ModelValue):
            return self._compare_model_values(left, right)
        match left, right:
            case int(), int():
                return (left > right) - (left < right)
            case str(), str():
                return self.rank(left) - self.rank(right)
            case Boolean(), Boolean():
                return (left is TRUE) - (right is TRUE)
            case (tuple() | LazyFunction(), tuple() | LazyFunction()):
                return self._compare_functions(left, right)
            case (frozenset() | LazySet(), frozenset() | LazySet()):
                return self._compare_sets(left, right)
            case _:
                raise self.error("Attempted to compare {} with {}", left, right)

    def _compare_model_values(self, left: Value, right: Value) -> int:
        if isinstance(left, ModelValue) and isinstance(right, ModelValue):
            if left.kind and right.kind and left.kind != right.kind:
                raise self.error(
                    "Attempted to compare the differently typed model values {} and {}", left, right
                )
            return left.rank - right.rank
        model, other, sign = (left, right, -1) if isinstance(left, ModelValue) else (right, left, 1)
        assert isinstance(model, ModelValue)
        if model.kind:
            raise self.error("Attempted to compare the typed model value {} with {}", model, other)
        return sign

    def _compare_functions(self, left: Value, right: Value) -> int:
        if left is right:
            return 0
        left, right = self.written_function(left), self.written_function(right)
        if type(left) is not type(right) or (type(left) is Function and left[0] is not right[0]):
            first, second = self.function_domain(left), self.function_domain(right)
            return len(first.elements) - len(second.elements) or self._compare_each(
                first.elements, second.elements
            )
        return len(left) - len(right) or self._compare_each(left, right)

    def written_function(self, value: Value) -> tuple[Any, ...]:
        """Returns a function with its values written out."""
        if isinstance(value, LazyFunction):
            domain = self.domain_of(value.domain)
            return domain.function([value.apply(self, element) for element in domain.elements])
        assert isinstance(value, tuple), value
        return value

    def function_domain(self, value: tuple[Any, ...]) -> Domain:
        """Returns the domain object of a function or sequence."""
        if isinstance(value, Function):
            return value.domain
        return self.domain_of(frozenset(range(1, len(value) + 1)))

    def _compare_sets(self, left: Value, right: Value) -> int:
        if isinstance(left, LazySet) and type(left) is type(right):
            same = left.same(self, right)
            if same:
                return 0
        first, second = self.ordered(left), self.ordered(right)
        return len(first) - len(second) or self._compare_each(first, second)

    def _compare_each(self, left: tuple[Any, ...], right: tuple[Any, ...]) -> int:
        for first, second in zip(left, right, strict=True):
            if first is not second and first != second:
                difference = self.compare(first, second)
                if difference:
                    return difference
        return 0

    # ------------------------------------------------------------ sets

    def contains(self, values: Value, value: Value) -> bool:
        """Decides membership."""
        if type(values) is frozenset:
            try:
                if value in values:
                    return True
            except TypeError:
                return self.contains(values, self.normalise(value))
            return bool(values) and self._is_element(values, value)
        if isinstance(values, LazySet):
            return values.contains(self, value)
        raise self.error("Attempted to check if {} is an element of the non-set {}", value, values)

    def _is_element(self, values: frozenset[Any], value: Value) -> bool:
        """Returns False for a value that is not in a set, unless they cannot be compared."""
        kind = type(value)
        if kind in FLAT:
            for element in values:
                if type(element) is kind:
                    return False
                if type(element) is not ModelValue or element.kind:
                    self.compare(value, element)
            return False
        return self.holds(values, value)

    def set_of(self, values: Iterable[Value]) -> Value:
        """Returns the set of the values."""
        items = tuple(values)
        try:
            return frozenset(items)
        except TypeError:
            if any(isinstance(item, LazySet | LazyFunction) for item in items):
                return Enumeration(items)
            return frozenset(map(self.normalise, items))

    def interval(self, low: Value, high: Value) -> Value:
        """Returns ``low..high``."""
        if type(low) is not int or type(high) is not int:
            raise self.error("The operands of .. must be integers, not {} and {}", low, high)
        interval = self._intervals.get((low, high))
        if interval is not None:
            return interval
        if high - low >= MAX_WRITTEN_INTERVAL:
            return Interval(low, high)
        elements = tuple(range(low, high + 1))
        interval = self._intervals[low, high] = frozenset(elements)
        self._remember(interval, elements)
        return interval

    def subset(self, left: Value, right: Value) -> bool:
        """Decides ``left \\subseteq right``."""
        if type(left) is frozenset and type(right) is frozenset and left <= right:
            return True
        self._check_set("\\subseteq", left)
        if type(left) is frozenset and type(right) is frozenset and right:
            self.check_comparable(left, right)
            return False
        if left is right:
            return True
        return all(self.contains(right, element) for element in self.elements(left))

    def union(self, left: Value, right: Value) -> Value:
        """Returns ``left \\cup right``."""
        if type(left) is frozenset and type(right) is frozenset:
            return left | right
        self._check_set("\\cup", left, right)
        return Combination("\\cup", left, right)

    def intersection(self, left: Value, right: Value) -> Value:
        """Returns ``left \\cap right``."""
        if type(left) is frozenset and type(right) is frozenset:
            self.check_comparable(left, right)
            return left & right
        self._check_set("\\cap", left, right)
        if type(left) is frozenset:
            return frozenset(element for element in left if self.contains(right, element))
        if type(right) is frozenset:
            return frozenset(element for element in right if self.contains(left, element))
        return Combination("\\cap", left, right)

    def difference(self, left: Value, right: Value) -> Value:
        """Returns ``left \\ right``."""
        if type(left) is frozenset and type(right) is frozenset:
            self.check_comparable(left, right)
            return left - right
        self._check_set("\\", left, right)
        if type(left) is frozenset:
            return frozenset(element for element in left if not self.contains(right, element))
        return Combination("\\", left, right)

    def _check_set(self, sign: str, *operands: Value) -> None:
        for operand in operands:
            if not isinstance(operand, frozenset | LazySet):
                raise self.error(f"An operand of {sign} must be a set, not {{}}", operand)

    def check_comparable(self, left: frozenset[Any], right: frozenset[Any]) -> None:
        """Raises `EvaluationError` if an element of ``left`` cannot be compared with those elements
        of ``right`` that a search meets.
        """
        types = {*map(type, left), *map(type, right)}
        if len(types) <= 1 and types <= FLAT:
            return
        try:
            keys, others = self._sorted_keys(right), self._sorted_keys(left)
            for key in others if keys else ():
                bisect_left(keys, key)
        except TypeError:
            for element in self.elements(left):
                self.contains(right, element)

    def big_union(self, sets: Value) -> Value:
        """Returns ``UNION sets``."""
        parts = sets.items if isinstance(sets, Enumeration) else tuple(self.elements(sets))
        self._check_set("UNION", *parts)
        if any(isinstance(part, LazySet) for part in parts):
            return BigUnion(parts)
        return frozenset[Any]().union(*(part for part in parts if type(part) is frozenset))

    # ------------------------------------------------------------ functions

    def apply(self, function: Value, argument: Value) -> Value:
        """Returns ``function[argument]``. Raises `NotInDomain` unless it is defined there."""
        kind = type(function)
        if kind is Function:
            try:
                return function[function[0].position[argument]]
            except KeyError:
                pass
            except TypeError:
                return self.apply(function, self.normalise(argument))
        elif kind is tuple:
            if type(argument) is int and 0 < argument <= len(function):
                return function[argument - 1]
        elif kind is LazyFunction:
            if self.contains(function.domain, argument):
                return function.apply(self, argument)
        else:
            raise self.error("Attempted to apply the non-function {} to {}", function, argument)
        # An argument of another type is an error of another kind.
        if kind is tuple and function and type(argument) is not int:
            raise self.error("The sequence {} is applied to {}", function, argument)
        if kind is Function:
            self.contains(function[0].values, argument)
        text = "The function {} is applied to {}, which is not in its domain"
        if kind is Function and function[0].is_record and type(argument) is str:
            text = "The record {} has no field {}"
        raise self.error(text, function, argument, kind=NotInDomain)

    def domain(self, function: Value) -> Value:
        """Returns ``DOMAIN function``."""
        kind = type(function)
        if kind is Function:
            return function[0].values
        if kind is tuple:
            return self.interval(1, len(function))
        if kind is LazyFunction:
            return function.domain
        raise self.error("Attempted to compute the domain of the non-function {}", function)

    def updated(self, function: Value, argument: Value, value: Value) -> Value:
        """Returns ``[function EXCEPT ![argument] = value]``, which is the function itself if the
        argument is not in its domain.
        """
        kind = type(function)
        if kind is Function:
            try:
                position = function[0].position.get(argument)
            except TypeError:
                position = function[0].position.get(self.normalise(argument))
            if position is None:
                if function[0].is_record and type(argument) is not str:
                    raise self.error("Attempted to update the record {} at {}", function, argument)
                return function
            values = list(function)
            values[position] = value
            return Function(values)
        if kind is tuple:
            if type(argument) is not int or not 0 < argument <= len(function):
                return function
            return (*function[: argument - 1], value, *function[argument:])
        if kind is LazyFunction:
            changed = self.normalise(argument)
            return LazyFunction(
                function.domain,
                lambda other: value if other == changed else function.apply(self, other),
            )
        raise self.error("Attempted to apply EXCEPT to the non-function {}", function)

    def merge(self, left: Value, right: Value) -> Value:
        """Returns ``left @@ right``: the values of ``left`` where both are defined."""
        pairs = {**self.pairs(right), **self.pairs(left)}
        domain = self.domain_of(frozenset(pairs))
        return domain.function([pairs[element] for element in domain.elements])

    def single(self, argument: Value, value: Value) -> Value:
        """Returns ``argument :> value``."""
        return self.domain_of(frozenset({self.normalise(argument)})).function((value,))

    def pairs(self, function: Value) -> dict[Value, Value]:
        """Returns a function as a table in the order of its domain."""
        if not isinstance(function, tuple | LazyFunction):
            raise self.error("Attempted to use the non-function {} as a function", function)
        function = self.written_function(function)
        if isinstance(function, Function):
            return dict(function.items())
        return dict(enumerate(function, 1))

    # ------------------------------------------------------------ text

    def show(self, value: Value) -> str:
        """Returns the text of a value, as TLC writes it."""
        return show(self, value)

    def taken_apart(self, value: Value) -> ForeignValue:
        """Returns a value with its text and its parts, for reports."""
        return taken_apart(self, value)

    def fail(self, text: str, *values: Value) -> NoReturn:
        """Raises `error`."""
        raise self.error(text, *values)

    def error(
        self, text: str, *values: Value, kind: type[EvaluationError] = EvaluationError
    ) -> EvaluationError:
        """Returns an error whose message contains the texts of values."""
        return kind(text.format(*map(self._shown, values)) + ".")

    def _shown(self, value: Value) -> str:
        """Returns the text of a value for a message, shortened."""
        if self.environment is not None and value == self.environment:
            # Its values may be secrets.
            return "IOEnv (the environment)"
        try:
            text = show(self, value)
        except EvaluationError:
            text = repr(value)
        return text if len(text) <= 300 else text[:297] + "..."


def _rank(value: ModelValue) -> int:
    return value.rank
