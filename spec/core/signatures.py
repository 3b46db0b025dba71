"""The signature of each node of the core: its operands and their roles, and what it binds."""

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
"""What an operand is: see the names of that kind in `ir`."""

_ROLE = re.compile("|".join(get_args(Role)))
_RANGES = ("value", "domain")
"""Operands that say what a slot stands for; all others of the node see the slot."""


_SIGNATURES: dict[type[ir.Node], tuple[tuple[str, Role], ...]] = {}


def _signature(kind: type[ir.Node]) -> tuple[tuple[str, Role], ...]:
    if kind not in _SIGNATURES:
        names = parts(kind)
        found = ((item.name, _ROLE.search(str(item.type))) for item in fields(kind))
        _SIGNATURES[kind] = tuple(
            (name, cast("Role", role[0])) for name, role in found if role and name in names
        )
    return _SIGNATURES[kind]


def operands(expr: ir.Expr) -> Iterator[tuple[ir.Expr, Role, bool]]:
    """The operands of an expression in the order of its fields: each with its role, and whether
    it is evaluated for a value of the slot that the expression binds.
    """
    binds = bound(expr) is not None
    for name, role in _signature(type(expr)):
        found: object = getattr(expr, name)
        row = cast("tuple[ir.Expr | None, ...]", found if isinstance(found, tuple) else (found,))
        for operand in row:
            if operand is not None:
                yield operand, role, binds and name not in _RANGES


def bound(expr: ir.Expr) -> tuple[int, Type] | None:
    """The slot that an expression binds, and the type of what it stands for."""
    match expr:
        case ir.Let(slot=slot, value=value):
            return slot, value.type
        case ir.BuildMap(type=Map(key=key), slot=slot):
            return slot, key
        case ir.Quantified() | ir.Collect() | ir.Gather() | ir.Find():
            return expr.slot, element_of(expr.domain.type) or expr.domain.type
        case _:
            return None


def held(kind: Type) -> Type | None:
    """The type of an `ir.Element` of a node of type ``kind``; None where that holds nothing."""
    match kind:
        case Option(inner) | Map(value=inner):
            return inner
        case _:
            return element_of(kind)
