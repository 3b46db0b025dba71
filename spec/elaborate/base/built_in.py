"""The table of the built-in names of the language, with one row per name.

Elaboration, completion, hover, semantic highlighting and the manual read this table. The module
`functions` elaborates calls of the built-in functions.
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
    arity: tuple[int, ...] = ()
    """The numbers of arguments that a function accepts."""


_ROWS = (
    BuiltIn("bool", "type", "bool", "true or false"),
    BuiltIn(
        "int", "type", "int",
        "an integer, in a parameter; int[N] is a machine integer of N bits, 2 to 64",
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
    BuiltIn("len", "function", "len(c)", "the number of elements of a collection", (1,)),
    BuiltIn(
        "count", "function", "count(c) or count(c, e)",
        "the number of elements, or of those equal to e", (1, 2),
    ),
    BuiltIn("indices", "function", "indices(q)", "the positions of a sequence, from 0", (1,)),
    BuiltIn(
        "first", "function", "first(q)",
        "the first element; an evaluation error if the collection is empty", (1,),
    ),
    BuiltIn(
        "last", "function", "last(q)",
        "the last element; an evaluation error if the collection is empty", (1,),
    ),
    BuiltIn("sum", "function", "sum(c)", "the sum of the integers in a collection", (1,)),
    BuiltIn(
        "min", "function", "min(c) or min(a, b)",
        "the least element; an evaluation error if the collection is empty", (1, 2),
    ),
    BuiltIn(
        "max", "function", "max(c) or max(a, b)",
        "the greatest element; an evaluation error if the collection is empty", (1, 2),
    ),
    BuiltIn(
        "next", "function", "next(e)", "the value of e after the step, in a step invariant", (1,)
    ),
    BuiltIn(
        "enabled", "function", "enabled(R.a)",
        "whether the action can be taken, in a property", (1,),
    ),
    BuiltIn("subsets", "function", "subsets(s)", "the set of all subsets of a set", (1,)),
    BuiltIn(
        "add", "method", "s.add(e)", "adds an element to a set or bag, as a statement"
    ),
    BuiltIn(
        "remove", "method", "s.remove(e)", "removes an element from a set or bag, as a statement"
    ),
    BuiltIn(
        "append", "method", "q.append(e)",
        "appends an element to a sequence, as a statement",
    ),
    BuiltIn(
        "prepend", "method", "q.prepend(e)",
        "prepends an element to a sequence, as a statement",
    ),
    BuiltIn(
        "pop_first", "method", "q.pop_first()",
        "removes the first element of a sequence, as a statement",
    ),
    BuiltIn(
        "pop_last", "method", "q.pop_last()",
        "removes the last element of a sequence, as a statement",
    ),
    BuiltIn("clear", "method", "c.clear()", "empties a collection, as a statement"),
)  # fmt: skip

BUILT_IN: Mapping[str, BuiltIn] = {row.name: row for row in _ROWS}


def _names(kind: Kind) -> tuple[str, ...]:
    return tuple(row.name for row in _ROWS if row.kind == kind)


TYPE_WORDS = _names("type")
VALUE_WORDS = _names("value")
FUNCTION_WORDS = _names("function")
METHODS = _names("method")
