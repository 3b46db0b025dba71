"""Every node of a piece of syntax or of core, whatever its kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import TypeAlias, cast

from fencepost.spec import ir, syntax

Node: TypeAlias = syntax.Node | ir.Node | ir.Step


def children(node: Node) -> Iterator[Node]:
    """The nodes directly inside a node, in the order written."""
    for item in fields(node):
        if item.name != "span":
            yield from _nodes(getattr(node, item.name))


def _nodes(value: object) -> Iterator[Node]:
    if isinstance(value, syntax.Node | ir.Node | ir.FieldStep | ir.KeyStep | ir.IndexStep):
        yield value
    elif isinstance(value, tuple):
        for part in cast("tuple[object, ...]", value):
            yield from _nodes(part)


def depth(tree: Node) -> int:
    """How many nodes stand inside each other, at most; found without recursion."""
    deepest = 0
    stack = [(tree, 1)]
    while stack:
        node, level = stack.pop()
        deepest = max(deepest, level)
        stack.extend((part, level + 1) for part in children(node))
    return deepest


def walk(tree: object) -> Iterator[Node]:
    """Every node of ``tree`` (a node, or nodes in tuples), itself included, as written."""
    stack = list(_nodes(tree))[::-1]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(list(children(node))[::-1])
