"""Every node of a piece of syntax or of core, whatever its kind."""

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
"""Annotations of fields in which no node stands."""


_PARTS: dict[type[Any], tuple[str, ...]] = {}


def parts(kind: type[Any]) -> tuple[str, ...]:
    """The names of the fields of a kind of node in which other nodes may stand, as declared."""
    if kind not in _PARTS:
        _PARTS[kind] = tuple(item.name for item in fields(kind) if item.type not in _LEAVES)
    return _PARTS[kind]


def children(node: Node) -> list[Node]:
    """The nodes directly inside a node, in the order written."""
    found: list[Node] = []
    for name in parts(type(node)):
        _gather(getattr(node, name), found)
    return found


def _gather(value: object, found: list[Node]) -> None:
    # Plain tuples are most of what is no node, and to know a node takes five times as long.
    if type(value) is not tuple and isinstance(value, NODES):
        found.append(value)
    elif isinstance(value, tuple):
        for part in cast("tuple[object, ...]", value):
            _gather(part, found)


def statements(tree: object) -> Iterator[ir.Statement]:
    """The statements of ``tree`` (a statement, or some in tuples), itself included, as written:
    those of `walk`, without a look into expressions.
    """
    stack: list[Node] = []
    _gather(tree, stack)
    stack.reverse()
    while stack:
        node = cast("ir.Statement", stack.pop())
        yield node
        inner: list[Node] = []
        for name in _bodies(type(node)):
            _gather(getattr(node, name), inner)
        stack.extend(reversed(inner))


_OF_STATEMENTS = frozenset(["Statement", "tuple[Statement, ...]"])
"""Annotations of the fields in which statements stand."""


_BODIES: dict[type[Any], tuple[str, ...]] = {}


def _bodies(kind: type[Any]) -> tuple[str, ...]:
    """The names of the fields of a kind of statement in which other statements stand."""
    if kind not in _BODIES:
        names = (item.name for item in fields(kind) if item.type in _OF_STATEMENTS)
        _BODIES[kind] = tuple(names)
    return _BODIES[kind]


def depth(tree: Node) -> int:
    """How many nodes stand inside each other, at most; found without recursion."""
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
    """Every node of ``tree`` (a node, or nodes in tuples), itself included, as written."""
    stack: list[Node] = []
    _gather(tree, stack)
    stack.reverse()
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))
