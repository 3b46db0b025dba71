"""Limits of the language, and cheap computation of sizes.

Everything is bounded before anything is allocated, so no function here computes a number that a
hostile spec could make astronomically large.
"""

from __future__ import annotations

from fencepost.spec.core.types import Bag, Seq, Set, Type, Union, bits, components, count_values

MAX_CAPACITY = 65_535
"""The maximum capacity of a collection or channel."""

MAX_KEYS = 4_096
"""The maximum number of keys of a map, and of processes of a role."""

MAX_PARTS = 4_096
"""The maximum number of types in a type expression with all names expanded (see `parts`)."""

MAX_EXPANDED = 40_000
"""The maximum number of statements and expressions of a model with all calls expanded."""

MAX_NESTED = 100
"""The maximum nesting depth of statements and expressions, including those of expanded calls."""

MAX_RECURSION = 1_000
"""The maximum depth of the calls of a recursive def."""

DEEPEST = 150
"""The maximum nesting depth of core nodes. It is limited because engines traverse them
recursively.
"""

MAX_EFFORT = 1_000_000
"""The maximum number of operations in the evaluation of a constant."""

MAX_INSTANCES = 1_000
"""The maximum number of instances of a formula. Each choice of values for its quantifiers is
one.
"""

WIDEST_STATE = 1 << 16
"""The maximum number of bits of a state, and of a type."""


def countable(kind: Type, most: int) -> bool:
    """Returns whether ``kind`` has at most ``most`` values. ``most`` must fit in 64 bits."""
    return bits(kind) <= 64 and count_values(kind, most) <= most


def most(kind: Set | Seq | Bag) -> int:
    """Returns the maximum number of elements of a collection of this type. Numbers above 2**64 are
    not exact.
    """
    return count_values(kind.element, 1 << 64) if kind.capacity is None else kind.capacity


def parts(kind: Type) -> int:
    """Returns the number of types in ``kind`` with every name expanded.

    The number bounds the work of every function that traverses a type. Types without any bits
    (``0..0``) could otherwise nest without limit.
    """
    variants = len(kind.variants) if isinstance(kind, Union) else 0
    return 1 + variants + sum(map(parts, components(kind)))


def depth(kind: Type) -> int:
    """Returns the nesting depth of a type."""
    return 1 + max(map(depth, components(kind)), default=0)
