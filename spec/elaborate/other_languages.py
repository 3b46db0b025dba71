"""What other languages call functions and methods, and what to write here for those that are not
here at all. `syntax/habits.py` has the words and signs.
"""

from __future__ import annotations

from fencepost.spec.core.types import Bag, Map, Seq, Set, Type
from fencepost.spec.syntax.vocabulary import UNION

FUNCTIONS = {
    "length": "len", "size": "len", "card": "len", "cardinality": "len", "head": "first",
    "front": "first", "back": "last", "minimum": "min", "maximum": "max",
}  # fmt: skip
"""What other languages call the functions."""

METHODS = {
    "push": "append", "push_back": "append", "enqueue": "append", "add": "append",
    "append": "add",
    "dequeue": "pop_first", "popleft": "pop_first", "insert": "add", "put": "add",
    "discard": "remove", "delete": "remove", "erase": "remove", "empty": "clear",
}  # fmt: skip
"""What other languages call the methods."""

_SUBSET = "write a <= b"
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
    "abs": "write if x < 0 then -x else x", "contains": "write x in s",
    "tail": "q.pop_first() takes the first one out, as a statement",
    "subseq": "a part is made element by element: [q[i] for i in indices(q) if i > 0]",
    "append": "q.append(e) is a statement", "add": "s.add(e) is a statement",
    "assume": "assume stands before its condition, as a declaration",
}  # fmt: skip
"""What to write for a function that is not there."""

_TAKEN = {
    "pop_last": "to leave the last one out, write q = [q[i] for i in 0..len(q) - 2]",
    "prepend": "elements are put at the end, by append",
    "extend": "elements are appended one by one: for x in r: q.append(x)",
    "update": "the elements of another set are added by s = s | t",
}
"""What to write for a method that is not there."""


def method(name: str, kind: Type) -> str | None:
    """What to write for a method that values of this type do not have."""
    if isinstance(kind, Seq):
        if name == "pop":
            return "pop_first takes the first element out"
        if name == "insert":
            return _TAKEN["prepend"]
        return _TAKEN.get(name)
    if isinstance(kind, Set | Bag):
        if name == "pop":
            return "pick x in s, then s.remove(x), takes out any element"
        return _TAKEN.get(name)
    if isinstance(kind, Map):
        return "an element is assigned: m[k] = e"
    return None


def operator(sign: str, kind: Type) -> str:
    """What to write for a sign that stands for nothing between such values; or nothing."""
    match kind:
        case Set():
            remark = {"+": "the union of sets is a | b", "*": "the intersection of sets is a & b"}
        case Seq():
            remark = {
                "+": "sequences are not joined by a sign; q.append(e) puts an element at the end",
                "-": "an element of a sequence is left out by [x for x in q if x != e]",
            }
        case Bag():
            remark = {"+": "b.add(e) puts an element in", "-": "b.remove(e) takes an element out"}
        case _:
            return ""
    return f"; {remark[sign]}" if sign in remark else ""
