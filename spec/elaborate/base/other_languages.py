"""Names of functions and methods in other languages, with our equivalents or with advice.
`syntax/habits.py` does the same for keywords and operators.
"""

from __future__ import annotations

from fencepost.spec.core.types import Bag, Map, Seq, Set, Type
from fencepost.spec.syntax.vocabulary import ALWAYS, FOLD, PRINTING, PRINTS, UNION

FUNCTIONS = {
    "length": "len", "size": "len", "card": "len", "cardinality": "len", "head": "first",
    "front": "first", "back": "last", "minimum": "min", "maximum": "max",
}  # fmt: skip
"""Maps names of functions in other languages to our names."""

METHODS = {
    "push": "append", "push_back": "append", "enqueue": "append", "add": "append",
    "append": "add", "unshift": "prepend", "push_front": "prepend",
    "dequeue": "pop_first", "popleft": "pop_first", "pop_back": "pop_last",
    "insert": "add", "put": "add",
    "discard": "remove", "delete": "remove", "erase": "remove", "empty": "clear",
}  # fmt: skip
"""Maps names of methods in other languages to our names."""

_SUBSET = "write a <= b"
_FOLD = f"write {FOLD}"
_ALL = "write forall x in S: p"
INSTEAD = {
    "union": UNION,
    "intersection": "write a & b", "intersect": "write a & b", "inter": "write a & b",
    "difference": "write a - b", "setminus": "write a - b",
    "subset": _SUBSET, "issubset": _SUBSET, "subseteq": _SUBSET,
    "powerset": "write subsets(S)",
    "range": "the integers from a to b, both included, are a..b",
    "domain": "indices(q) are those of a sequence; a map has a value for each of its key type",
    "any": "write exists x in S: p", "all": _ALL, "filter": "write {x for x in S if p}",
    "map": "write [e for x in q] for a sequence, and [e for k in K] for a map",
    "set": "the empty set is {}, and a range a..b or a type is a set", "list": "write []",
    "reduce": _FOLD, "foldl": _FOLD, "foldr": _FOLD, "foldleft": _FOLD, "foldright": _FOLD,
    "foldset": _FOLD, "foldseq": _FOLD, "foldfunction": _FOLD, "mapthenfoldset": _FOLD,
    "abs": "write if x < 0 then -x else x", "contains": "write x in s",
    "tail": "write q[1..]", "butlast": "write q[..len(q) - 2]",
    "subseq": "a part of a sequence is q[i..j], q[i..] or q[..j]",
    "concat": "write q + r",
    "taken": "a ghost variable can record that a step was taken",
    "append": "q.append(e) is a statement", "add": "s.add(e) is a statement",
    "fst": "the first component of a tuple is t.1", "snd": "the second component is t.2",
    "assume": "assume is a declaration, written before its condition",
}  # fmt: skip
"""Advice for functions of other languages that have no equivalent function here."""

CALLED = {"[]": ALWAYS}
"""Advice for signs of other languages that seem to be called, as in `[](p)`."""

_SEQ, _MAP, _RANGE = "write seq[T, capacity]", "write map[K, V]", "write a range, such as 0..10"
TYPES = {
    "optional": "write T?", "option": "write T?", "maybe": "write T?",
    "list": _SEQ, "array": _SEQ, "vector": _SEQ, "queue": _SEQ, "seq": _SEQ,
    "dict": _MAP, "dictionary": _MAP, "hashmap": _MAP, "map": _MAP,
    "set": "write set[T]", "frozenset": "write set[T]",
    "bag": "write bag[T, capacity]", "multiset": "write bag[T, capacity]",
    "nat": _RANGE, "natural": _RANGE, "integer": _RANGE, "uint": _RANGE, "number": _RANGE,
    "float": "all numbers are integers", "double": "all numbers are integers",
    "real": "all numbers are integers",
    "string": "list the texts as members of an enum", "str": "list the texts as members of an enum",
    "tuple": "write (P, Q)", "pair": "write (P, Q)", "struct": "declare a record",
}  # fmt: skip
"""Advice for types of other languages, by name in lower case."""

ANYWHERE = {
    "self": "a variable of the same process is used by its plain name",
    "this": "a variable of the same process is used by its plain name",
    **dict.fromkeys(PRINTS, PRINTING),
    "null": "write none", "nil": "write none", "None": "write none",
}  # fmt: skip
"""Advice for names that are common in other languages."""

_TAKEN = {
    "extend": "q += r appends the elements of another sequence",
    "update": "s = s | t adds the elements of another set",
}
"""Advice for methods of other languages that have no equivalent method here."""


def method(name: str, kind: Type) -> str | None:
    """Returns advice for a method that values of this type do not have, or None if there is no
    advice.
    """
    if isinstance(kind, Seq):
        if name == "pop":
            return "pop_first and pop_last remove an element"
        if name == "insert":
            return "append and prepend add elements at the ends"
        return _TAKEN.get(name)
    if isinstance(kind, Set | Bag):
        if name == "pop":
            return "pick x in s, then s.remove(x), removes any element"
        return _TAKEN.get(name)
    if isinstance(kind, Map):
        return "assign the element: m[k] = e"
    return None


def operator(sign: str, kind: Type) -> str:
    """Returns advice for an operator that is undefined for values of this type. Returns an empty
    string if none is known.
    """
    match kind:
        case Set():
            remark = {"+": "the union of sets is a | b", "*": "the intersection of sets is a & b"}
        case Seq():
            remark = {
                "+": "q + [e] is q with one more element",
                "-": "[x for x in q if x != e] omits an element of a sequence",
            }
        case Bag():
            remark = {"+": "b.add(e) adds an element", "-": "b.remove(e) removes an element"}
        case _:
            return ""
    return f"; {remark[sign]}" if sign in remark else ""
