# pyright: basic
"""The classes of TLA+ values that are not plain Python values, and the error of an operation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

MAX_SHOWN: Final = 2_000
"""Size up to which a lazy set is shown as its elements; larger ones are shown as formed."""


class EvaluationError(Exception):
    """An operation without a result, as TLC reports it. The message is one sentence or several,
    without a place: the evaluator knows the expression.
    """


class NotInDomain(EvaluationError):
    """A function is applied outside its domain."""


class AssertionFailed(EvaluationError):
    """A call of Assert whose condition is false."""


class NotAllowed(EvaluationError):
    """A module uses a file, the environment or a process without permission."""


class Boolean:
    """TRUE or FALSE. There are two objects, which are compared with ``is``."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __bool__(self) -> bool:
        return self is TRUE

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> str:
        return self.name


TRUE: Final = Boolean("TRUE")
FALSE: Final = Boolean("FALSE")


class ModelValue:
    """A model value; `Universe.model_value` makes one object per name.

    ``kind`` is the letter of a typed model value, whose name begins with a letter and an
    underscore, else an empty string. A typed model value cannot be compared with a value of
    another type.
    """

    __slots__ = ("kind", "name", "rank")

    def __init__(self, name: str, rank: int) -> None:
        self.name = name
        self.rank = rank
        self.kind = name[0] if name[1:2] == "_" else ""

    def __repr__(self) -> str:
        return self.name


class Domain:
    """The domain of a function; `Universe.domain_of` makes one object per set.

    ``elements`` is in TLC's order. ``position`` is the index of an element's value in a `Function`,
    which counts from 1.
    """

    __slots__ = ("elements", "is_record", "is_sequence", "keys", "position", "values")

    def __init__(
        self, values: frozenset[Value], elements: tuple[Value, ...], keys: tuple[Any, ...]
    ) -> None:
        self.values = values
        self.elements = elements
        self.keys = keys
        self.position: dict[Value, int] = {
            element: index for index, element in enumerate(elements, 1)
        }
        self.is_sequence = elements == tuple(range(1, len(elements) + 1))
        self.is_record = not self.is_sequence and all(type(name) is str for name in elements)

    def function(self, values: Sequence[Value]) -> tuple[Value, ...]:
        """Returns the function that maps each of `elements` to one of ``values``."""
        if self.is_sequence:
            return tuple(values)
        return Function((self, *values))


class Function(tuple[Any, ...]):
    """A function or record that is not a sequence: ``(domain, value, ...)``."""

    __slots__ = ()

    @property
    def domain(self) -> Domain:
        domain: Domain = self[0]
        return domain

    def items(self) -> Iterator[tuple[Value, Value]]:
        """Yields the pairs of argument and value, in the order of the domain."""
        return zip(self.domain.elements, self[1:], strict=True)


class Operations(ABC):
    """The operations that lazy sets and functions need; `Universe` has them."""

    @abstractmethod
    def normalise(self, value: Value) -> Value: ...
    @abstractmethod
    def equal(self, left: Value, right: Value) -> bool: ...
    @abstractmethod
    def contains(self, values: Value, value: Value) -> bool: ...
    @abstractmethod
    def subset(self, left: Value, right: Value) -> bool: ...
    @abstractmethod
    def elements(self, values: Value) -> Iterable[Value]: ...
    @abstractmethod
    def ordered(self, values: Value) -> tuple[Value, ...]: ...
    @abstractmethod
    def finite(self, values: Value) -> frozenset[Any]: ...
    @abstractmethod
    def cardinality(self, values: Value) -> int: ...
    @abstractmethod
    def is_finite(self, values: Value) -> bool: ...
    @abstractmethod
    def domain_of(self, values: Value) -> Domain: ...
    @abstractmethod
    def domain(self, function: Value) -> Value: ...
    @abstractmethod
    def written_function(self, value: Value) -> tuple[Any, ...]: ...
    @abstractmethod
    def show(self, value: Value) -> str: ...
    @abstractmethod
    def error(self, text: str, *values: Value) -> EvaluationError: ...


class LazyFunction:
    """A function that is computed where it is applied. Its domain may be infinite."""

    __slots__ = ("argument_values", "body", "domain")

    def __init__(self, domain: Value, body: Callable[[Value], Value]) -> None:
        self.domain = domain
        self.body = body
        self.argument_values: dict[Value, Value] = {}

    def __eq__(self, other: object) -> bool:
        return self is other

    def apply(self, universe: Operations, argument: Value) -> Value:
        """Returns the value for an argument that has been checked; it is computed once."""
        argument = universe.normalise(argument)
        if argument not in self.argument_values:
            self.argument_values[argument] = self.body(argument)
        return self.argument_values[argument]


class LazySet:
    """A set that is not written out. It may be infinite, and is not hashable."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other

    def contains(self, universe: Operations, value: Value) -> bool:
        """Decides membership without enumeration."""
        raise NotImplementedError

    def elements(self, universe: Operations) -> Iterable[Value]:
        """Yields the elements once each, in TLC's order.

        Raises `EvaluationError` if the set is infinite.
        """
        raise NotImplementedError

    def size(self, universe: Operations) -> int:
        """Returns the number of elements."""
        return len(universe.finite(self))

    def is_finite(self, universe: Operations) -> bool:
        """Decides finiteness as TLC does: by the parts of the set."""
        return True

    def is_small(self, universe: Operations) -> bool:
        """Decides whether the set is shown as its elements."""
        return self.is_finite(universe) and self.size(universe) <= MAX_SHOWN

    def text(self, universe: Operations) -> str:
        """Returns the text of a set that is not written as its elements."""
        raise NotImplementedError

    def same(self, universe: Operations, other: LazySet) -> bool | None:
        """Decides equality with a set of the same class; None if it needs the elements."""
        return None


Value: TypeAlias = Any
"""A TLA+ value: one of the types in the table of the package. TLA+ has no types, so that every
operation examines its operands; a type checker cannot know more.
"""
