"""Traverses, analyses and rebuilds nodes of the syntax tree and of the core."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from itertools import islice
from typing import Any, TypeAlias, TypeVar, cast

from fencepost.spec.core import ir
from fencepost.spec.core.types import Type
from fencepost.spec.records import replace
from fencepost.spec.syntax import nodes as syntax

Node: TypeAlias = syntax.Node | ir.Node | ir.Step

NODES = (syntax.Node, ir.Node, ir.FieldStep, ir.KeyStep, ir.IndexStep)


_LEAVES = frozenset([
    "Span", "Span | None", "Type", "Option", "Value", "Operator", "SetOperator",
    "int", "int | None", "tuple[int, ...]", "bool", "str", "str | None",
])  # fmt: skip
"""The annotations of fields that never contain nodes."""


_PARTS: dict[type[Any], tuple[str, ...]] = {}


def parts(kind: type[Any]) -> tuple[str, ...]:
    """Returns the names of the fields of a node class that may contain nodes, in declaration
    order.
    """
    if kind not in _PARTS:
        _PARTS[kind] = tuple(item.name for item in fields(kind) if item.type not in _LEAVES)
    return _PARTS[kind]


def children(node: Node) -> list[Node]:
    """Returns the direct children of a node, in source order."""
    return _nodes_in(node, parts(type(node)))


def _nodes_in(node: Node, names: tuple[str, ...]) -> list[Node]:
    """Returns the nodes in the fields with these names."""
    nodes: list[Node] = []
    for name in names:
        _gather(getattr(node, name), nodes)
    return nodes


def _gather(value: object, nodes: list[Node]) -> None:
    # Most values are plain tuples, and testing for a node takes five times as long, so tuples come
    # first.
    if type(value) is not tuple and isinstance(value, NODES):
        nodes.append(value)
    elif isinstance(value, tuple):
        for part in cast("tuple[object, ...]", value):
            _gather(part, nodes)


def statements(tree: object) -> Iterator[ir.Statement]:
    """Yields all statements in ``tree``, which is a statement or nested tuples of statements. They
    are in source order, and a parent precedes its children.

    This yields the same statements as `walk`, but does not traverse expressions.
    """
    return cast("Iterator[ir.Statement]", _preorder(tree, _bodies))


def bodies(statement: ir.Statement) -> list[ir.Statement]:
    """Returns the statements directly inside ``statement``."""
    return cast("list[ir.Statement]", _nodes_in(statement, _bodies(type(statement))))


_OF_STATEMENTS = frozenset(["Statement", "tuple[Statement, ...]"])
"""The annotations of fields that contain statements."""


_BODIES: dict[type[Any], tuple[str, ...]] = {}


def _bodies(kind: type[Any]) -> tuple[str, ...]:
    """Returns the names of the fields of a statement class that contain statements."""
    if kind not in _BODIES:
        names = (item.name for item in fields(kind) if item.type in _OF_STATEMENTS)
        _BODIES[kind] = tuple(names)
    return _BODIES[kind]


def depth(tree: Node) -> int:
    """Returns the nesting depth of a tree. It is computed without recursion."""
    levels = 0
    level = [tree]
    while level:
        levels += 1
        level = [below for node in level for below in children(node)]
    return levels


def walk(tree: object) -> Iterator[Node]:
    """Yields every node in ``tree``, which is a node or nested tuples of nodes. They are in source
    order, and a parent precedes its children.
    """
    return _preorder(tree, parts)


def _preorder(tree: object, fields: Callable[[type[Any]], tuple[str, ...]]) -> Iterator[Node]:
    """Yields the nodes of ``tree`` that fields with these names contain, each before those inside
    it.
    """
    stack: list[Node] = []
    _gather(tree, stack)
    stack.reverse()
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(_nodes_in(node, fields(type(node)))))


# ---------------------------------------------------------------- reads, assignments and failures


def assigned(tree: object) -> frozenset[int]:
    """Returns the state variables that a statement, or a tuple of statements, may assign."""
    return frozenset(node.variable for node in statements(tree) if isinstance(node, ir.Assign))


def variables_read(tree: object) -> frozenset[int]:
    """Returns the state variables that an expression reads, before or after a step."""
    return frozenset(node.index for node in walk(tree) if isinstance(node, ir.Variable))


def may_fail(tree: object) -> bool:
    """Returns whether the evaluation of an expression can fail."""
    return any(isinstance(node, ir.Demand) for node in walk(tree))


def may_leave(statement: ir.Statement, label: int) -> bool:
    """Returns whether a statement contains a `Leave` of the block with this label."""
    inside = statements(statement)
    return any(isinstance(node, ir.Leave) and node.label == label for node in inside)


def first_picks(statement: ir.Statement, count: int) -> tuple[ir.Pick, ...]:
    """Returns the first ``count`` choices of an action (see `ir.Enabled`). They are nested: the
    role's index comes first, then the parameters.
    """
    picks = (node for node in statements(statement) if isinstance(node, ir.Pick))
    return tuple(islice(picks, count))


def visible_picks(statement: ir.Statement, count: int) -> tuple[ir.Pick, ...]:
    """Returns the first ``count`` visible choices (see `ir.Pick`) of an action."""
    picks = (node for node in statements(statement) if isinstance(node, ir.Pick))
    return tuple(islice((pick for pick in picks if pick.label is not None), count))


# ---------------------------------------------------------------- rebuilding


T = TypeVar("T")
N = TypeVar("N", bound=ir.Node)


def rebuilt(value: T, part: Callable[[object], object]) -> T:
    """Returns a node or tuple with ``part`` applied to each of its parts, except for spans and the
    types of expressions.

    If no part changes, the same object is returned. Any other value is returned unchanged.
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
    # This may be any node of the core or of the syntax, so its fields are not known statically.
    return replace(value, **changes) if changes else value  # type: ignore[arg-type]


def operands(expr: ir.Expr) -> list[ir.Expr]:
    """Returns the expressions directly inside an expression, in the order of its fields."""
    return cast("list[ir.Expr]", children(expr))


def with_children(node: N, new: Iterable[ir.Node | ir.Step], kind: Type | None = None) -> N:
    """Returns ``node`` with the nodes ``new`` in place of its `children`, in the same order.

    There must be as many new nodes as children. If ``kind`` is given, it replaces the type of the
    node, which must be an expression that carries a type.
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
    # This may be any node of the core, so its fields are not known statically.
    return replace(node, **changes)  # type: ignore[arg-type]
