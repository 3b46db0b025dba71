"""What a random expression of the core can be made of: variables, locals, literals, their parts.

A part that may not be there stands behind a demand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias

from tests.support import random_values

from fencepost.spec.core import ir
from fencepost.spec.core.size_limits import most
from fencepost.spec.core.types import (
    Int,
    Map,
    Option,
    Record,
    Seq,
    Type,
    Union,
    as_collection,
)

Make: TypeAlias = Callable[[], ir.Expr]
Way: TypeAlias = Callable[[ir.Expr], ir.Expr]

SITES = 40
POSITION = Int(-2, 42)
"""The type of numbers that serve as positions."""


@dataclass(slots=True)
class Scope:
    """What is around, and what can be read of it; ``slots`` counts the slots bound so far."""

    random: Random
    variables: Sequence[Type]
    slots: int = 0
    actions: int = 0
    locals: list[ir.Local] = field(default_factory=list[ir.Local])
    property: bool = False

    def fresh(self, kind: Type) -> ir.Local:
        """A new slot, for an expression that binds it."""
        self.slots += 1
        return ir.Local(kind, self.slots - 1)

    def site(self) -> int:
        return self.random.randrange(SITES)

    def expression(self, kind: Type, depth: int) -> ir.Expr:
        """An expression of exactly this type."""
        raise NotImplementedError

    def leaf(self, kind: Type) -> ir.Expr:
        known: list[ir.Expr] = [local for local in self.locals if local.type == kind]
        known += [ir.Variable(kind, n) for n, other in enumerate(self.variables) if other == kind]
        if known and self.random.random() < 0.75:
            return self.random.choice(known)
        return ir.Literal(kind, random_values.value(self.random, kind))

    def any(self, depth: int) -> ir.Expr:
        """An expression of some type that is already around."""
        kinds = [*self.variables, *(local.type for local in self.locals)]
        return self.expression(self.random.choice(kinds), depth)

    def let(self, value: ir.Expr, body: Callable[[ir.Local], ir.Expr]) -> ir.Expr:
        slot = self.fresh(value.type)
        self.locals.append(slot)
        inner = body(slot)
        self.locals.remove(slot)
        return ir.Let(inner.type, slot.slot, value, inner)

    def under(self, kind: Type, body: Callable[[], ir.Expr]) -> tuple[int, ir.Expr]:
        """A new slot and an expression that may use it."""
        slot = self.fresh(kind)
        self.locals.append(slot)
        inner = body()
        self.locals.remove(slot)
        return slot.slot, inner

    # ------------------------------------------------------------ parts of what is around

    def part(self, kind: Type) -> ir.Expr | None:
        """A part of a variable or local, if some part has this type."""
        found: list[Make] = []
        around: list[ir.Expr] = [*self.locals]
        around += [ir.Variable(other, n) for n, other in enumerate(self.variables)]
        for whole in around:
            self._search(_always(whole), whole.type, kind, found, 3)
        return self.random.choice(found)() if found else None

    def _search(self, make: Make, whole: Type, kind: Type, found: list[Make], more: int) -> None:
        if whole == kind:
            found.append(make)
        elif more:
            for inner, way in self._ways(whole):
                self._search(_followed(make, way), inner, kind, found, more - 1)

    def _ways(self, whole: Type) -> list[tuple[Type, Way]]:
        """The ways into a value, each with the type of what lies there."""
        match whole:
            case Record(fields=fields):
                return [(item.type, _field(n, item.type)) for n, item in enumerate(fields)]
            case Union(variants=variants):
                return [
                    (item.type, self._payload(tag, n, item.type))
                    for tag, variant in enumerate(variants)
                    for n, item in enumerate(variant.fields)
                ]
            case Option(element):
                return [(element, lambda base: self._content(base, element))]
            case Map(key, value):
                return [(value, lambda base: ir.Get(value, base, self.expression(key, 1)))]
            case Seq(element):
                return [(element, lambda base: self._at(base, element))]
            case _:
                return []

    def _payload(self, tag: int, index: int, kind: Type) -> Way:
        def read(union: ir.Expr) -> ir.Expr:
            payload = ir.Payload(kind, union, tag, index)
            return ir.Demand(kind, ir.HasTag(union, tag), self.site(), payload)

        return lambda base: self.let(base, read)

    def _content(self, base: ir.Expr, kind: Type) -> ir.Expr:
        return self.let(
            base,
            lambda option: ir.Demand(
                kind, ir.IsSome(option), self.site(), ir.Content(kind, option)
            ),
        )

    def _at(self, base: ir.Expr, kind: Type) -> ir.Expr:
        return self.let(
            base,
            lambda sequence: self.let(
                self.position(),
                lambda index: ir.Demand(
                    kind,
                    self.is_position(index, sequence),
                    self.site(),
                    ir.At(kind, sequence, index),
                ),
            ),
        )

    def position(self) -> ir.Expr:
        """A number that is a position in many collections."""
        if self.random.random() < 0.7:
            return ir.Literal(POSITION, self.random.choice([-2, -1, 0, 0, 0, 1, 1, 2, 3, 7, 12]))
        return self.leaf(POSITION)

    def is_position(self, index: ir.Expr, sequence: ir.Expr, or_equal: bool = False) -> ir.Expr:
        """Whether an element (or, with ``or_equal``, the end) stands at an index."""
        zero = ir.Literal(Int(0, 0), 0)
        return ir.And(
            (ir.Less(zero, index, True), ir.Less(index, self.size_of(sequence), or_equal))
        )

    def size_of(self, collection: ir.Expr) -> ir.Expr:
        kind = as_collection(collection.type)
        return ir.Size(Int(0, most(kind)), collection)


def _always(whole: ir.Expr) -> Make:
    return lambda: whole


def _followed(make: Make, way: Way) -> Make:
    return lambda: way(make())


def _field(index: int, kind: Type) -> Way:
    return lambda base: ir.GetField(kind, base, index)
