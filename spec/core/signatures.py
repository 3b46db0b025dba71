"""Derives the signature of each core node: the roles of its operands, and the slots that it
binds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Literal, TypeAlias, cast, get_args

from fencepost.spec.core import ir
from fencepost.spec.core.traverse import parts
from fencepost.spec.core.type_relations import element_of
from fencepost.spec.core.types import Map, Option, Type

Role: TypeAlias = Literal[
    "Condition", "Integer", "Body", "Alike", "Element", "Collection", "Member", "Expr"
]
"""The role of an operand; see the type aliases in `ir`."""

_ROLE = re.compile("|".join(get_args(Role)))
_RANGES = ("value", "domain", "start", "arguments")
"""Operands that determine the values of slots. The slots are in scope in all other operands."""


_SIGNATURES: dict[type[ir.Node], tuple[tuple[str, Role], ...]] = {}


def _signature(kind: type[ir.Node]) -> tuple[tuple[str, Role], ...]:
    if kind not in _SIGNATURES:
        names = parts(kind)
        role_matches = ((item.name, _ROLE.search(str(item.type))) for item in fields(kind))
        _SIGNATURES[kind] = tuple(
            (name, cast("Role", role[0])) for name, role in role_matches if role and name in names
        )
    return _SIGNATURES[kind]


def takes_collection(kind: type[ir.Node]) -> bool:
    """Returns whether nodes of a class have an operand with the role of a collection."""
    return any(role == "Collection" for _, role in _signature(kind))


def operands(expr: ir.Expr) -> Iterator[tuple[ir.Expr, Role, bool]]:
    """Yields the operands of an expression in the order of its fields. Each operand comes with its
    role, and with a flag that is true if the slots that the expression binds are in scope in the
    operand.
    """
    binds = bool(bound(expr))
    for name, role in _signature(type(expr)):
        field_value: object = getattr(expr, name)
        row = cast(
            "tuple[ir.Expr | None, ...]",
            field_value if isinstance(field_value, tuple) else (field_value,),
        )
        for operand in row:
            if operand is not None:
                yield operand, role, binds and name not in _RANGES


def bound(expr: ir.Expr) -> dict[int, Type]:
    """Returns the slots that an expression binds, with the types of their values."""
    match expr:
        case ir.Let(slot=slot, value=value):
            return {slot: value.type}
        case ir.Recursion(slots=slots, arguments=arguments):
            return dict(zip(slots, (argument.type for argument in arguments), strict=True))
        case ir.BuildMap(type=Map(key=key), slot=slot):
            return {slot: key}
        case ir.Quantified() | ir.Collect() | ir.Gather() | ir.Find() | ir.Fold():
            element = {expr.slot: element_of(expr.domain.type) or expr.domain.type}
            return (
                {**element, expr.accumulator: expr.type} if isinstance(expr, ir.Fold) else element
            )
        case _:
            return {}


def held(kind: Type) -> Type | None:
    """Returns the type of an `ir.Element` of a node of type ``kind``, or None if values of that
    type have no elements.
    """
    match kind:
        case Option(inner) | Map(value=inner):
            return inner
        case _:
            return element_of(kind)
