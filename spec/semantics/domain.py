"""The interface between the semantics and its domains of values.

`fold` folds the core over a `Domain`, which defines values (V) and the code of statements (C). Four
rules make one fold suitable for Python values, for emitting machine code, and for solver terms:

* Partiality. A domain has only total operations. Partial ones are guarded by a `Demand` or an
  `Ensure`, which pass a condition and the number of a site to the domain.
* Laziness. Operands that may not be evaluated, or are evaluated repeatedly, are passed as
  callbacks: arms, connectives, bodies of binders and loops. A domain calls each callback once,
  where it wants the code or the term to be, or not at all if it knows that it is not needed.
* Sharing. A V is used as an operand of one operation, once; operations evaluate their operands
  from left to right. The exceptions are the V passed to a callback: they are bound, and may be
  used any number of times inside the callback.
* Choice. `Pick` is passed on: the engine decides how alternatives are tried.

A domain that needs the type of an operand keeps it with the V: each V comes from an operation with
a given type, or is a truth value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeAlias, TypeVar

from fencepost.spec.core import ir, types
from fencepost.spec.core.operators import Operator
from fencepost.spec.core.types import Type, Value
from fencepost.spec.records import dataclass

V = TypeVar("V")
C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class AtKey(Generic[V]):
    """A path step into a map, at ``key``."""

    key: V


@dataclass(frozen=True, slots=True)
class AtIndex(Generic[V]):
    """A path step into a sequence, at ``index``."""

    index: V


Place: TypeAlias = ir.FieldStep | AtKey[V] | AtIndex[V]
"""A path step whose operand is evaluated."""


class Domain(Protocol[V, C]):
    """Defines what a value is, and what the code of a statement is.

    ``type`` is the type of the result. Operations named after a node of the core mean what the
    node's docstring says.
    """

    def constant(self, value: Value, type: Type) -> V: ...
    def symbol(self, index: int, type: Type) -> V: ...
    def variable(self, index: int, next: bool, type: Type) -> V: ...

    def let(self, value: V, body: Callable[[V], V]) -> V:
        """``body`` of the value, which is evaluated once, before the body."""
        ...

    def demand(self, condition: V, site: int, body: Callable[[], V]) -> V: ...
    def witness(self, mark: int, condition: V) -> V: ...

    def observe(
        self, number: int, condition: V, operands: Sequence[V], body: Callable[[], V]
    ) -> V: ...

    def negation(self, operand: V) -> V: ...
    def conjunction(self, parts: Sequence[Callable[[], V]]) -> V: ...
    def disjunction(self, parts: Sequence[Callable[[], V]]) -> V: ...
    def conditional(
        self, condition: V, then: Callable[[], V], otherwise: Callable[[], V], type: Type
    ) -> V: ...

    def arithmetic(self, operator: Operator, left: V, right: V, type: Type) -> V: ...

    def between(self, number: V, low: int, high: int) -> V:
        """Whether an integer lies in ``low..high``."""
        ...

    def equal(self, left: V, right: V) -> V: ...
    def less(self, left: V, right: V, or_equal: bool) -> V: ...

    def convert(self, value: V, source: Type, target: Type) -> V:
        """The value, which fits, as a value of ``target``."""
        ...

    def record(self, fields: Sequence[V], type: Type) -> V: ...
    def field(self, record: V, index: int, type: Type) -> V: ...
    def variant(self, tag: int, fields: Sequence[V], type: Type) -> V: ...
    def has_tag(self, union: V, tag: int) -> V: ...
    def payload(self, union: V, tag: int, index: int, type: Type) -> V: ...
    def some(self, value: V, type: Type) -> V: ...
    def is_some(self, option: V) -> V: ...
    def content(self, option: V, type: Type) -> V: ...

    def replace(self, base: V, place: Place[V], value: V, type: Type) -> V:
        """``base``, a record, map or sequence of ``type``, with ``value`` at ``place``."""
        ...

    def universe(self, type: types.Set) -> V: ...
    def interval(self, low: V, high: V, type: Type) -> V: ...
    def build(self, elements: Sequence[V], type: Type) -> V: ...
    def add(self, collection: V, element: V, type: Type) -> V: ...
    def remove(self, collection: V, element: V, type: Type) -> V: ...
    def insert_at(self, sequence: V, index: V, element: V, type: Type) -> V: ...
    def remove_at(self, sequence: V, index: V, type: Type) -> V: ...
    def contains(self, collection: V, element: V) -> V: ...
    def size(self, collection: V, type: Type) -> V: ...
    def algebra(self, operator: ir.SetOperator, left: V, right: V, type: Type) -> V: ...
    def at(self, sequence: V, index: V, type: Type) -> V: ...
    def get(self, map: V, key: V, kind: types.Map) -> V: ...

    def build_map(self, body: Callable[[V], V], type: types.Map) -> V:
        """The map from each key to ``body`` of it, keys ascending."""
        ...

    def holds(self, every: bool, collection: V, body: Callable[[V], V]) -> V:
        """Whether ``body`` is true of every (or some) element; evaluation stops when that is
        decided.

        It could be a `fold`, but properties and guards spend most of their time in this loop.
        """
        ...

    def fold(
        self,
        collection: V,
        start: V,
        body: Callable[[V, V], V],
        stop: Callable[[V], V] | None,
        type: Type,
    ) -> V:
        """The final result of ``body(element, result)`` over the elements in order, beginning with
        ``start``.

        The rest is skipped as soon as ``stop`` of the result is true.
        """
        ...

    def enabled(self, action: int, choices: Sequence[V]) -> V: ...

    def sequence(self, parts: Sequence[Callable[[], C]]) -> C: ...

    def assign(self, variable: int, path: Sequence[Place[V]], value: V) -> C:
        """A domain may edit in place, or use `fold.updated` to compute the new value."""
        ...

    def bind(self, value: V, body: Callable[[V], C]) -> C:
        """``body`` of the present value, which is evaluated once."""
        ...

    def pick(
        self,
        collection: V,
        condition: Callable[[V], V] | None,
        body: Callable[[V], C],
        pick: ir.Pick,
    ) -> C:
        """The choice described by ``pick``, which has its guard, label and types."""
        ...

    def require(self, condition: V, guard: int) -> C: ...
    def affirm(self, condition: V, site: int) -> C:
        """`ir.Assert`."""
        ...

    def ensure(self, condition: V, site: int) -> C: ...
    def branch(self, condition: V, then: Callable[[], C], otherwise: Callable[[], C]) -> C: ...
    def each(self, collection: V, body: Callable[[V], C]) -> C: ...
    def block(self, label: int, body: Callable[[], C]) -> C: ...
    def leave(self, label: int) -> C: ...
    def mark(self, mark: int) -> C: ...
