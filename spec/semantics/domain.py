"""The interface between the semantics and its domains of values.

`fold` folds the core over a `Domain`, which defines values (V) and the code of statements (C). Four
rules make the same fold suitable for Python values, for emitting machine code, and for solver
terms:

* Partiality. A domain has only total operations. Partial operations are guarded by a `Demand` or an
  `Ensure`, which passes a condition and the number of a site to the domain.
* Laziness. Operands that may not be evaluated, or are evaluated repeatedly, are passed as
  callbacks: arms, connectives, and the bodies of binders and loops. A domain calls each callback
  once, at the point where the code or the term belongs, or not at all if the result is not needed.
* Sharing. A V is used exactly once, as an operand of one operation; operations evaluate their
  operands from left to right. The exceptions are the values passed to a callback: they are bound,
  and may be used any number of times inside the callback.
* Choice. `Pick` is passed on to the engine, which decides how alternatives are tried.

A domain that needs the type of an operand stores it with the V: each V either comes from an
operation with a given type, or is a truth value.
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
    """A path step that enters a map at ``key``."""

    key: V


@dataclass(frozen=True, slots=True)
class AtIndex(Generic[V]):
    """A path step that enters a sequence at position ``index``."""

    index: V


Place: TypeAlias = ir.FieldStep | AtKey[V] | AtIndex[V]
"""A path step whose operand has been evaluated."""


class Domain(Protocol[V, C]):
    """Defines the representation of values, and of the code of statements.

    ``type`` is the type of an operation's result. The docstring of the corresponding node of the
    core defines the meaning of an operation that has no docstring.
    """

    def constant(self, value: Value, type: Type) -> V: ...
    def symbol(self, index: int, type: Type) -> V: ...
    def variable(self, index: int, next: bool, type: Type) -> V: ...

    def let(self, value: V, body: Callable[[V], V]) -> V:
        """Returns ``body`` applied to ``value``, which is evaluated once, before the body."""
        ...

    def demand(self, condition: V, site: int, body: Callable[[], V]) -> V: ...

    def recursion(
        self, expr: ir.Recursion, arguments: Sequence[V], body: Callable[[Sequence[V]], V]
    ) -> V:
        """Returns ``body`` applied to ``arguments``. Inside ``body``, `recall` applies it again."""
        ...

    def recall(self, expr: ir.Recall, arguments: Sequence[V]) -> V: ...
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
        """Returns whether an integer lies in ``low..high``."""
        ...

    def equal(self, left: V, right: V) -> V: ...
    def less(self, left: V, right: V, or_equal: bool) -> V: ...

    def convert(self, value: V, source: Type, target: Type) -> V:
        """Returns ``value``, which must fit, as a value of type ``target``."""
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
        """Returns ``base``, which is a record, map or sequence of ``type``, with ``value`` at
        ``place``.
        """
        ...

    def universe(self, type: types.Set) -> V: ...
    def subsets(self, collection: V, type: types.Set) -> V: ...
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
        """Returns the map of each key to ``body`` applied to the key, evaluated in ascending
        order.
        """
        ...

    def holds(self, every: bool, collection: V, body: Callable[[V], V]) -> V:
        """Returns whether ``body`` is true of every element or, unless ``every`` is set, of some
        element. Evaluation stops as soon as the result is decided.

        This could be a `fold`, but properties and guards spend most of their time in this loop.
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
        """Returns the final result of repeatedly computing ``body(element, result)`` over the
        elements in order, beginning with ``start``.

        If ``stop`` of a result is true, the remaining elements are skipped.
        """
        ...

    def enabled(self, action: int, choices: Sequence[V]) -> V: ...

    def sequence(self, parts: Sequence[Callable[[], C]]) -> C: ...

    def assign(self, variable: int, path: Sequence[Place[V]], value: V) -> C:
        """Assigns ``value`` to the part of a variable at ``path``.

        A domain may update the variable in place, or use `fold.updated` to compute its new value.
        """
        ...

    def bind(self, value: V, body: Callable[[V], C]) -> C:
        """Returns ``body`` applied to the current value of ``value``, which is evaluated once."""
        ...

    def pick(
        self,
        collection: V,
        condition: Callable[[V], V] | None,
        body: Callable[[V], C],
        pick: ir.Pick,
    ) -> C:
        """Returns the code of a choice. ``pick`` provides its guard, label and types."""
        ...

    def require(self, condition: V, guard: int) -> C: ...
    def affirm(self, condition: V, site: int) -> C:
        """Returns the code of an `ir.Assert`."""
        ...

    def ensure(self, condition: V, site: int) -> C: ...
    def branch(self, condition: V, then: Callable[[], C], otherwise: Callable[[], C]) -> C: ...
    def each(self, collection: V, body: Callable[[V], C]) -> C: ...
    def block(self, label: int, body: Callable[[], C]) -> C: ...
    def leave(self, label: int) -> C: ...
    def mark(self, mark: int) -> C: ...
