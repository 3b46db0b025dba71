"""The exchange of two values of a symmetric type, as expressions and statements of the core.

This is its only definition: engines compile the statement, and the interpreter runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import assert_never

from fencepost.spec.core import ir
from fencepost.spec.core.symmetry import symmetric_types
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
)


class Exchanging:
    """The statement that exchanges two values of a symmetric type in every variable of a model.
    ``slots`` is the number of slots in use; the statement takes new ones.
    """

    def __init__(self, kinds: Sequence[Type], slots: int, enum: Enum, one: int, other: int) -> None:
        self.slots = slots
        self._enum = enum
        self._ends = ir.Literal(enum, one), ir.Literal(enum, other)
        self._kinds = kinds

    def statement(self) -> ir.Statement:
        """What every variable becomes."""
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
            # Two entries change places, and nothing else moves.
            one, other = self._ends
            slot = self._slot()
            return ir.Bind(
                slot,
                ir.Get(kind.value, variable, one),
                ir.Sequence(
                    (
                        ir.Assign(number, (ir.KeyStep(one),), ir.Get(kind.value, variable, other)),
                        ir.Assign(number, (ir.KeyStep(other),), ir.Local(kind.value, slot)),
                    )
                ),
            )
        return ir.Assign(number, (), self.moved(variable))

    def _bound(self, value: ir.Expr, build: Callable[[ir.Expr], ir.Expr]) -> ir.Expr:
        """``build`` of a value, which may use it any number of times."""
        if isinstance(value, ir.Literal | ir.Local | ir.Variable):
            return build(value)
        slot = self._slot()
        body = build(ir.Local(value.type, slot))
        return ir.Let(body.type, slot, value, body)

    def moved(self, value: ir.Expr) -> ir.Expr:
        """What ``value`` becomes."""
        kind = value.type
        if not self._moves(kind):
            return value
        return self._bound(value, self._part)

    def _part(self, value: ir.Expr) -> ir.Expr:
        """What a value becomes that may be used any number of times, and that holds some."""
        kind, (one, other) = value.type, self._ends
        match kind:
            case Enum():
                rest = ir.Conditional(kind, ir.Equal(value, other), one, value)
                return ir.Conditional(kind, ir.Equal(value, one), other, rest)
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
                        made = ir.MakeVariant(kind, tag, tuple(payload))
                        result = ir.Conditional(kind, ir.HasTag(value, tag), made, result)
                return result
            case Option(element):
                some = ir.Some(kind, self.moved(ir.Content(element, value)))
                return ir.Conditional(kind, ir.IsSome(value), some, ir.Literal(kind, ()))
            case Set(element, None) if element == self._enum:
                first, second = (ir.Contains(value, end) for end in self._ends)
                swapped = ir.Conditional(
                    kind,
                    first,
                    ir.Add(kind, ir.Remove(kind, value, one), other),
                    ir.Add(kind, ir.Remove(kind, value, other), one),
                )
                return ir.Conditional(kind, ir.Equal(first, second), value, swapped)
            case Set(element) | Bag(element) | Seq(element):
                slot = self._slot()
                moved = self.moved(ir.Local(element, slot))
                return ir.Collect(kind, slot, value, None, moved)
            case Map(key, element):
                slot = self._slot()
                found = ir.Get(element, value, self.moved(ir.Local(key, slot)))
                return ir.BuildMap(kind, slot, self.moved(found))
            case Scalar():
                raise AssertionError(kind)
            case _:
                assert_never(kind)
