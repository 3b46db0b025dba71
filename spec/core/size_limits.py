"""How large things may be: the limits of the language, and sizes found at little cost.

Everything is bounded before anything is allocated, so nothing here computes a number that a
hostile spec could make astronomically large.
"""

from __future__ import annotations

from fencepost.spec.core.types import Bag, Seq, Set, Type, Union, bits, cardinality, components

MOST_CAPACITY = 65_535
"""The largest capacity of a collection or channel."""

MOST_KEYS = 4_096
"""The most keys of a map, and the most processes of a role."""

MOST_PARTS = 4_096
"""The most places for a value in one type, at which a type is written (see `parts`)."""

MOST_ITERATED = 1 << 20
"""A type with more values than this cannot be gone through or chosen from."""

MOST_EXPANDED = 40_000
"""How many statements and expressions the calls of a model may expand to."""

MOST_NESTED = 100
"""How many levels of statements and expressions may nest, those of expanded calls included."""

DEEPEST = 150
"""How many nodes of core may stand inside each other: engines walk it by recursion."""

MOST_EFFORT = 1_000_000
"""How many operations the value of a constant may take."""

MOST_INSTANCES = 1_000
"""For how many choices of values a formula may be written out."""

WIDEST_STATE = 1 << 16
"""The most bits of a state, and of a type."""


def countable(kind: Type, most: int) -> bool:
    """Whether ``kind`` has at most ``most`` values, for a ``most`` of at most 64 bits."""
    return bits(kind) <= 64 and cardinality(kind) <= most


def most(kind: Set | Seq | Bag) -> int:
    """The most elements that a collection of this type can have."""
    if kind.capacity is None:
        return cardinality(kind.element)
    return kind.capacity


def parts(kind: Type) -> int:
    """How many types a type is written with, when every name in it is spelled out.

    It bounds the work of everything that walks a type. Types of no bits at all (``0..0``) can
    nest without limit otherwise.
    """
    variants = len(kind.variants) if isinstance(kind, Union) else 0
    return 1 + variants + sum(map(parts, components(kind)))


def depth(kind: Type) -> int:
    """How many types stand inside each other in a type."""
    return 1 + max(map(depth, components(kind)), default=0)
