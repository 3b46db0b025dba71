"""Every node of a piece of syntax or of core, whatever its kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import TypeAlias, cast

from fencepost.spec.core import ir
from fencepost.spec.syntax import nodes as syntax

Node: TypeAlias = syntax.Node | ir.Node | ir.Step


_PARTS: dict[type[object], tuple[str, ...]] = {}
"""The fields of each kind of node but for its span: asking for them costs more than the rest."""


def children(node: Node) -> Iterator[Node]:
    """The nodes directly inside a node, in the order written."""
    names = _PARTS.get(type(node))
    if names is None:
        names = tuple(item.name for item in fields(node) if item.name != "span")
        _PARTS[type(node)] = names
    for name in names:
        yield from _nodes(getattr(node, name))


def _nodes(value: object) -> Iterator[Node]:
    if isinstance(value, syntax.Node | ir.Node | ir.FieldStep | ir.KeyStep | ir.IndexStep):
        yield value
    elif isinstance(value, tuple):
        for part in cast("tuple[object, ...]", value):
            yield from _nodes(part)


def rebuilt(value: object, part: Callable[[object], object]) -> object:
    """A node of syntax or a tuple with what ``part`` makes of each part, but for the span; itself
    where that changes nothing. Anything else is as it is.
    """
    if isinstance(value, tuple):
        parts = cast("tuple[object, ...]", value)
        made = tuple(part(one) for one in parts)
        return made if any(a is not b for a, b in zip(parts, made, strict=True)) else parts
    if not isinstance(value, syntax.Node):
        return value
    changes: dict[str, object] = {}
    for item in fields(value):
        if item.name != "span":
            before = getattr(value, item.name)
            after = part(before)
            if after is not before:
                changes[item.name] = after
    # Any node of the tree: which fields it has, no type tells.
    return replace(value, **changes) if changes else value  # type: ignore[arg-type]


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
