"""What every spec knows without declaring it: how it is written, and what it means, in a line."""

from __future__ import annotations

from collections.abc import Mapping

BUILT_IN: Mapping[str, tuple[str, str]] = {
    "bool": ("bool", "true or false"),
    "int": ("int", "an integer, in a parameter; int[N] is a machine integer of N bits, 2 to 64"),
    "int8": ("int8", "a machine integer of 8 bits; + - * wrap"),
    "int16": ("int16", "a machine integer of 16 bits; + - * wrap"),
    "int32": ("int32", "a machine integer of 32 bits; + - * wrap"),
    "int64": ("int64", "a machine integer of 64 bits; + - * wrap"),
    "set": ("set[T] or set[T, N]", "a set of values of T, of at most N elements"),
    "seq": ("seq[T, N]", "a sequence of at most N values of T"),
    "bag": ("bag[T, N]", "a multiset of at most N values of T"),
    "map": ("map[K, V]", "a value of V for each value of K, a finite type"),
    "quiescent": ("quiescent", "no action but those of the environment is enabled"),
    "len": ("len(c)", "the number of elements of a collection"),
    "count": ("count(c) or count(c, e)", "the number of elements, or of those equal to e"),
    "indices": ("indices(q)", "the positions of a sequence, from 0"),
    "first": ("first(q)", "the first element; an evaluation error if there is none"),
    "last": ("last(q)", "the last element; an evaluation error if there is none"),
    "sum": ("sum(c)", "the sum of the integers in a collection"),
    "min": ("min(c) or min(a, b)", "the least element; an evaluation error if there is none"),
    "max": ("max(c) or max(a, b)", "the greatest element; an evaluation error if there is none"),
    "next": ("next(e)", "the value of e after the step, in a step invariant"),
    "subsets": ("subsets(s)", "the set of all subsets of a set"),
    "enabled": ("enabled(R.a)", "whether the action can be taken, in a property"),
    "add": ("s.add(e)", "puts an element into a set or bag, as a statement"),
    "remove": ("s.remove(e)", "takes an element out of a set or bag, as a statement"),
    "append": ("q.append(e)", "puts an element at the end of a sequence, as a statement"),
    "prepend": ("q.prepend(e)", "puts an element in front of a sequence, as a statement"),
    "pop_last": ("q.pop_last()", "takes the last element off a sequence, as a statement"),
    "pop_first": ("q.pop_first()", "takes the first element off a sequence, as a statement"),
    "clear": ("c.clear()", "empties a collection, as a statement"),
}
"""Types, values, functions and methods by their names."""
