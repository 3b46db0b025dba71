"""Static analysis of core expressions and statements: variables read and assigned, and possible
failures.
"""

from __future__ import annotations

from itertools import islice

from fencepost.spec.core import ir
from fencepost.spec.core.traverse import statements, walk


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
