"""Nodes made anew with other nodes inside, whatever their kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar, cast

from fencepost.spec.core import ir
from fencepost.spec.core.traverse import NODES, children, parts
from fencepost.spec.core.types import Type
from fencepost.spec.records import replace

T = TypeVar("T")
N = TypeVar("N", bound=ir.Node)


def rebuilt(value: T, part: Callable[[object], object]) -> T:
    """A node or a tuple with what ``part`` makes of each part, but for spans and the types of
    expressions; itself where that changes nothing. Anything else is as it is.
    """
    if isinstance(value, tuple):
        items = cast("tuple[object, ...]", value)
        made = tuple(part(item) for item in items)
        same = all(a is b for a, b in zip(items, made, strict=True))
        return cast("T", items if same else made)
    if not isinstance(value, NODES):
        return value
    changes = {
        name: after
        for name in parts(type(value))
        if (after := part(before := getattr(value, name))) is not before
    }
    # Any node of core or syntax: no type says which fields it has.
    return replace(value, **changes) if changes else value  # type: ignore[arg-type]


def operands(expr: ir.Expr) -> list[ir.Expr]:
    """The expressions directly inside an expression, in the order of its fields."""
    return cast("list[ir.Expr]", children(expr))


def with_children(node: N, new: Iterable[ir.Node | ir.Step], kind: Type | None = None) -> N:
    """``node`` with other nodes in place of its `children`, as many and in the same order; with
    ``kind``, also another type, for an expression that carries one.
    """
    left = iter(new)
    changes: dict[str, object] = {} if kind is None else {"type": kind}
    for name in parts(type(node)):
        before: object = getattr(node, name)
        if isinstance(before, tuple):
            changes[name] = tuple(next(left) for _ in cast("tuple[object, ...]", before))
        elif before is not None:
            changes[name] = next(left)
    assert next(left, None) is None, node
    # Any node of the core: no type says which fields it has.
    return replace(node, **changes)  # type: ignore[arg-type]
