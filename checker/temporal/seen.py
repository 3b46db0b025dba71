"""Expresses the part of a state that fairness depends on, which is everything except ghosts, in
core expressions.

`units.without_ghosts` computes the same part for a concrete state.
"""

from __future__ import annotations

from itertools import count
from typing import assert_never

from fencepost.spec.core import ir, types
from fencepost.spec.core.ir import Model
from fencepost.spec.core.types import Field, Type, has_ghost
from fencepost.spec.records import replace


def seen(model: Model, after: bool = False) -> list[ir.Expr]:
    """Returns expressions for the non-ghost variables, without their ghost fields. With ``after``,
    the expressions refer to the state after a step.
    """
    work = _Work(model.slots)
    return [
        work.stripped(ir.Variable(variable.type, number, after), variable.type)
        for number, variable in enumerate(model.variables)
        if not variable.ghost
    ]


def unchanged(model: Model) -> ir.Expr:
    """Returns the condition that a step changes nothing but ghosts and therefore does not count."""
    pairs = zip(seen(model), seen(model, after=True), strict=True)
    same = tuple(ir.Equal(before, after) for before, after in pairs)
    if len(same) < 2:
        return same[0] if same else ir.Literal(ir.BOOL, True)
    return ir.And(same)


class _Work:
    """Removes ghost fields from expressions. ``first`` is the first slot that the model does not
    use.
    """

    def __init__(self, first: int) -> None:
        self._slots = count(first)

    def stripped(self, value: ir.Expr, kind: Type) -> ir.Expr:
        """Returns an expression for ``value`` without its ghost fields."""
        if not has_ghost(kind):
            return value
        plain = without_ghost_fields(kind)
        match kind:
            case types.Record(fields=fields):
                return ir.MakeRecord(
                    plain,
                    tuple(
                        self.stripped(ir.GetField(field.type, value, index), field.type)
                        for index, field in enumerate(fields)
                        if not field.ghost
                    ),
                )
            case types.Union(variants=variants):
                *others, last = [
                    ir.MakeVariant(
                        plain,
                        tag,
                        tuple(
                            self.stripped(ir.Payload(field.type, value, tag, index), field.type)
                            for index, field in enumerate(variant.fields)
                            if not field.ghost
                        ),
                    )
                    for tag, variant in enumerate(variants)
                ]
                whole: ir.Expr = last
                for variant_value in reversed(others):
                    whole = ir.Conditional(
                        plain, ir.HasTag(value, variant_value.tag), variant_value, whole
                    )
                return whole
            case types.Option(element):
                some = ir.Some(plain, self.stripped(ir.Content(element, value), element))
                return ir.Conditional(plain, ir.IsSome(value), some, ir.Literal(plain, ()))
            case types.Set(element) | types.Seq(element) | types.Bag(element):
                slot = next(self._slots)
                item_stripped = self.stripped(ir.Local(element, slot), element)
                return ir.Collect(plain, slot, value, None, item_stripped)
            case types.Map(key, item):
                slot = next(self._slots)
                inner = self.stripped(ir.Get(item, value, ir.Local(key, slot)), item)
                return ir.BuildMap(plain, slot, inner)
            case _:
                raise AssertionError(kind)


def without_ghost_fields(kind: Type) -> Type:
    """Returns the type that remains when all ghost fields are removed from ``kind``."""

    def left(fields: tuple[Field, ...]) -> tuple[Field, ...]:
        return tuple(
            Field(field.name, without_ghost_fields(field.type))
            for field in fields
            if not field.ghost
        )

    match kind:
        case types.Record(fields=fields):
            return replace(kind, fields=left(fields))
        case types.Union(variants=variants):
            kept = tuple(types.Variant(variant.name, left(variant.fields)) for variant in variants)
            return replace(kind, variants=kept)
        case types.Map(value=item):
            return replace(kind, value=without_ghost_fields(item))
        case types.Option(element) | types.Set(element) | types.Seq(element) | types.Bag(element):
            return replace(kind, element=without_ghost_fields(element))
        case types.Scalar():
            return kind
        case _:
            assert_never(kind)
