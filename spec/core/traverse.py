"""Traversal, analysis and rebuilding of syntax and core nodes."""

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
    "int", "int | None", "bool", "str", "str | None",
])  # fmt: skip
"""Annotations of fields that never contain nodes."""


_PARTS: dict[type[Any], tuple[str, ...]] = {}


def parts(kind: type[Any]) -> tuple[str, ...]:
    """The names of a node class's fields that may contain nodes, in declaration order."""
    if kind not in _PARTS:
        _PARTS[kind] = tuple(item.name for item in fields(kind) if item.type not in _LEAVES)
    return _PARTS[kind]


def children(node: Node) -> list[Node]:
    """The nodes directly inside a node, in the order of the text."""
    nodes: list[Node] = []
    for name in parts(type(node)):
        _gather(getattr(node, name), nodes)
    return nodes


def _gather(value: object, nodes: list[Node]) -> None:
    # Most values that are not nodes are plain tuples; testing for a node takes five times as long.
    if type(value) is not tuple and isinstance(value, NODES):
        nodes.append(value)
    elif isinstance(value, tuple):
        for part in cast("tuple[object, ...]", value):
            _gather(part, nodes)


def statements(tree: object) -> Iterator[ir.Statement]:
    """The statements in ``tree`` (a statement, or tuples of statements), itself included, in the
    order of the text: those of `walk`, without traversing expressions.
    """
    stack: list[Node] = []
    _gather(tree, stack)
    stack.reverse()
    while stack:
        node = cast("ir.Statement", stack.pop())
        yield node
        stack.extend(reversed(bodies(node)))


def bodies(statement: ir.Statement) -> list[ir.Statement]:
    """The statements directly inside a statement."""
    found: list[Node] = []
    for name in _bodies(type(statement)):
        _gather(getattr(statement, name), found)
    return cast("list[ir.Statement]", found)


_OF_STATEMENTS = frozenset(["Statement", "tuple[Statement, ...]"])
"""Annotations of fields that contain statements."""


_BODIES: dict[type[Any], tuple[str, ...]] = {}


def _bodies(kind: type[Any]) -> tuple[str, ...]:
    """The names of a statement class's fields that contain statements."""
    if kind not in _BODIES:
        names = (item.name for item in fields(kind) if item.type in _OF_STATEMENTS)
        _BODIES[kind] = tuple(names)
    return _BODIES[kind]


def depth(tree: Node) -> int:
    """The nesting depth of the nodes, computed without recursion."""
    levels = 0
    level = [tree]
    while level:
        levels += 1
        below: list[Node] = []
        for node in level:
            for name in parts(type(node)):
                _gather(getattr(node, name), below)
        level = below
    return levels


def walk(tree: object) -> Iterator[Node]:
    """Every node in ``tree`` (a node, or tuples of nodes), itself included, in the order of the
    text.
    """
    stack: list[Node] = []
    _gather(tree, stack)
    stack.reverse()
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


# ---------------------------------------------------------------- reads, assignments and failures


def assigned(tree: object) -> frozenset[int]:
    """The variables that a statement, or a tuple of statements, may assign."""
    return frozenset(node.variable for node in statements(tree) if isinstance(node, ir.Assign))


def variables_read(tree: object) -> frozenset[int]:
    """The variables that an expression reads, before or after a step."""
    return frozenset(node.index for node in walk(tree) if isinstance(node, ir.Variable))


def may_fail(tree: object) -> bool:
    """Whether evaluating an expression can raise an evaluation error."""
    return any(isinstance(node, ir.Demand) for node in walk(tree))


def may_leave(statement: ir.Statement, label: int) -> bool:
    """Whether a statement contains a leave of the block with this label."""
    inside = statements(statement)
    return any(isinstance(node, ir.Leave) and node.label == label for node in inside)


def first_picks(statement: ir.Statement, count: int) -> tuple[ir.Pick, ...]:
    """The first ``count`` choices of an action (see `ir.Enabled`), which are nested: the role's
    index, then the parameters.
    """
    picks = (node for node in statements(statement) if isinstance(node, ir.Pick))
    return tuple(islice(picks, count))


# ---------------------------------------------------------------- rebuilding


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
