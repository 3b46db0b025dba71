"""Generic rebuilding of nodes with changed children."""

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
    """A node or tuple with ``part`` applied to each part, except for spans and the types of
    expressions; the same object if nothing changes. Any other value is returned unchanged.
    """
    if isinstance(value, tuple):
        items = cast("tuple[object, ...]", value)
        rebuilt_items = tuple(part(item) for item in items)
        same = all(a is b for a, b in zip(items, rebuilt_items, strict=True))
        return cast("T", items if same else rebuilt_items)
    if not isinstance(value, NODES):
        return value
    changes = {
        name: after
        for name in parts(type(value))
        if (after := part(before := getattr(value, name))) is not before
    }
    # Any node of core or syntax; its fields are not known statically.
    return replace(value, **changes) if changes else value  # type: ignore[arg-type]


def operands(expr: ir.Expr) -> list[ir.Expr]:
    """The expressions directly inside an expression, in the order of its fields."""
    return cast("list[ir.Expr]", children(expr))


def with_children(node: N, new: Iterable[ir.Node | ir.Step], kind: Type | None = None) -> N:
    """``node`` with as many new nodes in place of its `children`, in the same order; with ``kind``,
    also a new type, for an expression that carries one.
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
    # Any node of the core; its fields are not known statically.
    return replace(node, **changes)  # type: ignore[arg-type]
