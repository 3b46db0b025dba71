"""Generic traversal of syntax and core nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, TypeAlias, cast

from fencepost.spec.core import ir
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
