"""What a domain of values offers to the semantics: constants, arithmetic, structures, loops, steps.

`fold` folds the core over a `Domain`, which says what a value (V) and the code of a statement
(C) are. Four rules keep one fold fit for Python values, for machine code that is emitted while the
fold runs, and for solver terms:

* Partiality. A domain has total operations only. Whatever may be undefined stands behind a
  `Demand` or an `Ensure`, which hand the domain a condition and the number of a site.
* Laziness. What need not be evaluated, or is evaluated many times, reaches the domain as a
  callback: arms, connectives, bodies of binders and loops. A domain calls each callback once,
  where it wants the code or the term to be, or not at all where it knows it is not needed.
* Sharing. A V is an operand of one operation, once; operations evaluate their operands from left
  to right. The exceptions are the V handed to a callback: they are bound, and may be used any
  number of times inside the callback.
* Choice. `Pick` is handed over as it is: the engine decides how the alternatives are tried.

A domain that needs the type of an operand keeps it with the V: each V comes from an operation that
was given its type, or is a truth value. This module knows nothing of states, words or solvers.
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
    """Into a map at ``key``."""

    key: V


@dataclass(frozen=True, slots=True)
class AtIndex(Generic[V]):
    """Into a sequence at ``index``."""

    index: V


Place: TypeAlias = ir.FieldStep | AtKey[V] | AtIndex[V]
"""One step of a path into a value, its operand evaluated."""


class Domain(Protocol[V, C]):
    """What a value is, and what the code of a statement is.

    ``type`` is the type of the result. Operations named as a node of the core mean what that
    node's docstring says.
    """

    def constant(self, value: Value, type: Type) -> V: ...
    def symbol(self, index: int, type: Type) -> V: ...
    def variable(self, index: int, next: bool, type: Type) -> V: ...

    def let(self, value: V, body: Callable[[V], V]) -> V:
        """``body`` of the value, which is evaluated once, before it."""
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
        """The value, which fits, as one of ``target``."""
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
        """Whether ``body`` is true of every (or of some) element; the first that decides ends it.

        It is `fold` over a truth value, and an operation of its own because it is the loop that
        properties and guards spend their time in.
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
        """The result, beginning with ``start``, that ``body(element, result)`` gives at the end.

        Elements in order. As soon as ``stop`` of the result is true, the rest is left out.
        """
        ...

    def enabled(self, action: int, choices: Sequence[V]) -> V: ...

    def sequence(self, parts: Sequence[Callable[[], C]]) -> C: ...

    def assign(self, variable: int, path: Sequence[Place[V]], value: V) -> C:
        """A domain may edit in place, or use `fold.updated` for the whole new value."""
        ...

    def bind(self, value: V, body: Callable[[V], C]) -> C:
        """``body`` of the value as it is now, evaluated once."""
        ...

    def pick(
        self,
        collection: V,
        condition: Callable[[V], V] | None,
        body: Callable[[V], C],
        pick: ir.Pick,
    ) -> C:
        """The choice that ``pick`` describes; its guard, label and types are there."""
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
