"""Which locals a place in a tree can see, told by the tree alone."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from fencepost.spec.core.traverse import children
from fencepost.spec.elaborate.ide.references import declared_names
from fencepost.spec.syntax import nodes as syntax

_HEADS = (
    syntax.Binder, syntax.Choices, syntax.Let, syntax.Parameter, syntax.Pattern, syntax.Pick,
    syntax.Receive,
)  # fmt: skip
"""What binds names for that which stands behind it in the same node."""


def path_to(tree: syntax.File, name: str) -> tuple[syntax.Node, ...]:
    """The nodes around the only name of this text, from the declaration to the name itself; ()
    where there is none.
    """
    stack: list[tuple[syntax.Node, ...]] = [(node,) for node in tree.declarations]
    while stack:
        path = stack.pop()
        if isinstance(path[-1], syntax.Name) and path[-1].text == name:
            return path
        stack += [(*path, node) for node in children(path[-1]) if isinstance(node, syntax.Node)]
    return ()


def locals_of(path: tuple[syntax.Node, ...]) -> Iterator[syntax.Name]:
    """The locals and parameters that the last node of a path can see, the innermost last."""
    for node, inner in pairwise(path):
        if isinstance(node, syntax.Binder | syntax.Let | syntax.Parameter | syntax.Pattern):
            continue
        # What a comprehension binds stands behind the element.
        seen = isinstance(node, syntax.Comprehension)
        if isinstance(node, syntax.LetIn) and inner is node.body:
            yield node.name
        for part in children(node):
            if part is inner and not seen:
                break
            if isinstance(part, _HEADS):
                yield from _bound(part)


def _bound(head: syntax.Node) -> Iterator[syntax.Name]:
    for name, kind in declared_names(head):
        if kind in ("local", "parameter"):
            yield name
    for part in children(head):
        if isinstance(part, (*_HEADS, syntax.Bind)):
            yield from _bound(part)
