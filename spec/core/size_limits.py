"""Limits of the language, and cheap computation of sizes.

Everything is bounded before anything is allocated, so nothing here computes a number that a hostile
spec could make astronomically large.
"""

from __future__ import annotations

from fencepost.spec.core.types import Bag, Seq, Set, Type, Union, bits, cardinality, components

MAX_CAPACITY = 65_535
"""Maximum capacity of a collection or channel."""

MAX_KEYS = 4_096
"""Maximum number of keys of a map, and of processes of a role."""

MAX_PARTS = 4_096
"""Maximum number of types in a type expression, written out (see `parts`)."""

MAX_ITERATED = 1 << 20
"""Maximum number of values of a type that can be iterated over or chosen from."""

MAX_EXPANDED = 40_000
"""Maximum number of statements and expressions of a model with all calls expanded."""

MAX_NESTED = 100
"""Maximum nesting of statements and expressions, including those of expanded calls."""

DEEPEST = 150
"""Maximum nesting of core nodes: engines traverse them recursively."""

MAX_EFFORT = 1_000_000
"""Maximum number of operations to evaluate a constant."""

MAX_INSTANCES = 1_000
"""Maximum number of instances of a formula, one per choice of values."""

WIDEST_STATE = 1 << 16
"""Maximum number of bits of a state, and of a type."""


def countable(kind: Type, most: int) -> bool:
    """Whether ``kind`` has at most ``most`` values, for a ``most`` of at most 64 bits."""
    return bits(kind) <= 64 and cardinality(kind) <= most


def most(kind: Set | Seq | Bag) -> int:
    """Maximum number of elements of a collection of this type."""
    if kind.capacity is None:
        return cardinality(kind.element)
    return kind.capacity


def parts(kind: Type) -> int:
    """The number of types in a type that is written out, with every name expanded.

    It bounds the work of everything that traverses a type. Types without any bits (``0..0``) could
    otherwise nest without limit.
    """
    variants = len(kind.variants) if isinstance(kind, Union) else 0
    return 1 + variants + sum(map(parts, components(kind)))


def depth(kind: Type) -> int:
    """The nesting depth of a type."""
    return 1 + max(map(depth, components(kind)), default=0)
