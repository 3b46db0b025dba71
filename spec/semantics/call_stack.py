"""Makes room on Python's call stack for recursions of a model."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager

from fencepost.spec.core import ir
from fencepost.spec.core.traverse import depth

FRAMES = 12
"""The maximum number of Python frames for one level of an expression."""


@contextmanager
def deep(levels: int) -> Generator[None]:
    """Raises Python's recursion limit by the frames for this number of levels of expressions."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + FRAMES * levels)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def levels(expr: ir.Recursion) -> int:
    """Returns the maximum number of nested levels in the evaluation of a recursion."""
    return expr.depth * depth(expr.body)
