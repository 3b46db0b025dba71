"""The built-in types and values of the language, with one row per name.

The rows of functions and methods, which include their meaning in the core, are in
`values/functions.py`. Elaboration, completion, hover, semantic highlighting and the manual read the
rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from fencepost.spec.records import dataclass

Kind: TypeAlias = Literal["type", "value", "function", "method"]


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A built-in name with its kind, its syntax and a one-line description of its meaning.

    A def or procedure must not have the name of a built-in function, and no declaration may have
    the name of a built-in type or value. A method is a statement that changes a collection.
    """

    name: str
    kind: Kind
    form: str
    meaning: str


_ROWS = (
    BuiltIn("bool", "type", "bool", "true or false"),
    BuiltIn(
        "int", "type", "int",
        "an integer of any size; int[N] is a machine integer of N bits, 2 to 64",
    ),
    *(
        BuiltIn(f"int{n}", "type", f"int{n}", f"a machine integer of {n} bits; + - * wrap")
        for n in (8, 16, 32, 64)
    ),
    BuiltIn("set", "type", "set[T] or set[T, N]", "a set of values of T, of at most N elements"),
    BuiltIn("seq", "type", "seq[T, N]", "a sequence of at most N values of T"),
    BuiltIn("bag", "type", "bag[T, N]", "a multiset of at most N values of T"),
    BuiltIn("map", "type", "map[K, V]", "a value of V for each value of K, a finite type"),
    BuiltIn(
        "quiescent", "value", "quiescent", "no action except those of the environment is enabled"
    ),
)  # fmt: skip

RESERVED: Mapping[str, BuiltIn] = {row.name: row for row in _ROWS}
"""The names that no declaration may have."""

TYPE_WORDS = tuple(row.name for row in _ROWS if row.kind == "type")
VALUE_WORDS = tuple(row.name for row in _ROWS if row.kind == "value")
