"""Represents values as untyped trees, formats them as text, wraps lines, and compares trees.

Both the states of a model and the states in a trace file are represented in this way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Literal as OneOf
from typing import TypeAlias, assert_never

from fencepost.checker.printing.page import cells
from fencepost.spec.core import types
from fencepost.spec.core.foreign import ForeignValue
from fencepost.spec.core.spelling import TEXT, Notation, Parts, entries
from fencepost.spec.records import dataclass

Kind: TypeAlias = OneOf["record", "tuple", "map", "seq", "bag", "set"]


@dataclass(frozen=True, slots=True)
class Atom:
    """An indivisible value, such as a number, an enum member or none."""

    text: str


@dataclass(frozen=True, slots=True)
class Group:
    """A composite value. ``head`` is its name or "", and each item has a label or "".

    The items are the fields of a record or variant, the components of a tuple, the pairs of a map,
    or the elements of a collection. A group of the ``language`` TLA+ is written as there.
    """

    kind: Kind
    head: str
    items: tuple[tuple[str, ValueTree], ...]
    language: OneOf["", "TLA+"] = ""

    @property
    def signs(self) -> tuple[str, str, str, str]:
        """The brackets, the sign after a label, and the sign between two items."""
        return TLA_SIGNS[self.kind] if self.language else (*BRACKETS[self.kind], ": ", ",")


ValueTree: TypeAlias = Atom | Group

BRACKETS = {
    "record": ("(", ")"),
    "tuple": ("(", ")"),
    "map": ("[", "]"),
    "seq": ("[", "]"),
    "bag": ("[", "]"),
    "set": ("{", "}"),
}


TLA_SIGNS = {
    "record": ("[", "]", " |-> ", ","),
    "seq": ("<<", ">>", "", ","),
    "map": ("(", ")", " :> ", " @@"),
    "set": ("{", "}", "", ","),
}


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one part of the state.

    ``removed`` and ``added`` are the elements that a collection lost and gained. Both are empty if
    it is more helpful to show the old and new values.
    """

    path: str
    before: ValueTree
    after: ValueTree
    removed: tuple[ValueTree, ...] = ()
    added: tuple[ValueTree, ...] = ()


def _elements(kind: types.Set | types.Seq | types.Bag, items: list[ValueTree]) -> ValueTree:
    name: OneOf["set", "seq", "bag"]
    match kind:
        case types.Set():
            name = "set"
        case types.Seq():
            name = "seq"
        case types.Bag():
            name = "bag"
    return Group(name, "", tuple(("", item) for item in items))


def _record(kind: types.Record, parts: Parts[ValueTree]) -> ValueTree:
    if kind.is_tuple:
        return Group("tuple", "", tuple(("", part) for _, part in parts))
    return Group("record", kind.name, tuple(parts))


def _variant(kind: types.Union, tag: int, parts: Parts[ValueTree]) -> ValueTree:
    name = kind.variants[tag].name
    return Group("record", name, tuple(parts)) if parts else Atom(name)


_TLA_KINDS: Mapping[str, Kind] = {
    "record": "record",
    "tuple": "seq",
    "function": "map",
    "set": "set",
}


def foreign_tree(value: ForeignValue) -> ValueTree:
    """Returns the tree of a TLA+ value."""
    kind = _TLA_KINDS.get(value.kind)
    if kind is None or not value.parts:
        return Atom(value.text)
    items = ((label.text if label else "", foreign_tree(part)) for label, part in value.parts)
    return Group(kind, "", tuple(items), "TLA+")


TREE: Notation[ValueTree] = Notation(
    scalar=lambda value: Atom(TEXT.scalar(value)),
    record=_record,
    variant=_variant,
    none=Atom("none"),
    some=lambda content, _: content,
    elements=_elements,
    map=lambda kind, value, of: Group(
        "map", "", tuple((text(key), item) for key, item in entries(kind, value, of))
    ),
    foreign=foreign_tree,
)

tree = TREE.of
"""Returns the tree of a typed value. The `text` of the tree equals what `show` returns for the
value.
"""


_Items: TypeAlias = tuple[tuple[str, ValueTree], ...]


def text(value: ValueTree) -> str:
    """Returns the value on one line."""
    match value:
        case Atom(text=atom):
            return atom
        case Group(head=head, items=items):
            opening, closing, after, between = value.signs
            parts = [f"{label and label + after}{text(item)}" for label, item in items]
            return f"{head}{opening}{f'{between} '.join(parts)}{closing}"
        case _:
            assert_never(value)


def wrapped(value: ValueTree, first: int, indent: int, width: int) -> list[str]:
    """Returns the value as lines that end before column ``width``, if possible.

    The first line begins at column ``first`` and is not indented. Further lines are aligned with
    the first item. If that leaves too little space, they are indented by ``indent`` cells.
    """
    whole = text(value)
    if isinstance(value, Atom) or not value.items or first + cells(whole) <= width:
        return [whole]
    opening, closing, after, between = value.signs
    head = f"{value.head}{opening}"
    column = first + cells(head)
    lines = [head]
    if width - column < width // 3:
        column = indent + 2
        lines.append(" " * column)
    for number, (label, item) in enumerate(value.items):
        end = closing if number == len(value.items) - 1 else between
        prefix = label and label + after
        if number:
            flat = f" {prefix}{text(item)}{end}"
            used = cells(lines[-1]) + (first if len(lines) == 1 else 0)
            # An atom is added to the previous line if it fits there. A group starts a new line.
            if isinstance(item, Atom) and used + cells(flat) <= width:
                lines[-1] += flat
                continue
            lines.append(" " * column)
        parts = wrapped(item, column + cells(prefix), column, width - 1)
        lines[-1] += prefix + parts[0]
        lines += parts[1:]
        lines[-1] += end
    return lines


def changes(
    path: str, before: ValueTree, after: ValueTree, *, family: bool = False
) -> Iterator[Change]:
    """Yields the smallest parts under ``path`` that differ, in order.

    If ``family`` is set, ``path`` is ``R.x`` for a role with instances, and the parts are written
    ``R[1].x``.
    """
    if before == after:
        return
    match before, after:
        case Group(kind="map", items=old), Group(kind="map", items=new) if _same(old, new):
            for (label, was), (_, now) in zip(old, new, strict=True):
                yield from changes(at_key(path, label, family=family), was, now)
        case Group(kind="record", items=old), Group(kind="record", items=new) if (
            before.head == after.head and _same(old, new)
        ):
            for (label, was), (_, now) in zip(old, new, strict=True):
                yield from changes(f"{path}.{label}", was, now)
        case Group(kind="seq", items=old), Group(kind="seq", items=new) if _single(old, new):
            for number, ((_, was), (_, now)) in enumerate(
                zip(old, new, strict=True), bool(before.language)
            ):
                yield from changes(f"{path}[{number}]", was, now)
        case Group(kind="tuple", items=old), Group(kind="tuple", items=new) if _single(old, new):
            for number, ((_, was), (_, now)) in enumerate(zip(old, new, strict=True), 1):
                yield from changes(f"{path}.{number}", was, now)
        case (
            Group(kind="seq" | "bag" | "set", items=old),
            Group(kind="seq" | "bag" | "set", items=new),
        ):
            removed, added = _difference(old, new), _difference(new, old)
            yield Change(path, before, after, removed, added)
        case _:
            yield Change(path, before, after)


def at_key(path: str, key: str, *, family: bool) -> str:
    """Returns the path of the value at ``key`` in the map at ``path``."""
    role, dot, rest = path.rpartition(".")
    return f"{role}[{key}].{rest}" if family and dot else f"{path}[{key}]"


def _single(old: _Items, new: _Items) -> bool:
    """Checks whether the items of two groups of the same length differ in exactly one place."""
    return len(old) == len(new) and sum(a != b for a, b in zip(old, new, strict=True)) == 1


def _same(old: _Items, new: _Items) -> bool:
    return [label for label, _ in old] == [label for label, _ in new]


def _difference(left: _Items, right: _Items) -> tuple[ValueTree, ...]:
    """Returns the elements of ``left`` that ``right`` lacks, in order. If ``left`` has more copies
    of an element, the surplus copies are included.
    """
    spare = Counter(item for _, item in right)
    missing: list[ValueTree] = []
    for _, item in left:
        if spare[item]:
            spare[item] -= 1
        else:
            missing.append(item)
    return tuple(missing)
