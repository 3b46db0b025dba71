"""Builds the exchange of two values of a symmetric type from core expressions and statements.

A symmetric type is an `Enum` whose values are interchangeable. This is the only definition of the
exchange: engines compile the statement, and the interpreter runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import assert_never

from fencepost.spec.core import ir
from fencepost.spec.core.types import (
    Bag,
    Enum,
    Map,
    Option,
    Record,
    Scalar,
    Seq,
    Set,
    Type,
    Union,
    components,
)


@cache
def is_symmetric(kind: Type) -> bool:
    """Returns whether a value of ``kind`` is, or contains, a value of a symmetric type."""
    if isinstance(kind, Enum):
        return kind.symmetric
    return any(map(is_symmetric, components(kind)))


def symmetric_types(kinds: Iterable[Type]) -> tuple[Enum, ...]:
    """Returns the distinct symmetric types in ``kinds``, in the order of their first occurrence."""
    symmetric: dict[Enum, None] = {}

    def look(kind: Type) -> None:
        if isinstance(kind, Enum):
            if kind.symmetric:
                symmetric[kind] = None
            return
        if is_symmetric(kind):
            for part in components(kind):
                look(part)

    for kind in kinds:
        look(kind)
    return tuple(symmetric)


class Exchanging:
    """Builds the statement that exchanges two values of a symmetric type in every variable of a
    model.

    ``slots`` is the number of slots in use. The statement binds new slots, and ``slots`` grows
    accordingly.
    """

    def __init__(self, kinds: Sequence[Type], slots: int, enum: Enum, low: int, high: int) -> None:
        self.slots = slots
        self._enum = enum
        self._ends = ir.Literal(enum, low), ir.Literal(enum, high)
        self._kinds = kinds

    def statement(self) -> ir.Statement:
        """Returns the statement that exchanges the two values in all variables."""
        return ir.Sequence(
            tuple(
                self._assigned(number, kind)
                for number, kind in enumerate(self._kinds)
                if self._moves(kind)
            )
        )

    def _moves(self, kind: Type) -> bool:
        return self._enum in symmetric_types([kind])

    def _slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    def _assigned(self, number: int, kind: Type) -> ir.Statement:
        variable = ir.Variable(kind, number)
        if isinstance(kind, Map) and kind.key == self._enum and not self._moves(kind.value):
            # Two entries swap; nothing else changes.
            first, second = self._ends
            slot = self._slot()
            return ir.Bind(
                slot,
                ir.Get(kind.value, variable, first),
                ir.Sequence(
                    (
                        ir.Assign(
                            number, (ir.KeyStep(first),), ir.Get(kind.value, variable, second)
                        ),
                        ir.Assign(number, (ir.KeyStep(second),), ir.Local(kind.value, slot)),
                    )
                ),
            )
        return ir.Assign(number, (), self.moved(variable))

    def _bound(self, value: ir.Expr, build: Callable[[ir.Expr], ir.Expr]) -> ir.Expr:
        """Returns an expression that binds ``value`` to a slot if necessary, so that the result of
        ``build`` may use it any number of times.
        """
        if isinstance(value, ir.Literal | ir.Local | ir.Variable):
            return build(value)
        slot = self._slot()
        body = build(ir.Local(value.type, slot))
        return ir.Let(body.type, slot, value, body)

    def moved(self, value: ir.Expr) -> ir.Expr:
        """Returns the image of ``value`` under the exchange."""
        kind = value.type
        if not self._moves(kind):
            return value
        return self._bound(value, self._part)

    def _part(self, value: ir.Expr) -> ir.Expr:
        """Returns the image of a value that contains the symmetric type. The result may use
        ``value`` any number of times.
        """
        kind, (low, high) = value.type, self._ends
        match kind:
            case Enum():
                rest = ir.Conditional(kind, ir.Equal(value, high), low, value)
                return ir.Conditional(kind, ir.Equal(value, low), high, rest)
            case Record(fields=fields):
                parts = (self.moved(ir.GetField(f.type, value, n)) for n, f in enumerate(fields))
                return ir.MakeRecord(kind, tuple(parts))
            case Union(variants=variants):
                result: ir.Expr = value
                for tag, variant in enumerate(variants):
                    if any(self._moves(field.type) for field in variant.fields):
                        payload = (
                            self.moved(ir.Payload(f.type, value, tag, n))
                            for n, f in enumerate(variant.fields)
                        )
                        swapped_variant = ir.MakeVariant(kind, tag, tuple(payload))
                        result = ir.Conditional(
                            kind, ir.HasTag(value, tag), swapped_variant, result
                        )
                return result
            case Option(element):
                some = ir.Some(kind, self.moved(ir.Content(element, value)))
                return ir.Conditional(kind, ir.IsSome(value), some, ir.Literal(kind, ()))
            case Set(element, None) if element == self._enum:
                first, second = (ir.Contains(value, end) for end in self._ends)
                swapped = ir.Conditional(
                    kind,
                    first,
                    ir.Add(kind, ir.Remove(kind, value, low), high),
                    ir.Add(kind, ir.Remove(kind, value, high), low),
                )
                return ir.Conditional(kind, ir.Equal(first, second), value, swapped)
            case Set(element) | Bag(element) | Seq(element):
                slot = self._slot()
                moved = self.moved(ir.Local(element, slot))
                return ir.Collect(kind, slot, value, None, moved)
            case Map(key, element):
                slot = self._slot()
                entry = ir.Get(element, value, self.moved(ir.Local(key, slot)))
                return ir.BuildMap(kind, slot, self.moved(entry))
            case Scalar():
                raise AssertionError(kind)
            case _:
                assert_never(kind)
