"""What can be said of a piece of the core without running it: what it reads and assigns, and
whether it may fail.
"""

from __future__ import annotations

from itertools import islice

from fencepost.spec.core import ir
from fencepost.spec.core.traverse import statements, walk


def assigned(tree: object) -> frozenset[int]:
    """The variables that a statement, or one of several in a tuple, may assign."""
    return frozenset(node.variable for node in statements(tree) if isinstance(node, ir.Assign))


def variables_read(tree: object) -> frozenset[int]:
    """The variables that an expression reads, in the state before a step or behind it."""
    return frozenset(node.index for node in walk(tree) if isinstance(node, ir.Variable))


def may_fail(tree: object) -> bool:
    """Whether evaluating an expression can be an evaluation error."""
    return any(isinstance(node, ir.Demand) for node in walk(tree))


def may_leave(statement: ir.Statement, label: int) -> bool:
    """Whether something in a statement leaves the block of this label."""
    inside = statements(statement)
    return any(isinstance(node, ir.Leave) and node.label == label for node in inside)


def first_picks(statement: ir.Statement, count: int) -> tuple[ir.Pick, ...]:
    """The first ``count`` choices of an action (see `ir.Enabled`), which stand inside each other:
    the role's index, then the parameters.
    """
    picks = (node for node in statements(statement) if isinstance(node, ir.Pick))
    return tuple(islice(picks, count))
